//! Which stages decide where which objects go: `PlacementPolicy` and `ClusterPlacementPolicy` of `orrery.dev/v1alpha1`.

mod document;

use std::fmt;

use serde::Deserialize;

use super::{LabelSelector, Unit};
use crate::extension::ExtensionName;
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

/// A built-in stage with its `params`, or one that an extension brings.
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
    /// Asks an extension.
    Extended(ExtendedStage),
}

/// A stage that an extension answers. Prints as `filter by Plugin NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtendedStage {
    /// What it is asked.
    pub stage: PlacementQuestion,
    /// Which extension.
    pub by: ExtensionName,
}

/// What an extension can be asked of placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PlacementQuestion {
    /// Which clusters stay.
    Filter,
    /// How well each suits.
    Score,
    /// Which are chosen.
    Select,
    /// How many replicas each gets.
    Split,
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
    /// The built-in stage for its question judges instead: `taints` filters, `freeCapacity` scores, and of what is left the
    /// best is selected.
    UseBuiltin,
    /// What it said last of each cluster is said again; it fails where it never did.
    UseLastKnown,
}

// === impl Policy ===

impl Policy {
    /// The policies that the documents of `text` are.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn parse(text: &str) -> Result<Vec<Self>, YamlError> {
        yaml::documents(text)?.iter().map(|text| Self::of_document(text)).collect()
    }

    /// The policy that the one document of `text` is.
    pub(crate) fn of_document(text: &str) -> Result<Self, YamlError> {
        document::parse(text)
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
            Self::Extended(extended) => extended.stage.as_str(),
        }
    }
}

// === impl ExtendedStage ===

impl fmt::Display for ExtendedStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}", self.stage.as_str(), self.by)
    }
}

// === impl PlacementQuestion ===

impl PlacementQuestion {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Score => "score",
            Self::Select => "select",
            Self::Split => "split",
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
