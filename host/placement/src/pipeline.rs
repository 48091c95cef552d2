use orrery_api::placement::{Counted, FailurePolicy, FreeCapacity, PlacementStage, Policy, Spread, StageKind, Unit};

use crate::stages;

/// The stages of a decision, in order. [`Default`]: `taints`, `freeCapacity`, `spread`, as where no policy is for an object.
#[derive(Debug)]
pub struct Pipeline(Vec<(Box<dyn PlacementStage>, FailurePolicy)>);

// === impl Pipeline ===

impl Pipeline {
    /// These stages, each with what becomes of the decision where it cannot judge.
    pub fn new(stages: Vec<(Box<dyn PlacementStage>, FailurePolicy)>) -> Self {
        Self(stages)
    }

    /// The stages that `policy` names.
    pub fn of(policy: &Policy) -> Self {
        Self(policy.stages.iter().map(|stage| (built_in(&stage.kind), stage.failure_policy)).collect())
    }

    /// The objects whose number it has to know of each cluster, if any: of the first stage that counts.
    pub fn counted(&self, unit: &Unit) -> Option<Counted> {
        self.0.iter().find_map(|(stage, _)| stage.counted(unit))
    }

    pub(crate) fn stages(&self) -> impl Iterator<Item = (&dyn PlacementStage, FailurePolicy)> {
        self.0.iter().map(|(stage, failure)| (&**stage, *failure))
    }
}

impl Default for Pipeline {
    /// What cannot be judged is skipped: whether an object is valid is then for its cluster to say.
    fn default() -> Self {
        let kinds =
            [StageKind::Taints, StageKind::FreeCapacity(FreeCapacity::default()), StageKind::Spread(Spread::default())];
        Self(kinds.iter().map(|kind| (built_in(kind), FailurePolicy::Skip)).collect())
    }
}

fn built_in(kind: &StageKind) -> Box<dyn PlacementStage> {
    match kind {
        StageKind::ClusterSelector(selector) => Box::new(stages::ClusterSelector(selector.clone())),
        StageKind::Taints => Box::new(stages::Taints),
        StageKind::FreeCapacity(params) => Box::new(stages::FreeCapacity(*params)),
        StageKind::Spread(params) => Box::new(stages::Spread(params.clone())),
    }
}
