//! One round of following: from a log and lists to a view that serves, until the two can be brought together no more.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use orrery_api::ClusterName;
use orrery_cache::{Apply, Object};
use orrery_fleet::Observation;
use orrery_markers::{Marker, MemberObject};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::arrived::{Arrived, Found};
use super::wanted::Wanted;
use super::{Followed, Follower, Told};
use crate::resource::ClusterPhase;
use crate::task::ingest::{Ingests, Versions};
use crate::task::{BATCH_MAX, QUEUE_MAX};

/// How long the head may wait for a state that does not come.
const STALL_MAX: Duration = Duration::from_secs(10);
/// How often old states are forgotten and old bodies packed.
const HOUSE_EVERY: Duration = Duration::from_secs(1);
/// Steps of the log, and states of objects, that may wait for each other.
const WAITING_MAX: usize = 262_144;

/// Why a round ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum Ended {
    #[error("this version was too slow for the one that writes the log, or that one ended")]
    Untold,
    #[error("what the log shows did not come in this version within {} s", STALL_MAX.as_secs())]
    Stalled,
    #[error("more waits than is kept")]
    TooMuchWaits,
    #[error("cluster {0} was lacking in this version, and is there now")]
    Appeared(ClusterName),
    #[error("cluster {0} does not serve this version any more")]
    Lost(ClusterName),
    #[error("the versions of a cluster went back")]
    Rewound,
    #[error("the fleet ended")]
    NoFleet,
}

pub(super) struct Round {
    ingests: Ingests,
    fleet_changed: watch::Receiver<u64>,
    observations: mpsc::Receiver<(ClusterName, Observation)>,
    told: mpsc::Receiver<Arc<Told>>,
    pending: VecDeque<Pending>,
    arrived: Arrived,
    /// Since when the first of the pending steps has been waiting.
    stalled: Option<Instant>,
    is_begun: bool,
}

/// How a step is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ready {
    /// As the leader shows it.
    AsItIs,
    /// With this version's body of the same state.
    WithOwnBody,
    /// What is shown is that state already.
    Again,
    /// Not: something newer of the object comes with a later step, if only that it is gone.
    Skipped,
}

enum Pending {
    Step(Apply),
    Expired(Marker),
}

// === impl Round ===

impl Round {
    /// Brings the view to a state of the log: one at which the log says no less than this version's lists, and of which
    /// every body is here.
    pub(super) async fn begin(of: &mut Follower, followed: Followed) -> Result<Self, Ended> {
        let Followed { log, told } = followed;
        let mut round = Self::new(of, told);
        of.clusters().iter().for_each(|cluster| of.forget(cluster));
        round.reconcile(of)?;
        while of.is_loading() {
            round.hear(of, None).await?;
        }
        let clusters = of.loaded();
        let mut wanted = Wanted::of(&log);
        drop(log);
        let deadline = Some(Instant::now() + STALL_MAX);
        let mut behind = wanted.behind(&round.arrived, &clusters);
        loop {
            round.fold_into(&mut wanted);
            wanted.retain_behind(&mut behind, &round.arrived);
            if behind.is_empty() {
                break;
            }
            round.hear(of, deadline).await?;
        }
        let mut lacking = wanted.of_clusters(&clusters);
        loop {
            Wanted::retain_lacking(&mut lacking, &round.arrived);
            if lacking.is_empty() {
                break;
            }
            round.hear(of, deadline).await?;
        }
        let marker = wanted.marker;
        of.show_beginning(wanted.base(&mut round.arrived, &clusters), marker);
        round.arrived.forget_lists();
        round.is_begun = true;
        Ok(round)
    }

    fn new(of: &Follower, told: mpsc::Receiver<Arc<Told>>) -> Self {
        let (sender, observations) = mpsc::channel(QUEUE_MAX);
        let (gvr, fleet) = (of.shared.gvr.clone(), of.inner.fleet.clone());
        let namespaces = of.inner.settings.namespaces.clone().filter(|_| of.namespaced);
        Self {
            ingests: Ingests::new(fleet.clone(), gvr, Versions::This, namespaces, sender),
            fleet_changed: fleet.changed(),
            observations,
            told,
            pending: VecDeque::new(),
            arrived: Arrived::default(),
            stalled: None,
            is_begun: false,
        }
    }

    /// Serves until the round ends.
    pub(super) async fn serve(mut self, of: &mut Follower) -> Ended {
        loop {
            self.show(of);
            if let Err(ended) = self.hear(of, self.stalled.map(|since| since + STALL_MAX)).await {
                return ended;
            }
        }
    }

    /// Takes what comes next, from the log, the members or the fleet; a second without anything counts as well.
    async fn hear(&mut self, of: &mut Follower, deadline: Option<Instant>) -> Result<(), Ended> {
        let mut batch = Vec::new();
        tokio::select! {
            told = self.told.recv() => {
                let told = told.ok_or(Ended::Untold)?;
                if told.has_rewound {
                    return Err(Ended::Rewound);
                }
                self.pending.extend(told.steps.iter().cloned().map(Pending::Step));
                self.pending.extend(told.expired_before.map(Pending::Expired));
            }
            _ = self.observations.recv_many(&mut batch, BATCH_MAX) => {
                for (cluster, observation) in batch {
                    self.observe(of, &cluster, observation)?;
                }
            }
            changed = self.fleet_changed.changed() => {
                changed.map_err(|_| Ended::NoFleet)?;
                self.reconcile(of)?;
            }
            () = tokio::time::sleep(HOUSE_EVERY) => {
                self.arrived.sweep(Instant::now());
                of.keep_house();
            }
        }
        if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            return Err(Ended::Stalled);
        }
        if self.pending.len() > WAITING_MAX || self.arrived.waiting() > WAITING_MAX {
            return Err(Ended::TooMuchWaits);
        }
        Ok(())
    }

    /// Lets members join and leave, as the fleet and their discovery say now.
    fn reconcile(&mut self, of: &Follower) -> Result<(), Ended> {
        let serving = self.ingests.serving();
        for cluster in self.ingests.names() {
            if self.ingests.has_left(&cluster, &serving) {
                self.ingests.end(&cluster);
                self.arrived.forget(&cluster);
                of.forget(&cluster);
                if of.inner.fleet.member(&cluster).is_some() {
                    return Err(Ended::Lost(cluster));
                }
            }
        }
        for one in serving {
            if self.ingests.begin_fresh(&one) {
                of.set_phase(one.member.name(), ClusterPhase::Loading);
            }
        }
        Ok(())
    }

    fn observe(&mut self, of: &Follower, cluster: &ClusterName, observation: Observation) -> Result<(), Ended> {
        if !self.ingests.has(cluster) {
            return Ok(());
        }
        match observation {
            Observation::Listed { version, objects, .. } => {
                self.arrived.listed(cluster, version, objects);
                of.set_phase(cluster, ClusterPhase::Live);
                if self.is_begun && of.view.leaves_out(cluster) {
                    return Err(Ended::Appeared(cluster.clone()));
                }
            }
            Observation::Changed { object, kind } => self.arrived.changed(cluster, object, kind),
            // One that was listed before has all its objects shown: they wait for it, and are not gone.
            Observation::Away { reason } if self.arrived.list(cluster).is_none() => {
                of.set_phase(cluster, ClusterPhase::Away { reason });
            }
            Observation::Away { reason } | Observation::Stale { reason } => {
                of.shared.set_stale(cluster, reason, false);
            }
            Observation::Live => of.set_phase(cluster, ClusterPhase::Live),
            Observation::Progress { version } => self.arrived.progress(cluster, version),
            Observation::Resumed { .. } => {}
        }
        Ok(())
    }

    fn fold_into(&mut self, wanted: &mut Wanted) {
        for pending in self.pending.drain(..) {
            if let Pending::Step(step) = pending {
                wanted.fold(&step);
            }
        }
    }

    /// Shows the pending steps whose bodies are here.
    fn show(&mut self, of: &mut Follower) {
        let mut steps = Vec::new();
        while let Some(how) = self.pending.front().and_then(|first| self.readiness(of, first)) {
            match self.pending.pop_front() {
                Some(Pending::Step(step)) => steps.push(self.made(step, how)),
                Some(Pending::Expired(marker)) => {
                    of.show(std::mem::take(&mut steps));
                    of.view.expire_started_before(marker);
                }
                None => break,
            }
        }
        let has_moved = !steps.is_empty();
        of.show(steps);
        self.stalled = match self.stalled {
            _ if self.pending.is_empty() => None,
            Some(since) if !has_moved => Some(since),
            _ => Some(Instant::now()),
        };
    }

    /// How a step can be shown; `None` where its body is still to come.
    fn readiness(&self, of: &Follower, pending: &Pending) -> Option<Ready> {
        let (Pending::Step(Apply::Put { cluster, object, .. }) | Pending::Step(Apply::Hold { cluster, object })) =
            pending
        else {
            return Some(Ready::AsItIs);
        };
        if !self.ingests.has(cluster) && of.inner.fleet.member(cluster).is_none() {
            // It left, and a later step of the log says so of each of its objects.
            return Some(Ready::Skipped);
        }
        if of.is_away(cluster) || !self.ingests.has(cluster) {
            return Some(Ready::AsItIs);
        }
        match self.arrived.find(cluster, &object.uid, object.version) {
            Found::Here => Some(Ready::WithOwnBody),
            Found::NotYet => None,
            Found::Passed => self.passed(of, pending),
        }
    }

    /// A state that this version's watch has gone past: it is shown already, or the head waits for the object's next
    /// record, at which something newer is shown.
    fn passed(&self, of: &Follower, pending: &Pending) -> Option<Ready> {
        let Pending::Step(Apply::Put { served, object, .. }) = pending else { return Some(Ready::Skipped) };
        let is_it = |shown: &Object| shown.uid() == &object.uid && !object.version.is_after(shown.version());
        if of.view.writer().get(served).is_some_and(|shown| is_it(shown)) {
            return Some(Ready::Again);
        }
        let is_next = |later: &Pending| match later {
            Pending::Step(Apply::Put { served: name, .. } | Apply::Delete { served: name, .. }) => name == served,
            Pending::Step(_) | Pending::Expired(_) => false,
        };
        self.pending.iter().skip(1).any(is_next).then_some(Ready::Skipped)
    }

    /// The step as it is shown in this version.
    fn made(&mut self, step: Apply, how: Ready) -> Apply {
        let mut own = |cluster: &ClusterName, object: MemberObject| match how {
            Ready::WithOwnBody => self.arrived.take(cluster, &object.uid, object.version).unwrap_or(object),
            Ready::AsItIs | Ready::Again | Ready::Skipped => object,
        };
        match (step, how) {
            (Apply::Put { marker, .. }, Ready::Skipped) => Apply::Mark { marker },
            (Apply::Hold { cluster, object }, Ready::Skipped) => Apply::Unhold { cluster, key: object.key },
            (Apply::Put { marker, served, cluster, object, holders }, Ready::Again) => {
                Apply::Reshow { marker, served, cluster, key: object.key, holders }
            }
            (Apply::Put { marker, served, cluster, object, holders }, _) => {
                let object = own(&cluster, object);
                Apply::Put { marker, served, cluster, object, holders }
            }
            (Apply::Hold { cluster, object }, _) => {
                let object = own(&cluster, object);
                Apply::Hold { cluster, object }
            }
            (step, _) => step,
        }
    }
}
