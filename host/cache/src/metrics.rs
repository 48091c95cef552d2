use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// What the caches count, by resource.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    objects: Family<ResourceLabel, Gauge>,
    object_bytes: Family<ResourceLabel, Gauge>,
    ring_events: Family<ResourceLabel, Gauge>,
    ring_bytes: Family<ResourceLabel, Gauge>,
    floor_age: Family<ResourceLabel, Gauge>,
    head: Family<ResourceLabel, Gauge>,
    watchers: Family<ResourceLabel, Gauge>,
    watch_events: Family<ResourceLabel, Counter>,
    slow_watchers: Family<ResourceLabel, Counter>,
    expired_watchers: Family<ResourceLabel, Counter>,
    kept_snapshots: Family<ResourceLabel, Gauge>,
    not_shown: Family<ResourceLabel, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResourceLabel {
    resource: String,
}

/// The series of one resource.
pub(crate) struct ResourceMetrics {
    pub(crate) objects: Gauge,
    pub(crate) object_bytes: Gauge,
    pub(crate) ring_events: Gauge,
    pub(crate) ring_bytes: Gauge,
    pub(crate) floor_age: Gauge,
    pub(crate) head: Gauge,
    pub(crate) watchers: Gauge,
    pub(crate) watch_events: Counter,
    pub(crate) slow_watchers: Counter,
    pub(crate) expired_watchers: Counter,
    pub(crate) kept_snapshots: Gauge,
    pub(crate) not_shown: Counter,
}

// === impl Metrics ===

impl Metrics {
    /// Registers all series.
    pub fn register(&self, registry: &mut Registry) {
        let cache = registry.sub_registry_with_prefix("orrery_cache");
        cache.register("objects", "Live objects", self.objects.clone());
        cache.register("object_bytes", "Bytes of live and held objects", self.object_bytes.clone());
        cache.register("ring_events", "Events that a watch can start among", self.ring_events.clone());
        cache.register("ring_bytes", "Bytes of the ring of events and of kept snapshots", self.ring_bytes.clone());
        cache.register("floor_age_seconds", "Age of the oldest event in the ring", self.floor_age.clone());
        cache.register("head", "Marker of the last change applied", self.head.clone());
        cache.register("watchers", "Open watches", self.watchers.clone());
        cache.register("watch_events", "Events handed to watches", self.watch_events.clone());
        cache.register(
            "slow_watchers_cut",
            "Watches ended because their clients did not read",
            self.slow_watchers.clone(),
        );
        cache.register(
            "expired_watchers",
            "Watches ended because they could not be told all",
            self.expired_watchers.clone(),
        );
        cache.register("kept_snapshots", "Snapshots kept for continue tokens", self.kept_snapshots.clone());
        cache.register("objects_not_shown", "Changes whose objects could not be read", self.not_shown.clone());
    }

    pub(crate) fn of(&self, resource: String) -> ResourceMetrics {
        let label = ResourceLabel { resource };
        ResourceMetrics {
            objects: self.objects.get_or_create_owned(&label),
            object_bytes: self.object_bytes.get_or_create_owned(&label),
            ring_events: self.ring_events.get_or_create_owned(&label),
            ring_bytes: self.ring_bytes.get_or_create_owned(&label),
            floor_age: self.floor_age.get_or_create_owned(&label),
            head: self.head.get_or_create_owned(&label),
            watchers: self.watchers.get_or_create_owned(&label),
            watch_events: self.watch_events.get_or_create_owned(&label),
            slow_watchers: self.slow_watchers.get_or_create_owned(&label),
            expired_watchers: self.expired_watchers.get_or_create_owned(&label),
            kept_snapshots: self.kept_snapshots.get_or_create_owned(&label),
            not_shown: self.not_shown.get_or_create_owned(&label),
        }
    }
}
