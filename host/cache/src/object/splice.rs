//! Writes an object's bytes as they are served.

use std::ops::Range;

use orrery_api::{CLUSTER_KEY, CLUSTERS_KEY, ClusterName, Stamp};
use orrery_markers::Marker;

use super::body::{Body, BodyWriter};
use super::parse::{Map, Metadata, Parsed, Types};
use super::{BodyError, Showing, Spans};
use crate::Shape;

/// Bytes `at` of the original give way to `text`.
struct Edit {
    at: Range<usize>,
    text: String,
}

/// Writes `original` as it is shown; all else stays byte for byte.
pub(super) fn splice(
    original: &[u8],
    parsed: &Parsed<'_>,
    showing: &Showing<'_>,
    shape: &Shape,
) -> Result<(Body, Spans), BodyError> {
    let mut edits = edits(parsed, showing, shape)?;
    edits.sort_by_key(|edit| edit.at.start);
    let spans = spans(parsed, &edits, showing.marker)?;
    Ok((write(original, &edits), spans))
}

fn edits(parsed: &Parsed<'_>, showing: &Showing<'_>, shape: &Shape) -> Result<Vec<Edit>, BodyError> {
    let metadata = &parsed.metadata;
    let mut edits = Vec::with_capacity(8);
    if parsed.types == Types::Absent {
        edits.push(Edit { at: after_brace(parsed.open), text: shape.type_members() });
    }
    let (at, name) = metadata.name.as_ref().ok_or(BodyError::Missing { what: "metadata.name" })?;
    if **name != *showing.served.name {
        edits.push(Edit { at: at.clone(), text: serde_json::Value::from(&*showing.served.name).to_string() });
    }
    let (labels, annotations) = stamps(showing, shape.stamp);
    let mut created = String::new();
    stamp("labels", metadata.labels.as_ref(), &labels, &mut edits, &mut created);
    stamp("annotations", metadata.annotations.as_ref(), &annotations, &mut edits, &mut created);
    edits.push(version_edit(metadata, showing.marker, &created));
    Ok(edits)
}

type Pairs<'a> = Vec<(&'static str, String)>;

/// The labels and annotations that say where the object is (values are DNS labels, so nothing in them needs an escape).
fn stamps<'a>(showing: &Showing<'a>, stamp: Stamp) -> (Pairs<'a>, Pairs<'a>) {
    let cluster = || vec![(CLUSTER_KEY, showing.cluster.to_string())];
    let (labels, mut annotations) = match stamp {
        Stamp::Label => (cluster(), cluster()),
        Stamp::Annotation => (vec![], cluster()),
        Stamp::None => return (vec![], vec![]),
    };
    if let Some(holders) = showing.holders {
        let names: Vec<_> = holders.iter().map(ClusterName::as_str).collect();
        annotations.push((CLUSTERS_KEY, names.join(",")));
    }
    (labels, annotations)
}

/// Puts `pairs` into the map `name`; where the object has none, appends it to `created`.
fn stamp(
    name: &str,
    map: Option<&Map<'_>>,
    pairs: &[(&'static str, String)],
    edits: &mut Vec<Edit>,
    created: &mut String,
) {
    let Some(map) = map else {
        if !pairs.is_empty() {
            created.push_str(&format!(",\"{name}\":{{{}}}", members(pairs)));
        }
        return;
    };
    if map.is_null {
        if !pairs.is_empty() {
            edits.push(Edit { at: map.range.clone(), text: format!("{{{}}}", members(pairs)) });
        }
        return;
    }
    let (present, new): (Vec<_>, Vec<_>) = pairs.iter().cloned().partition(|(key, _)| own_value(map, key).is_some());
    for (key, value) in present {
        if let Some(at) = own_value(map, key) {
            edits.push(Edit { at: at.clone(), text: format!("\"{value}\"") });
        }
    }
    if !new.is_empty() {
        let comma = if map.is_empty { "" } else { "," };
        edits.push(Edit { at: after_brace(map.range.start), text: members(&new) + comma });
    }
}

fn own_value<'a>(map: &'a Map<'_>, key: &str) -> Option<&'a Range<usize>> {
    if key == CLUSTER_KEY { map.cluster.as_ref() } else { map.clusters.as_ref() }
}

fn members(pairs: &[(&'static str, String)]) -> String {
    let members: Vec<_> = pairs.iter().map(|(key, value)| format!("\"{key}\":\"{value}\"")).collect();
    members.join(",")
}

/// The marker as resourceVersion, followed by the maps that had to be created.
fn version_edit(metadata: &Metadata<'_>, marker: Marker, created: &str) -> Edit {
    match &metadata.resource_version {
        Some(at) => Edit { at: at.clone(), text: format!("\"{marker}\"{created}") },
        None => {
            let comma = if metadata.is_empty { "" } else { "," };
            let at = after_brace(metadata.range.start);
            Edit { at, text: format!("{VERSION_MEMBER}\"{marker}\"{created}{comma}") }
        }
    }
}

const VERSION_MEMBER: &str = "\"resourceVersion\":";

fn after_brace(brace: usize) -> Range<usize> {
    brace + 1..brace + 1
}

/// Where in the written bytes is what is read from them again.
fn spans(parsed: &Parsed<'_>, edits: &[Edit], marker: Marker) -> Result<Spans, BodyError> {
    let moved = |at: usize| {
        let before = edits.iter().filter(|edit| edit.at.end <= at);
        before.fold(at, |at, edit| at + edit.text.len() - edit.at.len())
    };
    let metadata = &parsed.metadata;
    let version = match &metadata.resource_version {
        Some(at) => moved(at.start) + 1,
        // An insertion at that place is counted as before it; the text begins where the brace ends.
        None => moved(metadata.range.start) + 1 + VERSION_MEMBER.len() + 1,
    };
    let item = match parsed.types {
        Types::Absent => moved(parsed.open + 1),
        Types::Leading { end } => moved(end),
        Types::Own => 0,
    };
    let narrow = |at: usize| u32::try_from(at).map_err(|_| BodyError::TooLong { what: "the object" });
    Ok(Spans {
        item: narrow(item)?,
        metadata: narrow(moved(metadata.range.start))?..narrow(moved(metadata.range.end))?,
        version: narrow(version)?,
        version_length: decimal_length(marker),
    })
}

/// How many digits a marker has: at most 16.
pub(super) fn decimal_length(marker: Marker) -> u8 {
    marker.get().checked_ilog10().map_or(1, |log| log as u8 + 1)
}

fn write(original: &[u8], edits: &[Edit]) -> Body {
    let removed: usize = edits.iter().map(|edit| edit.at.len()).sum();
    let added: usize = edits.iter().map(|edit| edit.text.len()).sum();
    let mut writer = BodyWriter::new(original.len() - removed + added);
    let mut from = 0;
    for edit in edits {
        writer.push(&original[from..edit.at.start]);
        writer.push(edit.text.as_bytes());
        from = edit.at.end;
    }
    writer.push(&original[from..]);
    writer.finish()
}
