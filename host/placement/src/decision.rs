use std::fmt;

use orrery_api::ClusterName;
use orrery_api::placement::{
    Candidate, FailurePolicy, PlacementRequest, PlacementStage, Reason, Score, StageFailure, Unit, Verdict,
};

use crate::Pipeline;

/// What stands for a stage where a cluster was out before any ([`Candidate::unfit`]).
pub const FLEET: &str = "fleet";

/// Where a unit goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The cluster that is chosen.
    pub cluster: ClusterName,
    /// Every cluster, in fleet order, with what was found of it.
    pub clusters: Vec<Judged>,
    /// The stages that could not judge, and by their failure policy did not have to.
    pub skipped: Vec<Skipped>,
}

/// What was found of one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The cluster.
    pub cluster: ClusterName,
    /// What was found.
    pub outcome: Outcome,
    /// What each stage that kept it gave it, in order.
    pub given: Vec<(String, Score)>,
}

/// What was found of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It fits.
    Stays {
        /// What all stages gave it, added up; the most wins, the first in fleet order of equals.
        score: u32,
    },
    /// It does not.
    Dropped(Dropped),
}

/// Why a cluster is out. Prints as `STAGE: MESSAGE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The stage that dropped it; [`FLEET`] where it was out before.
    pub stage: String,
    /// The reason.
    pub reason: Reason,
}

/// A stage that could not judge, and what its failure policy put in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The stage.
    pub stage: String,
    /// Why.
    pub failure: StageFailure,
    /// What became of it.
    pub instead: FailurePolicy,
}

/// Why a unit goes nowhere.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum PlacementError {
    /// No cluster is left.
    #[error("no cluster fits: {}", listed(dropped))]
    NoneFits {
        /// Every cluster, in fleet order, with the reason.
        dropped: Vec<(ClusterName, Dropped)>,
    },
    /// A stage could not judge, and by its failure policy has to.
    #[error("placement stage {stage} could not judge")]
    Failed {
        /// The stage.
        stage: String,
        /// Why.
        #[source]
        source: StageFailure,
    },
}

/// The cluster of `fleet`, which is in fleet order, that `unit` goes to at `now_ms` (since 1970). Every stage judges the clusters that those before
/// it left; what they give is added up.
///
/// # Errors
/// No cluster is left, or a stage that has to judge could not.
pub async fn decide(
    unit: &Unit,
    fleet: &[Candidate],
    pipeline: &Pipeline,
    now_ms: u64,
) -> Result<Decision, PlacementError> {
    let mut clusters: Vec<Judged> = fleet.iter().map(at_first).collect();
    let mut left: Vec<usize> = (0..fleet.len()).filter(|at| fleet[*at].unfit.is_none()).collect();
    let mut skipped = Vec::new();
    for step in pipeline.steps() {
        if left.is_empty() {
            break;
        }
        let candidates: Vec<Candidate> = left.iter().map(|at| fleet[*at].clone()).collect();
        let scores: Vec<u32> = left.iter().filter_map(|at| clusters[*at].score()).collect();
        let request = PlacementRequest::new(unit, fleet, (&candidates, &scores), now_ms);
        let name = step.stage.name();
        let verdicts = match judged(&*step.stage, &request).await {
            Ok(verdicts) => verdicts,
            Err(failure) => {
                let Some(verdicts) = step.instead(&request).await else {
                    return Err(PlacementError::Failed { stage: name.to_owned(), source: failure });
                };
                skipped.push(Skipped { stage: name.to_owned(), failure, instead: step.on_failure.policy() });
                verdicts
            }
        };
        for (at, verdict) in left.iter().zip(verdicts) {
            clusters[*at].take(name, verdict);
        }
        left.retain(|at| clusters[*at].score().is_some());
    }
    match best(&clusters) {
        Some(cluster) => Ok(Decision { cluster, clusters, skipped }),
        None => Err(PlacementError::NoneFits { dropped: clusters.into_iter().filter_map(Judged::dropped).collect() }),
    }
}

fn at_first(candidate: &Candidate) -> Judged {
    let outcome = match &candidate.unfit {
        Some(reason) => Outcome::Dropped(Dropped { stage: FLEET.to_owned(), reason: reason.clone() }),
        None => Outcome::Stays { score: 0 },
    };
    Judged { cluster: candidate.name.clone(), outcome, given: Vec::new() }
}

/// A stage that says more or less than was asked has failed.
pub(crate) async fn judged(
    stage: &dyn PlacementStage,
    request: &PlacementRequest<'_>,
) -> Result<Vec<Verdict>, StageFailure> {
    let verdicts = stage.judge(request).await?;
    let (got, asked) = (verdicts.len(), request.candidates.len());
    if got == asked {
        Ok(verdicts)
    } else {
        Err(StageFailure::new(format!("it gave {got} verdicts on {asked} clusters")))
    }
}

/// The first of those with the most.
fn best(clusters: &[Judged]) -> Option<ClusterName> {
    let mut best: Option<(&ClusterName, u32)> = None;
    for judged in clusters {
        if let Some(score) = judged.score().filter(|score| best.is_none_or(|(_, most)| *score > most)) {
            best = Some((&judged.cluster, score));
        }
    }
    best.map(|(cluster, _)| cluster.clone())
}

fn listed(dropped: &[(ClusterName, Dropped)]) -> String {
    if dropped.is_empty() {
        return "there is none".to_owned();
    }
    let one = |(cluster, dropped): &(ClusterName, Dropped)| format!("{cluster} ({dropped})");
    dropped.iter().map(one).collect::<Vec<_>>().join(", ")
}

// === impl Judged ===

impl Judged {
    fn score(&self) -> Option<u32> {
        match self.outcome {
            Outcome::Stays { score } => Some(score),
            Outcome::Dropped(_) => None,
        }
    }

    fn dropped(self) -> Option<(ClusterName, Dropped)> {
        match self.outcome {
            Outcome::Stays { .. } => None,
            Outcome::Dropped(dropped) => Some((self.cluster, dropped)),
        }
    }

    fn take(&mut self, stage: &str, verdict: Verdict) {
        match (&mut self.outcome, verdict) {
            (Outcome::Stays { score }, Verdict::Stays(more)) => {
                *score += u32::from(more.value());
                self.given.push((stage.to_owned(), more));
            }
            (outcome @ Outcome::Stays { .. }, Verdict::Dropped(reason)) => {
                *outcome = Outcome::Dropped(Dropped { stage: stage.to_owned(), reason });
            }
            (Outcome::Dropped(_), _) => {}
        }
    }
}

// === impl Dropped ===

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.stage, self.reason.message)
    }
}
