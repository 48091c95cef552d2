//! Classes of storage, and of volumes' attributes.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use orrery_api::{ClusterName, ObjectKey};
use orrery_cache as cache;

use super::Kind;
use crate::table::age;
use crate::table::cells::Cells;
use crate::table::column::{AGE, NAME, text};
use crate::table::field::{MappedMetadata, Metadata, Object, Text, fields};
use crate::table::json::{Unreadable, read};

pub(super) static STORAGE_CLASSES: Kind = Kind {
    columns: &[
        NAME,
        text("Provisioner", "Who makes volumes of the class."),
        text("ReclaimPolicy", "What becomes of a volume once its claim is gone."),
        text("VolumeBindingMode", "Whether a volume is made at once, or once a pod wants it."),
        text("AllowVolumeExpansion", "Whether volumes of the class can grow."),
        AGE,
    ],
    print: storage_class,
};

pub(super) static ATTRIBUTES_CLASSES: Kind = Kind {
    columns: &[NAME, text("DriverName", "The driver that gives volumes these attributes."), AGE],
    print: attributes_class,
};

const DEFAULT_CLASS: [&str; 2] =
    ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];

fields! {
    struct StorageClass<'a> {
        metadata: Metadata<'a>,
        provisioner: Text<'a>,
        reclaim_policy: Option<Text<'a>>,
        volume_binding_mode: Option<Text<'a>>,
        allow_volume_expansion: bool,
    }

    struct AttributesClass<'a> {
        metadata: Metadata<'a>,
        driver_name: Text<'a>,
    }
}

/// The class of each cluster that claims without one get, of those in a list: the youngest that says that it is the
/// default, of two as young the first by name. Watches and single objects show no default, as upstream since 1.37.
pub(in crate::table) fn defaults(listed: &[Arc<cache::Object>]) -> Vec<ObjectKey> {
    let mut defaults: BTreeMap<&ClusterName, (SystemTime, Reverse<&ObjectKey>)> = BTreeMap::new();
    for class in listed {
        let Some(created) = created_as_default(&class.body().to_bytes()) else { continue };
        let candidate = (created, Reverse(class.served()));
        let best = defaults.entry(class.cluster()).or_insert(candidate);
        *best = candidate.max(*best);
    }
    defaults.into_values().map(|(_, Reverse(key))| key.clone()).collect()
}

/// When a class was made that says that it is the default.
fn created_as_default(body: &[u8]) -> Option<SystemTime> {
    let Object { metadata, .. }: Object<MappedMetadata<'_>> = read(body).ok()?;
    let says = |annotation: &&str| metadata.annotations.get(*annotation).is_some_and(|value| &**value == "true");
    let created = age::parse(&metadata.creation_timestamp).unwrap_or(SystemTime::UNIX_EPOCH);
    DEFAULT_CLASS.iter().any(says).then_some(created)
}

fn storage_class(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let class: StorageClass<'_> = read(body)?;
    let default = if cells.is_marked() { " (default)" } else { "" };
    cells.text(format!("{}{default}", &*class.metadata.name)).text(&class.provisioner);
    cells.field_or(class.reclaim_policy, "Delete").field_or(class.volume_binding_mode, "Immediate");
    cells.boolean(class.allow_volume_expansion).age(&class.metadata.creation_timestamp);
    Ok(())
}

fn attributes_class(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let AttributesClass { metadata, driver_name } = read(body)?;
    cells.text(&metadata.name).text(&driver_name).age(&metadata.creation_timestamp);
    Ok(())
}
