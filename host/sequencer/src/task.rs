//! The task that runs one resource.

mod apply;
mod begin;
mod commit;
mod gather;
mod housekeeping;
pub(crate) mod ingest;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use orrery_api::{ClusterName, Gvr, Naming, ObjectKey, Uid};
use orrery_cache::{Apply, Shape};
use orrery_fleet::{AwayReason, Fleet, ListReason, Observation, ResourceInfo};
use orrery_markers::{Change, ChangeKind, Effect, Log, Marker, MemberObject, MemberVersion, Presence, Sight};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, info, info_span, warn};

use crate::follow::{Followers, Join, Leader};
use crate::metrics::OfResource;
use crate::resource::{ClusterPhase, Resource, Shared};
use crate::sequencer::{Inner, naming_of};
use crate::view::View;
use crate::written::{Look, Looked, Looks};
use housekeeping::Housekeeping;
use ingest::{Ingests, Versions};

/// Observations that may wait; beyond them the members' watches wait.
pub(crate) const QUEUE_MAX: usize = 1024;
/// Observations that are sequenced and committed together.
pub(crate) const BATCH_MAX: usize = 512;
/// Versions that may wait to be told of the log.
const JOINS_MAX: usize = 16;

/// Whether a resource serves.
#[derive(Clone)]
pub(crate) enum Phase {
    /// Its first lists are under way.
    Loading,
    /// It serves.
    Ready(Resource),
    /// It cannot be begun.
    Failed(Arc<str>),
}

/// How the resource is described by the first member that serves it.
pub(crate) fn served_info(fleet: &Fleet, gvr: &Gvr) -> Option<ResourceInfo> {
    fleet.members().iter().find_map(|member| member.discovery()?.find(gvr).cloned())
}

/// The version that writes the resource's log: the one that the first member which serves the resource prefers, whichever
/// is asked for first. A version that follows may lack a member that the log has, so it must not become the one that
/// leads, and is resumed from the log, when the host restarts.
pub(crate) fn leading_info(fleet: &Fleet, gvr: &Gvr) -> Option<ResourceInfo> {
    let clock = gvr.clock();
    fleet.members().iter().find_map(|member| member.discovery()?.find_clocked(&clock).cloned())
}

/// Runs the resource until `stop`, or until it fails.
pub(crate) fn spawn(
    inner: Arc<Inner>,
    info: &ResourceInfo,
    stop: CancellationToken,
) -> (watch::Receiver<Phase>, Leader) {
    let (phase, seen) = watch::channel(Phase::Loading);
    let span = info_span!("resource", resource = %info.gvr.clock());
    let (task, observations, leader) = Task::new(inner, info);
    tokio::spawn(
        async move {
            let running = async {
                if let Err(reason) = task.run(observations, &phase).await {
                    warn!(%reason, "resource stopped");
                    phase.send_replace(Phase::Failed(reason));
                    // Those who wait see the reason before the channel closes and the next use tries anew.
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            };
            stop.run_until_cancelled(running).await;
        }
        .instrument(span),
    );
    (seen, leader)
}

/// How the cache of a served version shows its objects.
pub(crate) fn shape_of(inner: &Inner, info: &ResourceInfo) -> Shape {
    Shape {
        gvr: info.gvr.clone(),
        kind: info.kind.clone(),
        namespaced: info.namespaced,
        stamp: inner.settings.stamp,
        naming: naming_of(&info.gvr),
        fields: inner.fields_of(&info.gvr, info.namespaced),
    }
}

/// Why a resource stops.
type Stopped = Arc<str>;

type Observations = mpsc::Receiver<(ClusterName, Observation)>;

struct Task {
    inner: Arc<Inner>,
    shared: Arc<Shared>,
    view: View,
    followers: Followers,
    joins: mpsc::Receiver<Join>,
    looked: mpsc::Receiver<Look>,
    ingests: Ingests,
    /// What the staged records mean, not yet durable.
    waiting: Vec<Apply>,
    /// Watches that began before it end with what waits: something went that nobody has the last state of.
    expire_before: Option<Marker>,
    /// Versions of a cluster went back with what waits: who follows must begin anew.
    has_rewound: bool,
    housekeeping: Housekeeping,
    label: OfResource,
}

// === impl Task ===

impl Task {
    fn new(inner: Arc<Inner>, info: &ResourceInfo) -> (Self, Observations, Leader) {
        let gvr = info.gvr.clone();
        let naming = naming_of(&gvr);
        let (writer, _) = orrery_cache::resource(shape_of(&inner, info), &inner.budget, &inner.cache_metrics);
        let (joining, joins) = mpsc::channel(JOINS_MAX);
        let (looks, looked) = Looks::new(gvr.clone());
        let (sender, observations) = mpsc::channel(QUEUE_MAX);
        let shared = Shared {
            gvr: gvr.clone(),
            naming,
            store: inner.store.clone(),
            log: Arc::new(RwLock::new(Log::new(naming))),
            clusters: RwLock::default(),
            looks,
        };
        let shared = Arc::new(shared);
        let leader = Leader { shared: shared.clone(), joining };
        let namespaces = inner.settings.namespaces.clone().filter(|_| info.namespaced);
        let task = Self {
            ingests: Ingests::new(inner.fleet.clone(), gvr.clone(), Versions::Any, namespaces, sender),
            label: OfResource { resource: gvr.clock().to_string() },
            shared,
            view: View::new(writer),
            followers: Followers::default(),
            joins,
            looked,
            waiting: Vec::new(),
            expire_before: None,
            has_rewound: false,
            housekeeping: Housekeeping::default(),
            inner,
        };
        (task, observations, leader)
    }

    async fn run(mut self, mut observations: Observations, phase: &watch::Sender<Phase>) -> Result<(), Stopped> {
        let begun = tokio::time::Instant::now();
        self.begin(&mut observations).await?;
        self.inner.metrics.begin_seconds.observe(begun.elapsed().as_secs_f64());
        phase.send_replace(Phase::Ready(Resource { shared: self.shared.clone(), reader: self.view.reader() }));
        info!(objects = self.view.reader().latest().len(), head = %self.view.reader().head(), "resource serves");
        self.serve(observations).await
    }

    async fn serve(&mut self, mut observations: Observations) -> Result<(), Stopped> {
        let mut fleet_changed = self.inner.fleet.changed();
        let mut tick = tokio::time::interval(Duration::from_secs(1));
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let (mut batch, mut joining) = (Vec::with_capacity(BATCH_MAX), None);
        self.reconcile();
        loop {
            tokio::select! {
                biased;
                changed = fleet_changed.changed() => {
                    if changed.is_err() {
                        return Err("the fleet ended".into());
                    }
                    self.reconcile();
                }
                _ = tick.tick() => self.keep_house().await,
                Some(join) = self.joins.recv() => joining = Some(join),
                Some(look) = self.looked.recv() => self.look(&look),
                _ = observations.recv_many(&mut batch, BATCH_MAX) => {
                    self.inner.metrics.queued.get_or_create(&self.label).set(observations.len().try_into().unwrap_or(i64::MAX));
                    for (cluster, observation) in batch.drain(..) {
                        self.observe(&cluster, observation);
                    }
                }
            }
            if joining.is_some() {
                // What a version showed before it began anew must not be taken for what it shows from here on.
                self.stage(None, |log, effects| log.mark(effects));
            }
            self.commit().await?;
            if let Some(join) = joining.take() {
                self.followers.join(join, &self.shared.log);
            }
        }
    }

    /// Lets members join and leave this resource, as the fleet and their discovery say now.
    fn reconcile(&mut self) {
        let serving = self.ingests.serving();
        let known: Vec<ClusterName> = self.log().clusters().map(|(name, _)| name.clone()).collect();
        for cluster in self.ingests.names().into_iter().chain(known) {
            if self.ingests.has_left(&cluster, &serving) {
                self.leave(&cluster);
            }
        }
        for one in serving {
            if self.ingests.begin_fresh(&one) {
                self.set_phase(one.member.name(), ClusterPhase::Loading);
            }
        }
    }

    fn leave(&mut self, cluster: &ClusterName) {
        self.ingests.end(cluster);
        self.shared.clusters.write().unwrap_or_else(PoisonError::into_inner).remove(cluster);
        if self.log().cluster(cluster).is_some() {
            info!(%cluster, "cluster left");
            self.stage(None, |log, effects| log.left(cluster, effects));
        }
    }

    /// Sequences what a member said. What a cluster said before it left, or before its first list, counts for nothing.
    fn observe(&mut self, cluster: &ClusterName, observation: Observation) {
        if !self.ingests.has(cluster) {
            return;
        }
        if !matches!(observation, Observation::Away { .. } | Observation::Stale { .. }) {
            self.shared.looks.heard(cluster);
        }
        match observation {
            Observation::Listed { version, identity, objects, why } => {
                self.listed(cluster, version, identity, &objects, why);
            }
            Observation::Changed { object, kind } if self.has_joined(cluster) => self.changed(cluster, &object, kind),
            Observation::Progress { version } if self.has_joined(cluster) => {
                self.stage(None, |log, effects| {
                    log.progress(cluster, version, effects);
                });
            }
            Observation::Away { reason } if self.has_joined(cluster) => self.stale(cluster, reason),
            Observation::Away { reason } => {
                self.set_phase(cluster, ClusterPhase::Away { reason });
            }
            Observation::Stale { reason } => self.stale(cluster, reason),
            Observation::Live => self.set_phase(cluster, ClusterPhase::Live),
            Observation::Changed { .. } | Observation::Progress { .. } | Observation::Resumed { .. } => {}
        }
    }

    /// Sequences what was read of an object whose cluster's stream is silent. Where a cluster is observed in another
    /// version, what was read in this one is not its body.
    fn look(&mut self, Look { cluster, looked }: &Look) {
        if !self.ingests.has(cluster) || self.ingests.is_elsewhere(cluster) {
            return;
        }
        let bodies = match looked {
            Looked::There(object) => Some(Bodies::one(object)),
            Looked::Gone(_) => None,
        };
        self.inner.metrics.looks.get_or_create(&self.label).inc();
        self.stage(bodies.as_ref(), |log, effects| looked.stage(cluster, log, effects));
    }

    fn changed(&mut self, cluster: &ClusterName, object: &MemberObject, kind: ChangeKind) {
        let change = object.change(kind);
        self.stage(Some(&Bodies::one(object)), |log, effects| {
            log.change(cluster, change, effects);
        });
    }

    fn listed(
        &mut self,
        cluster: &ClusterName,
        version: MemberVersion,
        identity: Arc<str>,
        objects: &[MemberObject],
        why: ListReason,
    ) {
        self.inner.metrics.relists.get_or_create(&self.label).inc();
        info!(%cluster, %version, objects = objects.len(), reason = why.as_str(), "listed");
        if self.is_another(cluster, &identity) {
            self.stage(None, |log, effects| log.left(cluster, effects));
        }
        self.has_rewound |= self.is_rewound(cluster, version, objects);
        self.sequence_list(cluster, version, identity, objects);
        self.set_phase(cluster, ClusterPhase::Live);
    }

    /// Whether the cluster's versions went back, so that one may stand for two states.
    fn is_rewound(&self, cluster: &ClusterName, version: MemberVersion, objects: &[MemberObject]) -> bool {
        let log = self.log();
        let Some(part) = log.cluster(cluster) else { return false };
        let is_other = |object: &MemberObject| {
            part.object(&object.uid).is_some_and(|known| {
                let is_again = !object.version.is_after(known.version);
                known.version.is_after(object.version) || is_again && object.digest.differs_from(known.digest)
            })
        };
        part.clock().is_some_and(|clock| clock.latest.is_after(version)) || objects.iter().any(is_other)
    }

    /// Sequences how a list differs from the log; the cluster takes part from then on.
    fn sequence_list(
        &mut self,
        cluster: &ClusterName,
        version: MemberVersion,
        identity: Arc<str>,
        objects: &[MemberObject],
    ) {
        let changes: Vec<Change> = objects.iter().map(|object| object.change(ChangeKind::Modified)).collect();
        let bodies = Bodies::many(objects);
        if self.has_joined(cluster) {
            self.stage(Some(&bodies), |log, effects| log.relisted(cluster, version, &changes, effects));
            return;
        }
        let has_lost = self.has_lost_while_away(cluster, objects);
        // Only what was lost, or a last state of another cluster, is deleted here. Else this would go through all that waits for
        // each of a thousand clusters as they join.
        let may_delete = has_lost || self.shared.naming == Naming::Same;
        let (reader, awaited) = (self.view.reader(), if may_delete { self.awaited() } else { HashMap::new() });
        let is_seen =
            |served: &ObjectKey| awaited.get(served).map_or_else(|| reader.get(served).is_some(), |seen| *seen);
        self.stage(Some(&bodies), |log, effects| {
            log.relisted(cluster, version, &changes, effects);
            log.joined(cluster, identity, effects);
            effects.iter_mut().for_each(|effect| hide_deletion(effect, is_seen));
        });
        if has_lost {
            // Who listed before the cluster went away may have watched or resumed since then, so that no marker before its
            // return tells who knows what it lost.
            let joined = self.log().head();
            self.expire_before = joined;
        }
    }

    /// Of the names that waiting steps are about, whether readers see them then.
    fn awaited(&self) -> HashMap<ObjectKey, bool> {
        let seen = |step: &Apply| match step {
            Apply::Put { served, .. } | Apply::Reshow { served, .. } => Some((served.clone(), true)),
            Apply::Delete { served, .. } => Some((served.clone(), false)),
            Apply::Hold { .. } | Apply::Unhold { .. } | Apply::Mark { .. } => None,
        };
        self.waiting.iter().filter_map(seen).collect()
    }

    /// Whether the cluster lost something that clients may know while it was away.
    fn has_lost_while_away(&self, cluster: &ClusterName, objects: &[MemberObject]) -> bool {
        let listed: HashSet<&Uid> = objects.iter().map(|object| &object.uid).collect();
        self.log().cluster(cluster).is_some_and(|part| part.uids().any(|uid| !listed.contains(uid)))
    }

    fn has_joined(&self, cluster: &ClusterName) -> bool {
        self.log().cluster(cluster).is_some_and(|part| part.presence() == Presence::Joined)
    }

    /// Whether the log knows another cluster under this name.
    fn is_another(&self, cluster: &ClusterName, identity: &Arc<str>) -> bool {
        self.log().cluster(cluster).and_then(|part| part.identity()).is_some_and(|known| known != identity)
    }

    fn stale(&mut self, cluster: &ClusterName, reason: AwayReason) {
        self.shared.set_stale(cluster, reason, self.ingests.is_elsewhere(cluster));
    }

    fn set_phase(&self, cluster: &ClusterName, phase: ClusterPhase) {
        self.shared.set_phase(cluster, phase, self.ingests.is_elsewhere(cluster));
    }

    fn log(&self) -> std::sync::RwLockReadGuard<'_, Log> {
        self.shared.log.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a cluster lost while it was away is not shown, so nobody sees it go: those who knew it are told to list anew. Of a
/// name that is the same object elsewhere the last state of another cluster may be shown, which goes as the name passes on.
fn hide_deletion(effect: &mut Effect, is_seen: impl Fn(&ObjectKey) -> bool) {
    if matches!(&effect.what, Sight::Delete { served } if !is_seen(served)) {
        effect.what = Sight::Nothing;
    }
}

/// The bodies that an observation brought, by key.
enum Bodies<'a> {
    One(&'a MemberObject),
    Many(HashMap<&'a ObjectKey, &'a MemberObject>),
}

// === impl Bodies ===

impl<'a> Bodies<'a> {
    fn one(object: &'a MemberObject) -> Self {
        Self::One(object)
    }

    fn many(objects: &'a [MemberObject]) -> Self {
        Self::Many(objects.iter().map(|object| (&object.key, object)).collect())
    }

    fn get(&self, key: &ObjectKey) -> Option<&'a MemberObject> {
        match self {
            Self::One(object) => (object.key == *key).then_some(*object),
            Self::Many(objects) => objects.get(key).copied(),
        }
    }
}
