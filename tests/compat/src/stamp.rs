use serde_json::{Map, Value};

/// The label and annotation that says which cluster an object is of.
const STAMP: &str = "orrery.dev/cluster";

/// What an object or a list, printed as JSON, says when it is without the stamp, and maps that are empty without it
/// are not there; `None` if `text` is no JSON.
pub fn unstamped_json(text: &str) -> Option<String> {
    let mut value: Value = serde_json::from_str(text).ok()?;
    unstamp(&mut value);
    serde_json::to_string_pretty(&value).ok()
}

/// Lines of any other output without the stamp.
pub fn unstamped(text: &str) -> String {
    let lines = text.lines().filter(|line| !is_stamp(line));
    lines.map(without_pair).collect::<Vec<_>>().join("\n")
}

fn unstamp(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
                ["labels", "annotations"].iter().for_each(|map| unstamp_map(metadata, map));
            }
            fields.values_mut().for_each(unstamp);
        }
        Value::Array(items) => items.iter_mut().for_each(unstamp),
        _ => {}
    }
}

fn unstamp_map(metadata: &mut Map<String, Value>, map: &str) {
    let Some(Value::Object(pairs)) = metadata.get_mut(map) else { return };
    pairs.remove(STAMP);
    if pairs.is_empty() {
        metadata.remove(map);
    }
}

/// Whether a line of a description or of a YAML document is the stamp and nothing else.
fn is_stamp(line: &str) -> bool {
    line.trim().strip_prefix(STAMP).is_some_and(|rest| rest.starts_with([':', '=']))
}

/// A line without the stamp in a list of `key=value`.
fn without_pair(line: &str) -> String {
    let Some((before, after)) = line.split_once(&format!("{STAMP}=")) else { return line.to_owned() };
    let after = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '-');
    match (before.strip_suffix(','), after.strip_prefix(',')) {
        (Some(before), _) => format!("{before}{after}"),
        (None, Some(after)) => format!("{before}{after}"),
        (None, None) => format!("{before}<none>{after}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_lose_the_stamp_and_the_maps_that_held_nothing_else() {
        let object = r#"{"metadata":{"labels":{"orrery.dev/cluster":"west"},"annotations":{"a":"b","orrery.dev/cluster":"west"}}}"#;
        let list = format!(r#"{{"items":[{object}]}}"#);
        let unstamped: Value = serde_json::from_str(&unstamped_json(&list).unwrap()).unwrap();
        assert_eq!(unstamped, serde_json::json!({"items": [{"metadata": {"annotations": {"a": "b"}}}]}));
        assert_eq!(unstamped_json("created"), None);
    }

    #[test]
    fn text_loses_the_stamp_wherever_it_stands() {
        for (text, without) in [
            ("Labels:       app=web\n              orrery.dev/cluster=west\nx", "Labels:       app=web\nx"),
            ("  annotations:\n    orrery.dev/cluster: west", "  annotations:"),
            ("web  1  app=web,orrery.dev/cluster=west", "web  1  app=web"),
            ("web  1  a=b,orrery.dev/cluster=west,tier=x", "web  1  a=b,tier=x"),
            ("web  1  orrery.dev/cluster=west,tier=x", "web  1  tier=x"),
            ("Labels:  orrery.dev/cluster=west", "Labels:  <none>"),
        ] {
            assert_eq!(unstamped(text), without);
        }
    }
}
