use std::sync::Arc;

use orrery_api::Gvr;

use crate::template::Template;

/// A kind that a simulated cluster serves.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Group, version and plural name.
    pub gvr: Gvr,
    /// As `Pod`.
    pub kind: Arc<str>,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// Whether a CustomResourceDefinition defines it: the definition is then an object of its own.
    pub custom: bool,
    /// The other versions in which the same objects are served; their bodies say the first one all the same.
    pub also: Vec<Arc<str>>,
    /// What its objects look like.
    pub template: Template,
}

// === impl Kind ===

impl Kind {
    /// A built-in kind.
    pub fn new(gvr: Gvr, kind: &str, namespaced: bool, template: Template) -> Self {
        Self { gvr, kind: kind.into(), namespaced, custom: false, also: Vec::new(), template }
    }

    /// A kind that a CustomResourceDefinition defines.
    pub fn custom(gvr: Gvr, kind: &str, namespaced: bool, template: Template) -> Self {
        Self { custom: true, ..Self::new(gvr, kind, namespaced, template) }
    }

    /// The same kind, served in one version more.
    pub fn served_as(mut self, version: &str) -> Self {
        self.also.push(version.into());
        self
    }

    /// All in which it is served, the first one first.
    pub(crate) fn versions(&self) -> impl Iterator<Item = &Arc<str>> {
        std::iter::once(&self.gvr.version).chain(&self.also)
    }

    /// Whether it is served as `gvr`.
    pub(crate) fn is(&self, gvr: &Gvr) -> bool {
        self.gvr.group_resource() == gvr.group_resource() && self.versions().any(|version| *version == gvr.version)
    }

    /// ConfigMaps whose only datum, `text`, is the object's text.
    pub fn config_maps() -> Self {
        Self::new(Gvr::new("", "v1", "configmaps"), "ConfigMap", true, Template::new("", r#""data":{"text":"$TEXT"}"#))
    }

    /// The kind of definitions of custom resources; every cluster has it.
    pub(crate) fn definitions() -> Self {
        let gvr = Gvr::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
        Self::new(gvr, "CustomResourceDefinition", false, Template::new("", r#""spec":{"text":"$TEXT"}"#))
    }

    /// The kind of aggregated servers; every cluster has it, and none of them.
    pub(crate) fn services() -> Self {
        let gvr = Gvr::new("apiregistration.k8s.io", "v1", "apiservices");
        Self::new(gvr, "APIService", false, Template::new("", ""))
    }

    /// Its entry of aggregated discovery.
    pub(crate) fn discovery(&self, version: &str) -> serde_json::Value {
        serde_json::json!({
            "resource": &*self.gvr.resource,
            "responseKind": {"group": &*self.gvr.group, "version": version, "kind": &*self.kind},
            "scope": if self.namespaced { "Namespaced" } else { "Cluster" },
            "singularResource": self.kind.to_lowercase(),
            "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        })
    }
}
