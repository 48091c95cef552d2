//! Drivers of storage, the nodes that they are on, and volumes attached there.

use super::Kind;
use crate::table::cells::{Cells, NONE, UNSET};
use crate::table::column::{AGE, NAME, boolean, identifier, integer, text};
use crate::table::field::{Length, Metadata, Object, Text, fields, joined};
use crate::table::json::{Unreadable, read};

pub(super) static DRIVERS: Kind = Kind {
    columns: &[
        NAME,
        boolean("AttachRequired", "Whether volumes are attached to a node before pods there use them."),
        boolean("PodInfoOnMount", "Whether the driver is told for which pod it mounts."),
        boolean("StorageCapacity", "Whether pods are scheduled by the capacity that the driver tells."),
        text("TokenRequests", "Audiences of the service account tokens that the driver is given."),
        boolean("RequiresRepublish", "Whether the driver is asked to mount again now and then."),
        text("Modes", "Kinds of volumes that the driver has."),
        AGE,
    ],
    print: driver,
};

pub(super) static NODES: Kind =
    Kind { columns: &[NAME, integer("Drivers", "How many drivers the node has."), AGE], print: node };

pub(super) static ATTACHMENTS: Kind = Kind {
    columns: &[
        NAME,
        identifier("Attacher", "The driver that attaches the volume."),
        text("PV", "The volume."),
        text("Node", "The node that the volume is attached to."),
        boolean("Attached", "Whether the volume is attached by now."),
        AGE,
    ],
    print: attachment,
};

type Attachment<'a> = Object<Metadata<'a>, AttachmentSpec<'a>, AttachmentStatus>;

fields! {
    struct DriverSpec<'a> {
        attach_required: Option<bool>,
        pod_info_on_mount: bool,
        storage_capacity: bool,
        token_requests: Option<Vec<TokenRequest<'a>>>,
        requires_republish: bool,
        volume_lifecycle_modes: Vec<Text<'a>>,
    }

    struct TokenRequest<'a> {
        audience: Text<'a>,
    }

    struct AttachmentSpec<'a> {
        attacher: Text<'a>,
        node_name: Text<'a>,
        source: Source<'a>,
    }

    struct Source<'a> {
        persistent_volume_name: Text<'a>,
    }
}

fields! {
    struct NodeSpec {
        drivers: Length,
    }

    struct AttachmentStatus {
        attached: bool,
    }
}

fn driver(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Object { metadata, spec, .. }: Object<Metadata<'_>, DriverSpec<'_>> = read(body)?;
    let audiences = |requests: &Vec<TokenRequest<'_>>| joined(requests.iter().map(|request| &request.audience), ",");
    cells.text(&metadata.name).boolean(spec.attach_required.unwrap_or(true)).boolean(spec.pod_info_on_mount);
    cells.boolean(spec.storage_capacity).field_or(spec.token_requests.as_ref().map(audiences), UNSET);
    cells.boolean(spec.requires_republish).text_or(joined(&spec.volume_lifecycle_modes, ","), NONE);
    cells.age(&metadata.creation_timestamp);
    Ok(())
}

fn node(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Object { metadata, spec, .. }: Object<Metadata<'_>, NodeSpec> = read(body)?;
    cells.text(&metadata.name).count(spec.drivers.len()).age(&metadata.creation_timestamp);
    Ok(())
}

fn attachment(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Attachment { metadata, spec, status } = read(body)?;
    cells.text(&metadata.name).text(&spec.attacher).text(&spec.source.persistent_volume_name).text(&spec.node_name);
    cells.boolean(status.attached).age(&metadata.creation_timestamp);
    Ok(())
}
