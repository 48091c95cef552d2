//! What a follower's view must show when it begins: the log's state, kept up to date with what is told meanwhile.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use orrery_api::{ClusterName, ObjectKey, Uid};
use orrery_cache::{Apply, BaseObject};
use orrery_markers::{Log, Marker, MemberObject, MemberVersion, Shown};

use super::arrived::{Arrived, Found};

/// States that are shown, and held, at a marker.
pub(super) struct Wanted {
    pub(super) marker: Marker,
    shown: HashMap<ObjectKey, Want>,
    held: HashMap<(ClusterName, ObjectKey), State>,
    /// The versions of all of them.
    versions: HashMap<(ClusterName, Uid), MemberVersion>,
}

/// A state under a name.
struct Want {
    marker: Marker,
    cluster: ClusterName,
    key: ObjectKey,
    state: State,
    holders: Option<Arc<[ClusterName]>>,
}

/// A state of an object.
#[derive(Clone)]
struct State {
    uid: Uid,
    version: MemberVersion,
}

/// What a view begins with.
pub(super) struct Base {
    pub(super) shown: Vec<BaseObject>,
    pub(super) held: Vec<(ClusterName, MemberObject)>,
    pub(super) left_out: HashMap<ObjectKey, ClusterName>,
}

// === impl Wanted ===

impl Wanted {
    /// What `log` shows, and holds where a name is one object in several clusters.
    pub(super) fn of(log: &Log) -> Self {
        let marker = log.head().unwrap_or(Marker::FIRST);
        let mut wanted = Self { marker, shown: HashMap::new(), held: HashMap::new(), versions: HashMap::new() };
        let state = |cluster: &ClusterName, key: &ObjectKey| {
            let (uid, entry) = log.cluster(cluster)?.object_at(key)?;
            Some(State { uid: uid.clone(), version: entry.version })
        };
        for Shown { served, cluster, key, marker, holders } in log.shown() {
            if let Some(state) = state(&cluster, &key) {
                wanted.insert(served, Want { marker, cluster, key, state, holders });
            }
        }
        for (cluster, key) in log.held() {
            if let Some(state) = state(&cluster, &key) {
                wanted.hold(cluster, key, state);
            }
        }
        wanted.marker = marker;
        wanted
    }

    /// Takes one step of the log.
    pub(super) fn fold(&mut self, step: &Apply) {
        match step {
            Apply::Put { marker, served, cluster, object, holders } => {
                self.unhold(cluster, &object.key);
                let state = State { uid: object.uid.clone(), version: object.version };
                let (marker, cluster, key) = (*marker, cluster.clone(), object.key.clone());
                self.insert(served.clone(), Want { marker, cluster, key, state, holders: holders.clone() });
            }
            Apply::Reshow { marker, served, cluster, key, holders } => {
                let kept = self.unhold(cluster, key).or_else(|| self.shown.get(served).map(|want| want.state.clone()));
                if let Some(state) = kept {
                    let (marker, cluster, key) = (*marker, cluster.clone(), key.clone());
                    self.insert(served.clone(), Want { marker, cluster, key, state, holders: holders.clone() });
                }
            }
            Apply::Delete { marker, served } => {
                self.marker = *marker;
                if let Some(want) = self.shown.remove(served) {
                    self.versions.remove(&(want.cluster, want.state.uid));
                }
            }
            Apply::Hold { cluster, object } => {
                let state = State { uid: object.uid.clone(), version: object.version };
                self.hold(cluster.clone(), object.key.clone(), state);
            }
            Apply::Unhold { cluster, key } => drop(self.unhold(cluster, key)),
            Apply::Mark { marker } => self.marker = *marker,
        }
    }

    fn insert(&mut self, served: ObjectKey, want: Want) {
        self.marker = want.marker;
        let (cluster, holders) = (want.cluster.clone(), want.holders.clone());
        let named = (cluster.clone(), want.state.uid.clone());
        let version = want.state.version;
        if let Some(before) = self.shown.insert(served, want) {
            self.versions.remove(&(before.cluster.clone(), before.state.uid.clone()));
            if before.cluster != cluster && holders.is_some_and(|holders| holders.contains(&before.cluster)) {
                self.hold(before.cluster, before.key, before.state);
            }
        }
        self.versions.insert(named, version);
    }

    fn hold(&mut self, cluster: ClusterName, key: ObjectKey, state: State) {
        self.versions.insert((cluster.clone(), state.uid.clone()), state.version);
        self.held.insert((cluster, key), state);
    }

    fn unhold(&mut self, cluster: &ClusterName, key: &ObjectKey) -> Option<State> {
        let state = self.held.remove(&(cluster.clone(), key.clone()))?;
        self.versions.remove(&(cluster.clone(), state.uid.clone()));
        Some(state)
    }

    /// Objects of `clusters` of which the lists already say more than what is wanted: the log has not come so far.
    pub(super) fn behind(&self, arrived: &Arrived, clusters: &[ClusterName]) -> HashSet<(ClusterName, Uid)> {
        let mut behind: HashSet<_> =
            self.versions.keys().filter(|(cluster, _)| clusters.contains(cluster)).cloned().collect();
        for cluster in clusters {
            let listed = arrived.list(cluster).into_iter().flat_map(|(_, listed)| listed.keys());
            behind.extend(listed.map(|uid| (cluster.clone(), uid.clone())));
        }
        self.retain_behind(&mut behind, arrived);
        behind
    }

    /// Drops those that are behind no more.
    pub(super) fn retain_behind(&self, behind: &mut HashSet<(ClusterName, Uid)>, arrived: &Arrived) {
        behind.retain(|object| {
            let (cluster, uid) = object;
            let Some((at, listed)) = arrived.list(cluster) else { return false };
            match (self.versions.get(object), listed.get(uid)) {
                (Some(wanted), Some(listed)) => listed.is_after(*wanted),
                (None, Some(_)) => true,
                (Some(wanted), None) => !wanted.is_after(*at),
                (None, None) => false,
            }
        });
    }

    /// Drops those of `lacking` that are here. What a view may lack at first is all that is wanted of `clusters`.
    pub(super) fn retain_lacking(lacking: &mut Vec<((ClusterName, Uid), MemberVersion)>, arrived: &Arrived) {
        lacking.retain(|((cluster, uid), version)| arrived.find(cluster, uid, *version) != Found::Here);
    }

    /// All that is wanted of `clusters`.
    pub(super) fn of_clusters(&self, clusters: &[ClusterName]) -> Vec<((ClusterName, Uid), MemberVersion)> {
        let wanted = self.versions.iter().filter(|((cluster, _), _)| clusters.contains(cluster));
        wanted.map(|(object, version)| (object.clone(), *version)).collect()
    }

    /// What the view begins with, of `clusters`; all that is wanted of them is here.
    pub(super) fn base(self, arrived: &mut Arrived, clusters: &[ClusterName]) -> Base {
        let mut base = Base { shown: Vec::new(), held: Vec::new(), left_out: HashMap::new() };
        for (served, Want { marker, cluster, state, holders, key: _ }) in self.shown {
            let body = clusters.contains(&cluster).then(|| arrived.take(&cluster, &state.uid, state.version)).flatten();
            match body {
                Some(object) => base.shown.push(BaseObject { served, marker, cluster, object, holders }),
                None => drop(base.left_out.insert(served, cluster)),
            }
        }
        for ((cluster, _), state) in self.held {
            let body = arrived.take(&cluster, &state.uid, state.version);
            base.held.extend(body.map(|object| (cluster, object)));
        }
        base
    }
}

#[cfg(test)]
mod tests {
    use orrery_api::Naming;
    use orrery_markers::{ChangeKind, Digest};

    use super::*;

    fn cluster() -> ClusterName {
        ClusterName::new("east").expect("it is a name")
    }

    fn state(name: &str, version: u64) -> MemberObject {
        MemberObject {
            key: ObjectKey::new("ns", name),
            uid: Uid::new(name),
            version: MemberVersion::from_number(version),
            digest: Digest::new(0, 0),
            terminating: false,
            body: bytes::Bytes::new(),
        }
    }

    fn put(marker: u64, object: MemberObject) -> Apply {
        let served = object.key.clone();
        Apply::Put {
            marker: Marker::new(marker).expect("it is one"),
            served,
            cluster: cluster(),
            object,
            holders: None,
        }
    }

    #[test]
    fn the_log_is_behind_until_it_says_all_that_the_list_says() {
        let mut wanted = Wanted::of(&Log::new(Naming::Unique));
        for step in [put(11, state("changed", 3)), put(12, state("gone", 4)), put(13, state("later", 20))] {
            wanted.fold(&step);
        }
        let mut arrived = Arrived::default();
        let listed = vec![state("changed", 6), state("new", 7)];
        arrived.listed(&cluster(), MemberVersion::from_number(10), listed);
        let mut behind = wanted.behind(&arrived, &[cluster()]);
        let names = |behind: &HashSet<(ClusterName, Uid)>| {
            let mut names: Vec<_> = behind.iter().map(|(_, uid)| uid.to_string()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&behind), ["changed", "gone", "new"], "what came after the list is not behind it");
        wanted.fold(&put(14, state("changed", 6)));
        let gone = Apply::Delete { marker: Marker::new(15).expect("it is one"), served: ObjectKey::new("ns", "gone") };
        wanted.fold(&gone);
        wanted.retain_behind(&mut behind, &arrived);
        assert_eq!(names(&behind), ["new"]);
        wanted.fold(&put(16, state("new", 7)));
        wanted.retain_behind(&mut behind, &arrived);
        assert!(behind.is_empty());

        let mut lacking = wanted.of_clusters(&[cluster()]);
        Wanted::retain_lacking(&mut lacking, &arrived);
        assert_eq!(lacking.len(), 1, "the state that came after the list is still to come");
        arrived.changed(&cluster(), state("later", 20), ChangeKind::Added);
        Wanted::retain_lacking(&mut lacking, &arrived);
        assert!(lacking.is_empty());
        let marker = wanted.marker;
        let base = wanted.base(&mut arrived, &[cluster()]);
        assert_eq!((base.shown.len(), base.left_out.len(), marker.get()), (3, 0, 16));
    }

    #[test]
    fn objects_of_clusters_that_do_not_serve_the_version_are_left_out() {
        let mut wanted = Wanted::of(&Log::new(Naming::Unique));
        wanted.fold(&put(11, state("here", 3)));
        let base = wanted.base(&mut Arrived::default(), &[]);
        assert!(base.shown.is_empty());
        assert!(base.left_out.contains_key(&ObjectKey::new("ns", "here")));
    }
}
