use serde_json::{Map, Value};

/// The merge patch (RFC 7386) that makes `to` of `from`, of all that clients write: what the server itself keeps in
/// `metadata` is left out.
pub(crate) fn merge_patch(from: &Value, to: &Value) -> Value {
    let own = |value: &Value| {
        let mut value = value.clone();
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            for name in ["creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"] {
                metadata.remove(name);
            }
        }
        value
    };
    difference(&own(from), &own(to)).unwrap_or_else(|| Value::Object(Map::new()))
}

fn difference(from: &Value, to: &Value) -> Option<Value> {
    let (Value::Object(before), Value::Object(after)) = (from, to) else {
        return (from != to).then(|| to.clone());
    };
    let gone = before.keys().filter(|key| !after.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    let changed = after.iter().filter_map(|(key, value)| match before.get(key) {
        Some(before) => Some((key.clone(), difference(before, value)?)),
        None => Some((key.clone(), value.clone())),
    });
    let patch: Map<String, Value> = gone.chain(changed).collect();
    (!patch.is_empty()).then_some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_merge_patch_says_what_is_gone_what_is_new_and_what_is_other() {
        let from =
            json!({"metadata": {"uid": "a", "labels": {"x": "1", "y": "2"}}, "spec": {"list": [1, 2], "same": {}}});
        let to =
            json!({"metadata": {"uid": "b", "labels": {"y": "3"}}, "spec": {"list": [1], "same": {}, "new": true}});
        assert_eq!(
            merge_patch(&from, &to),
            json!({"metadata": {"labels": {"x": null, "y": "3"}}, "spec": {"list": [1], "new": true}})
        );
        assert_eq!(merge_patch(&from, &from), json!({}));
    }
}
