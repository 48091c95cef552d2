//! What a pod's many fields come to in the READY, STATUS and RESTARTS columns.

use std::time::SystemTime;

use super::{ContainerStatus, Pod, Terminated};
use crate::table::field::status_of;

/// The sum of a pod's container states.
#[derive(Debug)]
pub(super) struct State {
    pub(super) ready: usize,
    pub(super) containers: usize,
    pub(super) reason: String,
    pub(super) restarts: i64,
    pub(super) last_restart: Option<SystemTime>,
}

/// Restarts, counted while containers are walked through.
#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    last: Option<SystemTime>,
}

/// What the init containers say.
struct Init {
    /// Why the pod is still at them; `None` once they are done.
    reason: Option<String>,
    ready: usize,
    all: Restarts,
    restartable: Restarts,
}

// === impl State ===

impl State {
    pub(super) fn of(pod: &Pod<'_>) -> Self {
        let sidecars = pod.spec.init_containers.iter().filter(|container| container.is_restartable()).count();
        let init = Init::of(pod);
        let mut state = Self {
            ready: init.ready,
            containers: pod.spec.containers.len() + sidecars,
            reason: phase_reason(pod),
            restarts: init.all.count,
            last_restart: init.all.last,
        };
        let initializing = init.reason.is_some();
        if let Some(reason) = init.reason {
            state.reason = reason;
        }
        if !initializing || status_of(&pod.status.conditions, "Initialized") == Some("True") {
            state.add_containers(pod, init.restartable);
        }
        state.mark_deleted(pod);
        state
    }

    /// From here on only restartable init containers count, with the others' restarts behind them. Containers are walked
    /// from the last to the first, so that the first one's reason is what stays.
    fn add_containers(&mut self, pod: &Pod<'_>, mut restarts: Restarts) {
        let (mut running, mut error) = (false, None);
        for container in pod.status.container_statuses.iter().rev() {
            restarts.add(container);
            let state = &container.state;
            if let Some(waiting) = state.waiting.as_ref().filter(|waiting| !waiting.reason.is_empty()) {
                self.reason = waiting.reason.to_string();
            } else if let Some(terminated) = &state.terminated {
                self.reason = terminated.text("");
                if terminated.exit_code != 0 {
                    error = Some(self.reason.clone());
                }
            } else if container.ready && state.running.is_some() {
                running = true;
                self.ready += 1;
            }
        }
        (self.restarts, self.last_restart) = (restarts.count, restarts.last);
        // A container that ended well says little of a pod of which another still runs or failed.
        if self.reason == "Completed" {
            if running && status_of_any(pod, "Ready", "True") {
                self.reason = "Running".to_owned();
            } else if let Some(error) = error {
                self.reason = error;
            } else if running {
                self.reason = "NotReady".to_owned();
            }
        }
    }

    fn mark_deleted(&mut self, pod: &Pod<'_>) {
        if pod.metadata.deletion_timestamp.is_none() {
            return;
        }
        if &*pod.status.reason == "NodeLost" {
            self.reason = "Unknown".to_owned();
        } else if !matches!(&*pod.status.phase, "Failed" | "Succeeded") {
            self.reason = "Terminating".to_owned();
        }
    }
}

// === impl Init ===

impl Init {
    /// Walks through the init containers up to the first that is not done.
    fn of(pod: &Pod<'_>) -> Self {
        let containers = &pod.spec.init_containers;
        let mut init = Self { reason: None, ready: 0, all: Restarts::default(), restartable: Restarts::default() };
        for (at, container) in pod.status.init_container_statuses.iter().enumerate() {
            let named = containers.iter().rfind(|named| named.name == container.name);
            let restartable = named.is_some_and(|named| named.is_restartable());
            init.all.add(container);
            if restartable {
                init.restartable.add(container);
            }
            let terminated = container.state.terminated.as_ref();
            if terminated.is_some_and(|terminated| terminated.exit_code == 0) {
                continue;
            }
            if restartable && container.started {
                init.ready += usize::from(container.ready);
                continue;
            }
            let waiting = container.state.waiting.as_ref().map_or("", |waiting| &*waiting.reason);
            init.reason = Some(match (terminated, waiting) {
                (Some(terminated), _) => terminated.text("Init:"),
                (None, "" | "PodInitializing") => format!("Init:{at}/{}", containers.len()),
                (None, waiting) => format!("Init:{waiting}"),
            });
            break;
        }
        init
    }
}

// === impl Restarts ===

impl Restarts {
    fn add(&mut self, container: &ContainerStatus<'_>) {
        self.count += container.restart_count;
        self.last = self.last.max(container.last_finished());
    }
}

// === impl Terminated ===

impl Terminated<'_> {
    fn text(&self, prefix: &str) -> String {
        match (&*self.reason, self.signal) {
            ("", 0) => format!("{prefix}ExitCode:{}", self.exit_code),
            ("", signal) => format!("{prefix}Signal:{signal}"),
            (reason, _) => format!("{prefix}{reason}"),
        }
    }
}

/// The reason before any container is looked at.
fn phase_reason(pod: &Pod<'_>) -> String {
    let gated = |condition: &super::Condition<'_>| {
        &*condition.kind == "PodScheduled" && &*condition.reason == "SchedulingGated"
    };
    if pod.status.conditions.iter().any(gated) {
        return "SchedulingGated".to_owned();
    }
    if pod.status.reason.is_empty() { pod.status.phase.to_string() } else { pod.status.reason.to_string() }
}

/// Whether any condition of `kind` has `status`; upstream reads readiness so, and other conditions by the first.
fn status_of_any(pod: &Pod<'_>, kind: &str, status: &str) -> bool {
    pod.status.conditions.iter().any(|condition| &*condition.kind == kind && &*condition.status == status)
}
