use std::sync::Arc;

use orrery_api::{Gvr, Naming, Stamp};

use crate::FieldTable;

/// What a resource is and how its objects are shown.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The resource in its served version.
    pub gvr: Gvr,
    /// Its kind, as `Pod`.
    pub kind: Arc<str>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// How objects say which cluster holds them.
    pub stamp: Stamp,
    /// How their names are made unique.
    pub naming: Naming,
    /// What field selectors can name.
    pub fields: FieldTable,
}

// === impl Shape ===

impl Shape {
    /// The members that a typed list item lacks, each with its comma.
    pub(crate) fn type_members(&self) -> String {
        let text = |value: &str| serde_json::Value::from(value).to_string();
        format!("\"kind\":{},\"apiVersion\":{},", text(&self.kind), text(&self.gvr.api_version()))
    }
}
