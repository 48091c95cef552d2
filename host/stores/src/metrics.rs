use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// What the embedded store shows of itself.
#[derive(Clone, Debug)]
pub struct Metrics {
    pub(crate) queued: Gauge,
    pub(crate) commit_seconds: Histogram,
    pub(crate) segments: Counter,
    pub(crate) segment_bytes: Counter,
    pub(crate) folds: Counter,
    pub(crate) failures: Counter,
    pub(crate) reopened: Counter,
}

// === impl Metrics ===

impl Metrics {
    /// Adds the metrics to `registry`.
    pub fn register(&self, registry: &mut Registry) {
        let store = registry.sub_registry_with_prefix("orrery_store");
        store.register("queued", "Writes that wait for the store's next commit", self.queued.clone());
        store.register_with_unit(
            "commit",
            "Time of one durable commit, of all the writes that waited",
            Unit::Seconds,
            self.commit_seconds.clone(),
        );
        store.register("segments", "Segments appended", self.segments.clone());
        store.register_with_unit("segment", "Bytes of the segments appended", Unit::Bytes, self.segment_bytes.clone());
        store.register("folds", "Folds of segments into a checkpoint", self.folds.clone());
        store.register("failures", "Commits that failed", self.failures.clone());
        store.register("reopened", "Times the file was opened again after a failure", self.reopened.clone());
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            queued: Gauge::default(),
            // 50 microseconds to 1.6 seconds.
            commit_seconds: Histogram::new(exponential_buckets(0.000_05, 2.0, 16)),
            segments: Counter::default(),
            segment_bytes: Counter::default(),
            folds: Counter::default(),
            failures: Counter::default(),
            reopened: Counter::default(),
        }
    }
}
