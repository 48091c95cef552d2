use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::text;
use crate::ClusterName;
use crate::extension::ExtensionKind;

/// Path of [`Extensions`]; `/KIND/NAME` behind it is one [`ExtensionStatus`], with `/logs` its [`ExtensionLogs`]; a POST to
/// `/KIND/NAME/rollback` puts the generation before back.
pub const EXTENSIONS_PATH: &str = "/orrery/v1/extensions";

/// All extensions, by kind and name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Extensions {
    /// Each of them.
    pub extensions: Vec<ExtensionStatus>,
}

/// One extension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionStatus {
    /// Its kind.
    pub kind: ExtensionKind,
    /// Its name.
    pub name: String,
    /// How it is.
    pub state: ExtensionState,
    /// The generation that serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<GenerationStatus>,
    /// Numbers of those before it that it can go back to, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub previous: Vec<u64>,
    /// Why its newest revision does not serve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<RefusalStatus>,
}

/// How an extension is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExtensionState {
    /// Its first revision is on its way; what needs it waits.
    Loading,
    /// It answers.
    Serving,
    /// It answers by an older generation than was asked for.
    Stale,
    /// It does not answer.
    Failed,
}

/// One generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GenerationStatus {
    /// Its number: it rises with every change.
    pub number: u64,
    /// Digest of its component.
    pub component: String,
    /// The interfaces that it answers.
    pub exports: Vec<String>,
    /// Since when it serves.
    #[serde(default, with = "text::time", skip_serializing_if = "Option::is_none")]
    pub since: Option<SystemTime>,
    /// Calls since then.
    pub calls: u64,
    /// Calls in which it was at fault.
    pub faults: u64,
}

/// Why a revision does not serve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusalStatus {
    /// The step that failed: fetch, verify, compile, link, check-params, self-test; or `serve` where it turned bad later.
    pub step: String,
    /// Why, and what to do.
    pub reason: String,
    /// Since when.
    #[serde(default, with = "text::time", skip_serializing_if = "Option::is_none")]
    pub since: Option<SystemTime>,
}

/// What an extension wrote last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtensionLogs {
    /// Its lines, the oldest first.
    pub lines: Vec<ExtensionLogLine>,
    /// Lines over the bound of their call, which are lost.
    pub dropped: u64,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionLogLine {
    /// When.
    #[serde(default, with = "text::time", skip_serializing_if = "Option::is_none")]
    pub time: Option<SystemTime>,
    /// The generation that wrote it.
    pub generation: u64,
    /// `debug`, `info`, `warn`, `error`.
    pub level: String,
    /// What it says.
    pub message: String,
    /// A JSON object, or nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fields: String,
}

// === impl ExtensionState ===

impl ExtensionState {
    /// As it is printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Loading => "Loading",
            Self::Serving => "Serving",
            Self::Stale => "Stale",
            Self::Failed => "Failed",
        }
    }
}

/// Path to POST [`ClusterScore`]s to, one or a list.
pub const SCORES_PATH: &str = "/orrery/v1/scores";

/// What something outside says of a cluster, for placement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ClusterScore {
    /// The cluster.
    pub cluster: ClusterName,
    /// What is measured, as `cost`.
    pub name: String,
    /// The value.
    pub value: i64,
    /// Until when it is to be used; for ever where it is not said.
    #[serde(default, with = "text::time", skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<SystemTime>,
}

/// Path to POST a manifest to, for the [`Placement`] that a create of it would get now.
pub const PLACE_PATH: &str = "/orrery/v1/place";

/// Where an object would go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// The object, as `deployments.apps shop/web`.
    pub unit: String,
    /// The policy that is for it; none where the built-in stages decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The cluster; none where it goes nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterName>,
    /// Why a decision could not be made at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Every cluster, in fleet order.
    #[serde(default)]
    pub clusters: Vec<PlacementCluster>,
    /// Stages that could not judge, with what was done instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
}

/// One cluster in a [`Placement`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlacementCluster {
    /// Its name.
    pub name: ClusterName,
    /// What the stages gave it together; none where one dropped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<u32>,
    /// What each stage that judged it gave it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageScore>,
    /// The stage that dropped it, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<String>,
}

/// What a stage gave a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageScore {
    /// The stage.
    pub stage: String,
    /// 0 to 100.
    pub score: u32,
}

/// Path to POST a component to (`application/wasm`), or a file of rules (`application/yaml`), to see how they would be loaded:
/// a list of [`Trial`]s.
pub const TRY_PATH: &str = "/orrery/v1/try";

/// How something would be loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trial {
    /// Its name.
    pub name: String,
    /// The step that failed; none where it would serve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The interfaces that it answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exports: Vec<String>,
    /// How many golden cases it has.
    pub cases: usize,
}

/// Past decisions, asked again of another component.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Replay {
    /// How many were asked.
    pub decisions: u64,
    /// How many have another answer.
    pub changed: u64,
    /// The first hundred of these.
    pub moved: Vec<Moved>,
}

/// A decision that has another answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Moved {
    /// When it was made.
    #[serde(default, with = "text::time", skip_serializing_if = "Option::is_none")]
    pub time: Option<SystemTime>,
    /// The generation that made it.
    pub generation: u64,
    /// What it was about.
    pub unit: String,
    /// What was said.
    pub before: String,
    /// What would be said.
    pub after: String,
}
