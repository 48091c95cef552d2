//! What really is in the members, and was.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use orrery_api::{ClusterName, Gvr, Naming, ObjectKey};
use orrery_sim::{Cluster, Kind, State, Template};

/// A kind that the simulation uses.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) kind: Kind,
    pub(crate) naming: Naming,
}

/// All states that objects were ever in. Each has a text of its own, so that it is known wherever it is seen.
#[derive(Clone, Default)]
pub(crate) struct Truth(Arc<Mutex<Journal>>);

#[derive(Default)]
struct Journal {
    texts: HashMap<String, Origin>,
    /// Texts by uid, in the order in which its member had them; one that a restored etcd has again stands there again.
    states: HashMap<String, Vec<String>>,
}

/// Where a state was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) cluster: ClusterName,
    pub(crate) key: ObjectKey,
    pub(crate) uid: String,
}

/// What a list over all members should hold: by uid, text and holders. Of a name that several members hold as one
/// object, any holder's state will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Each(BTreeMap<String, String>),
    Shared(BTreeMap<ObjectKey, Holders>),
}

/// The members that hold one name, each with the state of its object.
pub(crate) type Holders = BTreeMap<String, Held>;

/// One member's object of a name that several may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) uid: String,
    pub(crate) text: String,
    pub(crate) terminating: bool,
}

// === impl Subject ===

impl Subject {
    pub(crate) fn config_maps() -> Self {
        Self { kind: Kind::config_maps(), naming: Naming::Unique }
    }

    pub(crate) fn widgets() -> Self {
        let template = Template::new("", r#""data":{"text":"$TEXT"}"#);
        let kind = Kind::custom(Gvr::new("example.com", "v1", "widgets"), "Widget", true, template);
        Self { kind, naming: Naming::Unique }
    }

    /// A kind of two served versions.
    pub(crate) fn moons() -> Self {
        let template = Template::new("", r#""data":{"text":"$TEXT"}"#);
        let kind = Kind::custom(Gvr::new("example.com", "v1", "moons"), "Moon", true, template).served_as("v2");
        Self { kind, naming: Naming::Unique }
    }

    pub(crate) fn namespaces() -> Self {
        let template = Template::new("", r#""data":{"text":"$TEXT"}"#);
        let kind = Kind::new(Gvr::new("", "v1", "namespaces"), "Namespace", false, template);
        Self { kind, naming: Naming::Same }
    }

    pub(crate) fn gvr(&self) -> &Gvr {
        &self.kind.gvr
    }

    /// All served versions.
    pub(crate) fn versions(&self) -> Vec<Gvr> {
        let Gvr { group, version, resource } = &self.kind.gvr;
        let versions = std::iter::once(version).chain(&self.kind.also);
        versions.map(|version| Gvr::new(group, version, resource)).collect()
    }

    /// One of the few keys that the simulation uses, so that objects meet in name.
    pub(crate) fn key(&self, dice: &mut crate::dice::Dice) -> ObjectKey {
        let name = format!("n{}", dice.within(0..5));
        if self.kind.namespaced {
            ObjectKey::new(if dice.once_in(2) { "a" } else { "b" }, &name)
        } else {
            ObjectKey::new("", &name)
        }
    }
}

// === impl Truth ===

impl Truth {
    /// Creates or changes an object of a member.
    pub(crate) fn put(&self, name: &ClusterName, cluster: &Cluster, gvr: &Gvr, key: &ObjectKey, terminating: bool) {
        let mut journal = self.journal();
        let text = format!("t{}", journal.texts.len());
        let done = if terminating { cluster.terminate(gvr, key, &text) } else { cluster.put(gvr, key, &text) };
        if let (Some(_), Some(state)) = (done, cluster.get(gvr, key)) {
            let uid = state.uid.to_string();
            let origin = Origin { cluster: name.clone(), key: key.clone(), uid: uid.clone() };
            journal.texts.insert(text.clone(), origin);
            journal.states.entry(uid).or_default().push(text);
        }
    }

    /// The member's objects are now as they were once.
    pub(crate) fn restated(&self, cluster: &Cluster, gvr: &Gvr) {
        let mut journal = self.journal();
        for state in cluster.objects(gvr).into_values() {
            journal.states.entry(state.uid.to_string()).or_default().push(state.text.to_string());
        }
    }

    pub(crate) fn origin(&self, text: &str) -> Option<Origin> {
        self.journal().texts.get(text).cloned()
    }

    /// The place of `text` among the states of `uid`, at or after `from`.
    pub(crate) fn place(&self, uid: &str, text: &str, from: usize) -> Option<usize> {
        let journal = self.journal();
        let states = journal.states.get(uid)?;
        states.iter().skip(from).position(|state| state == text).map(|at| at + from)
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Expected ===

impl Expected {
    /// The union of what these members hold of `subject`, as far as `selects` takes it.
    pub(crate) fn of(
        members: &[(ClusterName, Cluster)],
        subject: &Subject,
        selects: impl Fn(&ClusterName, &ObjectKey) -> bool,
    ) -> Self {
        let all = members.iter().flat_map(|(name, cluster)| {
            cluster.objects(subject.gvr()).into_iter().map(move |(key, state)| (name, key, state))
        });
        let all = all.filter(|(name, key, _)| selects(name, key));
        if subject.naming != Naming::Same {
            return Self::Each(all.map(|(_, _, state)| (state.uid.to_string(), state.text.to_string())).collect());
        }
        let mut shared: BTreeMap<ObjectKey, Holders> = BTreeMap::new();
        for (name, key, state) in all {
            let State { uid, text, terminating, .. } = state;
            let holder = Held { uid: uid.to_string(), text: text.to_string(), terminating };
            shared.entry(key).or_default().insert(name.to_string(), holder);
        }
        Self::Shared(shared)
    }
}
