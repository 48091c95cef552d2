use async_trait::async_trait;
use orrery_api::placement::{
    self, Candidate, Free, PlacementRequest, PlacementStage, PodSet, Reason, Resources, Score, StageFailure, Verdict,
};

/// Keeps the clusters that have what all pods of the unit ask for together, and prefers those with more left then. What
/// makes no pods fits everywhere. A cluster of which nothing is known stays, as the last choice.
#[derive(Debug)]
pub(crate) struct FreeCapacity(pub(crate) placement::FreeCapacity);

/// What a unit takes.
#[derive(Clone, Copy)]
struct Asked {
    all: Resources,
    pods: u64,
}

// === impl FreeCapacity ===

#[async_trait]
impl PlacementStage for FreeCapacity {
    fn name(&self) -> &'static str {
        "freeCapacity"
    }

    async fn judge(&self, request: &PlacementRequest<'_>) -> Result<Vec<Verdict>, StageFailure> {
        let Some(pods) = &request.unit.pods else {
            return Ok(vec![Verdict::Stays(Score::default()); request.candidates.len()]);
        };
        let asked = Asked::by(pods)?;
        let fitting = || request.candidates.iter().map(|candidate| &candidate.free).filter(|free| asked.fits(free));
        let most_cpu = fitting().filter_map(|free| free.cpu_milli).max().unwrap_or(0);
        let most_memory = fitting().filter_map(|free| free.memory_bytes).max().unwrap_or(0);
        let judge = |candidate: &Candidate| match asked.missing(&candidate.free) {
            missing if missing.is_empty() => Verdict::Stays(asked.score(&candidate.free, (most_cpu, most_memory))),
            _ if !self.0.required => Verdict::Stays(Score::default()),
            missing => Verdict::Dropped(Reason::new("InsufficientCapacity", missing.join("; "))),
        };
        Ok(request.candidates.iter().map(judge).collect())
    }
}

// === impl Asked ===

impl Asked {
    fn by(pods: &PodSet) -> Result<Self, StageFailure> {
        let each = pods.requests.as_ref().map_err(|error| StageFailure::new(error.to_string()))?;
        Ok(Self { all: each.times(pods.replicas), pods: pods.replicas })
    }

    fn fits(self, free: &Free) -> bool {
        self.missing(free).is_empty()
    }

    /// What is asked for and not there, in words.
    fn missing(self, free: &Free) -> Vec<String> {
        let Resources { cpu_milli, memory_bytes } = self.all;
        let mut missing = Vec::new();
        if let Some(free) = free.cpu_milli.filter(|free| cpu_milli > *free) {
            let (asked, free) = (Resources::cpu_text(cpu_milli), Resources::cpu_text(free));
            missing.push(format!("cpu: {asked} asked for, {free} free"));
        }
        if let Some(free) = free.memory_bytes.filter(|free| memory_bytes > *free) {
            let (asked, free) = (Resources::memory_text(memory_bytes), Resources::memory_text(free));
            missing.push(format!("memory: {asked} asked for, {free} free"));
        }
        if let Some(free) = free.pods.filter(|free| self.pods > *free) {
            missing.push(format!("pods: {} asked for, {free} free", self.pods));
        }
        missing
    }

    /// What would be left, of processor time and memory alike, beside the most that any cluster has.
    fn score(self, free: &Free, (most_cpu, most_memory): (u64, u64)) -> Score {
        let left = |free: Option<u64>, asked: u64, most: u64| {
            free.map_or(0, |free| Score::share(free.saturating_sub(asked), most.saturating_sub(asked)).value())
        };
        let cpu = left(free.cpu_milli, self.all.cpu_milli, most_cpu);
        let memory = left(free.memory_bytes, self.all.memory_bytes, most_memory);
        Score::share(u64::from(cpu) + u64::from(memory), 200)
    }
}
