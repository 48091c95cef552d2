//! What a client sees that lists once and then watches: the effects of records, one after another.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use orrery_api::{ClusterName, ObjectKey, Uid};
use orrery_markers::{Change, ChangeKind, Content, Digest, Effect, Log, Marker, MemberVersion, Presence, Sight};

/// What tells the body of an object from every other one.
pub(crate) type Body = (Uid, MemberVersion, Digest);

/// Bodies by cluster and key there.
pub(crate) type Bodies = HashMap<(ClusterName, ObjectKey), Body>;

/// One object as it is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) cluster: ClusterName,
    pub(crate) key: ObjectKey,
    pub(crate) marker: Marker,
    pub(crate) body: Body,
    pub(crate) holders: Option<BTreeSet<ClusterName>>,
}

/// All that is served, and the bodies that a cache would hold for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    pub(crate) shown: BTreeMap<ObjectKey, Served>,
    bodies: Bodies,
}

// === impl View ===

impl View {
    /// What a host that starts serves: what the log shows, as far as `loaded` says that the cluster's bodies are there.
    pub(crate) fn base(log: &Log, loaded: impl Fn(&ClusterName) -> bool) -> Self {
        let bodies = bodies_of(log, loaded);
        Self { shown: shown(log, &bodies), bodies }
    }

    /// Applies one effect; `changes` are those that came with what caused it, from a cluster whose presence was so.
    pub(crate) fn apply(
        &mut self,
        effect: &Effect,
        changes: &HashMap<(ClusterName, ObjectKey), Change>,
        presence: Presence,
    ) {
        let Effect { marker, what } = effect;
        let body_of = |cluster: &ClusterName, key: &ObjectKey| {
            let change = changes.get(&(cluster.clone(), key.clone())).expect("a change brings its body");
            (change.uid.clone(), change.version, change.digest)
        };
        match what {
            Sight::Show { served, cluster, key, kind, holders, content } => {
                let place = (cluster.clone(), key.clone());
                let before = self.shown.get(served);
                let body = match content {
                    Content::Changed => body_of(cluster, key),
                    Content::Kept => match (self.bodies.get(&place), before) {
                        (Some(body), _) => body.clone(),
                        (None, Some(before)) if before.cluster == *cluster => before.body.clone(),
                        (None, _) => panic!("{served} is to show an object of {cluster} whose body nobody has"),
                    },
                };
                assert_eq!(
                    *kind == ChangeKind::Added,
                    before.is_none(),
                    "{served} at {marker}: {kind:?} over {before:?}"
                );
                self.bodies.insert(place, body.clone());
                let holders = holders.as_ref().map(|holders| holders.iter().cloned().collect());
                let (cluster, key, marker) = (cluster.clone(), key.clone(), *marker);
                self.shown.insert(served.clone(), Served { cluster, key, marker, body, holders });
            }
            Sight::Delete { served } => {
                // Of a cluster that was away nobody had the objects that it lost meanwhile.
                let gone = self.shown.remove(served);
                let was_seen = gone.is_some() || presence == Presence::Away;
                assert!(was_seen, "{served} is deleted at {marker}, but nobody saw it");
            }
            Sight::Hold { cluster, key } => {
                self.bodies.insert((cluster.clone(), key.clone()), body_of(cluster, key));
            }
            Sight::Nothing => {}
        }
    }

    /// Drops the bodies of what is gone from its cluster.
    pub(crate) fn forget_gone(&mut self, log: &Log) {
        self.bodies.retain(|(cluster, key), _| log.cluster(cluster).is_some_and(|part| part.object_at(key).is_some()));
    }

    /// What `log` shows of the clusters that are loaded. A shown object that is gone from its cluster, while others that
    /// hold the name are terminating, keeps the body of this view.
    pub(crate) fn of_log(&self, log: &Log, loaded: impl Fn(&ClusterName) -> bool) -> BTreeMap<ObjectKey, Served> {
        let mut bodies = bodies_of(log, loaded);
        for served in self.shown.values() {
            bodies.entry((served.cluster.clone(), served.key.clone())).or_insert_with(|| served.body.clone());
        }
        shown(log, &bodies)
    }
}

fn bodies_of(log: &Log, loaded: impl Fn(&ClusterName) -> bool) -> Bodies {
    let mut bodies = Bodies::new();
    for (cluster, part) in log.clusters().filter(|(cluster, _)| loaded(cluster)) {
        for key in part.keys() {
            let (uid, entry) = part.object_at(key).expect("keys and objects of a log belong together");
            bodies.insert((cluster.clone(), key.clone()), (uid.clone(), entry.version, entry.digest));
        }
    }
    bodies
}

fn shown(log: &Log, bodies: &Bodies) -> BTreeMap<ObjectKey, Served> {
    let mut all = BTreeMap::new();
    for shown in log.shown() {
        let Some(body) = bodies.get(&(shown.cluster.clone(), shown.key.clone())) else { continue };
        let holders = shown.holders.map(|holders| holders.iter().cloned().collect());
        let served =
            Served { cluster: shown.cluster, key: shown.key, marker: shown.marker, body: body.clone(), holders };
        all.insert(shown.served, served);
    }
    all
}
