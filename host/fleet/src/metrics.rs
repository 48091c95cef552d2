use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use orrery_api::ClusterName;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;

use crate::Traffic;

/// What the fleet counts, by member.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    reachable: Family<Cluster, Gauge>,
    in_flight: Family<Cluster, Gauge>,
    connections: Family<Cluster, Gauge>,
    watches: Family<Cluster, Gauge>,
    loads_waiting: Family<Cluster, Gauge>,
    requests: Family<ClusterCode, Counter>,
    received: Family<Cluster, Counter>,
    reconnects: Family<ClusterReason, Counter>,
    relists: Family<ClusterReason, Counter>,
    last_event: Arc<Mutex<BTreeMap<ClusterName, Arc<AtomicU64>>>>,
}

/// The metrics of one member.
#[derive(Clone, Debug)]
pub(crate) struct MemberMetrics {
    cluster: ClusterName,
    all: Metrics,
    pub(crate) reachable: Gauge,
    pub(crate) in_flight: Gauge,
    pub(crate) watches: Gauge,
    pub(crate) loads_waiting: Gauge,
    pub(crate) received: Counter,
    pub(crate) traffic: Traffic,
    last_event: Arc<AtomicU64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Cluster {
    cluster: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ClusterCode {
    cluster: String,
    code: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ClusterReason {
    cluster: String,
    reason: &'static str,
}

/// Says at each scrape how long ago each member's last event or bookmark came.
#[derive(Debug)]
struct Lag(Metrics);

/// One more while it lives.
#[derive(Debug)]
pub(crate) struct Held(Gauge);

// === impl Metrics ===

impl Metrics {
    /// Registers all of them under the prefix `orrery`.
    pub fn register(&self, registry: &mut Registry) {
        let sub = registry.sub_registry_with_prefix("orrery_member");
        sub.register("reachable", "1 where the member answers, else 0", self.reachable.clone());
        sub.register(
            "requests_in_flight",
            "Requests whose answer is not complete, watches included",
            self.in_flight.clone(),
        );
        sub.register("connections", "Open connections to the member", self.connections.clone());
        sub.register("watches", "Watches of the ingest that are open", self.watches.clone());
        sub.register("loads_waiting", "Lists that wait for their turn", self.loads_waiting.clone());
        sub.register("requests", "Answers by HTTP code; 0 where none came", self.requests.clone());
        sub.register("received_bytes", "Bytes of answers received", self.received.clone());
        sub.register("reconnects", "Watches that ended, by reason", self.reconnects.clone());
        sub.register("relists", "Lists that replaced what was known, by reason", self.relists.clone());
        registry.register_collector(Box::new(Lag(self.clone())));
    }

    /// Those of one member.
    pub(crate) fn member(&self, name: &ClusterName) -> MemberMetrics {
        let cluster = Cluster { cluster: name.to_string() };
        MemberMetrics {
            cluster: name.clone(),
            all: self.clone(),
            reachable: self.reachable.get_or_create_owned(&cluster),
            in_flight: self.in_flight.get_or_create_owned(&cluster),
            watches: self.watches.get_or_create_owned(&cluster),
            loads_waiting: self.loads_waiting.get_or_create_owned(&cluster),
            received: self.received.get_or_create_owned(&cluster),
            traffic: Traffic { connections: self.connections.get_or_create_owned(&cluster) },
            last_event: self.times().entry(name.clone()).or_default().clone(),
        }
    }

    /// Forgets a member that has left.
    pub(crate) fn forget(&self, name: &ClusterName) {
        let cluster = Cluster { cluster: name.to_string() };
        for family in [&self.reachable, &self.in_flight, &self.connections, &self.watches, &self.loads_waiting] {
            family.remove(&cluster);
        }
        self.received.remove(&cluster);
        self.times().remove(name);
    }

    fn times(&self) -> std::sync::MutexGuard<'_, BTreeMap<ClusterName, Arc<AtomicU64>>> {
        self.last_event.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl MemberMetrics ===

impl MemberMetrics {
    pub(crate) fn answered(&self, code: u16) {
        self.all.requests.get_or_create(&ClusterCode { cluster: self.cluster.to_string(), code }).inc();
    }

    pub(crate) fn reconnected(&self, reason: &'static str) {
        self.all.reconnects.get_or_create(&ClusterReason { cluster: self.cluster.to_string(), reason }).inc();
    }

    pub(crate) fn relisted(&self, reason: &'static str) {
        self.all.relists.get_or_create(&ClusterReason { cluster: self.cluster.to_string(), reason }).inc();
    }

    /// An event or a bookmark has come.
    pub(crate) fn event(&self) {
        self.last_event.store(unix_millis(), Ordering::Relaxed);
    }

    /// Seconds since the last event or bookmark; none before the first.
    pub(crate) fn lag(&self) -> Option<f64> {
        lag(&self.last_event)
    }
}

// === impl Held ===

impl Held {
    pub(crate) fn one(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.dec();
    }
}

// === impl Lag ===

impl Collector for Lag {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let gauge = ConstGauge::new(0.0);
        let mut family = encoder.encode_descriptor(
            "orrery_member_observe_lag_seconds",
            "Time since the last event or bookmark of any watch of the member",
            None,
            gauge.metric_type(),
        )?;
        for (name, time) in self.0.times().iter() {
            let Some(seconds) = lag(time) else { continue };
            let labels = Cluster { cluster: name.to_string() };
            ConstGauge::new(seconds).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

fn lag(time: &AtomicU64) -> Option<f64> {
    let at = time.load(Ordering::Relaxed);
    (at > 0).then(|| unix_millis().saturating_sub(at) as f64 / 1000.0)
}

fn unix_millis() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lag_of_a_member_is_shown_from_its_first_event_until_it_leaves() {
        let metrics = Metrics::default();
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let shown = || {
            let mut text = String::new();
            prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
            text
        };
        let east = ClusterName::new("east").unwrap();
        let member = metrics.member(&east);
        assert!(!shown().contains("observe_lag_seconds{"), "{}", shown());
        member.event();
        assert!(shown().contains("orrery_member_observe_lag_seconds{cluster=\"east\"}"), "{}", shown());
        let held = Held::one(&member.watches);
        assert!(shown().contains("orrery_member_watches{cluster=\"east\"} 1"), "{}", shown());
        drop(held);
        metrics.forget(&east);
        assert!(!shown().contains("observe_lag_seconds{"), "{}", shown());
    }
}
