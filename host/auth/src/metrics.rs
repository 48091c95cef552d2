use std::time::{SystemTime, UNIX_EPOCH};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// What the certificates show of themselves.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    ends: Family<Vec<(String, String)>, Gauge>,
    pub(crate) renewals: Counter,
    pub(crate) renewals_failed: Counter,
}

// === impl Metrics ===

impl Metrics {
    /// Adds them to `registry`.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "orrery_certificate_expiration_timestamp_seconds",
            "When a certificate of the host ends, as a Unix time",
            self.ends.clone(),
        );
        registry.register("orrery_certificate_renewals", "Certificates renewed or read anew", self.renewals.clone());
        registry.register(
            "orrery_certificate_renewal_failures",
            "Times that a certificate could not be renewed or read anew",
            self.renewals_failed.clone(),
        );
    }

    pub(crate) fn ends(&self, certificate: &str, at: SystemTime) {
        let s = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let labels = vec![("certificate".to_owned(), certificate.to_owned())];
        self.ends.get_or_create(&labels).set(i64::try_from(s).unwrap_or(i64::MAX));
    }
}
