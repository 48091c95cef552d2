use async_trait::async_trait;
use orrery_api::placement::{
    Candidate, LabelSelector, PlacementRequest, PlacementStage, Reason, Requirement, Score, StageFailure, Verdict,
};

/// Keeps the clusters that have these labels. It prefers none.
#[derive(Debug)]
pub(crate) struct ClusterSelector(pub(crate) LabelSelector);

// === impl ClusterSelector ===

#[async_trait]
impl PlacementStage for ClusterSelector {
    fn name(&self) -> &'static str {
        "clusterSelector"
    }

    async fn judge(&self, request: &PlacementRequest<'_>) -> Result<Vec<Verdict>, StageFailure> {
        let judge = |candidate: &Candidate| match self.0.unmet(|key| candidate.label(key)) {
            None => Verdict::Stays(Score::default()),
            Some(requirement) => Verdict::Dropped(reason(candidate, requirement)),
        };
        Ok(request.candidates.iter().map(judge).collect())
    }
}

fn reason(candidate: &Candidate, requirement: &Requirement) -> Reason {
    let key = requirement.key();
    let has = match candidate.label(key) {
        Some(value) => format!("its label {key} is {value:?}"),
        None => format!("it has no label {key}"),
    };
    Reason::new("LabelMismatch", format!("{has}, and {requirement} is asked for"))
}
