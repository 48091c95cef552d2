//! Events, of core and of events.k8s.io: the same objects under other field names.

use std::time::SystemTime;

use super::Kind;
use crate::table::age;
use crate::table::cells::Cells;
use crate::table::column::{NAME, text};
use crate::table::field::{Metadata, Reference, Text, fields};
use crate::table::json::{Unreadable, read};

pub(super) static EVENTS: Kind = Kind {
    columns: &[
        text("Last Seen", "How long ago it happened last."),
        text("Type", "Normal or Warning."),
        text("Reason", "Why, in one word for programs."),
        text("Object", "What the event is about."),
        text("Subobject", "Which part of the object the event is about.").wide(),
        text("Source", "Who reported it.").wide(),
        text("Message", "What happened, for people."),
        text("First Seen", "How long ago it happened first.").wide(),
        text("Count", "How often it happened.").wide(),
        NAME.wide(),
    ],
    print: event,
};

fields! {
    struct Event<'a> {
        metadata: Metadata<'a>,
        #[serde(rename = "type")]
        kind: Text<'a>,
        reason: Text<'a>,
        #[serde(alias = "regarding")]
        involved_object: Reference<'a>,
        #[serde(alias = "deprecatedSource")]
        source: Source<'a>,
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
        count: i64,
        series: Option<Series<'a>>,
    }

    struct Source<'a> {
        component: Text<'a>,
        host: Text<'a>,
    }

    struct Series<'a> {
        count: i64,
        last_observed_time: Text<'a>,
    }
}

fn event(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let event: Event<'_> = read(body)?;
    let about = &event.involved_object;
    cells.text(event.last_seen(cells.now())).text(&event.kind).text(&event.reason);
    cells.text(event.about()).text(&about.field_path).text(event.source_text()).text(event.message.trim());
    cells.text(event.first_seen(cells.now())).integer(event.times()).text(&event.metadata.name);
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
        match (&self.series, self.count) {
            (Some(series), _) => series.count,
            (None, 0) => 1,
            (None, count) => count,
        }
    }

    fn about(&self) -> String {
        let Reference { kind, name, .. } = &self.involved_object;
        let kind = kind.to_lowercase();
        if name.is_empty() { kind } else { format!("{kind}/{}", &**name) }
    }

    fn source_text(&self) -> String {
        let either = |old: &Text<'_>, new: &Text<'_>| if old.is_empty() { new.to_string() } else { old.to_string() };
        let component = either(&self.source.component, &self.reporting_component);
        let instance = either(&self.source.host, &self.reporting_instance);
        if instance.is_empty() { component } else { format!("{component}, {instance}") }
    }
}
