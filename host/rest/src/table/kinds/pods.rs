//! Pods.

mod state;

use super::Kind;
use crate::table::age;
use crate::table::cells::{Cells, NONE};
use crate::table::column::{AGE, NAME, text};
use crate::table::field::{Condition, Metadata, Object, Present, Text, fields, status_of};
use crate::table::json::{Unreadable, read};
use state::State;

pub(super) static PODS: Kind = Kind {
    columns: &[
        NAME,
        text("Ready", "How many containers are ready, of how many."),
        text("Status", "What the phase, the conditions and the containers of the pod come to."),
        text("Restarts", "How often containers were restarted, and how long ago the last time was."),
        AGE,
        text("IP", "The pod's address inside its cluster.").wide(),
        text("Node", "The node that runs the pod.").wide(),
        text("Nominated Node", "The node on which room is being made for the pod.").wide(),
        text("Readiness Gates", "How many of the pod's own readiness conditions are true, of all.").wide(),
    ],
    print: pod,
};

type Pod<'a> = Object<Metadata<'a>, Spec<'a>, Status<'a>>;

fields! {
    struct Spec<'a> {
        node_name: Text<'a>,
        containers: Vec<Container<'a>>,
        init_containers: Vec<Container<'a>>,
        readiness_gates: Vec<ReadinessGate<'a>>,
    }

    struct Container<'a> {
        name: Text<'a>,
        restart_policy: Text<'a>,
    }

    struct ReadinessGate<'a> {
        condition_type: Text<'a>,
    }

    struct Status<'a> {
        phase: Text<'a>,
        reason: Text<'a>,
        conditions: Vec<Condition<'a>>,
        container_statuses: Vec<ContainerStatus<'a>>,
        init_container_statuses: Vec<ContainerStatus<'a>>,
        nominated_node_name: Text<'a>,
        #[serde(rename = "podIP")]
        pod_ip: Text<'a>,
        #[serde(rename = "podIPs")]
        pod_ips: Vec<Ip<'a>>,
    }

    struct Ip<'a> {
        ip: Text<'a>,
    }

    struct ContainerStatus<'a> {
        name: Text<'a>,
        ready: bool,
        started: bool,
        restart_count: i64,
        state: ContainerState<'a>,
        last_state: ContainerState<'a>,
    }

    struct ContainerState<'a> {
        waiting: Option<Waiting<'a>>,
        running: Present,
        terminated: Option<Terminated<'a>>,
    }

    struct Waiting<'a> {
        reason: Text<'a>,
    }

    struct Terminated<'a> {
        exit_code: i64,
        signal: i64,
        reason: Text<'a>,
        finished_at: Text<'a>,
    }
}

fn pod(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let pod: Pod<'_> = read(body)?;
    let Object { metadata, spec, status } = &pod;
    let state = State::of(&pod);
    cells.text(&metadata.name).text(format!("{}/{}", state.ready, state.containers)).text(&state.reason);
    match state.last_restart.filter(|_| state.restarts != 0) {
        Some(time) => cells.text(format!("{} ({} ago)", state.restarts, age::between(time, cells.now()))),
        None => cells.text(state.restarts.to_string()),
    };
    cells.age(&metadata.creation_timestamp);
    cells.text_or(status.pod_ips.first().map_or(&status.pod_ip, |first| &first.ip), NONE);
    cells.text_or(&spec.node_name, NONE).text_or(&status.nominated_node_name, NONE).text(pod.readiness_gates());
    match &*status.phase {
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
    fn last_finished(&self) -> Option<std::time::SystemTime> {
        self.last_state.terminated.as_ref().and_then(|terminated| age::parse(&terminated.finished_at))
    }
}
