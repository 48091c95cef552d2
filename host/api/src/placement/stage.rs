use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;

use super::{Free, Labels, Taint, Unit};
use crate::{CLUSTER_KEY, ClusterName};

/// One step of a placement. It judges all clusters of a decision in one call, is told everything that it may know, and
/// answers the same whenever it is told the same.
#[async_trait]
pub trait PlacementStage: fmt::Debug + Send + Sync {
    /// What it is called in policies and reasons.
    fn name(&self) -> &str;

    /// A verdict on each candidate, in their order.
    ///
    /// # Errors
    /// It could not judge at all; the policy says what then.
    async fn judge(&self, request: &PlacementRequest<'_>) -> Result<Vec<Verdict>, StageFailure>;

    /// What it said of each candidate when it last could judge; `None` where it never did, or says nothing of some.
    fn last_known(&self, _request: &PlacementRequest<'_>) -> Option<Vec<Verdict>> {
        None
    }

    /// The objects whose number it has to know of each cluster ([`Candidate::objects`]), if any.
    fn counted(&self, _unit: &Unit) -> Option<Counted> {
        None
    }
}

/// What a stage is told.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PlacementRequest<'a> {
    /// What is to be placed.
    pub unit: &'a Unit,
    /// All clusters, in fleet order.
    pub fleet: &'a [Candidate],
    /// The clusters that are left.
    pub candidates: &'a [Candidate],
    /// What the stages before gave each of these, added up.
    pub scores: &'a [u32],
    /// The only time that a decision knows, in milliseconds since 1970.
    pub now_ms: u64,
}

/// A cluster that something may be placed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its name in the fleet.
    pub name: ClusterName,
    /// What the fleet's configuration says of it.
    pub attributes: Arc<ClusterAttributes>,
    /// The version of its API server, as `v1.37.0`; empty where that is not known.
    pub version: String,
    /// How long ago it was last seen to answer, in milliseconds; `None` where it never was.
    pub lag_ms: Option<u64>,
    /// What its nodes could give if nothing were left to the system.
    pub capacity: Free,
    /// What its nodes give to pods.
    pub allocatable: Free,
    /// What it has left.
    pub free: Free,
    /// How many objects it has of those that [`PlacementStage::counted`] describes; `None` where that is not known.
    pub objects: Option<u64>,
    /// What something outside said of it (`ClusterScore`), by name.
    pub scores: BTreeMap<String, PushedScore>,
    /// Why nothing can be placed in it, whatever stages say: it is away, or does not serve the kind.
    pub unfit: Option<Reason>,
}

/// What something outside said of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushedScore {
    /// What it said.
    pub value: i64,
    /// How long ago, in milliseconds.
    pub age_ms: u64,
    /// Whether it was to be used until a time that is over.
    pub expired: bool,
}

/// What the fleet's configuration says of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterAttributes {
    /// Labels, for selectors.
    pub labels: Labels,
    /// What keeps objects off.
    pub taints: Vec<Taint>,
}

/// Objects that are counted: those of a unit's resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Only those of this namespace; `None` for all.
    pub namespace: Option<String>,
    /// Only those with all of these labels.
    pub labels: BTreeMap<String, String>,
}

/// What a stage says of one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It stays in the choice. What all stages give is added up, and the most wins.
    Stays(Score),
    /// It is out.
    Dropped(Reason),
}

/// How well a cluster suits, from 0 to 100.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Score(u8);

/// Why a cluster is out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// For programs, as `TaintNotTolerated`. The set is open.
    pub code: Cow<'static, str>,
    /// For people; goes on a sentence that begins with the cluster.
    pub message: String,
}

/// Why a stage could not judge.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{message}")]
pub struct StageFailure {
    /// For people.
    pub message: String,
    /// After how long it may be able to; `None` where waiting does not help.
    pub retry_after: Option<Duration>,
}

// === impl PlacementRequest ===

impl<'a> PlacementRequest<'a> {
    /// The question where of `fleet` to put `unit` at `now_ms`, once `candidates` are left with `scores`.
    pub fn new(
        unit: &'a Unit,
        fleet: &'a [Candidate],
        (candidates, scores): (&'a [Candidate], &'a [u32]),
        now_ms: u64,
    ) -> Self {
        Self { unit, fleet, candidates, scores, now_ms }
    }
}

// === impl StageFailure ===

impl StageFailure {
    /// A failure that waiting does not end.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), retry_after: None }
    }
}

// === impl Candidate ===

impl Candidate {
    /// A cluster of which only the name is known.
    pub fn named(name: ClusterName) -> Self {
        Self {
            name,
            attributes: Arc::default(),
            version: String::new(),
            lag_ms: None,
            capacity: Free::default(),
            allocatable: Free::default(),
            free: Free::default(),
            objects: None,
            scores: BTreeMap::new(),
            unfit: None,
        }
    }

    /// The value of its label `key`. Its name is the label `orrery.dev/cluster`, as objects show it.
    pub fn label(&self, key: &str) -> Option<&str> {
        if key == CLUSTER_KEY {
            return Some(self.name.as_str());
        }
        self.attributes.labels.get(key).map(String::as_str)
    }
}

// === impl Score ===

impl Score {
    /// The best.
    pub const MAX: Self = Self(100);

    /// `part` of `whole`: all of it is the best, nothing the worst. Of nothing everything is all.
    pub fn share(part: u64, whole: u64) -> Self {
        let percent = (u128::from(part) * 100).checked_div(u128::from(whole)).unwrap_or(100);
        Self(u8::try_from(percent).unwrap_or(100).min(100))
    }

    /// 0 to 100.
    pub fn value(self) -> u8 {
        self.0
    }
}

// === impl Reason ===

impl Reason {
    /// The reason that programs know by `code`.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_without_overflow() {
        let share = |part, whole| Score::share(part, whole).value();
        assert_eq!((share(1, 3), share(3, 3), share(0, 3)), (33, 100, 0));
        assert_eq!((share(u64::MAX, u64::MAX), share(9, 3), share(0, 0)), (100, 100, 100));
    }

    #[test]
    fn a_clusters_name_is_a_label_of_it() {
        let yaml = "labels: {region: eu}\ntaints: [{key: a, effect: NoSchedule}]";
        let attributes = Arc::new(crate::yaml::parse(yaml).unwrap());
        let name = ClusterName::new("east").unwrap();
        let candidate = Candidate { attributes, ..Candidate::named(name) };
        assert_eq!((candidate.label("region"), candidate.label("orrery.dev/cluster")), (Some("eu"), Some("east")));
        assert_eq!(candidate.label("tier"), None);
        assert_eq!(candidate.attributes.taints[0].to_string(), "a:NoSchedule");
    }
}
