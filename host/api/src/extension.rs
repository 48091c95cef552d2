//! What is loaded while the host runs, as documents: a [`Plugin`] is a component with its settings, a [`CelPolicy`] a rule
//! that a component of ours evaluates. A [`crate::placement::Policy`] says which of them are asked.

mod cel_policy;
mod document;
mod limits;
mod manifest;
mod name;
mod plugin;
mod selector;

pub use cel_policy::{CelPolicy, CelTarget};
pub use document::Document;
pub use limits::{Limits, LimitsError};
pub use manifest::{Case, Inputs, Manifest, Metric, Normalize, PluginKind};
pub use name::{ExtensionKind, ExtensionName, ExtensionNameError};
pub use plugin::{Capability, ComponentSource, Plugin};
pub use selector::{Selectable, SelectorFilter};
