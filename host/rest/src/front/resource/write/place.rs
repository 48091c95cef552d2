//! A cluster for an object that nothing ties to one: by the policy that is for it.

use std::collections::BTreeMap;

use orrery_api::ClusterName;
use orrery_api::placement::{Candidate, Counted, Free, Reason, Unit};
use orrery_cache::Object;
use orrery_placement::{Pipeline, decide};
use orrery_sequencer::Resource;
use serde_json::{Value, json};

use super::Call;
use crate::front::Service;
use crate::status::Status;
use crate::translate::Facts;

// === impl Service ===

impl Service {
    /// Decides where a new object goes; 422 with the reason of each cluster where none fits.
    pub(super) async fn place(
        &self,
        call: &Call<'_>,
        resource: &Resource,
        facts: &Facts,
    ) -> Result<ClusterName, Status> {
        let unit = Unit::read(call.asked.gvr.clone(), &call.asked.namespace, &call.described(facts));
        let policy = self.front.policies.for_unit(&unit);
        let pipeline = policy.as_deref().map_or_else(Pipeline::default, Pipeline::of);
        let held = pipeline.counted(&unit).map(|counted| held(resource, &counted));
        let free = if unit.pods.is_some() { self.capacity.of(&self.front.sequencer).await } else { BTreeMap::new() };
        let mut candidates = Vec::new();
        for member in self.front.fleet.members().iter() {
            let name = member.name().clone();
            candidates.push(Candidate {
                attributes: member.attributes(),
                free: free.get(&name).copied().unwrap_or_else(Free::default),
                objects: held.as_ref().map(|held| held.get(&name).copied().unwrap_or(0)),
                unfit: self.unfit(call, member).await.map(|reason| Reason::new("Unfit", reason)),
                name,
            });
        }
        let refused = |error: &dyn std::fmt::Display| {
            Status::invalid(&call.asked.gvr.group, &call.served.kind, call.new_name(facts), &error.to_string())
        };
        let decision = decide(&unit, &candidates, &pipeline).map_err(|error| refused(&error))?;
        for skipped in &decision.skipped {
            tracing::warn!(stage = skipped.stage, failure = %skipped.failure, "a stage of placement was skipped");
        }
        tracing::debug!(cluster = %decision.cluster, resource = %call.asked.gvr, "placed");
        Ok(decision.cluster)
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
