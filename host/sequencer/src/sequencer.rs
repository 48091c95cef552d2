//! The resources that are served: each begins at its first use.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use orrery_api::{GroupResource, Gvr, Naming, Stamp};
use orrery_cache::{Budget, FieldTable};
use orrery_fleet::{Fleet, ResourceInfo};
use orrery_markers::{MarkerStore, UnixMicros};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::follow::{self, Leader};
use crate::task::{self, Phase};
use crate::{Metrics, Resource};

/// How long a first use waits for the resource to load before the client is told to come again.
const BEGIN_WAIT: Duration = Duration::from_secs(15);
/// How long a resource is kept unwatched once the cache is over its bound.
const UNWATCHED_MAX: Duration = Duration::from_secs(600);

/// Begins resources and hands them out. A cheap handle.
#[derive(Clone)]
pub struct Sequencer(Arc<Inner>);

/// What all resources are run with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How objects say which cluster holds them.
    pub stamp: Stamp,
    /// Observe these namespaces one by one; all where absent.
    pub namespaces: Option<Vec<String>>,
    /// What a term of markers begins with.
    pub wall_clock: WallClock,
}

/// Tells the time of day. [`Default`] is the machine's; a simulation brings one that it can step.
#[derive(Clone)]
pub struct WallClock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

/// Why a resource is not served now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// No member of the fleet is known to serve it.
    #[error("no member serves {0}")]
    NotServed(Gvr),
    /// Its first lists are under way: come again.
    #[error("storage is (re)initializing")]
    Loading,
    /// The cache is full, and this would be one resource more: come again.
    #[error("the cache is full: --cache-bytes-max is reached, and no resource is idle")]
    CacheFull,
    /// It cannot be begun: what stands in the store cannot be read.
    #[error("{0}")]
    Failed(Arc<str>),
}

pub(crate) struct Inner {
    pub(crate) fleet: Fleet,
    pub(crate) store: Arc<dyn MarkerStore>,
    pub(crate) budget: Budget,
    pub(crate) settings: Settings,
    pub(crate) metrics: Metrics,
    pub(crate) cache_metrics: orrery_cache::Metrics,
    slots: Mutex<HashMap<Gvr, Slot>>,
    /// Paths of the fields of custom resources that selectors may name; as many as there are definitions that name some.
    selectable: Mutex<HashMap<Gvr, Arc<[String]>>>,
    stop: CancellationToken,
}

/// One served version.
struct Slot {
    phase: watch::Receiver<Phase>,
    stop: CancellationToken,
    /// What it is to the other versions, where it writes the log.
    leader: Option<Leader>,
}

// === impl Sequencer ===

impl Sequencer {
    /// Resources of `fleet`, their markers in `store`. `stop` ends all of them.
    pub fn new(
        fleet: Fleet,
        store: Arc<dyn MarkerStore>,
        budget: Budget,
        settings: Settings,
        metrics: Metrics,
        cache_metrics: orrery_cache::Metrics,
        stop: CancellationToken,
    ) -> Self {
        let (slots, selectable) = (Mutex::default(), Mutex::default());
        Self(Arc::new(Inner { fleet, store, budget, settings, metrics, cache_metrics, slots, selectable, stop }))
    }

    /// The resource; its first use begins it.
    pub async fn resource(&self, gvr: &Gvr) -> Result<Resource, NotReady> {
        let mut phase = self.phase_of(gvr)?;
        let settled = phase.wait_for(|phase| !matches!(phase, Phase::Loading));
        match tokio::time::timeout(BEGIN_WAIT, settled).await {
            Ok(Ok(phase)) => match &*phase {
                Phase::Ready(resource) => Ok(resource.clone()),
                Phase::Failed(reason) => Err(NotReady::Failed(reason.clone())),
                Phase::Loading => Err(NotReady::Loading),
            },
            Ok(Err(_)) | Err(_) => Err(NotReady::Loading),
        }
    }

    /// As [`Self::resource`], of a custom resource whose definition lets selectors name the fields at `paths`
    /// (`.spec.colour`). Where it named others until now, the resource begins anew, as after a restart: its objects have
    /// to be read again for their values.
    pub async fn resource_selecting(&self, gvr: &Gvr, paths: &Arc<[String]>) -> Result<Resource, NotReady> {
        self.select(gvr, paths);
        self.resource(gvr).await
    }

    fn select(&self, gvr: &Gvr, paths: &Arc<[String]>) {
        let mut selectable = self.0.selectable.lock().unwrap_or_else(PoisonError::into_inner);
        if selectable.get(gvr).map_or(paths.is_empty(), |known| known == paths) {
            return;
        }
        selectable.insert(gvr.clone(), paths.clone());
        // All its versions: they share a log, and who begins it anew reads it back.
        self.0.slots.lock().unwrap_or_else(PoisonError::into_inner).retain(|version, slot| {
            let begins_anew = version.clock() == gvr.clock();
            if begins_anew {
                tracing::info!(resource = %version, "begun anew: its definition names other selectable fields");
                slot.stop.cancel();
            }
            !begins_anew
        });
    }

    /// Those that serve now.
    pub fn resources(&self) -> Vec<Resource> {
        let slots = self.0.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ready: Vec<Resource> = slots
            .values()
            .filter_map(|slot| match &*slot.phase.borrow() {
                Phase::Ready(resource) => Some(resource.clone()),
                Phase::Loading | Phase::Failed(_) => None,
            })
            .collect();
        ready.sort_by(|a, b| a.gvr().cmp(b.gvr()));
        ready
    }

    fn phase_of(&self, gvr: &Gvr) -> Result<watch::Receiver<Phase>, NotReady> {
        let mut slots = self.0.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|_, slot| !slot.has_ended());
        if let Some(slot) = slots.get(gvr) {
            return Ok(slot.phase.clone());
        }
        let info = task::served_info(&self.0.fleet, gvr).ok_or_else(|| NotReady::NotServed(gvr.clone()))?;
        if self.0.budget.is_over() && !put_down_idle(&mut slots) {
            return Err(NotReady::CacheFull);
        }
        let leading = task::leading_info(&self.0.fleet, gvr).unwrap_or_else(|| info.clone());
        let leader = match leader_of(&slots, &gvr.clock()) {
            Some(leader) => leader,
            None => self.lead(&mut slots, &leading),
        };
        if let Some(slot) = slots.get(gvr) {
            return Ok(slot.phase.clone());
        }
        let stop = self.0.stop.child_token();
        let phase = follow::spawn(self.0.clone(), &info, leader, stop.clone());
        slots.insert(gvr.clone(), Slot { phase: phase.clone(), stop, leader: None });
        Ok(phase)
    }

    /// Begins the version that writes the log.
    fn lead(&self, slots: &mut HashMap<Gvr, Slot>, info: &ResourceInfo) -> Leader {
        let stop = self.0.stop.child_token();
        let (phase, leader) = task::spawn(self.0.clone(), info, stop.clone());
        slots.insert(info.gvr.clone(), Slot { phase, stop, leader: Some(leader.clone()) });
        leader
    }
}

// === impl WallClock ===

impl WallClock {
    /// A clock that says what `now` does.
    pub fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub(crate) fn now(&self) -> UnixMicros {
        let since = (self.0)().duration_since(UNIX_EPOCH).unwrap_or_default();
        UnixMicros(since.as_micros().try_into().unwrap_or(u64::MAX))
    }
}

impl Default for WallClock {
    fn default() -> Self {
        Self::new(SystemTime::now)
    }
}

impl fmt::Debug for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WallClock").field(&self.now().0).finish()
    }
}

// === impl Inner ===

impl Inner {
    /// What field selectors can name.
    pub(crate) fn fields_of(&self, gvr: &Gvr, namespaced: bool) -> FieldTable {
        let selectable = self.selectable.lock().unwrap_or_else(PoisonError::into_inner);
        match selectable.get(gvr) {
            Some(paths) => FieldTable::custom(namespaced, paths.iter().map(String::as_str)),
            None => FieldTable::of(gvr, namespaced),
        }
    }
}

// === impl Slot ===

impl Slot {
    /// Whether its task is gone; one that failed is tried anew at its next use.
    fn has_ended(&self) -> bool {
        self.phase.has_changed().is_err()
    }

    fn unwatched_for(&self) -> Option<Duration> {
        match &*self.phase.borrow() {
            Phase::Ready(resource) => resource.reader().unwatched_for(tokio::time::Instant::now().into_std()),
            Phase::Loading | Phase::Failed(_) => None,
        }
    }
}

/// The version that writes the log of `clock`, if one does.
fn leader_of(slots: &HashMap<Gvr, Slot>, clock: &GroupResource) -> Option<Leader> {
    let mut versions = slots.iter().filter(|(gvr, _)| gvr.clock() == *clock);
    versions.find_map(|(_, slot)| slot.leader.clone())
}

fn has_followers(slots: &HashMap<Gvr, Slot>, leader: &Gvr) -> bool {
    slots.iter().any(|(gvr, slot)| slot.leader.is_none() && gvr.clock() == leader.clock())
}

/// Ends the resource that has been unwatched longest, if that is long enough. Its log stays.
fn put_down_idle(slots: &mut HashMap<Gvr, Slot>) -> bool {
    let idle = slots
        .iter()
        .filter(|(gvr, slot)| slot.leader.is_none() || !has_followers(slots, gvr))
        .filter_map(|(gvr, slot)| Some((slot.unwatched_for()?, gvr.clone())))
        .filter(|(unwatched, _)| *unwatched >= UNWATCHED_MAX)
        .max();
    let Some((_, gvr)) = idle else { return false };
    if let Some(slot) = slots.remove(&gvr) {
        slot.stop.cancel();
    }
    true
}

/// How names of a resource are made unique: Namespaces and CustomResourceDefinitions are one object in all clusters.
pub(crate) fn naming_of(gvr: &Gvr) -> Naming {
    match (&*gvr.group, &*gvr.resource) {
        ("", "namespaces") | ("apiextensions.k8s.io", "customresourcedefinitions") => Naming::Same,
        _ => Naming::Unique,
    }
}
