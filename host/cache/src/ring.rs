//! The latest events of a resource, from which watches are fed and older states are told. Bodies that are not the
//! latest of their object are packed.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_api::ObjectKey;
use orrery_markers::{ChangeKind, Marker};
use tokio::sync::Notify;

use crate::Object;

mod pack;
mod packing;
mod state;

pub(crate) use state::State;

/// The latest events of a resource in marker order, each with the object before and after it.
pub(crate) struct Ring {
    events: VecDeque<Event>,
    /// The sequence number of the first event; numbers rise by one.
    first: u64,
    floor: Marker,
    /// What the events cost, in bytes.
    bytes: u64,
    /// All events before this number are compressed.
    packed_to: u64,
    /// For each namespace that has events or watchers here, where its events are.
    namespaces: HashMap<Arc<str>, Namespace>,
    /// What bodies without a successor are compressed against.
    sample: Option<Bytes>,
}

/// One change as all watches see it.
struct Event {
    change: Change,
    at: Instant,
    /// What it costs, in bytes.
    cost: u64,
    /// Numbers of the events before and after it in its namespace.
    previous: Option<u64>,
    next: Option<u64>,
}

/// The object before and after a change. After a deletion it is the last state under the deletion's marker.
#[derive(Clone)]
pub(crate) struct Change {
    pub(crate) marker: Marker,
    pub(crate) kind: ChangeKind,
    pub(crate) before: Option<Arc<State>>,
    pub(crate) after: Arc<State>,
}

/// A change that is about to stand in the ring.
pub(crate) struct NewChange {
    pub(crate) kind: ChangeKind,
    pub(crate) before: Option<Arc<Object>>,
    /// Carries the change's marker.
    pub(crate) after: Arc<Object>,
}

struct Namespace {
    /// Numbers of its first and last event in the ring.
    span: Option<(u64, u64)>,
    /// The marker of its last event that was trimmed.
    trimmed: Option<Marker>,
    notify: Arc<Notify>,
}

/// How far a watch has come.
#[derive(Clone, Copy)]
pub(crate) struct Cursor {
    /// All events up to here were read.
    pub(crate) marker: Marker,
    /// In a watch of one namespace, the number of the last one read.
    last: Option<u64>,
}

/// What a watch finds when it looks.
pub(crate) enum Found {
    /// These come next.
    Changes(Vec<Change>),
    /// Nothing has happened.
    Nothing,
    /// What comes next was trimmed.
    Trimmed,
}

/// How long events are kept where there is room.
const KEPT_AT_LEAST: Duration = Duration::from_secs(5 * 60);
/// How many events are kept at any age: in a quiet resource a watch can start far back.
const EVENTS_KEPT_MIN: usize = 256;
/// How much a watch reads at a time.
const READ_EVENTS_MAX: usize = 256;
const READ_BYTES_MAX: usize = 4 << 20;
/// How many events are trimmed at a time, so that the lock is held for well below a millisecond.
const TRIM_EVENTS_MAX: usize = 2048;

// === impl Ring ===

impl Ring {
    /// An empty ring that begins at `floor`.
    pub(crate) fn new(floor: Marker) -> Self {
        let (events, namespaces) = (VecDeque::new(), HashMap::new());
        Self { events, first: 0, floor, bytes: 0, packed_to: 0, namespaces, sample: None }
    }

    /// The marker from which on all events are here.
    pub(crate) fn floor(&self) -> Marker {
        self.floor
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// When the first event happened.
    pub(crate) fn begins_at(&self) -> Option<Instant> {
        self.events.front().map(|event| event.at)
    }

    /// The marker of the last event.
    pub(crate) fn last(&self) -> Option<Marker> {
        self.events.back().map(|event| event.change.marker)
    }

    /// Appends a change.
    pub(crate) fn push(&mut self, change: NewChange, at: Instant) {
        let number = self.end();
        let change = self.link(change);
        let namespace = change.after.with_head(|head| head.served.namespace.clone());
        let namespace = self.namespaces.entry(namespace).or_default();
        let previous = namespace.span.map(|(_, last)| last);
        namespace.span = Some((namespace.span.map_or(number, |(first, _)| first), number));
        let cost = change.cost();
        self.bytes += cost;
        self.events.push_back(Event { change, at, cost, previous, next: None });
        if let Some(previous) = previous.and_then(|previous| self.get_mut(previous)) {
            previous.next = Some(number);
        }
    }

    /// Who waits for events of `namespace`; kept as long as somebody does.
    pub(crate) fn notify_of(&mut self, namespace: &Arc<str>) -> Arc<Notify> {
        self.namespaces.entry(namespace.clone()).or_default().notify.clone()
    }

    /// Those who wait for events of one of `namespaces`.
    pub(crate) fn waiting<'a>(&self, namespaces: impl Iterator<Item = &'a Arc<str>>) -> Vec<Arc<Notify>> {
        let found = namespaces.filter_map(|namespace| self.namespaces.get(namespace));
        found.filter(|namespace| namespace.is_watched()).map(|namespace| namespace.notify.clone()).collect()
    }

    /// All who wait for events of one namespace.
    pub(crate) fn all_waiting(&self) -> Vec<Arc<Notify>> {
        self.namespaces
            .values()
            .filter(|namespace| namespace.is_watched())
            .map(|namespace| namespace.notify.clone())
            .collect()
    }

    /// Forgets all events; the ring begins at `floor`. What is returned may take long to drop.
    pub(crate) fn restart(&mut self, floor: Marker) -> impl Sized + use<> {
        for namespace in self.namespaces.values_mut() {
            namespace.span = None;
            namespace.trimmed = Some(floor);
        }
        self.first = self.end();
        self.packed_to = self.first;
        (self.floor, self.bytes) = (floor, 0);
        std::mem::take(&mut self.events)
    }

    /// Forgets all events up to `floor`. What is returned may take long to drop.
    pub(crate) fn raise_floor(&mut self, floor: Marker) -> impl Sized + use<> {
        let mut trimmed = Vec::new();
        while self.events.front().is_some_and(|event| event.change.marker <= floor) {
            trimmed.extend(self.pop());
        }
        self.floor = self.floor.max(floor);
        trimmed
    }

    /// Forgets events that are old enough, and `excess` bytes of others, from the front. What is returned may take long
    /// to drop.
    pub(crate) fn trim(&mut self, now: Instant, excess: u64) -> impl Sized + use<> {
        let bytes_wanted = self.bytes.saturating_sub(excess);
        let mut trimmed = Vec::new();
        while let Some(event) = self.events.front() {
            let is_old = now.saturating_duration_since(event.at) > KEPT_AT_LEAST && self.events.len() > EVENTS_KEPT_MIN;
            let is_too_much = self.bytes > bytes_wanted;
            if !(is_old || is_too_much) || trimmed.len() == TRIM_EVENTS_MAX {
                break;
            }
            trimmed.extend(self.pop());
        }
        trimmed
    }

    /// Forgets the namespaces that have neither events nor watchers here.
    pub(crate) fn prune(&mut self) {
        self.namespaces.retain(|_, namespace| namespace.span.is_some() || namespace.is_watched());
    }

    /// What comes after `cursor` in `namespace` (in all where `None`), and moves it there; up to `head`, the marker of the
    /// last record, where nothing else comes.
    pub(crate) fn read(&self, cursor: &mut Cursor, namespace: Option<&Arc<str>>, head: Marker) -> Found {
        match namespace {
            None => self.read_all(cursor, head),
            Some(namespace) => self.read_namespace(cursor, namespace, head),
        }
    }

    /// Whether anything after `cursor` is here for a watch of `namespace`, or was trimmed.
    pub(crate) fn has_after(&self, cursor: &Cursor, namespace: Option<&Arc<str>>) -> bool {
        let last = match namespace {
            None => self.last().max(Some(self.floor)),
            Some(namespace) => self.namespaces.get(namespace).and_then(|namespace| match namespace.span {
                Some((_, last)) => self.get(last).map(|event| event.change.marker),
                None => namespace.trimmed,
            }),
        };
        last > Some(cursor.marker)
    }

    /// The changes after `marker` that are here, at most `count` of them.
    pub(crate) fn changes_after(&self, marker: Marker, count: usize) -> Vec<Change> {
        let start = self.position_after(marker);
        self.events.range(start..).take(count).map(|event| event.change.clone()).collect()
    }

    fn read_all(&self, cursor: &mut Cursor, head: Marker) -> Found {
        if cursor.marker < self.floor {
            return Found::Trimmed;
        }
        let start = self.position_after(cursor.marker);
        let numbers = (start..self.events.len()).map(|position| self.first + position as u64);
        self.take(cursor, numbers, head)
    }

    fn read_namespace(&self, cursor: &mut Cursor, name: &Arc<str>, head: Marker) -> Found {
        let Some(namespace) = self.namespaces.get(name) else { return Found::Nothing };
        if namespace.trimmed > Some(cursor.marker) {
            return Found::Trimmed;
        }
        let next = match cursor.last.and_then(|last| self.get(last)) {
            Some(event) => event.next,
            None => self.first_after(namespace, cursor.marker),
        };
        self.take(cursor, std::iter::successors(next, |number| self.get(*number)?.next), head)
    }

    /// Reads the events with these numbers, as many as are read at a time.
    fn take(&self, cursor: &mut Cursor, numbers: impl Iterator<Item = u64>, head: Marker) -> Found {
        let (mut changes, mut bytes) = (Vec::new(), 0);
        let mut is_all = true;
        for number in numbers {
            let Some(event) = self.get(number) else { break };
            if changes.len() == READ_EVENTS_MAX || bytes > READ_BYTES_MAX {
                is_all = false;
                break;
            }
            bytes += event.change.after.body_len();
            cursor.last = Some(number);
            cursor.marker = event.change.marker;
            changes.push(event.change.clone());
        }
        if is_all {
            cursor.marker = cursor.marker.max(head);
        }
        if changes.is_empty() { Found::Nothing } else { Found::Changes(changes) }
    }

    /// The first event of `namespace` after `marker`, sought from its end: watches start near it.
    fn first_after(&self, namespace: &Namespace, marker: Marker) -> Option<u64> {
        let (_, last) = namespace.span?;
        let back = std::iter::successors(Some(last), |number| self.get(*number)?.previous);
        back.take_while(|number| self.get(*number).is_some_and(|event| event.change.marker > marker)).last()
    }

    /// Ties a change to the state that the event before it led to, where that is here.
    fn link(&self, change: NewChange) -> Change {
        let NewChange { kind, before, after } = change;
        let before = before.map(|object| self.state_of(&object).unwrap_or_else(|| State::first(object)));
        let marker = after.marker();
        let after = before.as_ref().map_or_else(|| State::first(after.clone()), |before| before.next(after.clone()));
        Change { marker, kind, before, after }
    }

    /// The state that an event here led to and that is `object`.
    fn state_of(&self, object: &Arc<Object>) -> Option<Arc<State>> {
        let position = self.events.binary_search_by_key(&object.marker(), |event| event.change.marker).ok()?;
        let state = &self.events[position].change.after;
        state.with_head(|head| head.served == *object.served()).then(|| state.clone())
    }

    fn pop(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        let number = self.first;
        self.first += 1;
        self.floor = event.change.marker;
        self.bytes -= event.cost;
        let namespace = event.change.after.with_head(|head| self.namespaces.get_mut(&head.served.namespace));
        if let Some(namespace) = namespace {
            namespace.trimmed = Some(event.change.marker);
            let last = namespace.span.map(|(_, last)| last);
            namespace.span = event.next.zip(last).filter(|_| last != Some(number));
        }
        Some(event)
    }

    fn end(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    fn get(&self, number: u64) -> Option<&Event> {
        self.events.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    fn get_mut(&mut self, number: u64) -> Option<&mut Event> {
        self.events.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    fn position_after(&self, marker: Marker) -> usize {
        self.events.partition_point(|event| event.change.marker <= marker)
    }
}

// === impl Change ===

impl Change {
    /// The key under which the object is served.
    pub(crate) fn served(&self) -> ObjectKey {
        self.after.with_head(|head| head.served.clone())
    }

    /// What the change keeps in memory that would be gone without it.
    fn cost(&self) -> u64 {
        let last = (self.kind == ChangeKind::Deleted).then(|| self.after.cost());
        self.before.as_ref().map_or(0, |before| before.cost()) + last.unwrap_or(0) + size_of::<Event>() as u64
    }
}

// === impl Namespace ===

impl Namespace {
    fn is_watched(&self) -> bool {
        Arc::strong_count(&self.notify) > 1
    }
}

impl Default for Namespace {
    fn default() -> Self {
        Self { span: None, trimmed: None, notify: Arc::new(Notify::new()) }
    }
}

// === impl Cursor ===

impl Cursor {
    /// Everything up to `marker` was read.
    pub(crate) fn at(marker: Marker) -> Self {
        Self { marker, last: None }
    }
}
