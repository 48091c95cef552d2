//! In which versions objects are stored, and moves of them to others.

use super::Kind;
use super::endpoints::first_of;
use crate::table::cells::{Cells, UNSET};
use crate::table::column::{AGE, NAME, NAMED, text};
use crate::table::field::{Conditions, Metadata, Object, Text, fields};
use crate::table::json::{Unreadable, read};

pub(super) static STORAGE_VERSIONS: Kind = Kind {
    columns: &[
        NAME,
        text("CommonEncodingVersion", "The version in which all API servers store the resource."),
        text("StorageVersions", "The version in which each API server stores it, the first of them."),
        AGE,
    ],
    print: storage_version,
};

pub(super) static MIGRATIONS: Kind = Kind {
    columns: &[
        text("Name", NAMED),
        text("Resource", "The resource whose objects are stored anew."),
        text("Status", "How far the migration is."),
    ],
    print: migration,
};

type StorageVersion<'a> = Object<Metadata<'a>, serde::de::IgnoredAny, VersionStatus<'a>>;
type Migration<'a> = Object<Metadata<'a>, MigrationSpec<'a>, Conditions<'a>>;

fields! {
    struct VersionStatus<'a> {
        common_encoding_version: Option<Text<'a>>,
        storage_versions: Vec<ServerVersion<'a>>,
    }

    struct ServerVersion<'a> {
        #[serde(rename = "apiServerID")]
        server: Text<'a>,
        encoding_version: Text<'a>,
    }

    struct MigrationSpec<'a> {
        resource: Resource<'a>,
    }

    struct Resource<'a> {
        group: Text<'a>,
        resource: Text<'a>,
    }
}

fn storage_version(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let StorageVersion { metadata, status, .. } = read(body)?;
    let versions = status.storage_versions.iter();
    let versions = first_of(versions.map(|version| format!("{}={}", &*version.server, &*version.encoding_version)));
    cells.text(&metadata.name).field_or(status.common_encoding_version.as_ref(), UNSET).text_or(versions, UNSET);
    cells.age(&metadata.creation_timestamp);
    Ok(())
}

fn migration(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Migration { metadata, spec, status } = read(body)?;
    let Resource { group, resource } = &spec.resource;
    let resource = if group.is_empty() { resource.to_string() } else { format!("{}.{}", &**resource, &**group) };
    let mut is_true = status.conditions.iter().rev().filter(|condition| &*condition.status == "True");
    let state = is_true.find(|condition| matches!(&*condition.kind, "Running" | "Failed" | "Succeeded"));
    cells.text(&metadata.name).text(resource).field_or(state.map(|state| &state.kind), "Unknown");
    Ok(())
}
