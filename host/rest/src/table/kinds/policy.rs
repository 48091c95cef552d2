//! Limits: how many pods may be disrupted, and how much a namespace may use.

use super::Kind;
use crate::table::cells::Cells;
use crate::table::column::{AGE, NAME, integer, text};
use crate::table::field::{IntOrText, Map, Metadata, Object, fields};
use crate::table::json::{Unreadable, read};

pub(super) static DISRUPTION_BUDGETS: Kind = Kind {
    columns: &[
        NAME,
        text("Min Available", "How many pods must stay, as a number or a share."),
        text("Max Unavailable", "How many pods may be away, as a number or a share."),
        integer("Allowed Disruptions", "How many pods may be evicted now."),
        AGE,
    ],
    print: disruption_budget,
};

pub(super) static QUOTAS: Kind = Kind {
    columns: &[
        NAME,
        text("Request", "What is used of what may be requested or made, by resource."),
        text("Limit", "What is used of what limits may come to, by resource."),
        AGE,
    ],
    print: quota,
};

type Budget<'a> = Object<Metadata<'a>, BudgetSpec<'a>, BudgetStatus>;
type Quota<'a> = Object<Metadata<'a>, serde::de::IgnoredAny, QuotaStatus<'a>>;

fields! {
    struct BudgetSpec<'a> {
        min_available: Option<IntOrText<'a>>,
        max_unavailable: Option<IntOrText<'a>>,
    }

    struct QuotaStatus<'a> {
        hard: Map<'a>,
        used: Map<'a>,
    }
}

fields! {
    struct BudgetStatus {
        disruptions_allowed: i64,
    }
}

fn disruption_budget(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Budget { metadata, spec, status } = read(body)?;
    cells.text(&metadata.name).field_or(spec.min_available, "N/A").field_or(spec.max_unavailable, "N/A");
    cells.integer(status.disruptions_allowed).age(&metadata.creation_timestamp);
    Ok(())
}

fn quota(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Quota { metadata, status, .. } = read(body)?;
    cells.text(&metadata.name).text(status.used_of(false)).text(status.used_of(true)).age(&metadata.creation_timestamp);
    Ok(())
}

// === impl QuotaStatus ===

impl QuotaStatus<'_> {
    /// `used/hard` of each resource that is a limit, or of each that is none, sorted by name.
    fn used_of(&self, limits: bool) -> String {
        let of = self.hard.iter().filter(|(resource, _)| resource.starts_with("limits.") == limits);
        let shown = of.map(|(resource, hard)| {
            let used = self.used.get(&**resource).map_or("0", |used| used);
            format!("{}: {used}/{}", &**resource, &**hard)
        });
        shown.collect::<Vec<_>>().join(", ")
    }
}
