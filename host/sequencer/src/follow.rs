//! Another served version of a resource whose log is being written: it mints no markers and takes them from there.
//!
//! ```text
//!  leader ── records, durable ──▶ pending ──┐
//!                                           ├──▶ each step with the body of that very state ──▶ view
//!  members, in this version ────▶ arrived ──┘
//! ```
//! The leader is the version that members prefer. What it shows, this shows at the same marker, with the bodies that its
//! own watches bring; where they are behind, so is this version's head. Where they cannot be brought together in time it
//! begins anew, and its clients list again.

mod arrived;
mod round;
mod wanted;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use orrery_api::ClusterName;
use orrery_cache::{Apply, NotShown};
use orrery_fleet::ResourceInfo;
use orrery_markers::{Log, Marker};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, info, info_span, warn};

use crate::metrics::OfResource;
use crate::resource::{ClusterPhase, Resource, Shared};
use crate::sequencer::Inner;
use crate::task::{Phase, shape_of};
use crate::view::View;
use round::{Ended, Round};
use wanted::Base;

/// Batches of the leader that may wait for a follower; one that is slower begins anew.
const BATCHES_MAX: usize = 256;
/// How long a follower that ended at once waits before it begins anew.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// The version that writes the log, as followers reach it. A cheap handle.
#[derive(Clone)]
pub(crate) struct Leader {
    pub(crate) shared: Arc<Shared>,
    pub(crate) joining: mpsc::Sender<Join>,
}

/// A follower that wants to be told.
pub(crate) struct Join(oneshot::Sender<Followed>);

/// Where a follower begins.
pub(crate) struct Followed {
    /// The log, all of it durable.
    log: Log,
    /// What is shown from there on.
    told: mpsc::Receiver<Arc<Told>>,
}

/// What one commit shows.
pub(crate) struct Told {
    steps: Vec<Apply>,
    expired_before: Option<Marker>,
    /// Versions of a cluster went back: those of states that came before may stand for others now.
    has_rewound: bool,
}

/// Those who follow a log.
#[derive(Default)]
pub(crate) struct Followers(Vec<mpsc::Sender<Arc<Told>>>);

/// Runs a version that follows `leader`, until `stop` or until the leader ends.
pub(crate) fn spawn(
    inner: Arc<Inner>,
    info: &ResourceInfo,
    leader: Leader,
    stop: CancellationToken,
) -> watch::Receiver<Phase> {
    let (phase, seen) = watch::channel(Phase::Loading);
    let span = info_span!("resource", resource = %info.gvr.clock(), version = %info.gvr.api_version());
    let mut follower = Follower::new(inner, info, leader);
    tokio::spawn(async move { stop.run_until_cancelled(follower.run(&phase)).await }.instrument(span));
    seen
}

pub(crate) struct Follower {
    inner: Arc<Inner>,
    leader: Leader,
    shared: Arc<Shared>,
    namespaced: bool,
    view: View,
    settling: Option<JoinHandle<()>>,
    label: OfResource,
}

// === impl Followers ===

impl Followers {
    /// Tells all of them. Who cannot take it is told nothing more.
    pub(crate) fn tell(&mut self, steps: &[Apply], expired_before: Option<Marker>, has_rewound: bool) {
        if self.0.is_empty() {
            return;
        }
        let told = Arc::new(Told { steps: steps.to_vec(), expired_before, has_rewound });
        self.0.retain(|follower| follower.try_send(told.clone()).is_ok());
    }

    /// Answers one that joins, with the log as it stands when all of it is durable.
    pub(crate) fn join(&mut self, Join(reply): Join, log: &RwLock<Log>) {
        let (sender, told) = mpsc::channel(BATCHES_MAX);
        let log = log.read().unwrap_or_else(PoisonError::into_inner).clone();
        if reply.send(Followed { log, told }).is_ok() {
            self.0.push(sender);
        }
    }
}

// === impl Leader ===

impl Leader {
    /// Where to begin; `None` where the leader has ended.
    async fn join(&self) -> Option<Followed> {
        let (reply, answer) = oneshot::channel();
        self.joining.send(Join(reply)).await.ok()?;
        answer.await.ok()
    }
}

// === impl Follower ===

impl Follower {
    fn new(inner: Arc<Inner>, info: &ResourceInfo, leader: Leader) -> Self {
        let (writer, _) = orrery_cache::resource(shape_of(&inner, info), &inner.budget, &inner.cache_metrics);
        let shared = Shared {
            gvr: info.gvr.clone(),
            naming: leader.shared.naming,
            store: inner.store.clone(),
            log: leader.shared.log.clone(),
            clusters: RwLock::default(),
            looks: leader.shared.looks.clone(),
        };
        let label = OfResource { resource: info.gvr.to_string() };
        Self {
            inner,
            leader,
            shared: Arc::new(shared),
            namespaced: info.namespaced,
            view: View::new(writer),
            settling: None,
            label,
        }
    }

    async fn run(&mut self, phase: &watch::Sender<Phase>) {
        while let Some(followed) = self.leader.join().await {
            let ended = match Round::begin(self, followed).await {
                Ok(round) => {
                    let reader = self.view.reader();
                    info!(objects = reader.latest().len(), head = %reader.head(), "version serves");
                    phase.send_replace(Phase::Ready(Resource { shared: self.shared.clone(), reader }));
                    round.serve(self).await
                }
                Err(ended) => ended,
            };
            if matches!(ended, Ended::NoFleet) {
                return;
            }
            self.inner.metrics.rejoins.get_or_create(&self.label).inc();
            warn!(reason = %ended, "version begins anew; its clients list again");
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    }

    /// The view begins.
    fn show_beginning(&mut self, base: Base, marker: Marker) {
        let Base { shown, held, left_out } = base;
        let not_shown = self.view.begin(shown, held, left_out, marker);
        self.report(&not_shown);
    }

    /// The view goes on.
    fn show(&mut self, steps: Vec<Apply>) {
        if steps.is_empty() {
            return;
        }
        let clusters = self.shared.clusters.read().unwrap_or_else(PoisonError::into_inner);
        let serves = |cluster: &ClusterName| {
            clusters.get(cluster).is_some_and(|state| !matches!(state.phase, ClusterPhase::Away { .. }))
        };
        let not_shown = self.view.apply(steps, serves);
        drop(clusters);
        self.report(&not_shown);
    }

    fn report(&self, not_shown: &[NotShown]) {
        for unreadable in not_shown {
            self.inner.metrics.unreadable.get_or_create(&self.label).inc();
            warn!(object = ?unreadable, "an object cannot be shown");
        }
    }

    /// Packs old bodies and trims the ring, beside the loop.
    fn keep_house(&mut self) {
        if self.settling.as_ref().is_none_or(JoinHandle::is_finished) {
            let (reader, now) = (self.view.reader(), tokio::time::Instant::now().into_std());
            self.settling = Some(tokio::task::spawn_blocking(move || reader.settle(now)));
        }
        self.shared.refresh_counts();
    }

    fn clusters(&self) -> Vec<ClusterName> {
        self.shared.clusters.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    fn has_phase(&self, is: impl Fn(&ClusterPhase) -> bool) -> Vec<ClusterName> {
        let clusters = self.shared.clusters.read().unwrap_or_else(PoisonError::into_inner);
        clusters.iter().filter(|(_, state)| is(&state.phase)).map(|(name, _)| name.clone()).collect()
    }

    fn is_loading(&self) -> bool {
        !self.has_phase(|phase| matches!(phase, ClusterPhase::Loading)).is_empty()
    }

    fn loaded(&self) -> Vec<ClusterName> {
        self.has_phase(|phase| matches!(phase, ClusterPhase::Live | ClusterPhase::Stale { .. }))
    }

    fn is_away(&self, cluster: &ClusterName) -> bool {
        let clusters = self.shared.clusters.read().unwrap_or_else(PoisonError::into_inner);
        matches!(clusters.get(cluster).map(|state| &state.phase), Some(ClusterPhase::Away { .. }))
    }

    fn set_phase(&self, cluster: &ClusterName, phase: ClusterPhase) {
        self.shared.set_phase(cluster, phase, false);
    }

    fn forget(&self, cluster: &ClusterName) {
        self.shared.clusters.write().unwrap_or_else(PoisonError::into_inner).remove(cluster);
    }
}
