use async_trait::async_trait;
use orrery_api::placement::{
    self, Candidate, Counted, PlacementRequest, PlacementStage, Score, StageFailure, Unit, Verdict,
};

/// Prefers the clusters with fewer objects like the unit: of its resource and namespace, and with the same values of some
/// labels. One of which that is not known counts like the fullest.
#[derive(Debug)]
pub(crate) struct Spread(pub(crate) placement::Spread);

// === impl Spread ===

#[async_trait]
impl PlacementStage for Spread {
    fn name(&self) -> &'static str {
        "spread"
    }

    async fn judge(&self, request: &PlacementRequest<'_>) -> Result<Vec<Verdict>, StageFailure> {
        let most = request.candidates.iter().filter_map(|candidate| candidate.objects).max().unwrap_or(0);
        let score = |candidate: &Candidate| match candidate.objects {
            Some(objects) => Score::share(most - objects, most),
            None => Score::default(),
        };
        Ok(request.candidates.iter().map(|candidate| Verdict::Stays(score(candidate))).collect())
    }

    /// A label that the unit lacks does not tell objects apart.
    fn counted(&self, unit: &Unit) -> Option<Counted> {
        let keys = self.0.match_label_keys.iter();
        let labels = keys.filter_map(|key| unit.labels.get_key_value(key));
        Some(Counted {
            namespace: Some(unit.namespace.clone()).filter(|namespace| !namespace.is_empty()),
            labels: labels.map(|(key, value)| (key.clone(), value.clone())).collect(),
        })
    }
}
