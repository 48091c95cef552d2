//! *Observe*: what one member says about one resource, as a stream that never ends until it is cancelled.

mod course;
mod feed;
mod load;
mod namespaces;
mod requests;
mod stream;

use std::fmt;
use std::sync::Arc;

use orrery_api::{ClusterName, Gvr};
use orrery_markers::{ChangeKind, MemberObject, MemberVersion};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::Member;

pub(crate) use feed::Feed;

/// Where an observation begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the member's latest state.
    Fresh,
    /// With its state at `from`; where that is gone, at `or_from`; where that is gone too, with the latest.
    Resume {
        /// The version to resume at.
        from: MemberVersion,
        /// The one to resume at where `from` is refused.
        or_from: Option<MemberVersion>,
    },
}

/// What a member said. In order: `Resumed` or `Listed` first (`Away` before it), then changes and progress.
#[derive(Debug)]
pub enum Observation {
    /// All objects at the version that was asked to resume at; [`Self::Changed`] follows from there.
    Resumed {
        /// The version: `from` or `or_from`.
        at: MemberVersion,
        /// The member's kube-system uid, confirmed on this connection before the list.
        identity: Arc<str>,
        /// All objects at it.
        objects: Vec<MemberObject>,
    },
    /// All objects at the latest version; changes from what was known before are not known one by one.
    Listed {
        /// The list's version; may be below what was seen before (a restored etcd).
        version: MemberVersion,
        /// The member's kube-system uid, confirmed on this connection before the list; another one than before is
        /// another cluster under this name.
        identity: Arc<str>,
        /// All objects at it.
        objects: Vec<MemberObject>,
        /// Why it was listed.
        why: ListReason,
    },
    /// One event of the watch.
    Changed {
        /// The object after the change; of a deletion, its last state with the version of the deletion.
        object: MemberObject,
        /// What happened.
        kind: ChangeKind,
    },
    /// Nothing else happened up to here (a bookmark).
    Progress {
        /// The bookmark's version.
        version: MemberVersion,
    },
    /// Nothing could be loaded since the observation began; tries go on. Sent once for each reason.
    Away {
        /// Why.
        reason: AwayReason,
    },
    /// After it was loaded: the watch is down; tries go on.
    Stale {
        /// Why.
        reason: AwayReason,
    },
    /// The watch delivers again.
    Live,
}

/// Why a member was listed at the latest version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListReason {
    /// It was asked for.
    Fresh,
    /// Neither version could be resumed at.
    ResumeRefused,
    /// The watch was told that its version is too old (410).
    Expired,
    /// The member's version is below what was seen before.
    WentBack,
    /// The connection broke, was refused, or the member was not reachable for a time.
    Reconnected,
    /// The kind's CustomResourceDefinition changed.
    SchemaChanged,
    /// The member is another cluster than before.
    IdentityChanged,
}

/// Why a member delivers nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwayReason {
    /// The kind of reason.
    pub class: AwayClass,
    /// In words, with what the member said.
    pub text: String,
}

/// Kinds of reasons why a member delivers nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AwayClass {
    /// The first byte did not come in time, or a stream stalled.
    NoAnswer,
    /// No connection, or one that broke.
    Refused,
    /// 401, or no credentials could be made.
    Unauthorized,
    /// 403.
    Forbidden,
    /// 404 or 405: the member does not serve the resource, or not for list and watch.
    NotServed,
    /// An answer that the Kubernetes API does not give, or an error of the member's own.
    BadAnswer,
    /// The resource's versions are not decimal numbers, so it cannot be clocked.
    Unclocked,
    /// The member is another member's cluster under a second name.
    Duplicate,
}

/// Observes `gvr` in `member` until `cancel`. Everything it says goes through `tx`, in order; where the receiver is
/// slow it waits, and the member's watch with it.
///
/// With `namespaces`, a namespaced resource is observed in each of them on a stream of its own. Their versions rise per
/// object but not from event to event, so such an observation cannot be resumed: [`Start::Resume`] is answered by a
/// `Listed` for [`ListReason::ResumeRefused`], and any relist lists all of them.
pub fn observe(
    member: Member,
    gvr: Gvr,
    start: Start,
    namespaces: Option<Vec<String>>,
    tx: mpsc::Sender<(ClusterName, Observation)>,
    cancel: CancellationToken,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        let observing = async {
            match namespaces {
                Some(namespaces) => namespaces::observe(member, gvr, start, namespaces, tx).await,
                None => Feed::new(member, gvr, start).run(tx).await,
            }
        };
        cancel.run_until_cancelled(observing).await;
    })
}

// === impl ListReason ===

impl ListReason {
    /// Its name in metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::ResumeRefused => "resume_refused",
            Self::Expired => "expired",
            Self::WentBack => "went_back",
            Self::Reconnected => "reconnected",
            Self::SchemaChanged => "schema_changed",
            Self::IdentityChanged => "identity_changed",
        }
    }
}

// === impl AwayReason ===

impl AwayReason {
    pub(crate) fn new(class: AwayClass, text: impl Into<String>) -> Self {
        Self { class, text: text.into() }
    }
}

impl fmt::Display for AwayReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

// === impl AwayClass ===

impl AwayClass {
    /// Its name in metrics and documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoAnswer => "no_answer",
            Self::Refused => "refused",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::NotServed => "not_served",
            Self::BadAnswer => "bad_answer",
            Self::Unclocked => "unclocked",
            Self::Duplicate => "duplicate",
        }
    }
}

#[cfg(test)]
mod tests;
