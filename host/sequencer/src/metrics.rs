//! What the loop shows of itself.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// Label of what is counted per resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OfResource {
    pub(crate) resource: String,
}

/// Counters and gauges of all resources' loops. Clones share them.
#[derive(Clone, Debug)]
pub struct Metrics {
    pub(crate) records: Family<OfResource, Counter>,
    pub(crate) segment_bytes: Family<OfResource, Counter>,
    pub(crate) head: Family<OfResource, Gauge>,
    pub(crate) queued: Family<OfResource, Gauge>,
    pub(crate) append_failures: Family<OfResource, Counter>,
    pub(crate) relists: Family<OfResource, Counter>,
    pub(crate) looks: Family<OfResource, Counter>,
    pub(crate) mismatches: Family<OfResource, Counter>,
    pub(crate) unreadable: Family<OfResource, Counter>,
    pub(crate) rejoins: Family<OfResource, Counter>,
    pub(crate) append_seconds: Histogram,
    pub(crate) begin_seconds: Histogram,
}

// === impl Metrics ===

impl Default for Metrics {
    fn default() -> Self {
        Self {
            records: Family::default(),
            segment_bytes: Family::default(),
            head: Family::default(),
            queued: Family::default(),
            append_failures: Family::default(),
            relists: Family::default(),
            looks: Family::default(),
            mismatches: Family::default(),
            unreadable: Family::default(),
            rejoins: Family::default(),
            append_seconds: Histogram::new(exponential_buckets(0.000_1, 2.0, 18)),
            begin_seconds: Histogram::new(exponential_buckets(0.01, 2.0, 15)),
        }
    }
}

impl Metrics {
    /// Registers all of them.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("orrery_sequencer_records", "Effects of sequenced records applied", self.records.clone());
        registry.register(
            "orrery_sequencer_segment_bytes",
            "Bytes of segments appended to the store",
            self.segment_bytes.clone(),
        );
        registry.register("orrery_sequencer_head", "Last marker applied", self.head.clone());
        registry.register(
            "orrery_sequencer_queue_length",
            "Observations that wait to be sequenced",
            self.queued.clone(),
        );
        registry.register(
            "orrery_sequencer_append_failures",
            "Appends that the store refused or lost",
            self.append_failures.clone(),
        );
        registry.register("orrery_sequencer_relists", "Lists held against the log while serving", self.relists.clone());
        registry.register(
            "orrery_sequencer_looks",
            "Objects read by themselves for the answer to a write, because their cluster's watch was silent",
            self.looks.clone(),
        );
        registry.register(
            "orrery_sequencer_replay_mismatches",
            "Restarts at which a member's history was not the recorded one",
            self.mismatches.clone(),
        );
        registry.register(
            "orrery_sequencer_unreadable_objects",
            "Objects that could not be shown",
            self.unreadable.clone(),
        );
        registry.register(
            "orrery_sequencer_rejoins",
            "Times that a served version began anew to follow the one that writes the log",
            self.rejoins.clone(),
        );
        registry.register(
            "orrery_sequencer_append_seconds",
            "Time for one segment to become durable",
            self.append_seconds.clone(),
        );
        registry.register(
            "orrery_sequencer_begin_seconds",
            "Time from a resource's first use until it serves",
            self.begin_seconds.clone(),
        );
    }
}
