//! The values that Orrery's crates share: names of clusters, kinds and objects, the configuration file, the documents of
//! `/orrery/v1`, and placement's policies and trait. Values only: nothing here does I/O, and no field has behaviour beyond
//! its own rules.

mod cluster;
mod object;
mod resource;
mod yaml;

pub mod config;
pub mod extension;
pub mod placement;
pub mod status;

pub use cluster::{ClusterName, ClusterNameError};
pub use object::{ObjectKey, Uid};
pub use resource::{GroupResource, Gvr, ParseResourceError, is_built_in};
pub use yaml::{Place, YamlError, nearest};

/// The virtual label and annotation that names the cluster which holds an object (design 2.6).
pub const CLUSTER_KEY: &str = "orrery.dev/cluster";

/// The virtual annotation of an object that is one in several clusters: their names, comma-separated.
pub const CLUSTERS_KEY: &str = "orrery.dev/clusters";

/// How an object says which cluster holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stamp {
    /// As label and as annotation [`CLUSTER_KEY`].
    #[default]
    Label,
    /// As annotation only.
    Annotation,
    /// Not at all: with one member the host is then indistinguishable from it.
    None,
}

/// How names of a resource are made unique over clusters (design 2.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Naming {
    /// The first claimant keeps the plain name; later ones are served as `<name>.<cluster>`.
    #[default]
    Unique,
    /// Always `<name>.<cluster>`.
    Qualified,
    /// One name is one object, shown once, from its first claimant.
    Same,
}
