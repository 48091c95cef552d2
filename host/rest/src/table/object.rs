//! Kinds with little to show, and those that no printer knows.

use std::time::SystemTime;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::age;
use super::cells::Cells;
use super::column::{Column, docs};
use super::field::{Maybe, Metadata, Text};

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
struct Object<'a> {
    metadata: Maybe<Metadata<'a>>,
    status: Maybe<Phase<'a>>,
    data: Maybe<Entries>,
    binary_data: Maybe<Entries>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Phase<'a> {
    phase: Text<'a>,
}

/// How many entries a map has.
#[derive(Clone, Copy, Default)]
struct Entries(i64);

pub(super) fn namespace_columns() -> Vec<Column> {
    vec![Column::name(), Column::text("Status", "Phase of the namespace: Active or Terminating."), Column::age()]
}

pub(super) fn namespace_cells(body: &[u8], now: SystemTime, cells: &mut Cells<'_>) -> Result<(), serde_json::Error> {
    let object: Object<'_> = serde_json::from_slice(body)?;
    cells.text(&object.metadata.name);
    cells.text(&object.status.phase);
    cells.text(&age::since(&object.metadata.creation_timestamp, now));
    Ok(())
}

pub(super) fn config_map_columns() -> Vec<Column> {
    vec![Column::name(), Column::text("Data", docs::CONFIG_MAP_DATA), Column::age()]
}

pub(super) fn config_map_cells(body: &[u8], now: SystemTime, cells: &mut Cells<'_>) -> Result<(), serde_json::Error> {
    let object: Object<'_> = serde_json::from_slice(body)?;
    cells.text(&object.metadata.name);
    cells.integer(object.data.0 + object.binary_data.0);
    cells.text(&age::since(&object.metadata.creation_timestamp, now));
    Ok(())
}

pub(super) fn fallback_columns() -> Vec<Column> {
    vec![Column::name(), Column::typed("Created At", "date", docs::CREATION_TIMESTAMP)]
}

/// The time itself: kubectl makes the age of a column of type `date`.
pub(super) fn fallback_cells(body: &[u8], _: SystemTime, cells: &mut Cells<'_>) -> Result<(), serde_json::Error> {
    #[derive(Default, Deserialize)]
    #[serde(default, bound = "'de: 'a")]
    struct Bare<'a> {
        metadata: Maybe<Metadata<'a>>,
    }
    let object: Bare<'_> = serde_json::from_slice(body)?;
    cells.text(&object.metadata.name);
    cells.text_or(&object.metadata.creation_timestamp, "0001-01-01T00:00:00Z");
    Ok(())
}

// === impl Entries ===

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Count;
        impl<'de> serde::de::Visitor<'de> for Count {
            type Value = Entries;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut entries: A) -> Result<Entries, A::Error> {
                let mut count = 0;
                while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(Entries(count))
            }
        }
        deserializer.deserialize_map(Count)
    }
}
