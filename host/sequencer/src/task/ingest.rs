//! The observations that feed one resource: one a cluster.

use std::collections::HashMap;

use orrery_api::{ClusterName, Gvr};
use orrery_fleet::{Fleet, Member, Observation, Start, observe};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

pub(super) struct Ingests {
    fleet: Fleet,
    gvr: Gvr,
    namespaces: Option<Vec<String>>,
    sender: mpsc::Sender<(ClusterName, Observation)>,
    running: HashMap<ClusterName, DropGuard>,
}

// === impl Ingests ===

impl Ingests {
    pub(super) fn new(
        fleet: Fleet,
        gvr: Gvr,
        namespaces: Option<Vec<String>>,
        sender: mpsc::Sender<(ClusterName, Observation)>,
    ) -> Self {
        Self { fleet, gvr, namespaces, sender, running: HashMap::new() }
    }

    /// The members that serve the resource, in fleet order. One whose discovery is not known yet is not among them.
    pub(super) fn serving(&self) -> Vec<Member> {
        let serves = |member: &&Member| member.discovery().is_some_and(|discovery| discovery.find(&self.gvr).is_some());
        self.fleet.members().iter().filter(serves).cloned().collect()
    }

    /// Members of whom nobody knows yet whether they serve it.
    pub(super) fn unknown(&self) -> Vec<Member> {
        self.fleet.members().iter().filter(|member| member.discovery().is_none()).cloned().collect()
    }

    /// Whether `cluster` is no member any more, or does not serve the resource any more. A member that was never seen may
    /// still serve it.
    pub(super) fn has_left(&self, cluster: &ClusterName, serving: &[Member]) -> bool {
        let serves = serving.iter().any(|member| member.name() == cluster);
        !serves && self.fleet.member(cluster).is_none_or(|member| member.discovery().is_some())
    }

    pub(super) fn has(&self, cluster: &ClusterName) -> bool {
        self.running.contains_key(cluster)
    }

    pub(super) fn names(&self) -> Vec<ClusterName> {
        self.running.keys().cloned().collect()
    }

    /// Begins to observe `member` at its latest, unless it is observed already. Says whether it began.
    pub(super) fn begin_fresh(&mut self, member: &Member) -> bool {
        if self.has(member.name()) {
            return false;
        }
        self.begin(member, Start::Fresh);
        true
    }

    /// Begins to observe `member` at `start`, in place of an earlier observation.
    pub(super) fn begin(&mut self, member: &Member, start: Start) {
        let cancel = CancellationToken::new();
        self.running.insert(member.name().clone(), cancel.clone().drop_guard());
        observe(member.clone(), self.gvr.clone(), start, self.namespaces.clone(), self.sender.clone(), cancel);
    }

    pub(super) fn end(&mut self, cluster: &ClusterName) {
        self.running.remove(cluster);
    }
}
