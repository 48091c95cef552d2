//! Pods.

mod state;

use std::time::SystemTime;

use serde::Deserialize;

use super::age;
use super::cells::{Cells, NONE};
use super::column::{Column, docs};
use super::field::{Condition, Maybe, Metadata, Text, status_of};
use state::State;

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Pod<'a> {
    metadata: Maybe<Metadata<'a>>,
    spec: Maybe<Spec<'a>>,
    status: Maybe<Status<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
struct Spec<'a> {
    node_name: Text<'a>,
    containers: Maybe<Vec<Container<'a>>>,
    init_containers: Maybe<Vec<Container<'a>>>,
    readiness_gates: Maybe<Vec<ReadinessGate<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
struct Container<'a> {
    name: Text<'a>,
    restart_policy: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
struct ReadinessGate<'a> {
    condition_type: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
struct Status<'a> {
    phase: Text<'a>,
    reason: Text<'a>,
    conditions: Maybe<Vec<Condition<'a>>>,
    container_statuses: Maybe<Vec<ContainerStatus<'a>>>,
    init_container_statuses: Maybe<Vec<ContainerStatus<'a>>>,
    nominated_node_name: Text<'a>,
    #[serde(rename = "podIP")]
    pod_ip: Text<'a>,
    #[serde(rename = "podIPs")]
    pod_ips: Maybe<Vec<Ip<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Ip<'a> {
    ip: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
struct ContainerStatus<'a> {
    name: Text<'a>,
    ready: Maybe<bool>,
    started: Maybe<bool>,
    restart_count: Maybe<i64>,
    state: Maybe<ContainerState<'a>>,
    last_state: Maybe<ContainerState<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ContainerState<'a> {
    waiting: Option<Waiting<'a>>,
    running: Option<serde::de::IgnoredAny>,
    terminated: Option<Terminated<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Waiting<'a> {
    reason: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
struct Terminated<'a> {
    exit_code: Maybe<i64>,
    signal: Maybe<i64>,
    reason: Text<'a>,
    finished_at: Text<'a>,
}

pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text("Ready", "How many containers are ready, of how many."),
        Column::text("Status", "What the phase, the conditions and the containers of the pod come to."),
        Column::text("Restarts", "How often containers were restarted, and how long ago the last time was."),
        Column::age(),
        Column::text("IP", docs::POD_IP).wide(),
        Column::text("Node", docs::POD_NODE_NAME).wide(),
        Column::text("Nominated Node", docs::POD_NOMINATED_NODE_NAME).wide(),
        Column::text("Readiness Gates", docs::POD_READINESS_GATES).wide(),
    ]
}

pub(super) fn cells(body: &[u8], now: SystemTime, cells: &mut Cells<'_>) -> Result<(), serde_json::Error> {
    let pod: Pod<'_> = serde_json::from_slice(body)?;
    let state = State::of(&pod);
    cells.text(&pod.metadata.name);
    cells.text(&format!("{}/{}", state.ready, state.containers));
    cells.text(&state.reason);
    cells.text(&match state.last_restart.filter(|_| state.restarts != 0) {
        Some(time) => format!("{} ({} ago)", state.restarts, age::between(time, now)),
        None => state.restarts.to_string(),
    });
    cells.text(&age::since(&pod.metadata.creation_timestamp, now));
    cells.text_or(pod.status.pod_ips.first().map_or(&pod.status.pod_ip, |first| &first.ip), NONE);
    cells.text_or(&pod.spec.node_name, NONE);
    cells.text_or(&pod.status.nominated_node_name, NONE);
    cells.text(&pod.readiness_gates());
    match &*pod.status.phase {
        "Succeeded" => cells.conditions(SUCCEEDED),
        "Failed" => cells.conditions(FAILED),
        _ => {}
    }
    Ok(())
}

const SUCCEEDED: &str =
    r#"[{"type":"Completed","status":"True","reason":"Succeeded","message":"The pod has completed successfully."}]"#;
const FAILED: &str = r#"[{"type":"Completed","status":"True","reason":"Failed","message":"The pod failed."}]"#;

// === impl Pod ===

impl Pod<'_> {
    fn readiness_gates(&self) -> String {
        let gates = &self.spec.readiness_gates;
        if gates.is_empty() {
            return NONE.to_owned();
        }
        let open = |gate: &&ReadinessGate<'_>| status_of(&self.status.conditions, &gate.condition_type) == Some("True");
        format!("{}/{}", gates.iter().filter(open).count(), gates.len())
    }
}

// === impl Container ===

impl Container<'_> {
    /// A sidecar: an init container that goes on running.
    fn is_restartable(&self) -> bool {
        &*self.restart_policy == "Always"
    }
}

// === impl ContainerStatus ===

impl ContainerStatus<'_> {
    fn last_finished(&self) -> Option<SystemTime> {
        self.last_state.terminated.as_ref().and_then(|terminated| age::parse(&terminated.finished_at))
    }
}
