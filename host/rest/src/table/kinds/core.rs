//! Kinds of the core group with little to show, and what is shown of kinds without a printer.

use serde::de::IgnoredAny;

use super::Kind;
use crate::table::cells::Cells;
use crate::table::column::{AGE, CREATED_AT, NAME, text};
use crate::table::field::{Entries, Metadata, Object, Text, fields};
use crate::table::json::{Unreadable, read};

/// Kinds without a printer, as apiserver's default table convertor shows them: kubectl makes an age of the time.
pub(super) static FALLBACK: Kind = Kind { columns: &[NAME, CREATED_AT], print: fallback };

/// ServiceAccounts, DeviceClasses and others that are known by their name.
pub(super) static NAME_AND_AGE: Kind = Kind { columns: &[NAME, AGE], print: name_and_age };

pub(super) static NAMESPACES: Kind =
    Kind { columns: &[NAME, text("Status", "Phase of the namespace: Active or Terminating."), AGE], print: namespace };

pub(super) static CONFIG_MAPS: Kind =
    Kind { columns: &[NAME, text("Data", "How many entries the object has."), AGE], print: config_map };

pub(super) static SECRETS: Kind = Kind {
    columns: &[
        NAME,
        text("Type", "What the secret is for, so that programs know its entries."),
        text("Data", "How many entries the object has."),
        AGE,
    ],
    print: secret,
};

pub(super) static COMPONENT_STATUSES: Kind = Kind {
    columns: &[
        NAME,
        text("Status", "Whether the component is healthy."),
        text("Message", "What the component says of its health."),
        text("Error", "Why its health is not known."),
    ],
    print: component_status,
};

fields! {
    struct Bare<'a> {
        metadata: Metadata<'a>,
    }

    struct Phase<'a> {
        phase: Text<'a>,
    }

    struct Data<'a> {
        metadata: Metadata<'a>,
        #[serde(rename = "type")]
        kind: Text<'a>,
        data: Entries,
        binary_data: Entries,
    }

    struct ComponentStatus<'a> {
        metadata: Metadata<'a>,
        conditions: Vec<Health<'a>>,
    }

    struct Health<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        status: Text<'a>,
        message: Text<'a>,
        error: Text<'a>,
    }
}

fn fallback(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Bare { metadata } = read(body)?;
    cells.text(&metadata.name).text_or(&metadata.creation_timestamp, "0001-01-01T00:00:00Z");
    Ok(())
}

fn name_and_age(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Bare { metadata } = read(body)?;
    cells.text(&metadata.name).age(&metadata.creation_timestamp);
    Ok(())
}

fn namespace(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Object { metadata, status, .. }: Object<Metadata<'_>, IgnoredAny, Phase<'_>> = read(body)?;
    cells.text(&metadata.name).text(&status.phase).age(&metadata.creation_timestamp);
    Ok(())
}

fn config_map(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Data { metadata, data, binary_data, .. } = read(body)?;
    cells.text(&metadata.name).integer(data.0 + binary_data.0).age(&metadata.creation_timestamp);
    Ok(())
}

fn secret(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Data { metadata, kind, data, .. } = read(body)?;
    cells.text(&metadata.name).text(&kind).integer(data.0).age(&metadata.creation_timestamp);
    Ok(())
}

fn component_status(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let ComponentStatus { metadata, conditions } = read(body)?;
    let health = conditions.iter().find(|condition| &*condition.kind == "Healthy");
    let status = match health.map(|health| &*health.status) {
        None => "Unknown",
        Some("True") => "Healthy",
        Some(_) => "Unhealthy",
    };
    let said = |text: fn(&Health<'_>) -> String| health.map(text).unwrap_or_default();
    cells.text(&metadata.name).text(status);
    cells.text(said(|health| health.message.to_string())).text(said(|health| health.error.to_string()));
    Ok(())
}
