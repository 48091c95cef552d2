//! What keeps a number of pods of one template running.

use super::Kind;
use super::templates::Template;
use crate::table::cells::Cells;
use crate::table::column::{AGE, CONTAINERS, IMAGES, NAME, integer, text};
use crate::table::field::{Map, Metadata, Object, fields};
use crate::table::json::{Unreadable, read};
use crate::table::selector::{Invalid, Selector, labels_or_none, selector_or_none};

pub(super) static DEPLOYMENTS: Kind = Kind {
    columns: &[
        NAME,
        text("Ready", "How many pods are ready, of how many wanted."),
        text("Up-to-date", "How many pods have the newest template."),
        text("Available", "How many pods have been ready for long enough."),
        AGE,
        CONTAINERS.wide(),
        IMAGES.wide(),
        text("Selector", "Which pods the deployment owns, by label.").wide(),
    ],
    print: deployment,
};

pub(super) static REPLICA_SETS: Kind = Kind {
    columns: &[
        NAME,
        integer("Desired", "How many pods are wanted."),
        integer("Current", "How many pods there are."),
        integer("Ready", "How many pods are ready."),
        AGE,
        CONTAINERS.wide(),
        IMAGES.wide(),
        text("Selector", "Which pods the replica set owns, by label.").wide(),
    ],
    print: replica_set,
};

pub(super) static REPLICATION_CONTROLLERS: Kind = Kind {
    columns: &[
        NAME,
        integer("Desired", "How many pods are wanted."),
        integer("Current", "How many pods there are."),
        integer("Ready", "How many pods are ready."),
        AGE,
        CONTAINERS.wide(),
        IMAGES.wide(),
        text("Selector", "Which pods the controller owns, by label.").wide(),
    ],
    print: replication_controller,
};

pub(super) static STATEFUL_SETS: Kind = Kind {
    columns: &[
        NAME,
        text("Ready", "How many pods are ready, of how many wanted."),
        AGE,
        CONTAINERS.wide(),
        IMAGES.wide(),
    ],
    print: stateful_set,
};

pub(super) static DAEMON_SETS: Kind = Kind {
    columns: &[
        NAME,
        integer("Desired", "How many nodes shall run the pod."),
        integer("Current", "How many of these nodes run at least one."),
        integer("Ready", "How many of these nodes have one that is ready."),
        integer("Up-to-date", "How many of these nodes run the newest template."),
        integer("Available", "How many of these nodes have one that has been ready for long enough."),
        text("Node Selector", "Which nodes shall run the pod, by label."),
        AGE,
        CONTAINERS.wide(),
        IMAGES.wide(),
        text("Selector", "Which pods the daemon set owns, by label.").wide(),
    ],
    print: daemon_set,
};

type Workload<'a> = Object<Metadata<'a>, Spec<'a>, Status>;
type ReplicationController<'a> = Object<Metadata<'a>, ControllerSpec<'a>, Status>;
type DaemonSet<'a> = Object<Metadata<'a>, Spec<'a>, DaemonStatus>;

fields! {
    struct Spec<'a> {
        replicas: i64,
        selector: Option<Selector<'a>>,
        template: Template<'a>,
    }

    struct ControllerSpec<'a> {
        replicas: i64,
        selector: Map<'a>,
        template: Template<'a>,
    }
}

fields! {
    struct Status {
        replicas: i64,
        ready_replicas: i64,
        updated_replicas: i64,
        available_replicas: i64,
    }

    struct DaemonStatus {
        desired_number_scheduled: i64,
        current_number_scheduled: i64,
        number_ready: i64,
        updated_number_scheduled: i64,
        number_available: i64,
    }
}

fn deployment(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Workload { metadata, spec, status } = read(body)?;
    cells.text(&metadata.name).text(format!("{}/{}", status.ready_replicas, spec.replicas));
    cells.integer(status.updated_replicas).integer(status.available_replicas).age(&metadata.creation_timestamp);
    spec.template.containers_and_images(cells);
    let selector = spec.selector.as_ref().map_or(Ok(String::new()), Selector::text);
    cells.text(selector.unwrap_or_else(|Invalid| "<invalid>".to_owned()));
    Ok(())
}

fn replica_set(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Workload { metadata, spec, status } = read(body)?;
    cells.text(&metadata.name).integer(spec.replicas).integer(status.replicas).integer(status.ready_replicas);
    cells.age(&metadata.creation_timestamp);
    spec.template.containers_and_images(cells);
    cells.text(selector_or_none(spec.selector.as_ref()));
    Ok(())
}

fn replication_controller(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let ReplicationController { metadata, spec, status } = read(body)?;
    cells.text(&metadata.name).integer(spec.replicas).integer(status.replicas).integer(status.ready_replicas);
    cells.age(&metadata.creation_timestamp);
    spec.template.containers_and_images(cells);
    cells.text(labels_or_none(&spec.selector));
    Ok(())
}

fn stateful_set(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Workload { metadata, spec, status } = read(body)?;
    cells.text(&metadata.name).text(format!("{}/{}", status.ready_replicas, spec.replicas));
    cells.age(&metadata.creation_timestamp);
    spec.template.containers_and_images(cells);
    Ok(())
}

fn daemon_set(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let DaemonSet { metadata, spec, status } = read(body)?;
    cells.text(&metadata.name).integer(status.desired_number_scheduled).integer(status.current_number_scheduled);
    cells.integer(status.number_ready).integer(status.updated_number_scheduled).integer(status.number_available);
    cells.text(labels_or_none(&spec.template.spec.node_selector)).age(&metadata.creation_timestamp);
    spec.template.containers_and_images(cells);
    cells.text(selector_or_none(spec.selector.as_ref()));
    Ok(())
}
