//! Which stages decide where which objects go: `PlacementPolicy` and `ClusterPlacementPolicy` of `orrery.dev/v1alpha1`.

mod document;

use std::fmt;

use serde::Deserialize;

use super::{LabelSelector, Unit};
use crate::{YamlError, yaml};

/// A `PlacementPolicy`, which is for objects of its namespace, or a `ClusterPlacementPolicy`. Prints as its kind and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The namespace of a PlacementPolicy; a ClusterPlacementPolicy has none.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Which objects it is for.
    pub selector: Selector,
    /// What judges the clusters, in order; never empty, and each stage at most once.
    pub stages: Vec<Stage>,
}

/// Which objects a policy is for: all that every part says; a part that is left out says all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Selector {
    /// API groups; the core group is `""`.
    pub groups: Option<Vec<String>>,
    /// Resources, as URLs name them: `deployments`.
    pub resources: Option<Vec<String>>,
    /// Namespaces; only in a ClusterPlacementPolicy.
    pub namespaces: Option<Vec<String>>,
    /// The objects' labels.
    pub label_selector: LabelSelector,
}

/// One step of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// What judges.
    pub kind: StageKind,
    /// What becomes of the placement where it cannot.
    pub failure_policy: FailurePolicy,
}

/// A built-in stage with its `params`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StageKind {
    /// Keeps clusters with these labels.
    ClusterSelector(LabelSelector),
    /// Keeps clusters whose taints are tolerated.
    Taints,
    /// Keeps and prefers clusters by what they have left.
    FreeCapacity(FreeCapacity),
    /// Prefers clusters with fewer such objects.
    Spread(Spread),
}

/// `params` of `freeCapacity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct FreeCapacity {
    /// Whether a cluster with too little is out, as without autoscaling; else it is only the last choice.
    pub required: bool,
}

/// `params` of `spread`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Spread {
    /// Labels in whose values objects must be like the new one to be counted; with none, all of its resource and namespace
    /// are.
    pub match_label_keys: Vec<String>,
}

/// What becomes of a placement where a stage cannot judge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum FailurePolicy {
    /// It fails.
    #[default]
    Reject,
    /// The others decide.
    Skip,
}

// === impl Policy ===

impl Policy {
    /// The policies that the documents of `text` are.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn parse(text: &str) -> Result<Vec<Self>, YamlError> {
        document::policies(yaml::parse_all(text)?)
    }

    /// Whether it is for `unit`.
    pub fn selects(&self, unit: &Unit) -> bool {
        self.namespace.as_ref().is_none_or(|namespace| *namespace == unit.namespace) && self.selector.selects(unit)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "PlacementPolicy {namespace}/{}", self.name),
            None => write!(f, "ClusterPlacementPolicy {}", self.name),
        }
    }
}

// === impl Selector ===

impl Selector {
    fn selects(&self, unit: &Unit) -> bool {
        let names = |listed: &Option<Vec<String>>, name: &str| {
            listed.as_ref().is_none_or(|listed| listed.iter().any(|listed| listed == name))
        };
        names(&self.groups, &unit.gvr.group)
            && names(&self.resources, &unit.gvr.resource)
            && names(&self.namespaces, &unit.namespace)
            && self.label_selector.unmet(|key| unit.labels.get(key).map(String::as_str)).is_none()
    }
}

// === impl StageKind ===

impl StageKind {
    /// What it is called in policies.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ClusterSelector(_) => "clusterSelector",
            Self::Taints => "taints",
            Self::FreeCapacity(_) => "freeCapacity",
            Self::Spread(_) => "spread",
        }
    }
}

impl Default for FreeCapacity {
    fn default() -> Self {
        Self { required: true }
    }
}

#[cfg(test)]
mod tests;
