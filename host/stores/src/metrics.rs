use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// What a durable store shows of itself.
#[derive(Clone, Debug)]
pub struct Metrics {
    pub(crate) queued: Gauge,
    pub(crate) commit_seconds: Histogram,
    pub(crate) segments: Counter,
    pub(crate) segment_bytes: Counter,
    pub(crate) folds: Counter,
    pub(crate) failures: Counter,
    pub(crate) reopened: Counter,
    pub(crate) etcd: EtcdMetrics,
}

/// What only the store in an etcd has to show.
#[derive(Clone, Debug)]
pub(crate) struct EtcdMetrics {
    pub(crate) lease_held: Gauge,
    pub(crate) lease_lapses: Counter,
    pub(crate) request_seconds: Histogram,
    pub(crate) unanswered: Counter,
    pub(crate) database_bytes: Gauge,
    pub(crate) quota_bytes: Gauge,
    settled: Family<OfOutcome, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfOutcome {
    outcome: &'static str,
}

/// A write that waits, for as long as this value lives.
pub(crate) struct Waiting<'m>(&'m Gauge);

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
        self.etcd.register(store.sub_registry_with_prefix("etcd"));
    }

    /// Counts a write as one that waits.
    pub(crate) fn waiting(&self) -> Waiting<'_> {
        self.queued.inc();
        Waiting(&self.queued)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}

// === impl EtcdMetrics ===

impl EtcdMetrics {
    fn register(&self, etcd: &mut Registry) {
        etcd.register("lease_held", "1 while this host may write to its prefix in etcd", self.lease_held.clone());
        etcd.register("lease_lapses", "Times that this host's lease in etcd has ended", self.lease_lapses.clone());
        etcd.register_with_unit("request", "Time of one request to etcd", Unit::Seconds, self.request_seconds.clone());
        etcd.register("unanswered", "Requests to etcd without an answer in time", self.unanswered.clone());
        etcd.register(
            "settled",
            "Appends whose answer was lost, by what was found: done, not_done, or unknown and repeated",
            self.settled.clone(),
        );
        etcd.register_with_unit(
            "database",
            "Size of etcd's database, free pages too",
            Unit::Bytes,
            self.database_bytes.clone(),
        );
        etcd.register_with_unit(
            "quota",
            "Size of the database from which on etcd takes no more writes",
            Unit::Bytes,
            self.quota_bytes.clone(),
        );
    }

    /// Counts an append whose answer was lost.
    pub(crate) fn settled(&self, outcome: &'static str) {
        self.settled.get_or_create(&OfOutcome { outcome }).inc();
    }
}

impl Default for EtcdMetrics {
    fn default() -> Self {
        Self {
            lease_held: Gauge::default(),
            lease_lapses: Counter::default(),
            // 200 microseconds to 6.5 seconds: a request is given up after 5.
            request_seconds: Histogram::new(exponential_buckets(0.000_2, 2.0, 16)),
            unanswered: Counter::default(),
            database_bytes: Gauge::default(),
            quota_bytes: Gauge::default(),
            settled: Family::default(),
        }
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
            etcd: EtcdMetrics::default(),
        }
    }
}
