//! One resource as its readers see it.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use orrery_api::{ClusterName, Gvr, Naming, ObjectKey, Uid};
use orrery_cache::{Object, Reader};
use orrery_fleet::AwayReason;
use orrery_markers::{ClusterLog, CorruptLog, Log, Marker, MarkerStore, MemberVersion, StoreError};
use tokio::time::Instant;

use crate::written::Looks;

/// A resource that is served. A cheap handle.
#[derive(Clone)]
pub struct Resource {
    pub(crate) shared: Arc<Shared>,
    pub(crate) reader: Reader,
}

/// What the task and its readers share.
pub(crate) struct Shared {
    pub(crate) gvr: Gvr,
    pub(crate) naming: orrery_api::Naming,
    pub(crate) store: Arc<dyn MarkerStore>,
    /// The log with all that is staged: it may be ahead of what readers see, never behind. Served versions share it.
    pub(crate) log: Arc<RwLock<Log>>,
    pub(crate) clusters: RwLock<BTreeMap<ClusterName, ClusterState>>,
    pub(crate) looks: Looks,
}

/// One cluster's part in a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterState {
    /// Whether it is loaded and delivers.
    pub phase: ClusterPhase,
    /// How many objects the log has of it.
    pub objects: usize,
    /// Whether it is observed in another version, because it does not serve this one: clients of this one do not see it.
    pub(crate) elsewhere: bool,
}

/// Whether a cluster is loaded and delivers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterPhase {
    /// Its first list is under way.
    Loading,
    /// Loaded, and its watch delivers.
    Live,
    /// Loaded, but nothing comes since then; its objects may be stale.
    Stale {
        /// Since when.
        since: SystemTime,
        /// Why.
        reason: AwayReason,
    },
    /// Not loaded: lists lack its objects.
    Away {
        /// Why.
        reason: AwayReason,
    },
}

/// Whose a served name is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The object of this cluster, under this key there.
    Held {
        /// The cluster.
        cluster: ClusterName,
        /// The object's key there.
        key: ObjectKey,
    },
    /// The log gives it to a cluster that is away: whether it exists, nobody knows now.
    Away {
        /// The cluster.
        cluster: ClusterName,
        /// The object's key there.
        key: ObjectKey,
        /// Why it is away.
        reason: AwayReason,
    },
    /// Nobody's.
    Nobody,
}

// === impl Resource ===

impl Resource {
    /// What it is.
    pub fn gvr(&self) -> &Gvr {
        &self.shared.gvr
    }

    /// How its names are made unique over clusters.
    pub fn naming(&self) -> Naming {
        self.shared.naming
    }

    /// Its cache.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Whether some retained term contains `marker`. One at or below the head that none contains is answered 410.
    pub fn knows(&self, marker: Marker) -> bool {
        self.log().contains(marker)
    }

    /// The clusters that take part, by name.
    pub fn clusters(&self) -> BTreeMap<ClusterName, ClusterState> {
        let mut clusters = self.shared.clusters.read().unwrap_or_else(PoisonError::into_inner).clone();
        clusters.retain(|_, state| !state.elsewhere);
        clusters
    }

    /// Whose `served` is.
    pub fn owner_of(&self, served: &ObjectKey) -> Owner {
        if let Some(object) = self.reader.get(served) {
            return Owner::Held { cluster: object.cluster().clone(), key: object.key().clone() };
        }
        let Some((cluster, key)) = self.log().owner(served) else { return Owner::Nobody };
        let clusters = self.shared.clusters.read().unwrap_or_else(PoisonError::into_inner);
        match clusters.get(&cluster).map(|state| &state.phase) {
            Some(ClusterPhase::Away { reason }) => Owner::Away { cluster, key, reason: reason.clone() },
            _ => Owner::Nobody,
        }
    }

    /// Whether `served` shows the last state of an object that its cluster has lost, because all other clusters that hold
    /// the name are deleting it (design 2.6).
    pub fn shows_last_state(&self, served: &ObjectKey) -> bool {
        self.log().shows_last_state(served)
    }

    /// The name under which clients see the object that `cluster` has under `key`, if the log has it.
    pub fn served(&self, cluster: &ClusterName, key: &ObjectKey) -> Option<ObjectKey> {
        self.log().served(cluster, key)
    }

    /// The object that is served as `served`, once the cache has it at `version` or later: a read by name is never older
    /// than the member. `None` where another object has taken the name, or the time is up.
    pub async fn at_least(
        &self,
        served: &ObjectKey,
        uid: &Uid,
        version: MemberVersion,
        deadline: Instant,
    ) -> Option<Arc<Object>> {
        loop {
            let head = self.reader.head();
            match self.reader.get(served) {
                Some(object) if object.uid() == uid && !version.is_after(object.version()) => return Some(object),
                _ => self.reader.reached(head.next(), deadline).await.ok()?,
            }
        }
    }

    /// For each cluster, the versions that stand behind `marker`; of the head where that is absent.
    pub async fn log_at(&self, marker: Option<Marker>) -> Result<Log, LogAtError> {
        let Some(marker) = marker else { return Ok(self.log().clone()) };
        let stored = self.shared.store.load(&self.shared.gvr.clock().to_string()).await?;
        Ok(Log::recover_at(&stored, self.shared.naming, marker)?)
    }

    pub(crate) fn log(&self) -> std::sync::RwLockReadGuard<'_, Log> {
        self.shared.log.read().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Shared ===

impl Shared {
    pub(crate) fn set_phase(&self, cluster: &ClusterName, phase: ClusterPhase, elsewhere: bool) {
        let log = self.log.read().unwrap_or_else(PoisonError::into_inner);
        let objects = log.cluster(cluster).map_or(0, orrery_markers::ClusterLog::len);
        drop(log);
        let mut clusters = self.clusters.write().unwrap_or_else(PoisonError::into_inner);
        clusters.insert(cluster.clone(), ClusterState { phase, objects, elsewhere });
    }

    /// Notes how many objects the log has of each cluster now.
    pub(crate) fn refresh_counts(&self) {
        let log = self.log.read().unwrap_or_else(PoisonError::into_inner);
        for (name, state) in self.clusters.write().unwrap_or_else(PoisonError::into_inner).iter_mut() {
            state.objects = log.cluster(name).map_or(0, ClusterLog::len);
        }
    }

    /// The cluster does not deliver any more: since now, or since it last stopped.
    pub(crate) fn set_stale(&self, cluster: &ClusterName, reason: AwayReason, elsewhere: bool) {
        let since = match self.clusters.read().unwrap_or_else(PoisonError::into_inner).get(cluster) {
            Some(ClusterState { phase: ClusterPhase::Stale { since, .. }, .. }) => *since,
            _ => SystemTime::now(),
        };
        self.set_phase(cluster, ClusterPhase::Stale { since, reason }, elsewhere);
    }
}

/// Why a log of the past cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogAtError {
    /// The store failed.
    #[error("failed to read the log")]
    Store(#[from] StoreError),
    /// What it holds is no log.
    #[error("failed to decode the log")]
    Corrupt(#[from] CorruptLog),
}
