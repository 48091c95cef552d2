use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// How many bytes all caches together may take (`--cache-bytes-max`), and how many they do. Of these the rings of events,
/// with the snapshots kept for continue tokens, may take a quarter: over it, the oldest of the larger rings go.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Counts>);

#[derive(Debug)]
struct Counts {
    bytes_max: u64,
    objects: AtomicU64,
    rings: AtomicU64,
    resources: AtomicUsize,
}

/// One cache's part in a budget, given back when it is dropped.
pub(crate) struct Share {
    budget: Budget,
    objects: AtomicU64,
    ring: AtomicU64,
}

// === impl Budget ===

impl Budget {
    /// A budget of `bytes_max` bytes, all unused.
    pub fn new(bytes_max: u64) -> Self {
        let zero = AtomicU64::default;
        Self(Arc::new(Counts { bytes_max, objects: zero(), rings: zero(), resources: AtomicUsize::default() }))
    }

    /// The bound, in bytes.
    pub fn bytes_max(&self) -> u64 {
        self.0.bytes_max
    }

    /// What all caches take together, in bytes.
    pub fn bytes_used(&self) -> u64 {
        self.0.objects.load(Relaxed) + self.ring_bytes()
    }

    /// What their rings and kept snapshots take, in bytes.
    pub fn ring_bytes(&self) -> u64 {
        self.0.rings.load(Relaxed)
    }

    /// Whether more is used than the bound: resources that nobody watches are to be put down.
    pub fn is_over(&self) -> bool {
        self.bytes_used() > self.bytes_max()
    }

    pub(crate) fn share(&self) -> Share {
        self.0.resources.fetch_add(1, Relaxed);
        Share { budget: self.clone(), objects: AtomicU64::default(), ring: AtomicU64::default() }
    }
}

// === impl Share ===

impl Share {
    /// The bytes of this cache's live objects are now `bytes`.
    pub(crate) fn set_objects(&self, bytes: u64) {
        replace(&self.budget.0.objects, self.objects.swap(bytes, Relaxed), bytes);
    }

    /// The bytes of this cache's ring and kept snapshots are now `bytes`.
    pub(crate) fn set_ring(&self, bytes: u64) {
        replace(&self.budget.0.rings, self.ring.swap(bytes, Relaxed), bytes);
    }

    /// By how many bytes this cache's ring has to shrink: all rings are over their bound, and it is no smaller than the
    /// average one.
    pub(crate) fn ring_excess(&self) -> u64 {
        let (all, own) = (self.budget.ring_bytes(), self.ring.load(Relaxed));
        let average = all / self.budget.0.resources.load(Relaxed).max(1) as u64;
        let excess = all.saturating_sub(self.budget.0.bytes_max / 4);
        if own < average { 0 } else { excess.min(own) }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set_objects(0);
        self.set_ring(0);
        self.budget.0.resources.fetch_sub(1, Relaxed);
    }
}

/// `of` is a sum in which `old` stands for what is `new` now.
fn replace(of: &AtomicU64, old: u64, new: u64) {
    // Wrapping: the difference may be negative.
    of.fetch_add(new.wrapping_sub(old), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_ring_shrinks_by_what_all_are_over_a_quarter() {
        let budget = Budget::new(4000);
        let (small, large) = (budget.share(), budget.share());
        small.set_ring(300);
        large.set_ring(900);
        assert_eq!((small.ring_excess(), large.ring_excess()), (0, 200));
        large.set_ring(700);
        assert_eq!(large.ring_excess(), 0);
    }

    #[test]
    fn a_dropped_cache_gives_its_bytes_back() {
        let budget = Budget::new(100);
        let share = budget.share();
        share.set_objects(90);
        share.set_ring(20);
        assert!(budget.is_over());
        share.set_objects(10);
        assert_eq!((budget.bytes_used(), budget.is_over()), (30, false));
        drop(share);
        assert_eq!(budget.bytes_used(), 0);
    }
}
