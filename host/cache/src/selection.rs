//! Which objects a request is about: namespace, name, label selector and field selector, parsed and matched as
//! kube-apiserver does.

use std::sync::Arc;

use orrery_api::extension::{Selectable, SelectorFilter};
use orrery_api::placement::StageFailure;

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
    /// By what extensions say of the objects that all others select. Only [`Self::filtered`] and watches ask them.
    pub extended: Option<Arc<dyn SelectorFilter>>,
}

/// Why a text is no selector, in the API server's words: what its answer 400 says.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct SelectorError(String);

/// Objects that extensions are asked about at a time.
const BATCH: usize = 256;

// === impl Selection ===

impl Selection {
    /// All objects.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Those of `objects`, which [`Self::selects`], that the extensions select too.
    ///
    /// # Errors
    /// The extensions cannot say.
    pub async fn filtered(&self, objects: Vec<Arc<Object>>) -> Result<Vec<Arc<Object>>, StageFailure> {
        let verdicts = self.selected(&objects).await?;
        Ok(objects
            .into_iter()
            .zip(verdicts)
            .filter_map(|(object, is_selected)| is_selected.then_some(object))
            .collect())
    }

    /// Whether the extensions select each of `objects`.
    pub(crate) async fn selected(&self, objects: &[Arc<Object>]) -> Result<Vec<bool>, StageFailure> {
        let Some(extended) = &self.extended else { return Ok(vec![true; objects.len()]) };
        let mut selected = Vec::with_capacity(objects.len());
        for batch in objects.chunks(BATCH) {
            let asked: Vec<&dyn Selectable> = batch.iter().map(|object| &**object as &dyn Selectable).collect();
            selected.extend(extended.select(&asked).await?);
        }
        if selected.len() == objects.len() {
            Ok(selected)
        } else {
            Err(StageFailure::new("it did not answer on each object"))
        }
    }

    /// Whether nothing is left out.
    pub fn is_everything(&self) -> bool {
        self.namespace.is_none() && self.name.is_none() && !self.has_selectors()
    }

    /// Whether labels or fields are selected by (a list then says nothing of how many items remain).
    pub fn has_selectors(&self) -> bool {
        !self.labels.is_everything() || !self.fields.is_everything() || self.extended.is_some()
    }

    /// Whether `object` is meant, as far as extensions are not asked.
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
