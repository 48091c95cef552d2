use bytes::Bytes;
use orrery_api::{ObjectKey, Uid};

use crate::{Digest, MemberVersion};

/// What happened to an object in its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It has new content.
    Modified,
    /// It is gone.
    Deleted,
}

/// One change of one object in one cluster, without the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Namespace and name in the cluster.
    pub key: ObjectKey,
    /// The object's uid.
    pub uid: Uid,
    /// The member version that the change made; for a deletion found by a relist, the list's.
    pub version: MemberVersion,
    /// Digest of the content; of a deleted object, of its last.
    pub digest: Digest,
    /// What happened.
    pub kind: ChangeKind,
    /// Whether the object carries a deletionTimestamp.
    pub terminating: bool,
}

/// An object as its member sent it: the bytes, and what was read from them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberObject {
    /// Namespace and name in the cluster.
    pub key: ObjectKey,
    /// The object's uid.
    pub uid: Uid,
    /// `metadata.resourceVersion`; of a DELETED event, the version of the deletion.
    pub version: MemberVersion,
    /// Digest of `body`.
    pub digest: Digest,
    /// Whether `metadata.deletionTimestamp` is set.
    pub terminating: bool,
    /// The member's JSON, untouched: one object. Items of typed lists lack `kind` and `apiVersion`.
    pub body: Bytes,
}

// === impl MemberObject ===

impl MemberObject {
    /// The change that brought the object to this state.
    pub fn change(&self, kind: ChangeKind) -> Change {
        let Self { key, uid, version, digest, terminating, body: _ } = self.clone();
        Change { key, uid, version, digest, kind, terminating }
    }
}
