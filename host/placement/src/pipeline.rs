use orrery_api::placement::{
    Counted, ExtendedStage, FailurePolicy, FreeCapacity, LabelSelector, PlacementQuestion, PlacementRequest,
    PlacementStage, Policy, Score, Spread, Stage, StageKind, Unit, Verdict,
};

use crate::decision::judged;
use crate::stages;

/// The stages of a decision, in order. [`Default`]: `taints`, `freeCapacity`, `spread`, as where no policy is for an object.
#[derive(Debug)]
pub struct Pipeline(Vec<Step>);

/// One stage, with what becomes of the decision where it cannot judge.
#[derive(Debug)]
pub struct Step {
    pub(crate) stage: Box<dyn PlacementStage>,
    pub(crate) on_failure: OnFailure,
}

/// What becomes of a decision where a stage cannot judge: a [`FailurePolicy`] with what it needs.
#[derive(Debug)]
pub(crate) enum OnFailure {
    Reject,
    Skip,
    UseBuiltin(Box<dyn PlacementStage>),
    UseLastKnown,
}

// === impl Pipeline ===

impl Pipeline {
    /// These stages.
    pub fn new(steps: Vec<Step>) -> Self {
        Self(steps)
    }

    /// The stages that `policy` names; those that extensions answer are what `extended` gives.
    pub fn of(policy: &Policy, extended: impl Fn(&ExtendedStage) -> Box<dyn PlacementStage>) -> Self {
        let step = |stage: &Stage| {
            let judge = match &stage.kind {
                StageKind::Extended(stage) => extended(stage),
                built_in => self::built_in(built_in),
            };
            Step::new(judge, &stage.kind, stage.failure_policy)
        };
        Self(policy.stages.iter().map(step).collect())
    }

    /// The objects whose number it has to know of each cluster, if any: of the first stage that counts.
    pub fn counted(&self, unit: &Unit) -> Option<Counted> {
        self.0.iter().find_map(|step| step.stage.counted(unit))
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.0
    }
}

impl Default for Pipeline {
    /// What cannot be judged is skipped: whether an object is valid is then for its cluster to say.
    fn default() -> Self {
        let kinds =
            [StageKind::Taints, StageKind::FreeCapacity(FreeCapacity::default()), StageKind::Spread(Spread::default())];
        Self(kinds.iter().map(|kind| Step::new(built_in(kind), kind, FailurePolicy::Skip)).collect())
    }
}

// === impl Step ===

impl Step {
    /// `stage`, which stands for `kind`.
    pub fn new(stage: Box<dyn PlacementStage>, kind: &StageKind, failure_policy: FailurePolicy) -> Self {
        let on_failure = match failure_policy {
            FailurePolicy::Reject => OnFailure::Reject,
            FailurePolicy::Skip => OnFailure::Skip,
            FailurePolicy::UseBuiltin => OnFailure::UseBuiltin(built_in(kind)),
            FailurePolicy::UseLastKnown => OnFailure::UseLastKnown,
        };
        Self { stage, on_failure }
    }

    /// What stands for the verdicts that could not be had; `None` where nothing does.
    pub(crate) async fn instead(&self, request: &PlacementRequest<'_>) -> Option<Vec<Verdict>> {
        match &self.on_failure {
            OnFailure::Reject => None,
            OnFailure::Skip => Some(vec![Verdict::Stays(Score::default()); request.candidates.len()]),
            OnFailure::UseBuiltin(stage) => judged(&**stage, request).await.ok(),
            OnFailure::UseLastKnown => {
                self.stage.last_known(request).filter(|verdicts| verdicts.len() == request.candidates.len())
            }
        }
    }
}

// === impl OnFailure ===

impl OnFailure {
    pub(crate) fn policy(&self) -> FailurePolicy {
        match self {
            Self::Reject => FailurePolicy::Reject,
            Self::Skip => FailurePolicy::Skip,
            Self::UseBuiltin(_) => FailurePolicy::UseBuiltin,
            Self::UseLastKnown => FailurePolicy::UseLastKnown,
        }
    }
}

/// The built-in stage of `kind`, or the one that stands for an extension's. Which clusters are chosen of those that are left
/// is the decision itself: what keeps all stands for it.
fn built_in(kind: &StageKind) -> Box<dyn PlacementStage> {
    match kind {
        StageKind::ClusterSelector(selector) => Box::new(stages::ClusterSelector(selector.clone())),
        StageKind::Taints => Box::new(stages::Taints),
        StageKind::FreeCapacity(params) => Box::new(stages::FreeCapacity(*params)),
        StageKind::Spread(params) => Box::new(stages::Spread(params.clone())),
        StageKind::Extended(extended) => match extended.stage {
            PlacementQuestion::Filter => Box::new(stages::Taints),
            PlacementQuestion::Score => Box::new(stages::FreeCapacity(FreeCapacity { required: false })),
            PlacementQuestion::Select | PlacementQuestion::Split => {
                Box::new(stages::ClusterSelector(LabelSelector::default()))
            }
        },
    }
}
