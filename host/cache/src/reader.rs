use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use orrery_api::{ClusterName, ObjectKey, Uid};
use orrery_markers::{ChangeKind, Marker, MemberObject, MemberVersion};

use crate::object::{BodyError, Interner, Showing};
use crate::ring::{Change, Cursor};
use crate::shared::Shared;
use crate::snapshot::Shown;
use crate::{Object, Selection, Shape, Snapshot, Watch};

/// Reads a resource's cache; a cheap clone.
#[derive(Clone)]
pub struct Reader {
    shared: Arc<Shared>,
}

/// A marker whose events or state are no longer here (or never were): the answer is 410.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("too old resource version: {asked} ({floor})")]
pub struct Expired {
    /// The marker that was asked for.
    pub asked: Marker,
    /// The lowest that is here.
    pub floor: Marker,
}

/// A marker that the head has not reached in time: the answer is 504 with cause ResourceVersionTooLarge.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("Too large resource version: {asked}, current: {current}")]
pub struct TooLarge {
    /// The marker that was asked for.
    pub asked: Marker,
    /// The head.
    pub current: Marker,
}

/// Figures of one resource's cache, for `orrery status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Live objects.
    pub objects: usize,
    /// Events in the ring.
    pub ring_events: usize,
    /// Bytes of the ring.
    pub ring_bytes: u64,
    /// Open watches.
    pub watchers: usize,
    /// The marker of the last record.
    pub head: Marker,
    /// The lowest marker that a watch can start at.
    pub floor: Marker,
}

/// How many events are undone, or compressed, between two looks at the ring.
const CHUNK_EVENTS: usize = 256;
/// How many events are compressed at one call of [`Reader::settle`], so that it ends: about 0.2 s.
const SETTLED_EVENTS_MAX: usize = 4096;

// === impl Reader ===

impl Reader {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// What the resource is and how it is shown.
    pub fn shape(&self) -> &Shape {
        &self.shared.shape
    }

    /// The marker of the last record.
    pub fn head(&self) -> Marker {
        self.shared.state().head
    }

    /// The lowest marker that a watch can start at.
    pub fn floor(&self) -> Marker {
        self.shared.state().ring.floor()
    }

    /// The state at the head.
    pub fn latest(&self) -> Snapshot {
        let state = self.shared.state();
        Snapshot { marker: state.head, objects: state.objects.clone() }
    }

    /// The object served as `served` at the head.
    pub fn get(&self, served: &ObjectKey) -> Option<Arc<Object>> {
        self.shared.state().objects.get(served).map(|shown| shown.0.clone())
    }

    /// The marker under which the object served as `served` was shown in its state `version`: now, or in an event after
    /// `after`. `None` where no event after that shows it.
    pub fn marker_of(&self, served: &ObjectKey, uid: &Uid, version: MemberVersion, after: Marker) -> Option<Marker> {
        let shown = self.get(served).filter(|object| object.uid() == uid && object.version() == version);
        if let Some(object) = shown {
            return Some(object.marker());
        }
        let (mut from, head) = (after, self.head());
        while let Some(changes) = self.changes_between(from, head, after).ok()? {
            let shows = |change: &&Change| change.kind != ChangeKind::Deleted && change.after.is(served, uid, version);
            if let Some(change) = changes.iter().find(shows) {
                return Some(change.marker);
            }
            from = changes.last().map_or(head, |change| change.marker);
        }
        None
    }

    /// `object` as it would be shown, without being kept: what a member answered to a write.
    ///
    /// # Errors
    /// Where its bytes are not one JSON object with metadata.
    pub fn show(
        &self,
        object: &MemberObject,
        served: &ObjectKey,
        marker: Marker,
        cluster: &ClusterName,
        holders: Option<&Arc<[ClusterName]>>,
    ) -> Result<Object, BodyError> {
        let showing = Showing { marker, served, cluster, holders };
        Object::new(object, &showing, &self.shared.shape, &mut Interner::default())
    }

    /// The state at exactly `marker`, which is kept for the reads that follow.
    ///
    /// # Errors
    /// Below the floor, and above the head.
    pub fn at(&self, marker: Marker) -> Result<Snapshot, Expired> {
        let (latest, floor) = {
            let state = self.shared.state();
            let snapshot = Snapshot { marker: state.head, objects: state.objects.clone() };
            (snapshot, state.ring.floor())
        };
        if marker < floor || marker > latest.marker {
            return Err(Expired { asked: marker, floor });
        }
        if marker == latest.marker {
            return Ok(latest);
        }
        match self.shared.kept_at(marker) {
            Some(kept) => Ok(kept),
            None => self.undo(latest, marker),
        }
    }

    /// Keeps `snapshot` for its continue token's next pages. Bounded: the oldest kept one may go.
    pub fn keep(&self, snapshot: &Snapshot) {
        self.shared.keep(snapshot.clone(), 0);
    }

    /// Waits until the head is at `marker` or above.
    ///
    /// # Errors
    /// Where it is not by `deadline`.
    pub async fn reached(&self, marker: Marker, deadline: tokio::time::Instant) -> Result<(), TooLarge> {
        let mut head = self.shared.head.subscribe();
        let reached = head.wait_for(|head| *head >= marker);
        match tokio::time::timeout_at(deadline, reached).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(TooLarge { asked: marker, current: self.head() }),
        }
    }

    /// A watch of what `selection` is about, from after `after`. Above the head it waits in silence.
    ///
    /// # Errors
    /// Below the floor.
    pub fn watch(&self, after: Marker, selection: Selection) -> Result<Watch, Expired> {
        let namespace = selection.namespace.clone().or_else(|| selection.fields.namespace().map(Into::into));
        let notify = {
            let mut state = self.shared.state_mut();
            let floor = state.ring.floor().max(state.expired_below);
            if after < floor {
                return Err(Expired { asked: after, floor });
            }
            namespace.as_ref().map(|namespace| state.ring.notify_of(namespace))
        };
        self.shared.watchers.fetch_add(1, Relaxed);
        self.shared.metrics.watchers.inc();
        Ok(Watch::new(self.shared.clone(), Cursor::at(after), selection, namespace.zip(notify)))
    }

    /// Compresses the bodies of events that have aged, forgets old events, and refreshes the figures. To be called about
    /// once a second; takes up to 0.3 s of processor time, in which nobody waits.
    pub fn settle(&self, now: Instant) {
        for _ in 0..SETTLED_EVENTS_MAX / CHUNK_EVENTS {
            let packing = self.shared.state_mut().ring.packing(now, CHUNK_EVENTS);
            if packing.is_empty() {
                break;
            }
            let numbers = packing.run();
            self.shared.state_mut().ring.recount(numbers);
        }
        self.shared.trim(now);
        let (floor, begins_at) = {
            let mut state = self.shared.state_mut();
            state.ring.prune();
            (state.ring.floor(), state.ring.begins_at())
        };
        self.shared.drop_kept_below(floor);
        self.shared.count_ring();
        let age = begins_at.map_or(0, |at| now.saturating_duration_since(at).as_secs());
        self.shared.metrics.floor_age.set(age as i64);
    }

    /// Figures of the cache.
    pub fn stats(&self) -> Stats {
        let state = self.shared.state();
        Stats {
            objects: state.objects.size(),
            ring_events: state.ring.len(),
            ring_bytes: state.ring.bytes(),
            watchers: self.shared.watchers.load(Relaxed),
            head: state.head,
            floor: state.ring.floor(),
        }
    }

    /// For how long nobody has watched; `None` where somebody does.
    pub fn unwatched_for(&self, now: Instant) -> Option<Duration> {
        let since = *self.shared.unwatched_since.lock().unwrap_or_else(PoisonError::into_inner);
        (self.shared.watchers.load(Relaxed) == 0).then(|| now.saturating_duration_since(since))
    }

    /// The state at `marker`: `latest` with the events after it undone.
    fn undo(&self, latest: Snapshot, marker: Marker) -> Result<Snapshot, Expired> {
        let mut objects = latest.objects;
        let mut undone = HashSet::new();
        let mut restored_bytes = 0;
        let mut from = marker;
        while let Some(changes) = self.changes_between(from, latest.marker, marker)? {
            from = changes.last().map_or(latest.marker, |change| change.marker);
            // The first change of a key says what it was at `marker`.
            for change in changes {
                let served = change.served();
                if undone.contains(&served) {
                    continue;
                }
                match change.before {
                    Some(before) => {
                        let object = before.object();
                        restored_bytes += object.body_len() as u64;
                        objects.insert_mut(Shown(object));
                    }
                    None => drop(objects.remove_mut(&served)),
                }
                undone.insert(served);
            }
        }
        let snapshot = Snapshot { marker, objects };
        self.shared.keep(snapshot.clone(), restored_bytes);
        Ok(snapshot)
    }

    /// Some of the changes after `from` up to `to`, in order; `None` where there are no more. The ring must still reach
    /// back to `wanted`.
    fn changes_between(&self, from: Marker, to: Marker, wanted: Marker) -> Result<Option<Vec<Change>>, Expired> {
        let state = self.shared.state();
        let floor = state.ring.floor();
        if floor > wanted {
            return Err(Expired { asked: wanted, floor });
        }
        let mut changes = state.ring.changes_after(from, CHUNK_EVENTS);
        changes.retain(|change| change.marker <= to);
        Ok((!changes.is_empty()).then_some(changes))
    }
}
