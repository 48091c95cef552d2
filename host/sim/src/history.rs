//! What happened to the objects of one kind: their state now, and the events that led there.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use orrery_api::ObjectKey;

use crate::cluster::State;
use crate::kind::Kind;

/// The objects of one kind and their history.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) kind: Kind,
    /// Whether the cluster serves it now.
    pub(crate) served: bool,
    pub(crate) objects: BTreeMap<ObjectKey, State>,
    events: VecDeque<Event>,
    /// Each open watch holds a clone.
    pub(crate) watches: Arc<()>,
    /// Position of the oldest event kept; positions never repeat, versions may.
    first: u64,
    /// Below this version nothing can be listed.
    pub(crate) list_floor: u64,
    /// Below this version no watch can begin.
    pub(crate) watch_floor: u64,
}

/// One change of one object.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) version: u64,
    pub(crate) key: ObjectKey,
    pub(crate) before: Option<State>,
    /// The state after it; of a deletion the last state, at the version of the deletion.
    pub(crate) after: State,
    pub(crate) deleted: bool,
}

/// Events kept of one kind: what a watch cache and five minutes of etcd keep, by number.
const EVENTS_MAX: usize = 10_000;

// === impl Table ===

impl Table {
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            kind,
            served: true,
            objects: BTreeMap::new(),
            events: VecDeque::new(),
            watches: Arc::default(),
            first: 0,
            list_floor: 0,
            watch_floor: 0,
        }
    }

    /// Sets an object's state.
    pub(crate) fn put(&mut self, key: ObjectKey, after: State) {
        let before = self.objects.insert(key.clone(), after.clone());
        self.push(Event { version: after.version, key, before, after, deleted: false });
    }

    /// Deletes an object at `version`, if it is there.
    pub(crate) fn delete(&mut self, key: &ObjectKey, version: u64) {
        if let Some(before) = self.objects.remove(key) {
            let after = State { version, ..before.clone() };
            self.push(Event { version, key: key.clone(), before: Some(before), after, deleted: true });
        }
    }

    /// Position after the last event.
    pub(crate) fn end(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    /// Position of the first event after `version`.
    pub(crate) fn after(&self, version: u64) -> u64 {
        self.first + self.events.partition_point(|event| event.version <= version) as u64
    }

    /// The event at a position; none where it is forgotten, or has not happened.
    pub(crate) fn event(&self, position: u64) -> Option<&Event> {
        self.events.get(usize::try_from(position.checked_sub(self.first)?).ok()?)
    }

    pub(crate) fn is_forgotten(&self, position: u64) -> bool {
        position < self.first
    }

    /// The objects as they were at `version`.
    pub(crate) fn at(&self, version: u64) -> BTreeMap<ObjectKey, State> {
        let mut objects = self.objects.clone();
        for event in self.events.iter().rev().take_while(|event| event.version > version) {
            match &event.before {
                Some(before) => objects.insert(event.key.clone(), before.clone()),
                None => objects.remove(&event.key),
            };
        }
        objects
    }

    /// Forgets what led to `version` and to earlier ones.
    pub(crate) fn compact(&mut self, version: u64) {
        self.list_floor = self.list_floor.max(version);
        self.watch_floor = self.watch_floor.max(version);
        while self.events.front().is_some_and(|event| event.version <= version) {
            self.forget_first();
        }
    }

    /// Becomes these objects at `version`, without history.
    pub(crate) fn reset(&mut self, version: u64, objects: BTreeMap<ObjectKey, State>) {
        self.first = self.end();
        self.events.clear();
        self.objects = objects;
        (self.list_floor, self.watch_floor) = (version, version);
    }

    fn push(&mut self, event: Event) {
        self.events.push_back(event);
        if self.events.len() > EVENTS_MAX {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some(event) = self.events.pop_front() {
            self.first += 1;
            self.list_floor = self.list_floor.max(event.version);
            self.watch_floor = self.watch_floor.max(event.version);
        }
    }
}
