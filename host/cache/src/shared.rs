//! What a resource's writer and readers share.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Instant;

use orrery_markers::Marker;
use tokio::sync::{Notify, watch};

use crate::budget::Share;
use crate::metrics::ResourceMetrics;
use crate::ring::Ring;
use crate::snapshot::Objects;
use crate::{Budget, Metrics, Shape, Snapshot};

pub(crate) struct Shared {
    pub(crate) shape: Shape,
    pub(crate) metrics: ResourceMetrics,
    pub(crate) share: Share,
    /// The head, to wait for.
    pub(crate) head: watch::Sender<Marker>,
    /// Those who wait for events of all namespaces.
    pub(crate) everywhere: Notify,
    pub(crate) watchers: AtomicUsize,
    /// Since when nobody watches.
    pub(crate) unwatched_since: Mutex<Instant>,
    /// All bytes of objects that were ever replaced or deleted: what a kept snapshot holds alone is what was added since.
    pub(crate) superseded_bytes: AtomicU64,
    state: RwLock<State>,
    kept: Mutex<VecDeque<Kept>>,
}

/// What changes with each step, as a whole.
pub(crate) struct State {
    pub(crate) objects: Objects,
    pub(crate) head: Marker,
    pub(crate) ring: Ring,
    /// Watches that started below end with 410.
    pub(crate) expired_below: Marker,
}

/// A snapshot that continue tokens may name.
struct Kept {
    snapshot: Snapshot,
    /// Bytes of bodies that were decompressed for it.
    restored_bytes: u64,
    /// [`Shared::superseded_bytes`] when it was the latest, or was made.
    superseded_bytes: u64,
}

/// How many snapshots are kept for continue tokens at most.
const KEPT_MAX: usize = 16;

// === impl Shared ===

impl Shared {
    pub(crate) fn new(shape: Shape, budget: &Budget, metrics: &Metrics) -> Self {
        // Before anything began, at a marker below all that are used.
        let start = Marker::new(1).expect("1 is a marker");
        let state = State { objects: Objects::new_sync(), head: start, ring: Ring::new(start), expired_below: start };
        Self {
            metrics: metrics.of(shape.gvr.group_resource().to_string()),
            shape,
            share: budget.share(),
            head: watch::Sender::new(start),
            everywhere: Notify::new(),
            watchers: AtomicUsize::new(0),
            unwatched_since: Mutex::new(tokio::time::Instant::now().into_std()),
            superseded_bytes: AtomicU64::new(0),
            state: RwLock::new(state),
            kept: Mutex::new(VecDeque::new()),
        }
    }

    /// The state now. Held for a moment only; nothing is decompressed, written or awaited meanwhile.
    pub(crate) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes `waiting`, and those who wait for all.
    pub(crate) fn wake(&self, waiting: &[Arc<Notify>]) {
        waiting.iter().for_each(|notify| notify.notify_waiters());
        self.everywhere.notify_waiters();
    }

    /// Forgets what is old or too much, from the ring's front.
    pub(crate) fn trim(&self, now: Instant) {
        self.count_ring();
        let excess = self.share.ring_excess();
        let dropped_kept = if excess > 0 { self.kept().pop_front() } else { None };
        let excess = if dropped_kept.is_some() { 0 } else { excess };
        let dropped = self.state_mut().ring.trim(now, excess);
        drop((dropped, dropped_kept));
        self.count_ring();
    }

    /// The kept snapshot at `marker`.
    pub(crate) fn kept_at(&self, marker: Marker) -> Option<Snapshot> {
        self.kept().iter().find(|kept| kept.snapshot.marker == marker).map(|kept| kept.snapshot.clone())
    }

    /// Keeps `snapshot`, for which `restored_bytes` were decompressed.
    pub(crate) fn keep(&self, snapshot: Snapshot, restored_bytes: u64) {
        let superseded_bytes = self.superseded_bytes.load(Relaxed);
        let mut kept = self.kept();
        let is_new = kept.iter().all(|other| other.snapshot.marker != snapshot.marker);
        let oldest = if is_new && kept.len() == KEPT_MAX { kept.pop_front() } else { None };
        if is_new {
            kept.push_back(Kept { snapshot, restored_bytes, superseded_bytes });
        }
        drop(kept);
        drop(oldest);
        self.count_ring();
    }

    /// Forgets the kept snapshots below `floor`.
    pub(crate) fn drop_kept_below(&self, floor: Marker) {
        let mut kept = self.kept();
        let (above, below): (VecDeque<_>, VecDeque<_>) = kept.drain(..).partition(|kept| kept.snapshot.marker >= floor);
        *kept = above;
        drop(kept);
        drop(below);
    }

    /// Tells budget and metrics what ring and kept snapshots cost.
    pub(crate) fn count_ring(&self) {
        let superseded_bytes = self.superseded_bytes.load(Relaxed);
        let kept = self.kept();
        let kept_count = kept.len();
        let kept_bytes: u64 =
            kept.iter().map(|kept| kept.restored_bytes + superseded_bytes - kept.superseded_bytes).sum();
        drop(kept);
        let state = self.state();
        let (bytes, events) = (state.ring.bytes() + kept_bytes, state.ring.len());
        drop(state);
        self.share.set_ring(bytes);
        self.metrics.ring_bytes.set(bytes as i64);
        self.metrics.ring_events.set(events as i64);
        self.metrics.kept_snapshots.set(kept_count as i64);
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl State {
    /// Ends the watches that began below `marker` and refuses new ones. What is returned may take long to drop.
    pub(crate) fn expire_below(&mut self, marker: Marker) -> impl Sized + use<> {
        self.expired_below = self.expired_below.max(marker);
        self.ring.raise_floor(marker)
    }
}
