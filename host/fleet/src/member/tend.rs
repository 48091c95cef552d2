use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use orrery_api::ClusterName;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::confirm::{Confirmation, Registry};
use super::connect::Connection;
use super::{Inner, NEVER};
use crate::discovery::keep_fresh;
use crate::jitter::Backoff;
use crate::{FleetSettings, Member, MemberSource, Metrics};

/// What members of one fleet share.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) settings: Arc<FleetSettings>,
    pub(crate) metrics: Metrics,
    pub(crate) changed: Arc<watch::Sender<u64>>,
    pub(crate) registry: Arc<Registry>,
}

// === impl Member ===

impl Member {
    /// A member that is not asked anything yet.
    pub(crate) fn new(name: ClusterName, source: Arc<dyn MemberSource>, shared: &Shared) -> Self {
        let settings = Arc::clone(&shared.settings);
        Self(Arc::new(Inner {
            metrics: shared.metrics.member(&name),
            name,
            source: Mutex::new(source),
            status: watch::Sender::default(),
            changed: Arc::clone(&shared.changed),
            registry: Arc::clone(&shared.registry),
            connection: Connection::default(),
            confirmed: Confirmation::default(),
            schemas: watch::Sender::default(),
            heard: AtomicU64::new(NEVER),
            born: Instant::now(),
            probe_now: Notify::new(),
            loads: Semaphore::new(settings.loads),
            requests: Semaphore::new(settings.requests),
            left: CancellationToken::new(),
            settings,
        }))
    }

    /// Watches its health and what it serves, until it leaves.
    pub(crate) fn tend(&self) {
        let member = self.clone();
        tokio::spawn(async move { member.0.left.run_until_cancelled(member.probe()).await });
        let member = self.clone();
        tokio::spawn(async move { member.0.left.run_until_cancelled(keep_fresh(&member)).await });
    }

    /// It has left the fleet: its tasks end.
    pub(crate) fn leave(&self) {
        self.0.left.cancel();
    }

    /// Probes it: at once, whenever something failed, and when it was unheard for a while; with growing waits while it
    /// is down.
    async fn probe(&self) {
        let mut backoff = Backoff::new(&self.0.settings, self.0.name.as_str());
        loop {
            let confirmed = self.confirm().await;
            match confirmed {
                Ok(_) => backoff.reset(),
                Err(fault) => tracing::debug!(cluster = %self.0.name, reason = %fault.reason(), "probe failed"),
            }
            if self.0.status.borrow().is_down() {
                sleep(backoff.next()).await;
            } else {
                self.until_due().await;
            }
        }
    }

    /// Waits until something failed, or nothing was heard for the probe's interval.
    async fn until_due(&self) {
        let interval = self.0.settings.probe;
        let mut wait = interval;
        loop {
            tokio::select! {
                () = self.0.probe_now.notified() => return,
                () = sleep(wait) => {}
            }
            let unheard = self.unheard().unwrap_or(interval);
            if unheard >= interval {
                return;
            }
            wait = (interval - unheard).max(Duration::from_millis(1));
        }
    }
}
