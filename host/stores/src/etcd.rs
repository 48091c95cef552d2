//! The store in an etcd.
//!
//! One host at a time writes below a prefix: the one whose key `writer` stands there, bound to a lease that the host
//! renews. The revision in which that key was made is the writer's *term*, and every transaction compares it, so that a
//! host which was paused past its lease cannot write any more, whatever it believes. Each append is one transaction,
//! which compares the log's head too; where its answer is lost, a second one settles whether it was done (see `log`).
//!
//! Nothing is watched, so that there is no watch to lose: the lease is renewed every third of its time, and each
//! transaction that fails says why.
//!
//! | key below the prefix | holds |
//! |---|---|
//! | `format` | the version of this layout |
//! | `writer` | which host writes, for people; gone with its lease |
//! | `last-writer` | the lease and name of the host that began to write last |
//! | `head/LOG` | the position of the log's last segment |
//! | `segment/LOG/SEQ` | a segment |
//! | `checkpoint/LOG` | which checkpoint is the log's |
//! | `part/LOG/GENERATION/PLACE` | a part of a checkpoint |

mod keys;
mod log;
mod requests;
mod writer;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use orrery_markers::{AppendError, MarkerStore, Segment, SegmentSeq, StoreError, StoredLog};

use crate::{DirLock, Metrics};
use keys::Keys;
use log::Log;
use requests::Requests;
use writer::Writer;

pub use writer::Holder;

/// How an etcd is reached, and what of it is used.
#[derive(Clone, PartialEq, Eq)]
pub struct EtcdSettings {
    /// URLs of its members, `http://` or `https://`. One is used, and the next where it does not answer.
    pub endpoints: Vec<String>,
    /// Before the name of every key. Hosts that may not write into each other's logs have different ones.
    pub prefix: String,
    /// PEM certificates of the CAs that sign its members' certificates; needed with `https://`.
    pub ca_file: Option<PathBuf>,
    /// PEM certificate chain and private key to show it.
    pub client_files: Option<(PathBuf, PathBuf)>,
    /// Name and password, where its authentication is on.
    pub user: Option<(String, String)>,
    /// How long this host stays the writer without a word to etcd. etcd grants no less than two seconds or so.
    pub lease: Duration,
}

/// Why an etcd cannot be used as a store.
#[derive(Debug, thiserror::Error)]
pub enum EtcdOpenError {
    /// Another host writes there.
    #[error(
        "another host is using {prefix} of this etcd: {holder}; end it, or give this one a prefix of its own with --etcd-prefix"
    )]
    InUse {
        /// The prefix.
        prefix: String,
        /// Who it is.
        holder: Holder,
    },
    /// It was written by a later version of Orrery.
    #[error(
        "{prefix} of this etcd is of format {found:?}, which this version cannot read; use the version of orrery that wrote it"
    )]
    Format {
        /// The prefix.
        prefix: String,
        /// Its format.
        found: String,
    },
    /// A certificate or key cannot be read.
    #[error("failed to read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// An endpoint cannot be used with these settings.
    #[error("endpoint {endpoint:?}: {reason}")]
    Endpoint {
        /// The endpoint.
        endpoint: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It does not answer, or refuses.
    #[error("failed to use etcd at {endpoints}")]
    Unusable {
        /// The endpoints.
        endpoints: String,
        /// Why.
        #[source]
        source: StoreError,
    },
}

/// Marker logs below a prefix of an etcd, for as long as this host is its writer.
#[derive(Debug)]
pub struct EtcdStore {
    requests: Arc<Requests>,
    keys: Keys,
    writer: Writer,
    /// One for each log that was ever asked for.
    logs: Mutex<HashMap<String, Arc<Log>>>,
    metrics: Metrics,
}

// === impl EtcdSettings ===

impl EtcdSettings {
    /// The prefix where nothing is said.
    pub const PREFIX: &str = "/orrery";
    /// The lease where nothing is said: a host that dies holds up its successor on another machine so long.
    pub const LEASE: Duration = Duration::from_secs(10);

    /// An etcd at `endpoints` without TLS or authentication, and for the rest what holds where nothing is said.
    pub fn new(endpoints: Vec<String>) -> Self {
        let prefix = Self::PREFIX.to_owned();
        Self { endpoints, prefix, ca_file: None, client_files: None, user: None, lease: Self::LEASE }
    }
}

/// Without the password.
impl std::fmt::Debug for EtcdSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let user = self.user.as_ref().map(|(name, _)| name);
        f.debug_struct("EtcdSettings")
            .field("endpoints", &self.endpoints)
            .field("prefix", &self.prefix)
            .field("ca_file", &self.ca_file)
            .field("client_files", &self.client_files)
            .field("user", &user)
            .field("lease", &self.lease)
            .finish()
    }
}

// === impl EtcdStore ===

impl EtcdStore {
    /// Becomes the writer of the prefix.
    ///
    /// A host that ended without saying so is waited for until its lease ends; not at all if it ran on this machine in the
    /// directory of `lock`, which proves that it is gone. A host that lives is not waited for.
    ///
    /// # Errors
    /// Where another host renews its lease, the prefix is of another format, or etcd does not answer in time.
    pub async fn open(settings: EtcdSettings, lock: Arc<DirLock>, metrics: Metrics) -> Result<Self, EtcdOpenError> {
        let keys = Keys::new(&settings.prefix);
        let requests = Arc::new(Requests::new(&settings, metrics.clone())?);
        let writer = Writer::begin(requests.clone(), &keys, settings.lease, lock, metrics.clone()).await?;
        Ok(Self { requests, keys, writer, logs: Mutex::default(), metrics })
    }

    /// Waits until another host is the writer, or has been: this one cannot append any more, and what it would show is old.
    /// That comes to pass only after it was paused, or cut off from etcd, for longer than its lease.
    pub async fn taken_over(&self) -> Holder {
        self.writer.taken_over().await
    }

    /// Gives the prefix free at once, for a successor that need not wait then. Nothing can be appended from here on.
    pub async fn release(&self) {
        self.writer.release().await;
    }

    fn log(&self, name: &str) -> Arc<Log> {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || Arc::new(Log::new(self.requests.clone(), self.keys.log(name), self.metrics.clone()));
        logs.entry(name.to_owned()).or_insert_with(made).clone()
    }
}

#[async_trait::async_trait]
impl MarkerStore for EtcdStore {
    async fn logs(&self) -> Result<Vec<String>, StoreError> {
        log::names(&self.requests, &self.keys).await
    }

    async fn load(&self, name: &str) -> Result<StoredLog, StoreError> {
        self.log(name).load().await
    }

    async fn append(&self, name: &str, segment: &Segment) -> Result<(), AppendError> {
        self.log(name).append(&self.writer, segment).await
    }

    async fn fold(&self, name: &str, upto: SegmentSeq, parts: Vec<Bytes>) -> Result<(), StoreError> {
        self.log(name).fold(&self.writer, upto, parts).await
    }
}
