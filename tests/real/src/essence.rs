use anyhow::{Context, Result};
use serde_json::{Map, Value};

/// The label and annotation by which the host says whose an object is.
pub(crate) const STAMP: &str = "orrery.dev/cluster";

/// An object without what a host may change of it: name, resourceVersion and stamp; and without kind and apiVersion,
/// which items of lists lack.
pub(crate) fn essence(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("name");
        metadata.remove("resourceVersion");
        remove_stamp(metadata, "labels");
        remove_stamp(metadata, "annotations");
    }
    object
}

fn remove_stamp(metadata: &mut Map<String, Value>, field: &str) {
    let Some(entries) = metadata.get_mut(field).and_then(Value::as_object_mut) else { return };
    entries.remove(STAMP);
    if entries.is_empty() {
        metadata.remove(field);
    }
}

/// A text in an object's metadata; empty if it is not there.
pub(crate) fn metadata<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get("metadata").and_then(|metadata| metadata.get(field)).and_then(Value::as_str).unwrap_or_default()
}

/// The resourceVersion of an object, list or bookmark.
pub(crate) fn version(object: &Value) -> Result<u64> {
    let text = metadata(object, "resourceVersion");
    text.parse().with_context(|| format!("{text:?} is no resourceVersion, in {object}"))
}
