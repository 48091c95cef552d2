//! Which requests an API server takes first.

use std::sync::Arc;

use orrery_cache as cache;

use super::Kind;
use crate::table::cells::{Cells, NONE};
use crate::table::column::{AGE, NAME, text};
use crate::table::field::{Conditions, Metadata, Object, Text, fields, status_of};
use crate::table::json::{Unreadable, read};

pub(super) static FLOW_SCHEMAS: Kind = Kind {
    columns: &[
        NAME,
        text("PriorityLevel", "The priority level that its requests get."),
        text("MatchingPrecedence", "Of several schemas that fit a request, the lowest number counts."),
        text("DistinguisherMethod", "What tells its flows apart."),
        AGE,
        text("MissingPL", "Whether its priority level does not exist."),
    ],
    print: flow_schema,
};

pub(super) static PRIORITY_LEVELS: Kind = Kind {
    columns: &[
        NAME,
        text("Type", "Limited or Exempt."),
        text("NominalConcurrencyShares", "Its share of the requests that are served at once."),
        text("Queues", "How many queues it has."),
        text("HandSize", "How many of the queues a flow may use."),
        text("QueueLengthLimit", "How many requests may wait in a queue."),
        AGE,
    ],
    print: priority_level,
};

type FlowSchema<'a> = Object<Metadata<'a>, SchemaSpec<'a>, Conditions<'a>>;

fields! {
    struct SchemaSpec<'a> {
        priority_level_configuration: LevelReference<'a>,
        matching_precedence: i64,
        distinguisher_method: Option<Distinguisher<'a>>,
    }

    struct LevelReference<'a> {
        name: Text<'a>,
    }

    struct Distinguisher<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
    }

    struct LevelSpec<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        limited: Option<Limited>,
    }
}

fields! {
    struct Limited {
        nominal_concurrency_shares: i64,
        limit_response: LimitResponse,
    }

    struct LimitResponse {
        queuing: Option<Queuing>,
    }

    struct Queuing {
        queues: i64,
        hand_size: i64,
        queue_length_limit: i64,
    }
}

/// Sorts a list as upstream shows it: in the order in which schemas are tried.
pub(in crate::table) fn sort(schemas: &mut [Arc<cache::Object>]) {
    schemas.sort_by_cached_key(|schema| {
        let body = schema.body().to_bytes();
        let precedence = read::<FlowSchema<'_>>(&body).map_or(i64::MAX, |schema| schema.spec.matching_precedence);
        (precedence, schema.served().clone())
    });
}

fn flow_schema(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let FlowSchema { metadata, spec, status } = read(body)?;
    let method = spec.distinguisher_method.as_ref().map(|method| &method.kind);
    cells.text(&metadata.name).text(&spec.priority_level_configuration.name).integer(spec.matching_precedence);
    cells.field_or(method, NONE).age(&metadata.creation_timestamp);
    cells.text(status_of(&status.conditions, "Dangling").unwrap_or("?"));
    Ok(())
}

fn priority_level(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Object { metadata, spec, .. }: Object<Metadata<'_>, LevelSpec<'_>> = read(body)?;
    let queuing = spec.limited.as_ref().and_then(|limited| limited.limit_response.queuing.as_ref());
    let numbers = [
        spec.limited.as_ref().map(|limited| limited.nominal_concurrency_shares),
        queuing.map(|queuing| queuing.queues),
        queuing.map(|queuing| queuing.hand_size),
        queuing.map(|queuing| queuing.queue_length_limit),
    ];
    cells.text(&metadata.name).text(&spec.kind);
    for number in numbers {
        match number {
            Some(number) => cells.integer(number),
            None => cells.text(NONE),
        };
    }
    cells.age(&metadata.creation_timestamp);
    Ok(())
}
