//! Volumes and claims to them.

use super::Kind;
use crate::table::cells::{Cells, UNSET};
use crate::table::column::{AGE, NAME, text};
use crate::table::field::{Map, MappedMetadata, Object, Reference, Text, fields};
use crate::table::json::{Unreadable, read};

pub(super) static VOLUMES: Kind = Kind {
    columns: &[
        NAME,
        text("Capacity", "How much the volume holds."),
        text("Access Modes", "Who can use the volume at once, and how."),
        text("Reclaim Policy", "What becomes of the volume once its claim is gone."),
        text("Status", "Phase of the volume: whether a claim has it."),
        text("Claim", "The claim that has the volume."),
        text("StorageClass", "The class that the volume is of."),
        text("VolumeAttributesClass", "The class of attributes that the volume has."),
        text("Reason", "Why the volume is in its phase, in one word for programs."),
        AGE,
        text("VolumeMode", "Whether pods get a file system or a block device.").wide(),
    ],
    print: volume,
};

pub(super) static CLAIMS: Kind = Kind {
    columns: &[
        NAME,
        text("Status", "Phase of the claim: whether it has a volume."),
        text("Volume", "The volume that the claim has."),
        text("Capacity", "How much the volume holds."),
        text("Access Modes", "Who can use the volume at once, and how."),
        text("StorageClass", "The class that a volume is wanted of."),
        text("VolumeAttributesClass", "The class of attributes that the volume shall have."),
        AGE,
        text("VolumeMode", "Whether pods get a file system or a block device.").wide(),
    ],
    print: claim,
};

/// Before there was a field for it; upstream still reads it first.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
const NO_QUANTITY: &str = "0";

type Volume<'a> = Object<MappedMetadata<'a>, VolumeSpec<'a>, VolumeStatus<'a>>;
type Claim<'a> = Object<MappedMetadata<'a>, ClaimSpec<'a>, ClaimStatus<'a>>;

fields! {
    struct VolumeSpec<'a> {
        capacity: Map<'a>,
        access_modes: Vec<Text<'a>>,
        persistent_volume_reclaim_policy: Text<'a>,
        claim_ref: Option<Reference<'a>>,
        storage_class_name: Text<'a>,
        volume_attributes_class_name: Option<Text<'a>>,
        volume_mode: Option<Text<'a>>,
    }

    struct VolumeStatus<'a> {
        phase: Text<'a>,
        reason: Text<'a>,
    }

    struct ClaimSpec<'a> {
        volume_name: Text<'a>,
        storage_class_name: Text<'a>,
        volume_attributes_class_name: Option<Text<'a>>,
        volume_mode: Option<Text<'a>>,
    }

    struct ClaimStatus<'a> {
        phase: Text<'a>,
        capacity: Map<'a>,
        access_modes: Vec<Text<'a>>,
    }
}

fn volume(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Volume { metadata, spec, status } = read(body)?;
    let claim = spec.claim_ref.as_ref().map(|claim| format!("{}/{}", &*claim.namespace, &*claim.name));
    cells.text(&metadata.name).text(size(&spec.capacity)).text(modes(&spec.access_modes));
    cells.text(&spec.persistent_volume_reclaim_policy).text(phase(&metadata, &status.phase)).field_or(claim, "");
    cells.text(class(&metadata, &spec.storage_class_name)).field_or(spec.volume_attributes_class_name.as_ref(), UNSET);
    cells.text(&status.reason).age(&metadata.creation_timestamp).field_or(spec.volume_mode.as_ref(), UNSET);
    Ok(())
}

fn claim(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Claim { metadata, spec, status } = read(body)?;
    cells.text(&metadata.name).text(phase(&metadata, &status.phase)).text(&spec.volume_name);
    if spec.volume_name.is_empty() {
        cells.text("").text("");
    } else {
        cells.text(size(&status.capacity)).text(modes(&status.access_modes));
    }
    cells.text(class(&metadata, &spec.storage_class_name)).field_or(spec.volume_attributes_class_name.as_ref(), UNSET);
    cells.age(&metadata.creation_timestamp).field_or(spec.volume_mode.as_ref(), UNSET);
    Ok(())
}

fn size<'a>(capacity: &'a Map<'_>) -> &'a str {
    capacity.get("storage").map_or(NO_QUANTITY, |size| size)
}

fn phase<'a>(metadata: &MappedMetadata<'_>, phase: &'a str) -> &'a str {
    if metadata.deletion_timestamp.is_some() { "Terminating" } else { phase }
}

fn class<'a>(metadata: &'a MappedMetadata<'_>, field: &'a str) -> &'a str {
    metadata.annotations.get(CLASS_ANNOTATION).map_or(field, |class| class)
}

/// The modes that are there by their short names, in an order of upstream's.
fn modes(modes: &[Text<'_>]) -> String {
    let short =
        [("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP")];
    let given = short.iter().filter(|(mode, _)| modes.iter().any(|given| &**given == *mode));
    given.map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}
