//! CustomResourceDefinitions themselves (apiextensions-apiserver pkg/registry/customresourcedefinition/tableconvertor,
//! new in 1.37; older servers show NAME and CREATED AT).

use std::time::SystemTime;

use serde::Deserialize;
use serde_json::Value;

use super::cells::Cells;
use super::column::{Column, docs};
use super::field::{Condition, Maybe, Metadata, Text};

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Definition<'a> {
    metadata: Maybe<Metadata<'a>>,
    spec: Maybe<Spec<'a>>,
    status: Maybe<Status<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Spec<'a> {
    group: Text<'a>,
    scope: Text<'a>,
    names: Maybe<Names<'a>>,
    versions: Maybe<Vec<Version<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
struct Names<'a> {
    kind: Text<'a>,
    short_names: Maybe<Vec<Text<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Version<'a> {
    name: Text<'a>,
    served: Maybe<bool>,
    storage: Maybe<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Status<'a> {
    conditions: Maybe<Vec<Condition<'a>>>,
}

pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text("Scope", "Whether its objects stand in namespaces: Namespaced or Cluster."),
        Column::text("Versions", "Versions that are served, and which of them is stored."),
        Column::typed("Created At", "date", docs::CREATION_TIMESTAMP),
        Column::text("Group", "API group that it defines a kind of.").wide(),
        Column::text("Kind", "Kind that it defines.").wide(),
        Column::text("ShortNames", "Short names of the kind on a command line.").wide(),
        Column::typed("Established", "boolean", "Whether the kind is served.").wide(),
    ]
}

pub(super) fn cells(body: &[u8], _: SystemTime, cells: &mut Cells<'_>) -> Result<(), serde_json::Error> {
    let definition: Definition<'_> = serde_json::from_slice(body)?;
    let Spec { group, scope, names, versions } = &*definition.spec;
    let mut served: Vec<_> = versions.iter().filter(|version| *version.served).map(Version::text).collect();
    served.sort_unstable();
    cells.text(&definition.metadata.name);
    cells.text(scope);
    cells.text(&served.join(","));
    cells.text(&definition.metadata.creation_timestamp);
    cells.text(group);
    cells.text(&names.kind);
    cells.text(&names.short_names.iter().map(|name| &**name).collect::<Vec<_>>().join(","));
    cells.json(&Value::Bool(definition.is_established()));
    Ok(())
}

// === impl Definition ===

impl Definition<'_> {
    fn is_established(&self) -> bool {
        self.status.conditions.iter().any(|condition| &*condition.kind == "Established" && &*condition.status == "True")
    }
}

// === impl Version ===

impl Version<'_> {
    fn text(&self) -> String {
        if *self.storage { format!("{}(storage)", &*self.name) } else { self.name.to_string() }
    }
}
