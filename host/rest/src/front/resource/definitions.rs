//! What CustomResourceDefinitions say of the resources that they define. CRDs are clocked as all else is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use orrery_api::{Gvr, ObjectKey};
use orrery_cache::Object;
use orrery_markers::Marker;
use orrery_sequencer::{NotReady, Resource};
use serde::Deserialize;

use crate::front::Service;

/// Which fields selectors may name on custom resources, by resource and the state of the definition that says so. As
/// many as custom resources are served.
#[derive(Default)]
pub(in crate::front) struct Selectable(Mutex<HashMap<Gvr, (Option<Marker>, Paths)>>);

/// Paths of fields, as `.spec.colour`.
type Paths = Arc<[String]>;

#[derive(Deserialize)]
struct Definition {
    spec: Spec,
}

#[derive(Deserialize)]
struct Spec {
    versions: Vec<Version>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    name: String,
    #[serde(default)]
    selectable_fields: Vec<Field>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Field {
    json_path: String,
}

// === impl Service ===

impl Service {
    /// The CustomResourceDefinition that defines `gvr`, if one does. An error where definitions are not known now.
    pub(super) async fn definition_of(&self, gvr: &Gvr) -> Result<Option<Arc<Object>>, NotReady> {
        if gvr.is_built_in() {
            return Ok(None);
        }
        let definitions = Gvr::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
        let definitions = self.front.sequencer.resource(&definitions).await?;
        Ok(definitions.reader().get(&ObjectKey::new("", &format!("{}.{}", gvr.resource, gvr.group))))
    }

    /// The resource `gvr`, whose selectors know the fields that its definition names. While definitions are not known, it
    /// is served with those that it had.
    pub(super) async fn selecting(&self, gvr: &Gvr) -> Result<Resource, NotReady> {
        if gvr.is_built_in() {
            return self.front.sequencer.resource(gvr).await;
        }
        match self.definition_of(gvr).await {
            Ok(definition) => {
                let paths = self.selectable.of(gvr, definition.as_deref());
                self.front.sequencer.resource_selecting(gvr, &paths).await
            }
            Err(_) => self.front.sequencer.resource(gvr).await,
        }
    }
}

// === impl Selectable ===

impl Selectable {
    fn of(&self, gvr: &Gvr, definition: Option<&Object>) -> Paths {
        let state = definition.map(Object::marker);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, paths)) = kept.get(gvr)
            && *of == state
        {
            return paths.clone();
        }
        let paths = definition.map_or_else(Paths::default, |crd| paths_in(&crd.body().to_bytes(), &gvr.version));
        kept.insert(gvr.clone(), (state, paths.clone()));
        paths
    }
}

/// What a definition names for `version`; nothing where it has no such version, or cannot be read.
fn paths_in(definition: &[u8], version: &str) -> Paths {
    let versions = serde_json::from_slice::<Definition>(definition).map(|definition| definition.spec.versions);
    let version = versions.unwrap_or_default().into_iter().find(|known| known.name == version);
    version.into_iter().flat_map(|version| version.selectable_fields).map(|field| field.json_path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_has_fields_of_its_own() {
        let definition = br#"{"kind":"CustomResourceDefinition","spec":{"group":"g","versions":[
            {"name":"v1","selectableFields":[{"jsonPath":".spec.colour"},{"jsonPath":".spec.size"}]},
            {"name":"v2"}]}}"#;
        assert_eq!(*paths_in(definition, "v1"), [".spec.colour", ".spec.size"]);
        assert!(paths_in(definition, "v2").is_empty());
        assert!(paths_in(definition, "v3").is_empty());
        assert!(paths_in(b"{", "v1").is_empty());
    }
}
