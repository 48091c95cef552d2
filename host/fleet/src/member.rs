//! One member: its connection, what is known about it, and requests to it.

mod answer;
mod confirm;
mod connect;
mod requests;
mod status;
mod tend;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use orrery_api::ClusterName;
use orrery_api::placement::ClusterAttributes;
use orrery_markers::MemberObject;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::discovery::Schemas;
use crate::metrics::MemberMetrics;
use crate::wire::{Scheme, read_object};
use crate::{Discovery, FleetSettings, MemberSource};

pub(crate) use confirm::{Confirmed, Registry};
pub(crate) use status::Status;
pub(crate) use tend::Shared;

/// A cluster of the fleet. A cheap handle: clones are the same member.
#[derive(Clone)]
pub struct Member(Arc<Inner>);

/// Whether a member answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// It answered the last time.
    Reachable,
    /// It answered before, but does not now.
    Unreachable {
        /// Since when.
        since: SystemTime,
        /// What fails.
        reason: String,
    },
    /// It has not answered since the fleet knows it.
    NeverSeen {
        /// What fails; empty before the first try ended.
        reason: String,
    },
}

/// A member's `/version`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionInfo {
    /// The JSON, as the member sent it.
    pub raw: bytes::Bytes,
    /// `gitVersion`, as `v1.37.2`.
    pub git_version: Arc<str>,
    /// `minor` as a number, without what a distribution adds; 0 where it has none.
    pub minor: u32,
}

struct Inner {
    name: ClusterName,
    source: Mutex<Arc<dyn MemberSource>>,
    settings: Arc<FleetSettings>,
    metrics: MemberMetrics,
    status: watch::Sender<Status>,
    /// The fleet's own count of changes.
    changed: Arc<watch::Sender<u64>>,
    registry: Arc<Registry>,
    connection: connect::Connection,
    confirmed: confirm::Confirmation,
    schemas: watch::Sender<Arc<Schemas>>,
    /// Milliseconds from `born` to the last byte heard; [`NEVER`] before the first.
    heard: AtomicU64,
    born: Instant,
    probe_now: Notify,
    loads: Semaphore,
    requests: Semaphore,
    left: CancellationToken,
}

const NEVER: u64 = u64::MAX;

// === impl Member ===

impl Member {
    /// Its name in the fleet.
    pub fn name(&self) -> &ClusterName {
        &self.0.name
    }

    /// The uid of its kube-system namespace, once known. Where that may not be read, `unconfirmed:` and a hash of the
    /// server's URL and CA stand for it: another cluster at the same URL is then not noticed.
    pub fn identity(&self) -> Option<Arc<str>> {
        self.0.status.borrow().identity.clone()
    }

    /// Whether it answers.
    pub fn health(&self) -> Health {
        self.0.status.borrow().health()
    }

    /// When it was last heard from.
    pub fn last_seen(&self) -> Option<SystemTime> {
        self.unheard().and_then(|unheard| SystemTime::now().checked_sub(unheard))
    }

    /// Its version, once known.
    pub fn version(&self) -> Option<Arc<VersionInfo>> {
        self.0.status.borrow().version.clone()
    }

    /// What it serves, as last read; kept while it is away.
    pub fn discovery(&self) -> Option<Arc<Discovery>> {
        self.0.status.borrow().discovery.clone()
    }

    /// Reads one object that it sent in served version `version` (`v1`); `None` for what is no object with a decimal
    /// resourceVersion, or before its own version is known.
    pub fn object(&self, version: &str, json: &[u8]) -> Option<MemberObject> {
        let scheme = Scheme::new(version, &self.version()?.git_version);
        read_object(json, scheme).ok()
    }

    /// Its labels and taints, as the configuration has them now.
    pub fn attributes(&self) -> Arc<ClusterAttributes> {
        self.source().attributes()
    }

    /// Seconds since the last event or bookmark of any of its watches.
    pub fn lag_seconds(&self) -> Option<f64> {
        self.0.metrics.lag()
    }

    pub(crate) fn source(&self) -> Arc<dyn MemberSource> {
        self.0.source.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_source(&self, source: Arc<dyn MemberSource>) {
        *self.0.source.lock().unwrap_or_else(PoisonError::into_inner) = source;
    }

    pub(crate) fn settings(&self) -> &FleetSettings {
        &self.0.settings
    }

    pub(crate) fn metrics(&self) -> &MemberMetrics {
        &self.0.metrics
    }

    /// Its status, with every change from now on.
    pub(crate) fn status(&self) -> watch::Receiver<Status> {
        self.0.status.subscribe()
    }

    /// The schemas of its custom resources, with every change from now on.
    pub(crate) fn schemas(&self) -> watch::Receiver<Arc<Schemas>> {
        self.0.schemas.subscribe()
    }

    pub(crate) fn set_schemas(&self, schemas: Schemas) {
        self.0.schemas.send_if_modified(|current| {
            let changed = **current != schemas;
            *current = Arc::new(schemas);
            changed
        });
    }

    /// How long nothing was heard from it; `None` where nothing ever was.
    pub(crate) fn unheard(&self) -> Option<std::time::Duration> {
        let heard = self.0.heard.load(Ordering::Relaxed);
        let since_birth = self.0.born.elapsed().as_millis() as u64;
        (heard != NEVER).then(|| std::time::Duration::from_millis(since_birth.saturating_sub(heard)))
    }

    /// A byte of it has come.
    pub(crate) fn heard(&self) {
        self.0.heard.store(self.0.born.elapsed().as_millis() as u64, Ordering::Relaxed);
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("name", &self.0.name).field("health", &self.health()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
