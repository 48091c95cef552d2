//! A cluster as the laws see it: objects, one version counter, and the events that a watch would bring.

use std::collections::BTreeMap;

use orrery_api::{ClusterName, ObjectKey, Uid};
use orrery_markers::{Change, ChangeKind, Digest, MemberVersion};

/// An object's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) uid: u128,
    pub(crate) version: u64,
    pub(crate) content: u64,
    pub(crate) terminating: bool,
}

/// One event of the member's watch. Several may share a version.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) version: u64,
    pub(crate) key: ObjectKey,
    /// The state after it; of a deletion, the last one.
    pub(crate) object: Object,
    pub(crate) kind: ChangeKind,
}

/// A cluster.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) name: ClusterName,
    /// The uid of its kube-system namespace.
    pub(crate) identity: u64,
    pub(crate) version: u64,
    pub(crate) objects: BTreeMap<ObjectKey, Object>,
    /// All that led to this state, from nothing.
    pub(crate) history: Vec<Event>,
}

// === impl Member ===

impl Member {
    pub(crate) fn new(name: &str, identity: u64) -> Self {
        let name = ClusterName::new(name).unwrap();
        Self { name, identity, version: 100, objects: BTreeMap::new(), history: Vec::new() }
    }

    /// Creates the object, or changes it.
    pub(crate) fn write(&mut self, key: &ObjectKey, fresh: u64) {
        self.version += 1 + fresh % 3;
        let before = self.objects.get(key).copied();
        let uid = before.map_or(u128::from(fresh), |before| before.uid);
        let terminating = before.is_some_and(|before| before.terminating);
        let object = Object { uid, version: self.version, content: fresh, terminating };
        self.put(key, object, if before.is_some() { ChangeKind::Modified } else { ChangeKind::Added });
    }

    /// Marks the object as on its way out.
    pub(crate) fn terminate(&mut self, key: &ObjectKey, fresh: u64) {
        let Some(&before) = self.objects.get(key) else { return };
        self.version += 1;
        let object = Object { version: self.version, content: fresh, terminating: true, ..before };
        self.put(key, object, ChangeKind::Modified);
    }

    /// Deletes the objects in one transaction: their events share a version.
    pub(crate) fn delete(&mut self, keys: &[ObjectKey]) {
        let keys: Vec<_> = keys.iter().filter(|key| self.objects.contains_key(*key)).collect();
        if !keys.is_empty() {
            self.version += 1;
        }
        for key in keys {
            let object = self.objects.remove(key).expect("absent keys were filtered out");
            let object = Object { version: self.version, ..object };
            self.history.push(Event { version: self.version, key: key.clone(), object, kind: ChangeKind::Deleted });
        }
    }

    /// Goes back to an earlier state, as an etcd restored from a snapshot does; versions go on from there.
    pub(crate) fn restore(&mut self, events: usize) {
        let kept = self.history.len().saturating_sub(events);
        // A snapshot has a whole transaction or nothing of it.
        let version = kept.checked_sub(1).map_or(100, |last| self.history[last].version);
        self.history.retain(|event| event.version <= version);
        self.objects = self.state_at(version);
        self.version = version;
    }

    pub(crate) fn state_at(&self, version: u64) -> BTreeMap<ObjectKey, Object> {
        let mut state = BTreeMap::new();
        for event in self.history.iter().filter(|event| event.version <= version) {
            match event.kind {
                ChangeKind::Deleted => state.remove(&event.key),
                ChangeKind::Added | ChangeKind::Modified => state.insert(event.key.clone(), event.object),
            };
        }
        state
    }

    /// The list at `version`.
    pub(crate) fn list_at(&self, version: u64) -> Vec<Change> {
        self.state_at(version).iter().map(|(key, object)| object.change(key, ChangeKind::Modified)).collect()
    }

    /// The place in the history of the first event after `version`.
    pub(crate) fn place_after(&self, version: u64) -> usize {
        self.history.partition_point(|event| event.version <= version)
    }

    fn put(&mut self, key: &ObjectKey, object: Object, kind: ChangeKind) {
        self.objects.insert(key.clone(), object);
        self.history.push(Event { version: object.version, key: key.clone(), object, kind });
    }
}

// === impl Object ===

impl Object {
    fn change(&self, key: &ObjectKey, kind: ChangeKind) -> Change {
        Change {
            key: key.clone(),
            uid: Uid::from_uuid(self.uid),
            version: MemberVersion::from_number(self.version),
            digest: Digest::new(1, self.content),
            kind,
            terminating: self.terminating,
        }
    }
}

// === impl Event ===

impl Event {
    pub(crate) fn change(&self) -> Change {
        self.object.change(&self.key, self.kind)
    }
}
