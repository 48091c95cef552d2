//! What crosses between clients and one member, in both directions (*translate*): resourceVersions, served names and the
//! stamp (design 2.6, 2.8). Bytes that mean none of these pass as they came, so that the member judges what the client
//! wrote, duplicates and unknown fields too.

mod document;
mod members;
mod mention;
mod merge;
mod outward;
mod patch;
mod protobuf;
mod selector;

use orrery_api::{CLUSTER_KEY, CLUSTERS_KEY, ClusterName, Stamp};
use orrery_markers::{Marker, MemberVersion};

pub(crate) use document::{Document, Facts, Owner, Shape, Syntax};
pub(crate) use members::Members;
pub(crate) use mention::{Mention, Place, Renamed, SERVICE_LABEL};
pub(crate) use merge::merge_patch;
pub(crate) use outward::{Head, Showing};
pub(crate) use patch::JsonPatch;

/// Where the manifest that a client last applied is kept (upstream: kubectl's apply).
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// One object as it stands on both sides.
#[derive(Clone, Debug)]
pub(crate) struct Border<'a> {
    /// Which label and annotation are the host's own.
    pub(crate) stamp: Stamp,
    /// The member.
    pub(crate) cluster: &'a ClusterName,
    /// The object's name here; empty where it has none yet.
    pub(crate) served: &'a str,
    /// Its name there.
    pub(crate) name: &'a str,
    /// What a resourceVersion of the client's can stand for.
    pub(crate) versions: Versions,
    /// What the member's object itself has under the stamp's keys, to be put back into a body that replaces it whole.
    pub(crate) own: Own,
    /// What the body is to a Service, whose `spec.selector` chooses pods of its own cluster.
    pub(crate) service: Option<Extent>,
    /// Names, there, of the objects that ownerReferences name, by uid.
    pub(crate) owners: &'a [(String, String)],
    /// Other names that its body says of objects that the member has under another.
    pub(crate) renamed: &'a [Renamed],
}

/// What a resourceVersion of the client's can stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Versions {
    /// For the object's current one, here and there, where it exists.
    Of(Option<(Marker, MemberVersion)>),
    /// For another cluster's object of the same name: this one takes the write whatever its version and uid.
    Dropped,
}

/// How much of an object a body says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of it, or all that its author wants of it.
    Whole,
    /// What is to change.
    Change,
}

/// What an object in a member itself carries under the keys that the stamp hides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Own {
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) annotations: Vec<(String, String)>,
    /// Of a Service, in its selector.
    pub(crate) selector: Option<String>,
}

/// Why a body cannot go to the member.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// Its resourceVersion is not the object's current one: 409.
    #[error("the object has been modified; please apply your changes to the latest version and try again")]
    Conflict,
    /// It says that the object is in another cluster: 422.
    #[error("{field}: {value:?} is another cluster than {cluster}, which holds the object; objects do not move")]
    OtherCluster {
        /// Where it says so.
        field: String,
        /// What it says.
        value: String,
        /// The object's cluster.
        cluster: ClusterName,
    },
    /// A Service's selector names its cluster and no label that pods there have: 422.
    #[error(
        "spec.selector: what only says {CLUSTER_KEY} chooses no pods of the cluster; name a label that they have there"
    )]
    OnlyCluster,
    /// A JSON patch tests for something that is not so: 422.
    #[error("testing path {0} failed")]
    TestFailed(String),
    /// It cannot be read: 400.
    #[error("{0}")]
    Malformed(String),
}

// === impl Border ===

impl Border<'_> {
    /// The member's resourceVersion for the client's; `None` where it stays as it is.
    fn version(&self, text: &str) -> Result<Option<String>, Refused> {
        if matches!(text, "" | "0") {
            return Ok(None);
        }
        match self.versions {
            Versions::Of(Some((marker, version))) if marker.to_string() == text => Ok(Some(version.to_string())),
            Versions::Of(_) => Err(Refused::Conflict),
            Versions::Dropped => Ok(Some(String::new())),
        }
    }

    /// The member's name for the client's.
    fn name(&self, text: &str) -> Option<&str> {
        (text == self.served && self.served != self.name).then_some(self.name)
    }

    /// Whether the object is made here under the name that another cluster has made it under.
    fn names_what_is_made(&self) -> bool {
        self.served.is_empty() && !self.name.is_empty()
    }

    /// Whether `key` is the host's own among `pairs`, and what stands there does not contradict it.
    fn is_stamp(&self, pairs: Pairs, key: &str, value: Option<&str>) -> Result<bool, Refused> {
        if !pairs.stamped(self.stamp).contains(&key) {
            return Ok(false);
        }
        match value {
            Some(value) if key == CLUSTER_KEY && value != self.cluster.as_str() => Err(Refused::OtherCluster {
                field: format!("metadata.{}[{key}]", pairs.as_str()),
                value: value.to_owned(),
                cluster: self.cluster.clone(),
            }),
            _ => Ok(true),
        }
    }
}

/// `labels` or `annotations`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairs {
    Labels,
    Annotations,
}

// === impl Pairs ===

impl Pairs {
    pub(crate) const BOTH: [Self; 2] = [Self::Labels, Self::Annotations];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Labels => "labels",
            Self::Annotations => "annotations",
        }
    }

    /// The keys that are the host's own.
    pub(crate) fn stamped(self, stamp: Stamp) -> &'static [&'static str] {
        match (self, stamp) {
            (Self::Labels, Stamp::Label) => &[CLUSTER_KEY],
            (Self::Annotations, Stamp::Label | Stamp::Annotation) => &[CLUSTER_KEY, CLUSTERS_KEY],
            _ => &[],
        }
    }
}

// === impl Own ===

impl Own {
    /// What `object`, as its member has it, carries itself.
    pub(crate) fn of(object: &str, stamp: Stamp) -> Self {
        let found = |pairs: Pairs| {
            let metadata = Members::parse(object).ok().and_then(|object| object.object("metadata"));
            let map = metadata.and_then(|metadata| metadata.object(pairs.as_str())).unwrap_or_default();
            let own = pairs.stamped(stamp).iter();
            own.filter_map(|key| Some(((*key).to_owned(), map.text(key)?))).collect()
        };
        Self { labels: found(Pairs::Labels), annotations: found(Pairs::Annotations), selector: None }
    }

    /// The same, of a Service that is shown as `object`: nothing is hidden in its selector.
    pub(crate) fn with_selector_of(self, object: &str) -> Self {
        Self { selector: selector::of_object(object), ..self }
    }

    fn pairs(&self, pairs: Pairs) -> &[(String, String)] {
        match pairs {
            Pairs::Labels => &self.labels,
            Pairs::Annotations => &self.annotations,
        }
    }
}

#[cfg(test)]
mod tests;
