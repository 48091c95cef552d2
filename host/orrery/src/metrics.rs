//! The metrics of all crates, in one registry.

use prometheus_client::registry::Registry;

#[derive(Default)]
pub(crate) struct Metrics {
    pub(crate) stores: orrery_stores::Metrics,
    pub(crate) fleet: orrery_fleet::Metrics,
    pub(crate) cache: orrery_cache::Metrics,
    pub(crate) sequencer: orrery_sequencer::Metrics,
    pub(crate) extensions: orrery_extensions::Metrics,
    pub(crate) auth: orrery_auth::Metrics,
    pub(crate) rest: orrery_rest::Metrics,
}

// === impl Metrics ===

impl Metrics {
    pub(crate) fn registered() -> (Self, Registry) {
        let (metrics, mut registry) = (Self::default(), Registry::default());
        metrics.stores.register(&mut registry);
        metrics.fleet.register(&mut registry);
        metrics.cache.register(&mut registry);
        metrics.sequencer.register(&mut registry);
        metrics.extensions.register(&mut registry);
        metrics.auth.register(&mut registry);
        metrics.rest.register(&mut registry);
        (metrics, registry)
    }
}
