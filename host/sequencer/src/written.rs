//! The marker of a write: what its answer waits for (design 2.8).
//!
//! A member answers with its version; clients are told the marker that lists and watches show for that state, so the answer
//! waits until it is there. Where the member's stream is silent, the object is read and sequenced so.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use orrery_api::{ClusterName, Gvr, Naming, ObjectKey, Uid};
use orrery_markers::{ChangeKind, Log, Marker, MemberObject, MemberVersion, Taken};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use crate::Resource;
use crate::resource::Shared;

/// How long an answer waits for the stream.
const STREAM_WAIT: Duration = Duration::from_secs(2);
/// How long reading the object may then take, and how long what was read may take to be durable.
const LOOK_WAIT: Duration = Duration::from_secs(5);
/// Objects that were read and wait to be sequenced.
pub(crate) const LOOKS_MAX: usize = 256;

/// What a member has of one object, read by itself.
#[derive(Clone, Debug)]
pub enum Looked {
    /// This state.
    There(MemberObject),
    /// Nothing any more.
    Gone(Uid),
}

/// A look that is to be sequenced.
pub(crate) struct Look {
    pub(crate) cluster: ClusterName,
    pub(crate) looked: Looked,
}

/// How looks reach the task that writes the log. Served versions share it.
#[derive(Clone)]
pub(crate) struct Looks {
    /// The version that writes the log.
    gvr: Gvr,
    sender: mpsc::Sender<Look>,
    /// Clusters whose stream left an answer waiting, and has brought nothing since.
    silent: Arc<Mutex<HashSet<ClusterName>>>,
}

/// A plain name that is kept for an object being created; given back when dropped.
pub struct Reservation {
    shared: Arc<Shared>,
    key: ObjectKey,
}

/// What a write has become of, as an answer tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The name under which clients see the object.
    pub served: ObjectKey,
    /// The marker of the state that was written.
    pub marker: Marker,
}

/// One state of an object, or its end.
#[derive(Clone, Debug)]
pub enum Told<'a> {
    /// This version of it.
    Version(&'a Uid, MemberVersion),
    /// It is gone.
    Gone(&'a Uid),
}

// === impl Looks ===

impl Looks {
    pub(crate) fn new(gvr: Gvr) -> (Self, mpsc::Receiver<Look>) {
        let (sender, looks) = mpsc::channel(LOOKS_MAX);
        (Self { gvr, sender, silent: Arc::default() }, looks)
    }

    /// The cluster's stream delivers.
    pub(crate) fn heard(&self, cluster: &ClusterName) {
        let mut silent = self.silent();
        if !silent.is_empty() {
            silent.remove(cluster);
        }
    }

    fn is_silent(&self, cluster: &ClusterName) -> bool {
        self.silent().contains(cluster)
    }

    fn silent(&self) -> std::sync::MutexGuard<'_, HashSet<ClusterName>> {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Resource ===

impl Resource {
    /// What the member `cluster` told of its object `key`, as clients see it. `since` is the head from before the write.
    /// Waits for the stream; after two seconds, or at once where it is known to be silent, for what `look` reads.
    /// `None` where neither brings it in time, or the cluster left.
    pub async fn written<F>(
        &self,
        cluster: &ClusterName,
        key: &ObjectKey,
        told: &Told<'_>,
        since: Marker,
        look: impl FnOnce() -> F,
    ) -> Option<Written>
    where
        F: Future<Output = Option<Looked>>,
    {
        let wait = if self.shared.looks.is_silent(cluster) { Duration::ZERO } else { STREAM_WAIT };
        if let Some(written) = self.reached(cluster, key, told, since, Instant::now() + wait).await {
            return Some(written);
        }
        self.shared.looks.silent().insert(cluster.clone());
        let looked = timeout(LOOK_WAIT, look()).await.ok()??;
        let look = Look { cluster: cluster.clone(), looked };
        let deadline = Instant::now() + LOOK_WAIT;
        timeout_at(deadline, self.shared.looks.sender.send(look)).await.ok()?.ok()?;
        self.reached(cluster, key, told, since, deadline).await
    }

    /// What the log has of a state that a member told of, without waiting: of a write that was only tried.
    pub fn sequenced(&self, cluster: &ClusterName, key: &ObjectKey, told: &Told<'_>, since: Marker) -> Option<Written> {
        self.find(cluster, key, told, since).filter(|written| written.marker <= self.reader.head())
    }

    /// The version that writes the log: what is read for it is read in this one.
    pub fn leading(&self) -> &Gvr {
        &self.shared.looks.gvr
    }

    /// The cluster that holds the object with this uid, and its key there. `served` is where it probably is.
    pub fn holder_of(&self, uid: &Uid, served: &ObjectKey) -> Option<(ClusterName, ObjectKey)> {
        if let Some(object) = self.reader.get(served).filter(|object| object.uid() == uid) {
            return Some((object.cluster().clone(), object.key().clone()));
        }
        let log = self.log();
        let mut holding = log.clusters().filter_map(|(cluster, part)| Some((cluster, part.object(uid)?)));
        holding.next().map(|(cluster, entry)| (cluster.clone(), entry.key.clone()))
    }

    /// The clusters that an object of several names, in the order in which they came; of any other object none.
    pub fn holders_shown(&self, served: &ObjectKey) -> Vec<ClusterName> {
        if self.shared.naming == Naming::Same { self.log().holders_in_order(served) } else { Vec::new() }
    }

    /// Keeps the name `key` for an object that is being created in `cluster`.
    ///
    /// # Errors
    /// Whose the name is.
    pub fn reserve(&self, key: &ObjectKey, cluster: &ClusterName) -> Result<Reservation, Taken> {
        self.shared.log.write().unwrap_or_else(PoisonError::into_inner).reserve(key, cluster)?;
        Ok(Reservation { shared: self.shared.clone(), key: key.clone() })
    }

    /// All clusters that hold the object served as `served`, the one that is shown first.
    pub fn holders_of(&self, served: &ObjectKey) -> Vec<ClusterName> {
        self.log().holders(served)
    }

    async fn reached(
        &self,
        cluster: &ClusterName,
        key: &ObjectKey,
        told: &Told<'_>,
        since: Marker,
        deadline: Instant,
    ) -> Option<Written> {
        let mut from = self.reader.head();
        loop {
            if let Some(written) = self.find(cluster, key, told, since) {
                // The log is ahead of what is durable; the readers' head is not.
                self.reader.reached(written.marker, deadline).await.ok()?;
                return Some(written);
            }
            self.reader.reached(from.next(), deadline).await.ok()?;
            from = self.reader.head();
        }
    }

    fn find(&self, cluster: &ClusterName, key: &ObjectKey, told: &Told<'_>, since: Marker) -> Option<Written> {
        let log = self.log();
        let served = log.served(cluster, key).unwrap_or_else(|| key.clone());
        let sequenced = sequenced(&log, cluster, told)?;
        drop(log);
        let marker = match (sequenced, told) {
            (Sequenced::At(marker), _) => marker,
            (Sequenced::Overtaken(by), Told::Version(uid, version)) => {
                let shown = self.reader.marker_of(&served, uid, *version, since);
                // What a list found took the second of two markers.
                shown.or_else(|| Marker::new(by.get() - 1).ok()).unwrap_or(by)
            }
            (Sequenced::Overtaken(by), Told::Gone(_)) => by,
        };
        Some(Written { served, marker })
    }
}

/// Where a state stands in the log.
enum Sequenced {
    /// It is the object's last, under this marker.
    At(Marker),
    /// A later one is, under this marker.
    Overtaken(Marker),
}

fn sequenced(log: &Log, cluster: &ClusterName, told: &Told<'_>) -> Option<Sequenced> {
    let part = log.cluster(cluster)?;
    match told {
        Told::Gone(uid) => part.deleted(uid).map(Sequenced::At),
        Told::Version(uid, version) => match part.object(uid) {
            Some(entry) if entry.version == *version => Some(Sequenced::At(entry.marker)),
            Some(entry) if entry.version.is_after(*version) => Some(Sequenced::Overtaken(entry.marker)),
            Some(_) => None,
            None => part.deleted(uid).map(Sequenced::Overtaken),
        },
    }
}

// === impl Looked ===

impl Looked {
    /// Stages what it says.
    pub(crate) fn stage(&self, cluster: &ClusterName, log: &mut Log, effects: &mut Vec<orrery_markers::Effect>) {
        match self {
            Self::There(object) => log.looked(cluster, object.change(ChangeKind::Modified), effects),
            Self::Gone(uid) => log.lost(cluster, uid, effects),
        }
    }
}

// === impl Reservation ===

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shared.log.write().unwrap_or_else(PoisonError::into_inner).release(&self.key);
    }
}

impl std::fmt::Debug for Reservation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Reservation").field(&self.key).finish()
    }
}
