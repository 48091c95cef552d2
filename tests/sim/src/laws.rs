//! The laws that hold for all clients together, and what was seen so far.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use orrery_api::{ClusterName, GroupResource, Gvr, ObjectKey};
use serde_json::Value;

use crate::Tally;
use crate::truth::{Expected, Held, Holders, Truth};

/// What all clients report to.
#[derive(Clone, Default)]
pub(crate) struct Laws(Arc<Mutex<Ledger>>);

#[derive(Default)]
struct Ledger {
    /// What each marker of a resource stands for, wherever it was seen.
    facts: HashMap<(GroupResource, u64), Fact>,
    /// Whether some member's versions went back: a version that follows may then show the wrong one of two states of one
    /// version, for a moment.
    restored: bool,
    violation: Option<String>,
    /// Clusters that may have been away when the host began a resource: lists from there on lack their objects, and
    /// clients that knew them are told nothing until they are back (ADDED) or were lost (410).
    doubted: BTreeSet<String>,
    /// How often the host came back without all that it had told: it may then show again what a member went through.
    relapses: u64,
    tally: Tally,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    State(ObjectKey, Item),
    Gone(ObjectKey, String),
}

/// An object as a client was shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) marker: u64,
    pub(crate) uid: String,
    pub(crate) text: String,
    pub(crate) cluster: String,
    /// Of a name that is one object in several clusters.
    pub(crate) holders: String,
}

/// What a client knows: objects by served key.
pub(crate) type View = BTreeMap<ObjectKey, Item>;

// === impl Laws ===

impl Laws {
    /// A law was broken. The first one counts.
    pub(crate) fn violated(&self, law: &str, how: fmt::Arguments<'_>) {
        self.ledger().violation.get_or_insert(format!("{law}: {how}"));
    }

    pub(crate) fn violation(&self) -> Option<String> {
        self.ledger().violation.clone()
    }

    pub(crate) fn count(&self, count: impl FnOnce(&mut Tally)) {
        count(&mut self.ledger().tally);
    }

    pub(crate) fn restored(&self) {
        self.ledger().restored = true;
    }

    pub(crate) fn doubt(&self, cluster: &ClusterName) {
        self.ledger().doubted.insert(cluster.to_string());
    }

    pub(crate) fn relapse(&self) {
        self.ledger().relapses += 1;
    }

    pub(crate) fn relapses(&self) -> u64 {
        self.ledger().relapses
    }

    pub(crate) fn is_doubted(&self, cluster: &str) -> bool {
        self.ledger().doubted.contains(cluster)
    }

    /// Whether a cluster that holds the name of `item` is doubted.
    pub(crate) fn is_excused(&self, item: &Item) -> bool {
        self.is_doubted(&item.cluster) || item.holders.split(',').any(|holder| self.is_doubted(holder))
    }

    /// How a list differs from what a replay gives; nothing where it does not. Of a doubted cluster the list may lack what
    /// the replay still has, and a name that several clusters hold may be shown from another one.
    pub(crate) fn difference(&self, list: &View, replay: &View) -> Option<String> {
        let differs = |key: &&ObjectKey| {
            let (listed, replayed) = (list.get(*key), replay.get(*key));
            let is_shared = replayed.is_some_and(|item| !item.holders.is_empty());
            let excused = replayed.is_some_and(|item| self.is_excused(item)) && (listed.is_none() || is_shared);
            listed != replayed && !excused
        };
        let keys: BTreeSet<&ObjectKey> = list.keys().chain(replay.keys()).collect();
        let differing: Vec<String> = keys
            .into_iter()
            .filter(differs)
            .map(|key| format!("{key}: listed {:?}, replayed {:?}", list.get(key), replay.get(key)))
            .collect();
        (!differing.is_empty()).then(|| differing.join("; "))
    }

    pub(crate) fn tally(&self) -> Tally {
        self.ledger().tally
    }

    /// Unique: a marker stands for one fact wherever it is seen.
    pub(crate) fn fact(&self, gvr: &Gvr, marker: u64, fact: &Fact) {
        if marker == 0 || marker >= 1 << 53 {
            self.violated("marker", format_args!("{marker} is no marker"));
        }
        if self.ledger().restored && matches!(fact, Fact::State(..)) && &*gvr.version != "v1" {
            return;
        }
        let known = self.ledger().facts.entry((gvr.clock(), marker)).or_insert_with(|| fact.clone()).clone();
        if known != *fact {
            self.violated("unique", format_args!("{gvr} marker {marker} is both {known:?} and {fact:?}"));
        }
    }

    /// Member-faithful, for one object: it is, or was, just so in the cluster that it says it is of.
    pub(crate) fn is_real(&self, truth: &Truth, served: &ObjectKey, item: &Item) {
        let Some(origin) = truth.origin(&item.text) else {
            return self.violated("member-faithful", format_args!("{served} shows {item:?}, which no member ever had"));
        };
        let name = &origin.key.name;
        let may_be_named = served.name == *name || served.name.starts_with(&format!("{name}.{}", origin.cluster));
        let is_same = origin.uid == item.uid && *origin.cluster.as_str() == item.cluster;
        if !is_same || !may_be_named || served.namespace != origin.key.namespace {
            self.violated("member-faithful", format_args!("{served} shows {item:?}, which is of {origin:?}"));
        }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Item ===

impl Item {
    /// Reads an object as the host shows it.
    pub(crate) fn read(object: &Value) -> Option<(ObjectKey, Self)> {
        let metadata = &object["metadata"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let key = ObjectKey::new(metadata["namespace"].as_str().unwrap_or_default(), metadata["name"].as_str()?);
        let item = Self {
            marker: metadata["resourceVersion"].as_str()?.parse().ok()?,
            uid: text(&metadata["uid"])?,
            text: text(&object["data"]["text"])?,
            cluster: text(&metadata["annotations"]["orrery.dev/cluster"])?,
            holders: text(&metadata["annotations"]["orrery.dev/clusters"]).unwrap_or_default(),
        };
        Some((key, item))
    }
}

/// How a client's view differs from what it should be; nothing where it does not.
pub(crate) fn difference(view: &View, expected: &Expected) -> Option<String> {
    let differing: Vec<String> = match expected {
        Expected::Each(expected) => {
            let seen: BTreeMap<&String, &String> = view.values().map(|item| (&item.uid, &item.text)).collect();
            let missing = expected.iter().filter(|(uid, text)| seen.get(uid) != Some(text));
            let surplus = view.iter().filter(|(_, item)| !expected.contains_key(&item.uid));
            let missing = missing.map(|held| format!("held {held:?}, shown {:?}", seen.get(held.0)));
            missing.chain(surplus.map(|shown| format!("shown {shown:?}, not held"))).collect()
        }
        Expected::Shared(expected) => {
            let is_shown = |(key, holders): &(&ObjectKey, &Holders)| {
                let Some(item) = view.get(*key) else { return false };
                let mut shown: Vec<&str> = item.holders.split(',').collect();
                shown.sort_unstable();
                let is_state = |held: &Held| (&held.uid, &held.text) == (&item.uid, &item.text);
                // Where all that is left is on its way out, the last state of one that is gone stays shown.
                let is_gone = holders.values().all(|held| held.uid != item.uid);
                let is_last = is_gone && holders.values().all(|held| held.terminating);
                let is_due = is_last || holders.get(&item.cluster).is_some_and(is_state);
                is_due && shown.into_iter().eq(holders.keys())
            };
            let missing = expected.iter().filter(|held| !is_shown(held));
            let surplus = view.iter().filter(|(key, _)| !expected.contains_key(key));
            let missing = missing.map(|held| format!("held {held:?}, shown {:?}", view.get(held.0)));
            missing.chain(surplus.map(|shown| format!("shown {shown:?}, not held"))).collect()
        }
    };
    (!differing.is_empty()).then(|| differing.join("; "))
}
