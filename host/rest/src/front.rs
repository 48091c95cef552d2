//! The way of one request: taken apart, admitted, routed, answered, counted.

mod admission;
mod answer;
mod openapi;
mod own;
mod paths;
mod resource;
mod scores;
mod tracked;

use std::sync::Arc;

use orrery_extensions::Policies;
use orrery_fleet::Fleet;
use orrery_sequencer::Sequencer;
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;

use crate::discovery::Discovered;
use crate::health::Check;
use crate::{Metrics, Settings};

use admission::Admission;
pub(crate) use admission::Place;
use openapi::Indexes;
use resource::{Capacity, Printers, Selectable};
use scores::Scores;

/// All that the front serves from.
#[derive(Clone)]
pub struct Front {
    /// The members.
    pub fleet: Fleet,
    /// The clocked resources.
    pub sequencer: Sequencer,
    /// Where new objects go.
    pub policies: Policies,
    /// Bounds and times.
    pub settings: Settings,
    /// What the front shows of itself; register it in `registry`.
    pub metrics: Metrics,
    /// What `/metrics` prints.
    pub registry: Arc<Registry>,
    /// What `/readyz` depends on, beside not being shut down.
    pub checks: Arc<[Check]>,
}

/// The front at work.
pub(crate) struct Service {
    front: Front,
    /// Host and port, as legacy discovery tells them to clients.
    address: String,
    admission: Admission,
    discovered: Discovered,
    printers: Printers,
    selectable: Selectable,
    indexes: Indexes,
    capacity: Capacity,
    scores: Scores,
    shutdown: CancellationToken,
}

// === impl Service ===

impl Service {
    pub(crate) fn new(front: Front, address: String, shutdown: CancellationToken) -> Self {
        let admission = Admission::new(&front.settings, &front.metrics);
        let (discovered, printers, selectable, indexes) = Default::default();
        let (capacity, scores) = Default::default();
        Self { front, address, admission, discovered, printers, selectable, indexes, capacity, scores, shutdown }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.front.settings
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.front.metrics
    }

    /// Waits until no request is in flight.
    pub(crate) async fn idle(&self) {
        self.admission.idle().await;
    }
}
