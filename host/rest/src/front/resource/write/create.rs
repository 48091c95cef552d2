use http::Response;
use orrery_api::{ClusterName, Naming, ObjectKey};
use orrery_markers::Taken;
use orrery_sequencer::{ClusterPhase, Reservation, Resource};

use super::route::Routed;
use super::{Call, Role, Target, away};
use crate::body::Body;
use crate::front::Service;
use crate::status::Status;
use crate::translate::Facts;

// === impl Service ===

impl Service {
    /// Makes an object: the request says where, or it is placed.
    pub(super) async fn create(&self, call: &Call<'_>, resource: &Resource) -> Result<Response<Body>, Status> {
        let facts = call.facts();
        if resource.naming() == Naming::Same {
            return self.create_everywhere(call, resource, &facts).await;
        }
        let routed = self.cluster_for(call, resource, &facts).await?;
        let key = ObjectKey::new(&call.asked.namespace, call.new_name(&facts));
        // Given back when the object stands in the log, or was refused.
        let _reserved = reserve(call, resource, &key, &routed)?;
        let target = self.target_of_new(call, resource, &routed.cluster, &key);
        let sent = self.send_to(call, resource, &target).await?;
        self.answer_write(call, resource, &target, sent).await
    }

    /// Where an object that is not there yet goes: under the name that the request has in its path, or the member finds in
    /// its body.
    pub(super) fn target_of_new(
        &self,
        call: &Call<'_>,
        resource: &Resource,
        cluster: &ClusterName,
        key: &ObjectKey,
    ) -> Target {
        let key = if call.asked.name.is_some() { key.clone() } else { ObjectKey::new(&key.namespace, "") };
        let (served, since) = (key.clone(), resource.reader().head());
        Target { cluster: cluster.clone(), key, served, object: None, since, role: Role::First }
    }
}

// === impl Call ===

impl Call<'_> {
    /// The name of an object that is to be made; empty where the member makes one.
    pub(super) fn new_name<'a>(&'a self, facts: &'a Facts) -> &'a str {
        self.asked.name.as_deref().unwrap_or(&facts.name)
    }

    /// The 409 of a name that is taken.
    pub(super) fn already_exists(&self, name: &str) -> Status {
        Status::already_exists(&self.asked.group_resource(), name)
    }
}

/// Takes the name, where the request brings one. Who names a cluster gets it there, if need be under a qualified name here.
fn reserve(
    call: &Call<'_>,
    resource: &Resource,
    key: &ObjectKey,
    routed: &Routed,
) -> Result<Option<Reservation>, Status> {
    if key.name.is_empty() {
        return Ok(None);
    }
    match resource.reserve(key, &routed.cluster) {
        // A try takes nothing.
        Ok(reserved) => Ok((!call.is_dry_run()).then_some(reserved)),
        Err(Taken::Living(holder)) if routed.is_named && holder != routed.cluster => Ok(None),
        Err(Taken::Living(holder)) => match resource.clusters().get(&holder).map(|state| state.phase.clone()) {
            Some(ClusterPhase::Away { reason }) => Err(away(call, &holder, &reason.to_string())),
            _ => Err(call.already_exists(&key.name)),
        },
        Err(Taken::InFlight) => Err(call.already_exists(&key.name)),
    }
}
