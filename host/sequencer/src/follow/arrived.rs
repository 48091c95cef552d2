//! The states that a follower's own watches brought and that the log has not shown yet.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use orrery_api::{ClusterName, Uid};
use orrery_markers::{ChangeKind, MemberObject, MemberVersion};
use tokio::time::Instant;

/// How long states of an object that is gone are kept for a record that may still come.
const KEPT: Duration = Duration::from_secs(60);

/// States by cluster.
#[derive(Default)]
pub(super) struct Arrived(HashMap<ClusterName, Part>);

#[derive(Default)]
struct Part {
    /// Of the last list: its version, and its objects' uids with theirs.
    listed: Option<(MemberVersion, HashMap<Uid, MemberVersion>)>,
    /// Up to where the watch has come.
    seen: Option<MemberVersion>,
    /// What is not shown yet, by uid, versions rising.
    states: HashMap<Uid, Vec<MemberObject>>,
    gone: VecDeque<(Instant, Uid)>,
}

/// Whether a state is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// It is.
    Here,
    /// It will not come any more: the watch, or a list, has gone past it.
    Passed,
    /// It may still come.
    NotYet,
}

// === impl Arrived ===

impl Arrived {
    /// Notes a list.
    pub(super) fn listed(&mut self, cluster: &ClusterName, version: MemberVersion, objects: Vec<MemberObject>) {
        let part = self.0.entry(cluster.clone()).or_default();
        // What came before and is not in the list may be of a history that is not any more.
        part.states.clear();
        let uids = objects.iter().map(|object| (object.uid.clone(), object.version)).collect();
        part.listed = Some((version, uids));
        part.seen = Some(version);
        objects.into_iter().for_each(|object| part.keep(object));
    }

    /// Notes an event.
    pub(super) fn changed(&mut self, cluster: &ClusterName, object: MemberObject, kind: ChangeKind) {
        let Some(part) = self.0.get_mut(cluster) else { return };
        part.seen = Some(object.version);
        match kind {
            ChangeKind::Deleted => part.gone.push_back((Instant::now(), object.uid)),
            ChangeKind::Added | ChangeKind::Modified => part.keep(object),
        }
    }

    /// Notes that nothing else happened up to `version`.
    pub(super) fn progress(&mut self, cluster: &ClusterName, version: MemberVersion) {
        if let Some(part) = self.0.get_mut(cluster) {
            part.seen = Some(version);
        }
    }

    /// Forgets a cluster that left.
    pub(super) fn forget(&mut self, cluster: &ClusterName) {
        self.0.remove(cluster);
    }

    /// Whether the state of `uid` at `version` is here.
    pub(super) fn find(&self, cluster: &ClusterName, uid: &Uid, version: MemberVersion) -> Found {
        let Some(part) = self.0.get(cluster) else { return Found::NotYet };
        if part.state(uid, version).is_some() {
            return Found::Here;
        }
        let is_listed = part.listed.as_ref().is_some_and(|(at, _)| !version.is_after(*at));
        let is_passed = is_listed || part.seen.is_some_and(|seen| seen.is_after(version));
        if is_passed { Found::Passed } else { Found::NotYet }
    }

    /// The state of `uid` at `version`; it and what came before it are not kept.
    pub(super) fn take(&mut self, cluster: &ClusterName, uid: &Uid, version: MemberVersion) -> Option<MemberObject> {
        let part = self.0.get_mut(cluster)?;
        let object = part.state(uid, version)?.clone();
        let states = part.states.get_mut(uid)?;
        states.retain(|state| state.version.is_after(version));
        if states.is_empty() {
            part.states.remove(uid);
        }
        Some(object)
    }

    /// The last list of `cluster`: its version, and what it held.
    pub(super) fn list(&self, cluster: &ClusterName) -> Option<&(MemberVersion, HashMap<Uid, MemberVersion>)> {
        self.0.get(cluster)?.listed.as_ref()
    }

    /// Forgets what lists held: it is of use only for the beginning.
    pub(super) fn forget_lists(&mut self) {
        for part in self.0.values_mut() {
            if let Some((_, uids)) = &mut part.listed {
                *uids = HashMap::new();
            }
        }
    }

    /// Forgets states of objects that have been gone for a while.
    pub(super) fn sweep(&mut self, now: Instant) {
        for part in self.0.values_mut() {
            while part.gone.front().is_some_and(|(since, _)| now.duration_since(*since) > KEPT) {
                if let Some((_, uid)) = part.gone.pop_front() {
                    part.states.remove(&uid);
                }
            }
        }
    }

    /// How many states wait.
    pub(super) fn waiting(&self) -> usize {
        self.0.values().flat_map(|part| part.states.values()).map(Vec::len).sum()
    }
}

// === impl Part ===

impl Part {
    fn keep(&mut self, object: MemberObject) {
        let states = self.states.entry(object.uid.clone()).or_default();
        if states.iter().all(|state| state.version.number() != object.version.number()) {
            states.push(object);
        }
    }

    fn state(&self, uid: &Uid, version: MemberVersion) -> Option<&MemberObject> {
        self.states.get(uid)?.iter().find(|state| state.version.number() == version.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(uid: &str, version: u64) -> MemberObject {
        MemberObject {
            key: orrery_api::ObjectKey::new("ns", uid),
            uid: Uid::new(uid),
            version: MemberVersion::from_number(version),
            digest: orrery_markers::Digest::new(0, 0),
            terminating: false,
            body: bytes::Bytes::new(),
        }
    }

    fn found(arrived: &Arrived, uid: &str, version: u64) -> Found {
        arrived.find(&cluster(), &Uid::new(uid), MemberVersion::from_number(version))
    }

    fn cluster() -> ClusterName {
        ClusterName::new("east").expect("it is a name")
    }

    #[test]
    fn a_state_is_passed_once_a_list_or_a_later_event_lacks_it() {
        let mut arrived = Arrived::default();
        assert_eq!(found(&arrived, "a", 5), Found::NotYet);
        arrived.listed(&cluster(), MemberVersion::from_number(10), vec![state("a", 5), state("b", 9)]);
        assert_eq!(found(&arrived, "a", 5), Found::Here);
        assert_eq!(found(&arrived, "a", 4), Found::Passed);
        assert_eq!(found(&arrived, "gone", 10), Found::Passed);
        assert_eq!(found(&arrived, "a", 11), Found::NotYet);
        arrived.changed(&cluster(), state("b", 12), ChangeKind::Modified);
        assert_eq!(found(&arrived, "a", 11), Found::Passed);
        assert_eq!(found(&arrived, "a", 12), Found::NotYet, "another object may have changed at the same version");
        arrived.progress(&cluster(), MemberVersion::from_number(20));
        assert_eq!(found(&arrived, "a", 12), Found::Passed);
    }

    #[test]
    fn taking_a_state_forgets_the_earlier_ones_and_keeps_the_later() {
        let mut arrived = Arrived::default();
        arrived.listed(&cluster(), MemberVersion::from_number(1), vec![state("a", 1)]);
        for version in [2, 3, 3, 4] {
            arrived.changed(&cluster(), state("a", version), ChangeKind::Modified);
        }
        assert_eq!(arrived.waiting(), 4, "the same state is kept once");
        let taken = arrived.take(&cluster(), &Uid::new("a"), MemberVersion::from_number(3));
        assert_eq!(taken.map(|object| object.version.number()), Some(3));
        assert_eq!((found(&arrived, "a", 2), found(&arrived, "a", 4)), (Found::Passed, Found::Here));
        assert_eq!(arrived.waiting(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn states_of_an_object_that_is_gone_are_forgotten_after_a_minute() {
        let mut arrived = Arrived::default();
        arrived.listed(&cluster(), MemberVersion::from_number(1), vec![state("a", 1)]);
        arrived.changed(&cluster(), state("a", 2), ChangeKind::Deleted);
        arrived.sweep(Instant::now());
        assert_eq!(found(&arrived, "a", 1), Found::Here);
        tokio::time::advance(KEPT + Duration::from_secs(1)).await;
        arrived.sweep(Instant::now());
        assert_eq!(arrived.waiting(), 0);
    }
}
