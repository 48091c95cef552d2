//! JSON as CEL values.
//!
//! A document is read once into a tree that is shared: a cluster's labels bound to a variable, or an element that a
//! comprehension visits, cost one more count. Maps are sorted, so that what visits them always does so in the same order;
//! the crate's own maps do not.
mod compared;
mod containers;
mod reading;

use std::sync::Arc;

use cel::common::types::{CelBool, CelDouble, CelInt, CelNull, CelString};
use cel::common::value::Val;

pub(crate) use compared::{equal, map_of, to_json};
pub(crate) use reading::{read, read_some};

/// A JSON value. Whole numbers are ints where they fit, as in Kubernetes; others are doubles.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Null(CelNull),
    Bool(CelBool),
    Int(CelInt),
    Double(CelDouble),
    Text(CelString<'static>),
    List(List),
    Map(Map),
}

/// A JSON array.
#[derive(Clone, Debug, Default)]
pub(crate) struct List(Arc<[Node]>);

/// A JSON object, sorted by key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Map(Arc<[(CelString<'static>, Node)]>);

// === impl Node ===

impl Node {
    pub(crate) fn val(&self) -> &(dyn Val + 'static) {
        match self {
            Self::Null(value) => value,
            Self::Bool(value) => value,
            Self::Int(value) => value,
            Self::Double(value) => value,
            Self::Text(value) => value,
            Self::List(value) => value,
            Self::Map(value) => value,
        }
    }

    pub(crate) fn boxed(&self) -> Box<dyn Val> {
        self.val().clone_as_boxed()
    }

    pub(crate) fn text(value: &str) -> Self {
        Self::Text(CelString::from(value.to_owned()))
    }

    pub(crate) fn int(value: i64) -> Self {
        Self::Int(CelInt::from(value))
    }

    pub(crate) fn list(values: Vec<Self>) -> Self {
        Self::List(List(values.into()))
    }

    /// An object of these fields. A name that comes twice has its last value.
    pub(crate) fn map(fields: impl IntoIterator<Item = (String, Self)>) -> Self {
        let mut fields: Vec<_> = fields.into_iter().map(|(name, value)| (CelString::from(name), value)).collect();
        fields.sort_by(|(a, _), (b, _)| a.inner().cmp(b.inner()));
        fields.reverse();
        // Of equal names, which a stable sort left in their order, the last one comes first now.
        fields.dedup_by(|(later, _), (kept, _)| later.inner() == kept.inner());
        fields.reverse();
        Self::Map(Map(fields.into()))
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text.inner()) } else { None }
    }

    pub(crate) fn as_int(&self) -> Option<i64> {
        if let Self::Int(value) = self { Some(*value.inner()) } else { None }
    }

    pub(crate) fn as_map(&self) -> Option<&Map> {
        if let Self::Map(map) = self { Some(map) } else { None }
    }

    pub(crate) fn as_list(&self) -> Option<&[Node]> {
        if let Self::List(list) = self { Some(&list.0) } else { None }
    }

    /// The field of an object.
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        self.as_map()?.field(name)
    }
}
