//! What a writer is told, and what it answers.

use std::sync::Arc;

use orrery_api::{ClusterName, ObjectKey};
use orrery_markers::{Marker, MemberObject};

use crate::BodyError;

/// One step of the log, in marker order.
#[derive(Clone, Debug)]
pub enum Apply {
    /// The object is shown under `served` and replaces what was.
    Put {
        /// The change's marker.
        marker: Marker,
        /// Where it is shown.
        served: ObjectKey,
        /// The cluster that holds it.
        cluster: ClusterName,
        /// Its state.
        object: MemberObject,
        /// All clusters that hold it, where it is one in several.
        holders: Option<Arc<[ClusterName]>>,
    },
    /// What `served` showed is gone. Where it showed nothing, the deletion has no body to tell of, and the watches that
    /// began before it end.
    Delete {
        /// The change's marker.
        marker: Marker,
        /// Where it was shown.
        served: ObjectKey,
    },
    /// An object whose bytes are here, held or shown, is shown under `served`.
    Reshow {
        /// The change's marker.
        marker: Marker,
        /// Where it is shown.
        served: ObjectKey,
        /// The cluster that holds it.
        cluster: ClusterName,
        /// Its key there.
        key: ObjectKey,
        /// All clusters that hold it, where it is one in several.
        holders: Option<Arc<[ClusterName]>>,
    },
    /// An object that is not shown, as another cluster's of its name is, is kept.
    Hold {
        /// The cluster that holds it.
        cluster: ClusterName,
        /// Its state.
        object: MemberObject,
    },
    /// A kept object is gone.
    Unhold {
        /// The cluster that held it.
        cluster: ClusterName,
        /// Its key there.
        key: ObjectKey,
    },
    /// A record that changes nothing that is shown.
    Mark {
        /// The record's marker.
        marker: Marker,
    },
}

/// An object of the state that a cache begins with.
#[derive(Clone, Debug)]
pub struct BaseObject {
    /// Where it is shown.
    pub served: ObjectKey,
    /// Its current marker.
    pub marker: Marker,
    /// The cluster that holds it.
    pub cluster: ClusterName,
    /// Its state.
    pub object: MemberObject,
    /// All clusters that hold it, where it is one in several.
    pub holders: Option<Arc<[ClusterName]>>,
}

/// An object that could not be shown; what was shown in its place is gone, and watches that began before end.
#[derive(Debug, thiserror::Error)]
#[error("{served} of cluster {cluster} is not shown at marker {marker}")]
pub struct NotShown {
    /// The change's marker.
    pub marker: Marker,
    /// Where it should be shown.
    pub served: ObjectKey,
    /// The cluster that holds it.
    pub cluster: ClusterName,
    /// Why.
    #[source]
    pub source: BodyError,
}
