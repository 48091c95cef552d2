use std::sync::Arc;
use std::time::SystemTime;

use orrery_api::ClusterName;

use crate::{Discovery, Health, Member, VersionInfo};

/// What is known about a member now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Status {
    reach: Reach,
    pub(crate) identity: Option<Arc<str>>,
    pub(crate) version: Option<Arc<VersionInfo>>,
    pub(crate) discovery: Option<Arc<Discovery>>,
    /// Counts the servers that the member's name stood for: streams of an earlier one are cut.
    pub(crate) epoch: u64,
    /// The earlier member that is the same cluster, and the uid of both.
    pub(crate) duplicate: Option<(ClusterName, Arc<str>)>,
}

#[derive(Clone, Debug, Default)]
enum Reach {
    #[default]
    Untried,
    Up,
    Down {
        since: Option<SystemTime>,
        reason: String,
    },
}

// === impl Status ===

impl Status {
    pub(crate) fn health(&self) -> Health {
        let (since, reason) = match (&self.duplicate, &self.reach) {
            (Some((other, uid)), _) => {
                (None, format!("it is the same cluster as {other} (kube-system uid {uid}); remove one"))
            }
            (None, Reach::Up) => return Health::Reachable,
            (None, Reach::Untried) => (None, String::new()),
            (None, Reach::Down { since, reason }) => (*since, reason.clone()),
        };
        match since {
            Some(since) => Health::Unreachable { since, reason },
            None => Health::NeverSeen { reason },
        }
    }

    pub(crate) fn is_down(&self) -> bool {
        matches!(self.reach, Reach::Down { .. })
    }

    fn set_up(&mut self) -> bool {
        let changed = !matches!(self.reach, Reach::Up);
        self.reach = Reach::Up;
        changed
    }

    fn set_down(&mut self, reason: &str) -> bool {
        let since = match &self.reach {
            Reach::Untried => None,
            Reach::Up => Some(SystemTime::now()),
            Reach::Down { since, reason: known } if known != reason => *since,
            Reach::Down { .. } => return false,
        };
        self.reach = Reach::Down { since, reason: reason.to_owned() };
        true
    }
}

// === impl Member ===

impl Member {
    /// Changes the status by `change`, which says whether it did; if so everybody who waits for a change is told.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Status) -> bool) {
        if self.0.status.send_if_modified(change) {
            self.0.changed.send_modify(|count| *count += 1);
        }
    }

    /// It has answered.
    pub(crate) fn is_up(&self) {
        self.heard();
        let was_down = self.0.status.borrow().is_down();
        self.update(Status::set_up);
        self.0.metrics.reachable.set(1);
        if was_down {
            tracing::info!(cluster = %self.0.name, "member answers again");
        }
    }

    /// It cannot be reached, or refuses our credentials.
    pub(crate) fn is_down(&self, reason: &str) {
        if !self.0.status.borrow().is_down() {
            tracing::warn!(cluster = %self.0.name, reason, "member does not answer");
        }
        self.update(|status| status.set_down(reason));
        self.0.metrics.reachable.set(0);
    }
}
