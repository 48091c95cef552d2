use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Capability;

/// What a plugin says of itself: the custom section `orrery:manifest` of its component, as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Manifest {
    /// `orrery.dev/v1alpha1`, where it is written.
    pub api_version: Option<String>,
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Option<PluginKind>,
    /// What it reads: nothing else is sent.
    pub inputs: Inputs,
    /// How its scores become 0 to 100.
    pub normalize: Normalize,
    /// Its metrics.
    pub metrics: Vec<Metric>,
    /// What it asks of the host.
    pub capabilities: Vec<Capability>,
}

/// A kind of plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PluginKind {
    /// It judges clusters.
    PlacementStrategy,
    /// It judges objects.
    SelectorFilter,
    /// It makes objects.
    WorkloadController,
}

/// Paths into the documents that it is sent, as `labels` or `object.spec.template`; `None` for all that there is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Inputs {
    /// Of the unit (schema `unit`).
    pub unit: Option<Vec<String>>,
    /// Of each candidate (schema `candidate`).
    pub candidate: Option<Vec<String>>,
    /// Of each object.
    pub object: Option<Vec<String>>,
}

/// How raw scores become 0 to 100.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Normalize {
    /// They are 0 to 100 already; what is beyond counts as the nearest.
    #[default]
    None,
    /// The least becomes 0 and the most 100.
    Minmax,
    /// The least becomes 100 and the most 0.
    Reverse,
}

/// A metric that it may write.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Its name, behind `orrery_plugin_`.
    pub name: String,
    /// Keys of its labels.
    #[serde(default)]
    pub labels: Vec<String>,
}

/// A golden case: what a generation has to answer before it goes live.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Case {
    /// What it shows.
    pub name: String,
    /// Settings; those of the plugin where it says none.
    pub params: Option<Value>,
    /// What it is asked: `unit`, `candidates`, `current`, `scores`, `now`, `params`; or `gvr`, `objects` and `request`.
    #[serde(alias = "request")]
    pub inputs: Value,
    /// What it answers: `kept`, `reasons`, `messages`, `scores`, `selected`, `replicas`, `labels`, `matches`.
    pub expect: Value,
}
