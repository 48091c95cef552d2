//! Priorities of pods, and groups of pods that are scheduled together.

use super::Kind;
use crate::table::cells::{Cells, NONE};
use crate::table::column::{AGE, NAME, boolean, integer, text};
use crate::table::field::{Condition, Conditions, Metadata, Object, Present, Text, fields};
use crate::table::json::{Unreadable, read};

pub(super) static PRIORITY_CLASSES: Kind = Kind {
    columns: &[
        NAME,
        integer("Value", "The priority of its pods: higher goes first."),
        boolean("Global-Default", "Whether pods without a class get this one."),
        AGE,
        text("PreemptionPolicy", "Whether its pods take the place of others."),
    ],
    print: priority_class,
};

pub(super) static POD_GROUPS: Kind = Kind {
    columns: &[
        NAME,
        text("Policy", "Whether its pods are scheduled together (Gang) or not (Basic)."),
        text("Workload", "The workload that the group is of."),
        text("Status", "Whether the group is scheduled."),
        AGE,
    ],
    print: pod_group,
};

pub(super) static COMPOSITE_POD_GROUPS: Kind = Kind {
    columns: &[
        NAME,
        text("Policy", "Whether its groups are scheduled together (Gang) or not (Basic)."),
        text("Workload", "The workload that the group is of."),
        AGE,
    ],
    print: composite_pod_group,
};

type PodGroup<'a> = Object<Metadata<'a>, GroupSpec<'a>, Conditions<'a>>;

fields! {
    struct PriorityClass<'a> {
        metadata: Metadata<'a>,
        value: i64,
        global_default: bool,
        preemption_policy: Text<'a>,
    }

    struct GroupSpec<'a> {
        scheduling_policy: Policy,
        workload_ref: Option<WorkloadReference<'a>>,
    }

    struct WorkloadReference<'a> {
        workload_name: Text<'a>,
    }
}

fields! {
    struct Policy {
        gang: Present,
    }
}

fn priority_class(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let PriorityClass { metadata, value, global_default, preemption_policy } = read(body)?;
    cells.text(&metadata.name).integer(value).boolean(global_default).age(&metadata.creation_timestamp);
    cells.text(&preemption_policy);
    Ok(())
}

fn pod_group(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let PodGroup { metadata, spec, status } = read(body)?;
    cells.text(&metadata.name).text(spec.policy()).text(spec.workload()).text(state(&status.conditions));
    cells.age(&metadata.creation_timestamp);
    Ok(())
}

fn composite_pod_group(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let PodGroup { metadata, spec, .. } = read(body)?;
    cells.text(&metadata.name).text(spec.policy()).text(spec.workload()).age(&metadata.creation_timestamp);
    Ok(())
}

/// A disruption counts for more than whether the group was ever scheduled. Of several conditions of one type upstream
/// takes the last.
fn state<'c>(conditions: &'c [Condition<'_>]) -> &'c str {
    let last = |kind| conditions.iter().rfind(|condition| &*condition.kind == kind);
    match (last("DisruptionTarget"), last("PodGroupInitiallyScheduled")) {
        (Some(disruption), _) => &disruption.reason,
        (None, Some(scheduled)) if &*scheduled.status == "True" => "Scheduled",
        (None, Some(_)) => "Unschedulable",
        (None, None) => "Pending",
    }
}

// === impl GroupSpec ===

impl GroupSpec<'_> {
    fn policy(&self) -> &'static str {
        if self.scheduling_policy.gang.is_some() { "Gang" } else { "Basic" }
    }

    fn workload(&self) -> &str {
        self.workload_ref.as_ref().map_or(NONE, |workload| &workload.workload_name)
    }
}
