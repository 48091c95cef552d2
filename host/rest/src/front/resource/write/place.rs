//! A cluster for an object that nothing ties to one: by the policy that is for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use orrery_api::ClusterName;
use orrery_api::placement::{Candidate, Counted, Policy, Reason, StageKind, Unit};
use orrery_cache::Object;
use orrery_placement::{Decision, Pipeline, PlacementError, decide};
use orrery_sequencer::Resource;
use serde_json::{Value, json};

use super::Call;
use crate::front::Service;
use crate::status::Status;
use crate::translate::Facts;

/// Where a unit goes, and what decided.
pub(in crate::front) struct Placed {
    pub(in crate::front) policy: Option<Arc<Policy>>,
    pub(in crate::front) decision: Result<Decision, PlacementError>,
}

// === impl Service ===

impl Service {
    /// Decides where a new object goes; 422 with the reason of each cluster where none fits, 429 where what has to judge
    /// cannot yet.
    pub(super) async fn place(
        &self,
        call: &Call<'_>,
        resource: &Resource,
        facts: &Facts,
    ) -> Result<ClusterName, Status> {
        let unit = Unit::read(call.asked.gvr.clone(), &call.asked.namespace, &call.described(facts));
        let decision = self.decision(&unit, resource).await.decision;
        let decision = decision.map_err(|error| match retry_after(&error) {
            Some(seconds) => Status::too_many_requests(said(&error), seconds),
            None => Status::invalid(&call.asked.gvr.group, &call.served.kind, call.new_name(facts), &said(&error)),
        })?;
        for skipped in &decision.skipped {
            tracing::warn!(
                stage = skipped.stage,
                failure = %skipped.failure,
                instead = ?skipped.instead,
                "a stage of placement could not judge"
            );
        }
        tracing::debug!(cluster = %decision.cluster, resource = %call.asked.gvr, "placed");
        Ok(decision.cluster)
    }

    /// What is decided of `unit`, of `resource`, now.
    pub(in crate::front) async fn decision(&self, unit: &Unit, resource: &Resource) -> Placed {
        let policies = &self.front.policies;
        let policy = policies.for_unit(unit);
        let of_policy = |policy: &Policy| Pipeline::of(policy, |stage| policies.stage(stage));
        let pipeline = policy.as_deref().map_or_else(Pipeline::default, of_policy);
        let held = pipeline.counted(unit).map(|counted| held(resource, &counted));
        let is_extended =
            |policy: &Arc<Policy>| policy.stages.iter().any(|stage| matches!(stage.kind, StageKind::Extended(_)));
        let needs_amounts = unit.pods.is_some() || policy.as_ref().is_some_and(is_extended);
        let candidates = self.candidates(unit, held.as_ref(), needs_amounts).await;
        let decision = decide(unit, &candidates, &pipeline, now_ms()).await;
        Placed { policy, decision }
    }

    /// The fleet as placement sees it; `held` are the objects of each cluster, where they are counted. What clusters have
    /// is known only where it is needed, as all pods are read for it.
    pub(in crate::front) async fn candidates(
        &self,
        unit: &Unit,
        held: Option<&BTreeMap<ClusterName, u64>>,
        needs_amounts: bool,
    ) -> Vec<Candidate> {
        let amounts = if needs_amounts { self.capacity.of(&self.front.sequencer).await } else { Arc::default() };
        let mut candidates = Vec::new();
        for member in self.front.fleet.members().iter() {
            let name = member.name().clone();
            let amounts = amounts.get(&name).copied().unwrap_or_default();
            let unfit = self.unfit(&unit.gvr, &unit.namespace, member).await;
            candidates.push(Candidate {
                attributes: member.attributes(),
                version: member.version().map(|version| version.git_version.to_string()).unwrap_or_default(),
                lag_ms: member.last_seen().and_then(|seen| u64::try_from(seen.elapsed().ok()?.as_millis()).ok()),
                capacity: amounts.capacity,
                allocatable: amounts.allocatable,
                free: amounts.free,
                objects: held.map(|held| held.get(&name).copied().unwrap_or(0)),
                scores: self.scores.of(&name),
                unfit: unfit.map(|reason| Reason::new("Unfit", reason)),
                name,
            });
        }
        candidates
    }
}

// === impl Call ===

impl Call<'_> {
    /// The object as its body describes it; of protobuf what stands in its metadata.
    fn described(&self, facts: &Facts) -> Value {
        let whole = self.document().and_then(|document| document.value());
        let pairs = |pairs: &[(String, String)]| pairs.iter().cloned().collect::<BTreeMap<_, _>>();
        whole.unwrap_or_else(|| {
            json!({"metadata": {
                "name": facts.name,
                "generateName": facts.generate_name,
                "labels": pairs(&facts.labels),
                "annotations": pairs(&facts.annotations),
            }})
        })
    }
}

/// Milliseconds since 1970.
pub(in crate::front) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The error with its cause.
pub(in crate::front) fn said(error: &PlacementError) -> String {
    match error {
        PlacementError::NoneFits { .. } => error.to_string(),
        PlacementError::Failed { source, .. } => format!("{error}: {source}"),
    }
}

/// Seconds after which a stage that could not judge may be able to.
fn retry_after(error: &PlacementError) -> Option<u32> {
    match error {
        PlacementError::NoneFits { .. } => None,
        PlacementError::Failed { source, .. } => {
            source.retry_after.map(|after| u32::try_from(after.as_secs()).unwrap_or(u32::MAX).max(1))
        }
    }
}

/// How many of the objects that are counted each cluster holds.
fn held(resource: &Resource, counted: &Counted) -> BTreeMap<ClusterName, u64> {
    let is_counted =
        |object: &&std::sync::Arc<Object>| counted.labels.iter().all(|(key, value)| object.label(key) == Some(value));
    let mut held = BTreeMap::new();
    for object in resource.reader().latest().range(counted.namespace.as_deref(), None).filter(is_counted) {
        *held.entry(object.cluster().clone()).or_insert(0) += 1;
    }
    held
}
