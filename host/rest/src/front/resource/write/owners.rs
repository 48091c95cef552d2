//! Objects that a written one belongs to. A cluster's garbage collector deletes what belongs to an object that it does not
//! have, so nothing may be left that belongs to another cluster's.

use orrery_api::{ClusterName, Gvr, ObjectKey, Uid};

use super::Call;
use crate::front::Service;
use crate::status::Status;
use crate::translate::{Facts, JsonPatch, Owner};

// === impl Service ===

impl Service {
    /// The names, in `cluster`, of the objects that the written one will belong to, by uid.
    ///
    /// # Errors
    /// 422 where one of them is another cluster's.
    pub(super) async fn owners(
        &self,
        call: &Call<'_>,
        cluster: &ClusterName,
        facts: &Facts,
        patch: Option<&JsonPatch>,
    ) -> Result<Vec<(String, String)>, Status> {
        let mut references = facts.owner_references.clone();
        references.extend(patch.into_iter().flat_map(JsonPatch::owner_references).flat_map(references_in));
        let mut names = Vec::new();
        for reference in references {
            let Some((holder, key)) = self.holder(&reference, &call.asked.namespace).await else { continue };
            if holder != *cluster {
                return Err(call.foreign_owner(cluster, &reference, &holder));
            }
            if *key.name != *reference.name {
                names.push((reference.uid, key.name.to_string()));
            }
        }
        Ok(names)
    }

    /// The cluster that holds the object with this uid, and its key there; nothing where no cluster is known to.
    pub(super) async fn holder(&self, reference: &Owner, namespace: &str) -> Option<(ClusterName, ObjectKey)> {
        if self.front.fleet.members().len() < 2 || reference.uid.is_empty() {
            return None;
        }
        let gvr = self.resource_named(&reference.api_version, &reference.kind)?;
        let resource = self.front.sequencer.resource(&gvr).await.ok()?;
        let namespace = if resource.reader().shape().namespaced { namespace } else { "" };
        let served = ObjectKey::new(namespace, &reference.name);
        resource.holder_of(&Uid::new(&reference.uid), &served)
    }

    /// The resource of a kind that can be clocked.
    pub(super) fn resource_named(&self, api_version: &str, kind: &str) -> Option<Gvr> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let documents = self.documents();
        let version = documents.catalog.group(group)?.version(version)?;
        let of_kind = version.resources.iter().find(|resource| *resource.info.kind == *kind);
        of_kind.filter(|resource| resource.info.is_observable()).map(|resource| resource.info.gvr.clone())
    }
}

// === impl Call ===

impl Call<'_> {
    fn foreign_owner(&self, cluster: &ClusterName, owner: &Owner, holder: &ClusterName) -> Status {
        let message = format!(
            "metadata.ownerReferences: {} {:?} is in cluster {holder} and this object in {cluster}, whose garbage collector \
             would delete it; an owner must be in the same cluster",
            owner.kind, owner.name
        );
        Status::invalid(&self.asked.gvr.group, &self.served.kind, self.name(), &message)
    }
}

/// References in a value that a JSON patch brings: a list of them, or one.
fn references_in(json: &str) -> Vec<Owner> {
    serde_json::from_str(json).or_else(|_| serde_json::from_str(json).map(|one| vec![one])).unwrap_or_default()
}
