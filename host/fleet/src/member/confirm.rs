use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use orrery_api::ClusterName;
use serde::Deserialize;
use tokio::time::{Instant, timeout};

use crate::fault::Fault;
use crate::transport::{Body, SendError, chain};
use crate::{AwayClass, Member, VersionInfo};

/// Who answers at a member's address, and as which version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Confirmed {
    pub(crate) identity: Arc<str>,
    pub(crate) version: Arc<VersionInfo>,
}

/// The last confirmation, shared by all that asked for one while it ran.
#[derive(Debug, Default)]
pub(crate) struct Confirmation(tokio::sync::Mutex<Option<Answered>>);

#[derive(Debug)]
struct Answered {
    asked: Instant,
    ended: Instant,
    result: Result<Confirmed, Fault>,
}

/// The identities of a fleet's members, in fleet order, so that two names of one cluster are found.
#[derive(Debug, Default)]
pub(crate) struct Registry(Mutex<Vec<Known>>);

#[derive(Clone, Debug)]
struct Known {
    member: Member,
    /// kube-system uid and hash of the CA.
    cluster: Option<(Arc<str>, u64)>,
}

/// Longest `/version` or Namespace that is read.
const DOCUMENT_MAX: usize = 1 << 20;

// === impl Member ===

impl Member {
    /// Asks who answers there now. Calls that wait for one another share the answer: one that was asked for after the
    /// call, or a failure that ended after it (whoever finds a member that does not answer waits for that once).
    ///
    /// # Errors
    /// The fault of the request; a duplicate of another member is one.
    pub(crate) async fn confirm(&self) -> Result<Confirmed, Fault> {
        let called = Instant::now();
        let mut last = self.0.confirmed.0.lock().await;
        if let Some(Answered { asked, ended, result }) = &*last
            && (*asked >= called || result.is_err() && *ended >= called)
        {
            return result.clone();
        }
        let asked = Instant::now();
        let result = self.ask_who().await;
        *last = Some(Answered { asked, ended: Instant::now(), result: result.clone() });
        result
    }

    /// Reads `/version`: the probe. Whoever answers it is up.
    pub(crate) async fn read_version(&self) -> Result<Arc<VersionInfo>, Fault> {
        let result = match self.document("/version").await {
            Ok(raw) => VersionInfo::parse(raw).map(Arc::new),
            Err(fault) => Err(fault),
        };
        match &result {
            Ok(version) => {
                self.is_up();
                self.update(|status| {
                    let changed = status.version.as_ref() != Some(version);
                    status.version = Some(version.clone());
                    changed
                });
            }
            // Who asks to wait is there.
            Err(Fault::Wait(..)) => self.is_up(),
            Err(fault) => self.is_down(&fault.reason().text),
        }
        result
    }

    async fn ask_who(&self) -> Result<Confirmed, Fault> {
        let version = self.read_version().await?;
        let identity = self.read_identity().await?;
        let authority = self.endpoint().await.map_err(|error| Fault::from(&error))?.authority;
        self.update(|status| {
            let changed = status.identity.as_ref() != Some(&identity);
            status.identity = Some(identity.clone());
            changed
        });
        self.0.registry.learn(self, &identity, authority);
        self.unless_duplicate().map_err(|error: SendError| Fault::from(&error))?;
        Ok(Confirmed { identity, version })
    }

    async fn read_identity(&self) -> Result<Arc<str>, Fault> {
        match self.document("/api/v1/namespaces/kube-system").await {
            Ok(raw) => parse_uid(&raw),
            Err(Fault::Away(reason)) if matches!(reason.class, AwayClass::Forbidden | AwayClass::NotServed) => {
                let endpoint = self.endpoint().await.map_err(|error| Fault::from(&error))?;
                tracing::info!(cluster = %self.0.name, reason = %reason, "kube-system cannot be read; the server's URL and CA stand for the cluster's identity");
                Ok(format!("unconfirmed:{:016x}", endpoint.place).into())
            }
            Err(fault) => Err(fault),
        }
    }

    /// A small JSON document, whole.
    pub(crate) async fn document(&self, path: &str) -> Result<Bytes, Fault> {
        let response = self.get(path, "application/json").await?;
        self.whole(response.into_body(), DOCUMENT_MAX).await
    }

    /// A body of at most `limit` bytes, which may take as long as a first byte may.
    pub(crate) async fn whole(&self, body: Body, limit: usize) -> Result<Bytes, Fault> {
        let wait = self.settings().first_byte;
        match timeout(wait, Limited::new(body, limit).collect()).await {
            Ok(Ok(all)) => Ok(all.to_bytes()),
            Ok(Err(error)) => Err(Fault::Broken(chain(&*error))),
            Err(_) => Err(Fault::away(AwayClass::NoAnswer, format!("an answer stopped for {} s", wait.as_secs()))),
        }
    }
}

// === impl VersionInfo ===

impl VersionInfo {
    fn parse(raw: Bytes) -> Result<Self, Fault> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Document {
            git_version: String,
            #[serde(default)]
            minor: String,
        }
        let document: Document = serde_json::from_slice(&raw).map_err(|error| {
            Fault::away(AwayClass::BadAnswer, format!("/version is not a Kubernetes version: {error}"))
        })?;
        let digits: String = document.minor.chars().take_while(char::is_ascii_digit).collect();
        Ok(Self { raw, git_version: document.git_version.into(), minor: digits.parse().unwrap_or(0) })
    }
}

fn parse_uid(raw: &[u8]) -> Result<Arc<str>, Fault> {
    #[derive(Deserialize)]
    struct Document {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        uid: Arc<str>,
    }
    serde_json::from_slice::<Document>(raw)
        .map(|document| document.metadata.uid)
        .map_err(|error| Fault::away(AwayClass::BadAnswer, format!("namespace kube-system has no uid: {error}")))
}

// === impl Registry ===

impl Registry {
    /// The members are these, in this order.
    pub(crate) fn set(&self, members: &[Member]) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let cluster = |member: &Member| {
            known.iter().find(|other| Arc::ptr_eq(&other.member.0, &member.0)).and_then(|other| other.cluster.clone())
        };
        let next = members.iter().map(|member| Known { member: member.clone(), cluster: cluster(member) }).collect();
        *known = next;
        mark_duplicates(&known);
    }

    fn learn(&self, member: &Member, identity: &Arc<str>, authority: u64) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for entry in known.iter_mut().filter(|entry| Arc::ptr_eq(&entry.member.0, &member.0)) {
            entry.cluster = Some((identity.clone(), authority));
        }
        mark_duplicates(&known);
    }

    /// Pairs of names of one cluster: the earlier, the later.
    pub(crate) fn duplicates(&self) -> Vec<(ClusterName, ClusterName)> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pair =
            |entry: &Known| Some((entry.member.0.status.borrow().duplicate.clone()?.0, entry.member.0.name.clone()));
        known.iter().filter_map(pair).collect()
    }
}

/// Of members that are one cluster all but the first are duplicates of it.
fn mark_duplicates(known: &[Known]) {
    for (at, entry) in known.iter().enumerate() {
        let same = |other: &&Known| other.cluster.is_some() && other.cluster == entry.cluster;
        let first = known[..at].iter().find(same);
        let duplicate = first.and_then(|first| Some((first.member.0.name.clone(), entry.cluster.clone()?.0)));
        entry.member.update(|status| {
            let changed = status.duplicate != duplicate;
            status.duplicate = duplicate;
            changed
        });
    }
}
