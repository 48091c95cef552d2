//! The writing side of a resource's cache. There is one writer, and each batch that it applies is one step for readers.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use orrery_api::{ClusterName, ObjectKey};
use orrery_markers::{ChangeKind, Marker, MemberObject};

use crate::object::{BodyError, Interner, Showing};
use crate::ring::NewChange;
use crate::shared::Shared;
use crate::snapshot::{Objects, Shown};
use crate::{Object, Reader};

mod input;
#[cfg(test)]
mod tests;

pub use input::{Apply, BaseObject, NotShown};

/// The one that writes a resource's cache.
pub struct Writer {
    shared: Arc<Shared>,
    interner: Interner,
    /// The latest objects, ahead of what readers see while a batch is applied.
    objects: Objects,
    /// Objects that are not shown because another cluster's of the same name is.
    held: HashMap<(ClusterName, ObjectKey), MemberObject>,
    /// What objects and held ones cost, in bytes.
    bytes: u64,
}

/// What a batch leads to.
struct Outcome {
    changes: Vec<NewChange>,
    head: Option<Marker>,
    expired_below: Option<Marker>,
    not_shown: Vec<NotShown>,
}

/// What an object costs beside its JSON, in bytes: measured, rounded up.
const OBJECT_OVERHEAD_BYTES: u64 = 640;

// === impl Writer ===

impl Writer {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, interner: Interner::default(), objects: Objects::new_sync(), held: HashMap::new(), bytes: 0 }
    }

    /// A reader of what this writes.
    pub fn reader(&self) -> Reader {
        Reader::new(self.shared.clone())
    }

    /// The state at `floor`, where the ring begins. Watches of an earlier beginning end.
    pub fn begin(
        &mut self,
        base: Vec<BaseObject>,
        held: Vec<(ClusterName, MemberObject)>,
        floor: Marker,
    ) -> Vec<NotShown> {
        self.objects = Objects::new_sync();
        let keyed = held.into_iter().map(|(cluster, object)| ((cluster, object.key.clone()), object));
        self.held = keyed.collect();
        self.bytes = self.held.values().map(held_cost).sum();
        let mut not_shown = Vec::new();
        for BaseObject { served, marker, cluster, object, holders } in base {
            let showing = Showing { marker, served: &served, cluster: &cluster, holders: holders.as_ref() };
            match Object::new(&object, &showing, &self.shared.shape, &mut self.interner) {
                Ok(object) => drop(self.insert(Arc::new(object))),
                Err(source) => not_shown.push(NotShown { marker, served, cluster, source }),
            }
        }
        self.publish_beginning(floor);
        self.shared.metrics.not_shown.inc_by(not_shown.len() as u64);
        not_shown
    }

    /// Applies `batch`, in marker order, as one step: readers see all of it or nothing. `now` is the time of its changes.
    pub fn apply(&mut self, batch: Vec<Apply>, now: Instant) -> Vec<NotShown> {
        let mut outcome = Outcome { changes: Vec::new(), head: None, expired_below: None, not_shown: Vec::new() };
        for step in batch {
            self.step(step, &mut outcome);
        }
        let not_shown = std::mem::take(&mut outcome.not_shown);
        self.shared.metrics.not_shown.inc_by(not_shown.len() as u64);
        self.publish(outcome, now);
        self.shared.trim(now);
        not_shown
    }

    /// Ends all watches that began below `marker`, and refuses new ones there.
    pub fn expire_started_before(&mut self, marker: Marker) {
        let (waiting, dropped) = {
            let mut state = self.shared.state_mut();
            let dropped = state.expire_below(marker);
            (state.ring.all_waiting(), dropped)
        };
        drop(dropped);
        self.shared.drop_kept_below(marker);
        self.shared.wake(&waiting);
    }

    /// What is shown under `served`.
    pub fn get(&self, served: &ObjectKey) -> Option<&Arc<Object>> {
        self.objects.get(served).map(|shown| &shown.0)
    }

    /// Whether anything is shown under `served`.
    pub fn has(&self, served: &ObjectKey) -> bool {
        self.objects.contains(served)
    }

    /// Whether the object `key` of `cluster` is held without being shown.
    pub fn holds(&self, cluster: &ClusterName, key: &ObjectKey) -> bool {
        self.held.contains_key(&(cluster.clone(), key.clone()))
    }

    fn step(&mut self, step: Apply, outcome: &mut Outcome) {
        match step {
            Apply::Put { marker, served, cluster, object, holders } => {
                self.unhold(&cluster, &object.key);
                let showing = Showing { marker, served: &served, cluster: &cluster, holders: holders.as_ref() };
                self.show(&object, &showing, outcome);
            }
            Apply::Reshow { marker, served, cluster, key, holders } => {
                let showing = Showing { marker, served: &served, cluster: &cluster, holders: holders.as_ref() };
                match self.unhold(&cluster, &key).or_else(|| self.shown_as_member_object(&showing, &key)) {
                    Some(object) => self.show(&object, &showing, outcome),
                    None => self.fail(&showing, BodyError::NotHeld { cluster: cluster.clone(), key }, outcome),
                }
            }
            Apply::Delete { marker, served } => {
                outcome.head = Some(marker);
                self.delete(marker, &served, outcome);
            }
            Apply::Hold { cluster, object } => self.hold(cluster, object),
            Apply::Unhold { cluster, key } => drop(self.unhold(&cluster, &key)),
            Apply::Mark { marker } => outcome.head = Some(marker),
        }
    }

    fn show(&mut self, object: &MemberObject, showing: &Showing<'_>, outcome: &mut Outcome) {
        outcome.head = Some(showing.marker);
        let after = match Object::new(object, showing, &self.shared.shape, &mut self.interner) {
            Ok(object) => Arc::new(object),
            Err(source) => return self.fail(showing, source, outcome),
        };
        let before = self.insert(after.clone());
        if let Some(before) = &before {
            self.hold_replaced(before, showing);
        }
        let kind = if before.is_some() { ChangeKind::Modified } else { ChangeKind::Added };
        outcome.changes.push(NewChange { kind, before, after });
    }

    /// An object that cannot be shown must not leave its last state behind as if it were current.
    fn fail(&mut self, showing: &Showing<'_>, source: BodyError, outcome: &mut Outcome) {
        outcome.head = Some(showing.marker);
        self.delete(showing.marker, showing.served, outcome);
        outcome.expired_below = Some(showing.marker);
        let (served, cluster) = (showing.served.clone(), showing.cluster.clone());
        outcome.not_shown.push(NotShown { marker: showing.marker, served, cluster, source });
    }

    fn delete(&mut self, marker: Marker, served: &ObjectKey, outcome: &mut Outcome) {
        match self.remove(served) {
            Some(before) => {
                let after = Arc::new(before.at_marker(marker));
                outcome.changes.push(NewChange { kind: ChangeKind::Deleted, before: Some(before), after });
            }
            None => outcome.expired_below = Some(marker),
        }
    }

    /// Keeps what another cluster's object has replaced, as long as its cluster holds it.
    fn hold_replaced(&mut self, before: &Object, showing: &Showing<'_>) {
        let is_same = before.cluster() == showing.cluster;
        if !is_same && showing.holders.is_some_and(|holders| holders.contains(before.cluster())) {
            self.hold(before.cluster().clone(), before.as_member_object());
        }
    }

    fn shown_as_member_object(&self, showing: &Showing<'_>, key: &ObjectKey) -> Option<MemberObject> {
        let shown = self.get(showing.served)?;
        (shown.cluster() == showing.cluster && shown.key() == key).then(|| shown.as_member_object())
    }

    fn hold(&mut self, cluster: ClusterName, object: MemberObject) {
        self.bytes += held_cost(&object);
        if let Some(replaced) = self.held.insert((cluster, object.key.clone()), object) {
            self.bytes -= held_cost(&replaced);
        }
    }

    fn unhold(&mut self, cluster: &ClusterName, key: &ObjectKey) -> Option<MemberObject> {
        if self.held.is_empty() {
            return None;
        }
        let object = self.held.remove(&(cluster.clone(), key.clone()))?;
        self.bytes -= held_cost(&object);
        Some(object)
    }

    fn insert(&mut self, object: Arc<Object>) -> Option<Arc<Object>> {
        let before = self.remove_counted(object.served());
        self.bytes += object_cost(&object);
        self.objects.insert_mut(Shown(object));
        before
    }

    fn remove(&mut self, served: &ObjectKey) -> Option<Arc<Object>> {
        let before = self.remove_counted(served)?;
        self.objects.remove_mut(served);
        Some(before)
    }

    /// Takes what `served` shows out of the counts.
    fn remove_counted(&mut self, served: &ObjectKey) -> Option<Arc<Object>> {
        let before = self.get(served)?.clone();
        self.bytes -= object_cost(&before);
        self.shared.superseded_bytes.fetch_add(object_cost(&before), Relaxed);
        Some(before)
    }

    fn publish_beginning(&mut self, floor: Marker) {
        let (waiting, dropped) = {
            let mut state = self.shared.state_mut();
            let old = std::mem::replace(&mut state.objects, self.objects.clone());
            state.head = floor;
            state.expired_below = floor;
            (state.ring.all_waiting(), (old, state.ring.restart(floor)))
        };
        drop(dropped);
        self.shared.drop_kept_below(Marker::MAX);
        self.count(floor);
        self.shared.wake(&waiting);
    }

    fn publish(&mut self, outcome: Outcome, now: Instant) {
        let Outcome { changes, head, expired_below, .. } = outcome;
        let Some(head) = head else { return self.count(self.shared.state().head) };
        let namespaces: Vec<_> = changes.iter().map(|change| change.after.served().namespace.clone()).collect();
        let has_changed = !changes.is_empty() || expired_below.is_some();
        let (waiting, dropped) = {
            let mut state = self.shared.state_mut();
            let old = std::mem::replace(&mut state.objects, self.objects.clone());
            state.head = head;
            changes.into_iter().for_each(|change| state.ring.push(change, now));
            match expired_below {
                Some(marker) => (state.ring.all_waiting(), (old, Some(state.expire_below(marker)))),
                None => (state.ring.waiting(namespaces.iter()), (old, None)),
            }
        };
        drop(dropped);
        if let Some(marker) = expired_below {
            self.shared.drop_kept_below(marker);
        }
        self.count(head);
        if has_changed {
            self.shared.wake(&waiting);
        }
    }

    /// Tells those who wait for it the head, and budget and metrics what the objects cost.
    fn count(&self, head: Marker) {
        let Shared { share, metrics, .. } = &*self.shared;
        self.shared.head.send_replace(head);
        share.set_objects(self.bytes);
        metrics.objects.set(self.objects.size() as i64);
        metrics.object_bytes.set(self.bytes as i64);
        metrics.head.set(head.get() as i64);
    }
}

/// Nothing follows any more: watches must not wait for it.
impl Drop for Writer {
    fn drop(&mut self) {
        self.expire_started_before(Marker::MAX);
    }
}

fn object_cost(object: &Object) -> u64 {
    object.body_len() as u64 + OBJECT_OVERHEAD_BYTES
}

fn held_cost(object: &MemberObject) -> u64 {
    object.body.len() as u64 + OBJECT_OVERHEAD_BYTES
}
