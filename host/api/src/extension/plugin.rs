use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Limits;

/// A component, with what it is given and allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct Plugin {
    /// Its name.
    pub name: String,
    /// Where its bytes are.
    pub component: ComponentSource,
    /// Its settings: a JSON object, which it checks itself.
    pub params: Value,
    /// What of the host it may ask, if its manifest asks for it.
    pub capabilities: Vec<Capability>,
    /// What a call may take.
    pub limits: Limits,
}

/// Where a component's bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComponentSource {
    /// A file of the directory of extensions.
    File {
        /// Its name.
        path: String,
        /// `sha256:…` that it must have, if one is said.
        digest: Option<String>,
    },
    /// An artifact in an OCI registry.
    Oci {
        /// `REGISTRY/REPOSITORY`, with a tag for people.
        reference: String,
        /// `sha256:…` of the manifest.
        digest: String,
    },
}

/// Something of the host that a plugin may ask in its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Capability {
    /// The fleet's clusters beside those that are left.
    Inventory,
    /// What it remembers over its generations.
    Kv,
}

// === impl Plugin ===

impl Plugin {
    /// The plugin that a file without a document is: no params, no capabilities, the default limits.
    pub fn of_file(name: &str, path: &str) -> Self {
        Self {
            name: name.to_owned(),
            component: ComponentSource::File { path: path.to_owned(), digest: None },
            params: Value::Object(serde_json::Map::new()),
            capabilities: Vec::new(),
            limits: Limits::default(),
        }
    }
}

// === impl Capability ===

impl Capability {
    /// As it is written, and as its interface is called.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inventory => "inventory",
            Self::Kv => "kv",
        }
    }
}
