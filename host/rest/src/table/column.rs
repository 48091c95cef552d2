//! Columns of a table. What they show is said in words of ours: clients show them to nobody but those who ask for the raw
//! Table.

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

/// NAME.
pub(super) const NAME: Column = identifier("Name", NAMED);

/// What NAME shows.
pub(super) const NAMED: &str = "The object's name, unique among its kind in its namespace.";

/// AGE, as a text.
pub(super) const AGE: Column = text("Age", CREATED);

/// CREATED AT, of which kubectl makes an age.
pub(super) const CREATED_AT: Column = column("Created At", "date", "", CREATED);

/// What AGE shows.
pub(super) const CREATED: &str = "How long ago, or when, the object was created.";

/// CLUSTER.
pub(super) const CLUSTER: Column =
    text("Cluster", "The cluster that holds the object; of an object that several hold, the first of them.");

/// CONTAINERS and IMAGES of a pod template.
pub(super) const CONTAINERS: Column = text("Containers", "Names of the containers in the pod template.");
pub(super) const IMAGES: Column = text("Images", "Images of the containers in the pod template.");

/// A column of texts.
pub(super) const fn text(name: &'static str, description: &'static str) -> Column {
    column(name, "string", "", description)
}

/// A column of texts that identify something.
pub(super) const fn identifier(name: &'static str, description: &'static str) -> Column {
    column(name, "string", "name", description)
}

/// A column of whole numbers.
pub(super) const fn integer(name: &'static str, description: &'static str) -> Column {
    column(name, "integer", "", description)
}

/// A column of true and false.
pub(super) const fn boolean(name: &'static str, description: &'static str) -> Column {
    column(name, "boolean", "", description)
}

const fn column(name: &'static str, kind: &'static str, format: &'static str, description: &'static str) -> Column {
    let (name, kind) = (Cow::Borrowed(name), Cow::Borrowed(kind));
    Column { name, kind, format: Cow::Borrowed(format), description: Cow::Borrowed(description), priority: 0 }
}

// === impl Column ===

impl Column {
    /// The same column, shown only with `-o wide`.
    pub(super) const fn wide(mut self) -> Self {
        self.priority = 1;
        self
    }
}
