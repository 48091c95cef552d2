//! Which objects a request is about: namespace, name, label selector and field selector, parsed and matched as
//! kube-apiserver does.

use std::sync::Arc;

use crate::Object;
use crate::object::Head;

mod fields;
mod labels;
mod names;
#[cfg(test)]
mod tests;

pub use fields::FieldSelector;
pub use labels::LabelSelector;

/// Which objects of a resource a list or watch is about.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The namespace; all where `None`.
    pub namespace: Option<Arc<str>>,
    /// The served name; all where `None`.
    pub name: Option<Arc<str>>,
    /// By labels.
    pub labels: LabelSelector,
    /// By fields.
    pub fields: FieldSelector,
}

/// Why a text is no selector, in the API server's words: what its answer 400 says.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct SelectorError(String);

// === impl Selection ===

impl Selection {
    /// All objects.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Whether nothing is left out.
    pub fn is_everything(&self) -> bool {
        self.namespace.is_none() && self.name.is_none() && !self.has_selectors()
    }

    /// Whether labels or fields are selected by (a list then says nothing of how many items remain).
    pub fn has_selectors(&self) -> bool {
        !self.labels.is_everything() || !self.fields.is_everything()
    }

    /// Whether `object` is meant.
    pub fn selects(&self, object: &Object) -> bool {
        self.selects_head(&object.head)
    }

    pub(crate) fn selects_head(&self, head: &Head) -> bool {
        self.namespace.as_ref().is_none_or(|namespace| **namespace == *head.served.namespace)
            && self.name.as_ref().is_none_or(|name| **name == *head.served.name)
            && self.labels.matches(head)
            && self.fields.matches(head)
    }
}

// === impl SelectorError ===

impl SelectorError {
    fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}
