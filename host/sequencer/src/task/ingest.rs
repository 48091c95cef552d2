//! The observations that feed one log: one a cluster, in one served version there.

use std::collections::HashMap;

use orrery_api::{ClusterName, Gvr};
use orrery_fleet::{Fleet, Member, Observation, Start, observe};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

/// The observations of one resource.
pub(crate) struct Ingests {
    fleet: Fleet,
    gvr: Gvr,
    versions: Versions,
    namespaces: Option<Vec<String>>,
    sender: mpsc::Sender<(ClusterName, Observation)>,
    running: HashMap<ClusterName, Running>,
}

/// Which clusters are observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Versions {
    /// Those that serve this version.
    This,
    /// Those that serve any version of the resource, each in this one if it can.
    Any,
}

/// A member, and the version in which it is observed.
#[derive(Clone)]
pub(crate) struct Serving {
    pub(crate) member: Member,
    pub(crate) gvr: Gvr,
}

struct Running {
    gvr: Gvr,
    _cancels: DropGuard,
}

// === impl Ingests ===

impl Ingests {
    pub(crate) fn new(
        fleet: Fleet,
        gvr: Gvr,
        versions: Versions,
        namespaces: Option<Vec<String>>,
        sender: mpsc::Sender<(ClusterName, Observation)>,
    ) -> Self {
        Self { fleet, gvr, versions, namespaces, sender, running: HashMap::new() }
    }

    /// The members that serve the resource, in fleet order. One whose discovery is not known yet is not among them.
    pub(crate) fn serving(&self) -> Vec<Serving> {
        let serving = |member: &Member| Some(Serving { member: member.clone(), gvr: self.version_in(member)? });
        self.fleet.members().iter().filter_map(serving).collect()
    }

    /// Members of whom nobody knows yet whether they serve it.
    pub(crate) fn unknown(&self) -> Vec<Member> {
        self.fleet.members().iter().filter(|member| member.discovery().is_none()).cloned().collect()
    }

    /// Whether `cluster` is no member any more, or does not serve the resource any more, or not in the version in which it
    /// is observed. A member that was never seen may still serve it.
    pub(crate) fn has_left(&self, cluster: &ClusterName, serving: &[Serving]) -> bool {
        match serving.iter().find(|one| one.member.name() == cluster) {
            Some(one) => self.running.get(cluster).is_some_and(|running| running.gvr != one.gvr),
            None => self.fleet.member(cluster).is_none_or(|member| member.discovery().is_some()),
        }
    }

    pub(crate) fn has(&self, cluster: &ClusterName) -> bool {
        self.running.contains_key(cluster)
    }

    /// Whether `cluster` is observed in another version, because it does not serve this one.
    pub(crate) fn is_elsewhere(&self, cluster: &ClusterName) -> bool {
        self.running.get(cluster).is_some_and(|running| running.gvr != self.gvr)
    }

    pub(crate) fn names(&self) -> Vec<ClusterName> {
        self.running.keys().cloned().collect()
    }

    /// Begins to observe a member at its latest, unless it is observed already. Says whether it began.
    pub(crate) fn begin_fresh(&mut self, serving: &Serving) -> bool {
        if self.has(serving.member.name()) {
            return false;
        }
        self.begin(serving, Start::Fresh);
        true
    }

    /// Begins to observe a member at `start`, in place of an earlier observation.
    pub(crate) fn begin(&mut self, serving: &Serving, start: Start) {
        let Serving { member, gvr } = serving;
        let cancel = CancellationToken::new();
        let running = Running { gvr: gvr.clone(), _cancels: cancel.clone().drop_guard() };
        self.running.insert(member.name().clone(), running);
        observe(member.clone(), gvr.clone(), start, self.namespaces.clone(), self.sender.clone(), cancel);
    }

    /// Observes a member anew from its latest, in the version in which it was.
    pub(crate) fn restart(&mut self, member: &Member) {
        if let Some(Running { gvr, .. }) = self.running.get(member.name()) {
            self.begin(&Serving { member: member.clone(), gvr: gvr.clone() }, Start::Fresh);
        }
    }

    pub(crate) fn end(&mut self, cluster: &ClusterName) {
        self.running.remove(cluster);
    }

    fn version_in(&self, member: &Member) -> Option<Gvr> {
        let discovery = member.discovery()?;
        if discovery.find(&self.gvr).is_some() {
            return Some(self.gvr.clone());
        }
        match self.versions {
            Versions::This => None,
            Versions::Any => Some(discovery.find_clocked(&self.gvr.clock())?.gvr.clone()),
        }
    }
}
