use async_trait::async_trait;
use orrery_api::placement::{
    Candidate, PlacementRequest, PlacementStage, Reason, Score, StageFailure, Taint, TaintEffect, Toleration, Verdict,
};

/// Keeps the clusters whose taints are tolerated, and prefers those whose PreferNoSchedule ones are too (upstream's
/// scheduler plugin TaintToleration). What makes no pods tolerates nothing.
#[derive(Debug)]
pub(crate) struct Taints;

// === impl Taints ===

#[async_trait]
impl PlacementStage for Taints {
    fn name(&self) -> &'static str {
        "taints"
    }

    async fn judge(&self, request: &PlacementRequest<'_>) -> Result<Vec<Verdict>, StageFailure> {
        let tolerations = request.unit.pods.as_ref().map_or(&[][..], |pods| &pods.tolerations);
        let unwanted: Vec<u64> = request.candidates.iter().map(|candidate| unwanted(candidate, tolerations)).collect();
        let most = unwanted.iter().copied().max().unwrap_or(0);
        let judge = |(candidate, unwanted): (&Candidate, &u64)| match forbidding(candidate, tolerations) {
            Some(taint) => Verdict::Dropped(Reason::new(
                "TaintNotTolerated",
                format!("it has the taint {taint}, which is not tolerated"),
            )),
            None => Verdict::Stays(Score::share(most - unwanted, most)),
        };
        Ok(request.candidates.iter().zip(&unwanted).map(judge).collect())
    }
}

fn not_tolerated<'c>(candidate: &'c Candidate, tolerations: &[Toleration]) -> impl Iterator<Item = &'c Taint> {
    let is_tolerated = |taint: &Taint| tolerations.iter().any(|toleration| toleration.tolerates(taint));
    candidate.attributes.taints.iter().filter(move |taint| !is_tolerated(taint))
}

fn forbidding<'c>(candidate: &'c Candidate, tolerations: &[Toleration]) -> Option<&'c Taint> {
    not_tolerated(candidate, tolerations).find(|taint| taint.effect != TaintEffect::PreferNoSchedule)
}

fn unwanted(candidate: &Candidate, tolerations: &[Toleration]) -> u64 {
    let preferred = |taint: &&Taint| taint.effect == TaintEffect::PreferNoSchedule;
    not_tolerated(candidate, tolerations).filter(preferred).count() as u64
}
