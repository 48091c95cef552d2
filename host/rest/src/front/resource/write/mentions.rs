//! Objects that a written one names, beside its owners: their names are read through the claims (design 2.6).

use orrery_api::{ClusterName, ObjectKey};
use orrery_sequencer::{Owner as Holder, Resource};

use super::Call;
use crate::front::Service;
use crate::translate::{Mention, Place, Renamed};

// === impl Call ===

impl Call<'_> {
    /// What its body names.
    pub(super) fn mentions(&self) -> Vec<(Place, Mention)> {
        let gvr = &self.asked.gvr;
        let subresource = self.asked.subresource.as_ref().map(|subresource| &*subresource.name);
        let places = Place::of(&gvr.group, &gvr.resource, subresource);
        let Some(document) = self.document().filter(|_| !places.is_empty()) else { return Vec::new() };
        places.into_iter().filter_map(|place| Some((place, document.mention(place)?))).collect()
    }
}

// === impl Service ===

impl Service {
    /// The names in its body that `cluster` has otherwise.
    pub(super) async fn renamed(&self, call: &Call<'_>, cluster: &ClusterName) -> Vec<Renamed> {
        let mut renamed = Vec::new();
        if self.front.fleet.members().len() < 2 {
            return renamed;
        }
        for (place, mention) in call.mentions() {
            let Some((resource, served)) = self.mentioned(call, &mention).await else { continue };
            if let Holder::Held { cluster: holder, key } = resource.owner_of(&served)
                && holder == *cluster
                && key.name != served.name
            {
                renamed.push(Renamed { place, from: mention.name, to: key.name.to_string() });
            }
        }
        renamed
    }

    /// The resource of an object that a body names, and the key that it names.
    pub(super) async fn mentioned(&self, call: &Call<'_>, mention: &Mention) -> Option<(Resource, ObjectKey)> {
        let gvr = self.resource_named(&mention.api_version, &mention.kind)?;
        let resource = self.front.sequencer.resource(&gvr).await.ok()?;
        let namespace = mention.namespace.as_deref().unwrap_or(&call.asked.namespace);
        let namespace = if resource.reader().shape().namespaced { namespace } else { "" };
        let served = ObjectKey::new(namespace, &mention.name);
        Some((resource, served))
    }
}
