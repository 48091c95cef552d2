//! Kubeconfigs as documents, so that whatever stands in one is kept.

use serde_json::{Map, Value, json};

/// The lists of named entries.
const LISTS: [&str; 3] = ["clusters", "users", "contexts"];

/// The kubeconfig that `yaml` spells; an empty text is one with nothing in it.
pub(super) fn parse(yaml: &str) -> Result<Value, String> {
    let empty = yaml.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
    let parsed = if empty { Value::Null } else { serde_saphyr::from_str(yaml).map_err(|error| error.to_string())? };
    match parsed {
        Value::Null => Ok(json!({"apiVersion": "v1", "kind": "Config"})),
        Value::Object(fields) => check(fields),
        _ => Err("it is not a mapping".to_owned()),
    }
}

/// Its YAML.
pub(super) fn render(kubeconfig: &Value) -> Result<String, String> {
    serde_saphyr::to_string(kubeconfig).map_err(|error| error.to_string())
}

/// Puts the named entries of `from` into `into` (an entry of the same name is replaced, all else stays as it is), and
/// makes its current context the current one.
pub(super) fn merge(into: &mut Value, from: &Value) {
    for list in LISTS {
        for entry in from[list].as_array().into_iter().flatten() {
            put(into, list, entry.clone());
        }
    }
    into["current-context"] = from["current-context"].clone();
}

/// Puts one named entry into one of the lists.
pub(super) fn put(kubeconfig: &mut Value, list: &str, entry: Value) {
    if !kubeconfig[list].is_array() {
        kubeconfig[list] = json!([]);
    }
    let entries = kubeconfig[list].as_array_mut().expect("it was just made one");
    match entries.iter_mut().find(|other| other["name"] == entry["name"]) {
        Some(other) => *other = entry,
        None => entries.push(entry),
    }
}

/// What is not a list where there must be one would be overwritten, so it is refused.
fn check(fields: Map<String, Value>) -> Result<Value, String> {
    let wrong = LISTS.iter().find(|list| fields.get(**list).is_some_and(|value| !value.is_array() && !value.is_null()));
    match (wrong, fields.get("kind").and_then(Value::as_str)) {
        (Some(list), _) => Err(format!("its {list} are no list")),
        (None, None | Some("Config" | "")) => Ok(Value::Object(fields)),
        (None, Some(kind)) => Err(format!("its kind is {kind}")),
    }
}
