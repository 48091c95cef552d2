//! What the front shows of itself.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// Counters, gauges and histograms of the front. Clones share them.
#[derive(Clone, Debug)]
pub struct Metrics {
    pub(crate) requests: Family<OfAnswer, Counter>,
    pub(crate) seconds: Family<OfRequest, Histogram, fn() -> Histogram>,
    pub(crate) sent: Family<OfRequest, Counter>,
    pub(crate) in_flight: Family<OfClass, Gauge>,
    pub(crate) refused: Family<OfReason, Counter>,
    pub(crate) connections: Gauge,
    pub(crate) panics: Counter,
    pub(crate) websockets_cut: Family<OfReason, Counter>,
}

/// Labels of an answered request. `resource` is one that is served, or empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OfAnswer {
    pub(crate) verb: &'static str,
    pub(crate) resource: String,
    pub(crate) code: u16,
}

/// Labels of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OfRequest {
    pub(crate) verb: &'static str,
    pub(crate) resource: String,
}

/// Short requests, which `read` or `write`, and `long` ones: watches, logs, upgrades.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OfClass {
    pub(crate) class: &'static str,
}

/// Why a connection or request was turned away.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OfReason {
    pub(crate) reason: &'static str,
}

// === impl Metrics ===

impl Default for Metrics {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.000_25, 2.0, 18))),
            sent: Family::default(),
            in_flight: Family::default(),
            refused: Family::default(),
            connections: Gauge::default(),
            panics: Counter::default(),
            websockets_cut: Family::default(),
        }
    }
}

impl Metrics {
    /// Registers all of them.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("orrery_http_requests", "Requests answered", self.requests.clone());
        registry.register_with_unit(
            "orrery_http_request_duration",
            "Time from a request's head to the head of its answer",
            Unit::Seconds,
            self.seconds.clone(),
        );
        registry.register_with_unit(
            "orrery_http_response_sent",
            "Bytes of answers' bodies",
            Unit::Bytes,
            self.sent.clone(),
        );
        registry.register(
            "orrery_http_requests_in_flight",
            "Requests whose answer is not complete",
            self.in_flight.clone(),
        );
        registry.register("orrery_http_refused", "Connections and requests turned away", self.refused.clone());
        registry.register("orrery_http_connections", "Connections of clients", self.connections.clone());
        registry.register(
            "orrery_http_panics",
            "Requests answered 500 because their handler panicked",
            self.panics.clone(),
        );
        registry.register(
            "orrery_http_websockets_cut",
            "WebSockets whose client did not read (slow) or answered no ping (vanished)",
            self.websockets_cut.clone(),
        );
    }
}
