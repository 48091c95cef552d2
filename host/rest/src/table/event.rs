//! Events, of core and of events.k8s.io: the same objects under other field names.

use std::time::SystemTime;

use serde::Deserialize;

use super::age;
use super::cells::Cells;
use super::column::{Column, docs};
use super::field::{Maybe, Metadata, Text};

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
struct Event<'a> {
    metadata: Maybe<Metadata<'a>>,
    #[serde(rename = "type")]
    kind: Text<'a>,
    reason: Text<'a>,
    #[serde(alias = "regarding")]
    involved_object: Maybe<Reference<'a>>,
    #[serde(alias = "deprecatedSource")]
    source: Maybe<Source<'a>>,
    #[serde(alias = "reportingController")]
    reporting_component: Text<'a>,
    reporting_instance: Text<'a>,
    #[serde(alias = "note")]
    message: Text<'a>,
    event_time: Text<'a>,
    #[serde(alias = "deprecatedFirstTimestamp")]
    first_timestamp: Text<'a>,
    #[serde(alias = "deprecatedLastTimestamp")]
    last_timestamp: Text<'a>,
    #[serde(alias = "deprecatedCount")]
    count: Maybe<i64>,
    series: Option<Series<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
struct Reference<'a> {
    kind: Text<'a>,
    name: Text<'a>,
    field_path: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Source<'a> {
    component: Text<'a>,
    host: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
struct Series<'a> {
    count: Maybe<i64>,
    last_observed_time: Text<'a>,
}

pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::text("Last Seen", docs::EVENT_LAST_TIMESTAMP),
        Column::text("Type", docs::EVENT_TYPE),
        Column::text("Reason", docs::EVENT_REASON),
        Column::text("Object", docs::EVENT_INVOLVED_OBJECT),
        Column::text("Subobject", docs::REFERENCE_FIELD_PATH).wide(),
        Column::text("Source", docs::EVENT_SOURCE).wide(),
        Column::text("Message", docs::EVENT_MESSAGE),
        Column::text("First Seen", docs::EVENT_FIRST_TIMESTAMP).wide(),
        Column::text("Count", docs::EVENT_COUNT).wide(),
        Column::name().wide(),
    ]
}

pub(super) fn cells(body: &[u8], now: SystemTime, cells: &mut Cells<'_>) -> Result<(), serde_json::Error> {
    let event: Event<'_> = serde_json::from_slice(body)?;
    cells.text(&event.last_seen(now));
    cells.text(&event.kind);
    cells.text(&event.reason);
    cells.text(&event.involved_object.text());
    cells.text(&event.involved_object.field_path);
    cells.text(&event.source_text());
    cells.text(event.message.trim());
    cells.text(&event.first_seen(now));
    cells.integer(event.times());
    cells.text(&event.metadata.name);
    Ok(())
}

// === impl Event ===

impl Event<'_> {
    fn first_seen(&self, now: SystemTime) -> String {
        let first = if age::parse(&self.first_timestamp).is_some() { &self.first_timestamp } else { &self.event_time };
        age::since(first, now)
    }

    fn last_seen(&self, now: SystemTime) -> String {
        match &self.series {
            Some(series) => age::since(&series.last_observed_time, now),
            None if age::parse(&self.last_timestamp).is_some() => age::since(&self.last_timestamp, now),
            None => self.first_seen(now),
        }
    }

    /// A single event of the newer API states no count.
    fn times(&self) -> i64 {
        match (&self.series, *self.count) {
            (Some(series), _) => *series.count,
            (None, 0) => 1,
            (None, count) => count,
        }
    }

    fn source_text(&self) -> String {
        let either = |old: &Text<'_>, new: &Text<'_>| if old.is_empty() { new.to_string() } else { old.to_string() };
        let component = either(&self.source.component, &self.reporting_component);
        let instance = either(&self.source.host, &self.reporting_instance);
        if instance.is_empty() { component } else { format!("{component}, {instance}") }
    }
}

// === impl Reference ===

impl Reference<'_> {
    fn text(&self) -> String {
        let kind = self.kind.to_lowercase();
        if self.name.is_empty() { kind } else { format!("{kind}/{}", &*self.name) }
    }
}
