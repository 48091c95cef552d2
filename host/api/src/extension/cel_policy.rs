use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Case, Limits};

/// A rule in CEL. What its expressions say is for the component to check that evaluates them.
#[derive(Clone, Debug, PartialEq)]
pub struct CelPolicy {
    /// Its name.
    pub name: String,
    /// What it answers.
    pub target: CelTarget,
    /// Its `spec` as it was written.
    pub spec: Value,
    /// `spec.tests`, which have to pass before it goes live.
    pub tests: Vec<Case>,
    /// What a call may take.
    pub limits: Limits,
}

/// What a rule in CEL answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CelTarget {
    /// Which clusters stay.
    Filter,
    /// How well each suits.
    Score,
    /// Which are chosen.
    Select,
    /// How many replicas each gets.
    Split,
    /// Labels that objects seem to have.
    VirtualLabel,
    /// Which objects a name selects.
    NamedSelector,
}

// === impl CelTarget ===

impl CelTarget {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Score => "score",
            Self::Select => "select",
            Self::Split => "split",
            Self::VirtualLabel => "virtual-label",
            Self::NamedSelector => "named-selector",
        }
    }
}
