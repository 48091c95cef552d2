//! Devices that pods can claim (resource.k8s.io).

use super::Kind;
use crate::table::cells::{Cells, NONE};
use crate::table::column::{AGE, NAME, integer, text};
use crate::table::field::{Condition, Length, Metadata, Object, Present, Text, fields};
use crate::table::json::{Unreadable, read};

pub(super) static CLAIMS: Kind =
    Kind { columns: &[NAME, text("State", "Whether the claim has devices, and pods use them."), AGE], print: claim };

pub(super) static SLICES: Kind = Kind {
    columns: &[
        NAME,
        text("Node", "The node that the devices are on, if they are on one."),
        text("Driver", "The driver of the devices."),
        text("Pool", "The pool that the devices are of."),
        AGE,
    ],
    print: slice,
};

pub(super) static TAINT_RULES: Kind = Kind {
    columns: &[
        NAME,
        text("Key", "The key of the taint that devices get."),
        text("Value", "The value of the taint."),
        text("Effect", "What the taint does to pods that use the devices."),
        text("TimeAdded", "How long ago the taint was added."),
        AGE,
    ],
    print: taint_rule,
};

pub(super) static POOL_REQUESTS: Kind = Kind {
    columns: &[
        NAME,
        text("Driver", "The driver whose pools are asked about."),
        text("Total", "How many devices the pools have."),
        text("Available", "How many of the devices are free."),
        text("Allocated", "How many of the devices are in use."),
        text("Unavailable", "How many of the devices cannot be used."),
        text("Errors", "How many of the pools are not valid."),
        integer("Pools", "How many pools there are."),
        text("Status", "What has become of the request."),
        text("Completed", "How long ago the answer was complete."),
    ],
    print: pool_request,
};

type Claim<'a> = Object<Metadata<'a>, serde::de::IgnoredAny, ClaimStatus>;
type PoolRequest<'a> = Object<Metadata<'a>, DriverSpec<'a>, Option<PoolsStatus<'a>>>;

fields! {
    struct ClaimStatus {
        allocation: Present,
        reserved_for: Length,
    }
}

fields! {
    struct SliceSpec<'a> {
        node_name: Text<'a>,
        driver: Text<'a>,
        pool: Pool<'a>,
    }

    struct Pool<'a> {
        name: Text<'a>,
    }

    struct RuleSpec<'a> {
        taint: Taint<'a>,
    }

    struct Taint<'a> {
        key: Text<'a>,
        value: Text<'a>,
        effect: Text<'a>,
        time_added: Option<Text<'a>>,
    }

    struct DriverSpec<'a> {
        driver: Text<'a>,
    }

    struct PoolsStatus<'a> {
        conditions: Vec<Condition<'a>>,
        pool_count: usize,
        pools: Vec<PoolStatus<'a>>,
    }

    struct PoolStatus<'a> {
        validation_error: Option<Text<'a>>,
        total_devices: i64,
        available_devices: i64,
        allocated_devices: i64,
        unavailable_devices: i64,
    }
}

fn claim(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Claim { metadata, status, .. } = read(body)?;
    let state = match (metadata.deletion_timestamp.is_some(), status.allocation.is_some()) {
        (false, false) => "pending",
        (true, false) => "deleted",
        (deleted, true) => match (deleted, status.reserved_for.is_empty()) {
            (false, true) => "allocated",
            (false, false) => "allocated,reserved",
            (true, true) => "deleted,allocated",
            (true, false) => "deleted,allocated,reserved",
        },
    };
    cells.text(&metadata.name).text(state).age(&metadata.creation_timestamp);
    Ok(())
}

fn slice(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Object { metadata, spec, .. }: Object<Metadata<'_>, SliceSpec<'_>> = read(body)?;
    cells.text(&metadata.name).text(&spec.node_name).text(&spec.driver).text(&spec.pool.name);
    cells.age(&metadata.creation_timestamp);
    Ok(())
}

fn taint_rule(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Object { metadata, spec, .. }: Object<Metadata<'_>, RuleSpec<'_>> = read(body)?;
    let Taint { key, value, effect, time_added } = &spec.taint;
    cells.text(&metadata.name).text(key).text(value).text(effect);
    match time_added {
        Some(time) => cells.age(time),
        None => cells.text(""),
    };
    cells.age(&metadata.creation_timestamp);
    Ok(())
}

fn pool_request(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let PoolRequest { metadata, spec, status } = read(body)?;
    let (end, pools) =
        (status.as_ref().and_then(PoolsStatus::end), status.as_ref().map_or(0, |status| status.pool_count));
    let kind = end.map_or("Pending", |condition| &*condition.kind);
    let counts = status.as_ref().filter(|_| kind != "Failed").map(PoolsStatus::counts);
    let listed = status.as_ref().map_or(0, |status| status.pools.len());
    cells.text(&metadata.name).text(&spec.driver);
    for at in 0..5 {
        cells.text(counts.map_or("-".to_owned(), |counts| counts[at].to_string()));
    }
    cells.count(pools);
    match kind {
        "Complete" if pools > listed => cells.text(format!("Complete ({listed}/{pools} pools)")),
        _ => cells.text(kind),
    };
    match end.filter(|_| kind == "Complete") {
        Some(condition) => cells.age(&condition.last_transition_time),
        None => cells.text(NONE),
    };
    Ok(())
}

// === impl PoolsStatus ===

impl<'a> PoolsStatus<'a> {
    /// The condition that ended the request.
    fn end(&self) -> Option<&Condition<'a>> {
        let is_end = |kind: &str| matches!(kind, "Complete" | "Failed");
        self.conditions.iter().find(|condition| is_end(&condition.kind) && &*condition.status == "True")
    }

    /// Devices in all, free, in use, and not to be used, and pools with errors.
    fn counts(&self) -> [i64; 5] {
        let sum = |of: fn(&PoolStatus<'_>) -> i64| self.pools.iter().map(of).fold(0, i64::saturating_add);
        [
            sum(|pool| pool.total_devices),
            sum(|pool| pool.available_devices),
            sum(|pool| pool.allocated_devices),
            sum(|pool| pool.unavailable_devices),
            sum(|pool| i64::from(pool.validation_error.is_some())),
        ]
    }
}
