//! Evictions that have a say in when a pod goes (lifecycle.k8s.io).

use super::Kind;
use crate::table::age;
use crate::table::cells::{Cells, NONE, UNKNOWN, UNSET};
use crate::table::column::{AGE, NAME, text};
use crate::table::field::{Condition, Metadata, Object, Text, fields};
use crate::table::json::{Unreadable, read};

pub(super) static EVICTION_REQUESTS: Kind = Kind {
    columns: &[
        NAME,
        text("Target", "What shall be evicted."),
        text("Target Type", "The kind of what shall be evicted."),
        text("Status", "How far the eviction is."),
        text("Requester", "Who asks for the eviction."),
        text("Intent", "Whether the requester still wants it."),
        AGE,
    ],
    print: eviction_request,
};

pub(super) static EVICTIONS: Kind = Kind {
    columns: &[
        NAME,
        text("Target", "What shall be evicted."),
        text("Target Type", "The kind of what shall be evicted."),
        text("Status", "How far the eviction is."),
        text("Active Responder", "Who is at work on it, as which of how many."),
        text("Responder Status", "How far that responder is."),
        text("Responder Expected Finish", "When that responder thinks to be done."),
        text("Requesters", "Who asks for the eviction, the first of them."),
        AGE,
        text("Responder Heartbeat", "How long ago that responder was last heard of.").wide(),
        text("Responder Status Message", "What that responder says, for people.").wide(),
    ],
    print: eviction,
};

type EvictionRequest<'a> = Object<Metadata<'a>, RequestSpec<'a>, EvictionStatus<'a>>;
type Eviction<'a> = Object<Metadata<'a>, EvictionSpec<'a>, EvictionStatus<'a>>;

fields! {
    struct RequestSpec<'a> {
        target: Target<'a>,
        requester: Text<'a>,
        intent: Text<'a>,
    }

    struct EvictionSpec<'a> {
        target: Target<'a>,
    }

    struct Target<'a> {
        pod: Option<PodReference<'a>>,
    }

    struct PodReference<'a> {
        name: Text<'a>,
    }

    struct EvictionStatus<'a> {
        observed_generation: i64,
        conditions: Vec<Condition<'a>>,
        requesters: Vec<Requester<'a>>,
        target_responders: Vec<TargetResponder<'a>>,
        responders: Vec<Responder<'a>>,
    }

    struct Requester<'a> {
        name: Text<'a>,
        intent: Text<'a>,
    }

    struct TargetResponder<'a> {
        name: Text<'a>,
        state: Text<'a>,
    }

    struct Responder<'a> {
        name: Text<'a>,
        start_time: Option<Text<'a>>,
        heartbeat_time: Option<Text<'a>>,
        expected_completion_time: Option<Text<'a>>,
        completion_time: Option<Text<'a>>,
        message: Text<'a>,
    }
}

fn eviction_request(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let EvictionRequest { metadata, spec, status } = read(body)?;
    cells.text(&metadata.name);
    spec.target.cells(cells);
    cells.text(status.text()).text(&spec.requester).text(&spec.intent).age(&metadata.creation_timestamp);
    Ok(())
}

fn eviction(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Eviction { metadata, spec, status } = read(body)?;
    let at_work = status.at_work();
    let responder = at_work.and_then(|at_work| status.responders.iter().find(|known| known.name == at_work.name));
    let begun = status.target_responders.iter().filter(|responder| responder.has_begun()).count();
    let name = at_work.map_or(UNSET, |at_work| &at_work.name);
    cells.text(&metadata.name);
    spec.target.cells(cells);
    cells.text(status.text()).text(format!("{name} ({begun}/{})", status.target_responders.len()));
    match (at_work, responder) {
        (Some(at_work), Some(responder)) => responder.progress(&at_work.state, cells),
        _ => {
            cells.text(UNSET).text(UNKNOWN);
        }
    }
    cells.text(status.requesters()).age(&metadata.creation_timestamp);
    let heartbeat = responder.and_then(|responder| responder.heartbeat_time.as_ref());
    cells.field_or(heartbeat.map(|time| ago(time, cells)), UNSET);
    cells.text_or(responder.map_or("", |responder| responder.message.trim()), UNSET);
    Ok(())
}

fn ago(time: &str, cells: &Cells<'_>) -> String {
    format!("{} ago", age::since(time, cells.now()))
}

// === impl Target ===

impl Target<'_> {
    fn cells(&self, cells: &mut Cells<'_>) {
        cells.field_or(self.pod.as_ref().map(|pod| &pod.name), UNSET);
        cells.text(if self.pod.is_some() { "Pod" } else { UNSET });
    }
}

// === impl EvictionStatus ===

impl<'a> EvictionStatus<'a> {
    fn text(&self) -> String {
        let is_true = |condition: &&Condition<'_>| &*condition.status == "True";
        let first = |kind| self.conditions.iter().find(|condition| &*condition.kind == kind).filter(is_true);
        match first("TargetEvicted").or_else(|| first("Failed")) {
            Some(end) => format!("{} ({})", &*end.kind, &*end.reason),
            None if self.observed_generation > 0 => "Progressing".to_owned(),
            None => "Pending".to_owned(),
        }
    }

    /// The responder at work; where none is, the last that was.
    fn at_work(&self) -> Option<&TargetResponder<'a>> {
        let active = self.target_responders.iter().rfind(|responder| &*responder.state == "Active");
        active.or_else(|| self.target_responders.iter().rfind(|responder| responder.has_begun()))
    }

    fn requesters(&self) -> String {
        let wants = |requester: &&Requester<'_>| &*requester.intent != "Withdrawn";
        let mut names: Vec<&str> = self.requesters.iter().filter(wants).map(|requester| &*requester.name).collect();
        names.sort_unstable();
        match names[..] {
            [] if self.requesters.is_empty() => NONE.to_owned(),
            [] => "<withdrawn>".to_owned(),
            [only] => only.to_owned(),
            [first, ..] => format!("{first} + {} more...", names.len() - 1),
        }
    }
}

// === impl TargetResponder ===

impl TargetResponder<'_> {
    fn has_begun(&self) -> bool {
        matches!(&*self.state, "Active" | "Canceled" | "Interrupted" | "Completed")
    }
}

// === impl Responder ===

impl Responder<'_> {
    /// How far it is in `state`, and when it thinks to be done.
    fn progress(&self, state: &str, cells: &mut Cells<'_>) {
        let time =
            |time: &Option<Text<'_>>, what: &str| time.as_ref().map(|time| format!("{what} ({})", ago(time, cells)));
        let (status, finish) = match state {
            "Active" => match time(&self.start_time, "Started") {
                Some(started) => (started, self.expected_finish(cells)),
                None => (state.to_owned(), UNKNOWN.to_owned()),
            },
            "Completed" => (time(&self.completion_time, state).unwrap_or_else(|| state.to_owned()), "-".to_owned()),
            _ => (state.to_owned(), "-".to_owned()),
        };
        cells.text(status).text(finish);
    }

    fn expected_finish(&self, cells: &Cells<'_>) -> String {
        let Some(text) = &self.expected_completion_time else { return UNKNOWN.to_owned() };
        match age::parse(text).filter(|finish| *finish > cells.now()) {
            Some(finish) => format!("in {}", age::between(cells.now(), finish)),
            None => ago(text, cells),
        }
    }
}
