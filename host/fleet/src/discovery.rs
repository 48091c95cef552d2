//! What a member serves.

mod aggregated;
mod legacy;
mod refresh;

use std::sync::Arc;

use bytes::Bytes;
use orrery_api::{GroupResource, Gvr};

pub(crate) use refresh::{Schemas, keep_fresh};

/// What a member serves, as it last said so; kept while it is away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// API groups in the member's order, core first.
    pub groups: Vec<Group>,
}

/// One API group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name; empty for core.
    pub name: Arc<str>,
    /// Its versions, the preferred one first.
    pub versions: Vec<GroupVersion>,
}

/// One version of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupVersion {
    /// Its name, as `v1`.
    pub version: Arc<str>,
    /// Its resources in the member's order.
    pub resources: Vec<ResourceInfo>,
}

/// One resource in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceInfo {
    /// Group, version and plural name.
    pub gvr: Gvr,
    /// Kind of its objects.
    pub kind: Arc<str>,
    /// Singular name, lower case.
    pub singular: Arc<str>,
    /// Short names, as `po`.
    pub short_names: Vec<Arc<str>>,
    /// Categories, as `all`.
    pub categories: Vec<Arc<str>>,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// Verbs, as `list`.
    pub verbs: Vec<Arc<str>>,
    /// Its subresources.
    pub subresources: Vec<Subresource>,
    /// Its entry of aggregated discovery (`APIResourceDiscovery`), as the member sent it; made from legacy discovery
    /// where the member has no other.
    pub raw: Bytes,
}

/// A subresource, as `status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subresource {
    /// Its name.
    pub name: Arc<str>,
    /// What it takes and gives.
    pub gvk: Gvk,
    /// Verbs, as `patch`.
    pub verbs: Vec<Arc<str>>,
}

/// Group, version and kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct Gvk {
    /// API group; empty for core.
    #[serde(default)]
    pub group: Arc<str>,
    /// Version, as `v1`.
    #[serde(default)]
    pub version: Arc<str>,
    /// Kind, as `Pod`.
    #[serde(default)]
    pub kind: Arc<str>,
}

// === impl Discovery ===

impl Discovery {
    /// The resource, if it is served in that version.
    pub fn find(&self, gvr: &Gvr) -> Option<&ResourceInfo> {
        let group = self.groups.iter().find(|group| group.name == gvr.group)?;
        let version = group.versions.iter().find(|version| version.version == gvr.version)?;
        version.resources.iter().find(|info| info.gvr.resource == gvr.resource)
    }

    /// The version in which the resource's clock is read where its own is not served: the first, in the member's order,
    /// that can be.
    pub fn find_clocked(&self, clock: &GroupResource) -> Option<&ResourceInfo> {
        self.resources().find(|info| info.is_observable() && info.gvr.clock() == *clock)
    }

    /// All resources of all versions, in the member's order.
    pub fn resources(&self) -> impl Iterator<Item = &ResourceInfo> {
        self.groups.iter().flat_map(|group| &group.versions).flat_map(|version| &version.resources)
    }
}

// === impl ResourceInfo ===

impl ResourceInfo {
    /// Whether it has this verb.
    pub fn has_verb(&self, verb: &str) -> bool {
        self.verbs.iter().any(|own| &**own == verb)
    }

    /// Whether it can be clocked as far as its verbs say: it can be listed and watched.
    pub fn is_observable(&self) -> bool {
        self.has_verb("list") && self.has_verb("watch")
    }
}
