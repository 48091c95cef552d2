use std::sync::Arc;

use orrery_api::{ClusterName, ObjectKey};

use crate::{Change, Marker, MemberVersion, UnixMicros};

/// One entry of a resource's log. All but `Progress` and `Freed` carry a marker of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A sequencer's term starts; its markers count by one from here. Stands in the log before any of them is used.
    Term {
        /// The term's first marker, used by this record.
        marker: Marker,
    },
    /// One change of one object.
    Change {
        /// The change's marker: the object's resourceVersion from here on.
        marker: Marker,
        /// The cluster that holds the object.
        cluster: ClusterName,
        /// What changed.
        change: Change,
    },
    /// Nothing else happened in the cluster up to here: every change up to `complete` is in the log, and `latest` is the
    /// last version seen. Of a list both are the list's version, of a watch `latest` is the later one. May also set the
    /// clock back, after a relist of a restored cluster.
    Progress {
        /// The cluster.
        cluster: ClusterName,
        /// Up to here (inclusive) all is in the log.
        complete: MemberVersion,
        /// The last version seen; what shares it may still come.
        latest: MemberVersion,
    },
    /// A cluster joined the resource; ends `Away`.
    Joined {
        /// The record's marker.
        marker: Marker,
        /// The cluster.
        cluster: ClusterName,
        /// The uid of its kube-system namespace: another one under the same name is another cluster.
        identity: Arc<str>,
    },
    /// A cluster left the resource, with all its objects and claims. Their deletions stand before it.
    Left {
        /// The record's marker.
        marker: Marker,
        /// The cluster.
        cluster: ClusterName,
    },
    /// A cluster was not loaded when serving began; lists from here on lack its objects until `Joined`.
    Away {
        /// The record's marker.
        marker: Marker,
        /// The cluster.
        cluster: ClusterName,
    },
    /// A served name belongs to an object of a cluster, other than by the plain rule (first come, plain name): a
    /// qualified name, or a `Same` object that passes to its next holder (shown as ADDED at this marker).
    Claim {
        /// The record's marker.
        marker: Marker,
        /// Name under which clients see the object.
        served: ObjectKey,
        /// The cluster that holds it.
        cluster: ClusterName,
        /// The object's key in that cluster.
        key: ObjectKey,
    },
    /// The claim to a served name ended: its object's deletion is no longer in the ring.
    Freed {
        /// The name that anybody may take from here on.
        served: ObjectKey,
        /// The cluster that held it.
        cluster: ClusterName,
    },
}

/// What a segment says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Wall-clock time at which it was packed.
    pub at: UnixMicros,
    /// The log's head (the last marker used) after its last record.
    pub head: Marker,
}

// === impl Record ===

impl Record {
    /// The record's own marker; `Progress` and `Freed` have none.
    pub fn marker(&self) -> Option<Marker> {
        match self {
            Self::Term { marker }
            | Self::Change { marker, .. }
            | Self::Joined { marker, .. }
            | Self::Left { marker, .. }
            | Self::Away { marker, .. }
            | Self::Claim { marker, .. } => Some(*marker),
            Self::Progress { .. } | Self::Freed { .. } => None,
        }
    }

    /// Whether its cluster's objects are wholly known at it, whatever a watch from before it brings: a change of membership,
    /// or the progress of a list, which is complete up to the last version seen.
    pub(crate) fn settles(&self) -> bool {
        match self {
            Self::Joined { .. } | Self::Left { .. } | Self::Away { .. } => true,
            Self::Progress { complete, latest, .. } => complete == latest,
            Self::Term { .. } | Self::Change { .. } | Self::Claim { .. } | Self::Freed { .. } => false,
        }
    }

    /// The cluster that it is about; a term is about none.
    pub fn cluster(&self) -> Option<&ClusterName> {
        match self {
            Self::Change { cluster, .. }
            | Self::Progress { cluster, .. }
            | Self::Joined { cluster, .. }
            | Self::Left { cluster, .. }
            | Self::Away { cluster, .. }
            | Self::Claim { cluster, .. }
            | Self::Freed { cluster, .. } => Some(cluster),
            Self::Term { .. } => None,
        }
    }
}
