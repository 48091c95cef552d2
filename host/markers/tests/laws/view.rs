//! What a client sees that lists once and then watches: the effects of records, one after another.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use orrery_api::{ClusterName, ObjectKey, Uid};
use orrery_markers::{Change, ChangeKind, Content, Effect, Log, Marker, MemberVersion, Presence, Sight};

/// The body of an object, of which the tests know uid and version.
pub(crate) type Body = (Uid, MemberVersion);

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
    bodies: HashMap<(ClusterName, ObjectKey), Body>,
}

// === impl View ===

impl View {
    /// What a host that starts serves: what the log shows, but for clusters that are away, of which nobody has a body.
    pub(crate) fn base(log: &Log) -> Self {
        let mut view = Self::default();
        for (cluster, part) in log.clusters().filter(|(_, part)| part.presence() == Presence::Joined) {
            for key in part.keys() {
                let (uid, entry) = part.object_at(key).expect("keys and objects of a log belong together");
                view.bodies.insert((cluster.clone(), key.clone()), (uid.clone(), entry.version));
            }
        }
        view.shown = shown(log, &view.bodies);
        view
    }

    /// Applies one effect; `changes` are the bodies that came with what caused it.
    pub(crate) fn apply(&mut self, effect: &Effect, changes: &HashMap<(ClusterName, ObjectKey), Change>) {
        let Effect { marker, what } = effect;
        let body_of = |cluster: &ClusterName, key: &ObjectKey| {
            let change = changes.get(&(cluster.clone(), key.clone())).expect("a change brings its body");
            (change.uid.clone(), change.version)
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
                assert_eq!(*kind == ChangeKind::Added, before.is_none(), "{served} at {marker} is {kind:?} over {before:?}");
                self.bodies.insert(place, body.clone());
                let holders = holders.as_ref().map(|holders| holders.iter().cloned().collect());
                let (cluster, key, marker) = (cluster.clone(), key.clone(), *marker);
                self.shown.insert(served.clone(), Served { cluster, key, marker, body, holders });
            }
            Sight::Delete { served } => {
                let gone = self.shown.remove(served);
                assert!(gone.is_some(), "{served} is deleted at {marker}, but nobody saw it");
            }
            Sight::Hold { cluster, key } => {
                self.bodies.insert((cluster.clone(), key.clone()), body_of(cluster, key));
            }
            Sight::Nothing => {}
        }
    }

    /// What `log` shows of clusters that are not away, with the bodies of this view.
    pub(crate) fn of_log(&self, log: &Log) -> BTreeMap<ObjectKey, Served> {
        let mut bodies: HashMap<_, _> = View::base_bodies(log);
        for served in self.shown.values() {
            bodies.entry((served.cluster.clone(), served.key.clone())).or_insert_with(|| served.body.clone());
        }
        shown(log, &bodies)
    }

    fn base_bodies(log: &Log) -> HashMap<(ClusterName, ObjectKey), Body> {
        View::base(log).bodies
    }
}

fn shown(log: &Log, bodies: &HashMap<(ClusterName, ObjectKey), Body>) -> BTreeMap<ObjectKey, Served> {
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
