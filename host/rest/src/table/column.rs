//! Columns of a table.

pub(super) mod docs;

use std::borrow::Cow;

use serde::Serialize;

/// One column, as meta/v1 TableColumnDefinition has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Column {
    pub(super) name: Cow<'static, str>,
    /// An OpenAPI type: `string`, `integer`, `number`, `boolean` or `date`.
    #[serde(rename = "type")]
    pub(super) kind: Cow<'static, str>,
    /// An OpenAPI format; `name` marks the column that identifies the object.
    pub(super) format: Cow<'static, str>,
    pub(super) description: Cow<'static, str>,
    /// 0 is always shown, above only with `-o wide`.
    pub(super) priority: i32,
}

// === impl Column ===

impl Column {
    /// A column of texts.
    pub(super) fn text(name: &'static str, description: &'static str) -> Self {
        Self::typed(name, "string", description)
    }

    /// A column of values of type `kind`.
    pub(super) fn typed(name: &'static str, kind: &'static str, description: &'static str) -> Self {
        let (name, kind, description) = (name.into(), kind.into(), description.into());
        Self { name, kind, format: "".into(), description, priority: 0 }
    }

    /// NAME.
    pub(super) fn name() -> Self {
        Self { format: "name".into(), ..Self::text("Name", docs::NAME) }
    }

    /// AGE, as a text.
    pub(super) fn age() -> Self {
        Self::text("Age", docs::CREATION_TIMESTAMP)
    }

    /// CLUSTER.
    pub(super) fn cluster() -> Self {
        Self::text("Cluster", "The cluster that holds the object; of an object that several hold, the first of them.")
    }

    /// The same column, shown only with `-o wide`.
    pub(super) fn wide(self) -> Self {
        Self { priority: 1, ..self }
    }
}
