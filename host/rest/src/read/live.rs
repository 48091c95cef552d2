//! Lists of kinds that cannot be clocked, such as metrics: what the members say now, merged. They have no marker, so no
//! watch can start at one: their resourceVersion is empty, as that of metrics-server's own lists.

use orrery_api::{CLUSTER_KEY, ClusterName, ObjectKey, Stamp};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Rendering, Shown, TableRendering};

/// What one member answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LivePart {
    /// The member.
    pub(crate) cluster: ClusterName,
    /// The objects.
    pub(crate) items: Vec<Value>,
}

/// One object as it is served.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LiveObject {
    /// The name that clients see.
    pub(crate) served: ObjectKey,
    /// Whose it is.
    pub(crate) cluster: ClusterName,
    /// It.
    pub(crate) value: Value,
}

#[derive(Deserialize)]
struct List {
    kind: String,
    items: Option<Vec<Value>>,
}

// === impl LivePart ===

impl LivePart {
    /// Reads a member's list; in words why it is none.
    pub(crate) fn read(cluster: ClusterName, json: &[u8]) -> Result<Self, String> {
        let list: List = serde_json::from_slice(json).map_err(|error| format!("its answer is no list: {error}"))?;
        if !list.kind.ends_with("List") {
            return Err(format!("its answer is a {}, no list", list.kind));
        }
        let items = list.items.unwrap_or_default();
        if items.iter().any(|item| key_of(item).is_none()) {
            return Err("its list has an object without a name".to_owned());
        }
        Ok(Self { cluster, items })
    }
}

/// All objects of `parts` under names that are theirs alone: `named` gives the name by which clients know what an object is
/// about, where the fleet knows that. Others are `<name>.<cluster>` where several members serve the kind (`qualified`):
/// without a log nobody could tell whose a plain name is while one of them does not answer. Sorted as lists are.
pub(crate) fn merged(
    parts: Vec<LivePart>,
    stamp: Stamp,
    qualified: bool,
    named: impl Fn(&ClusterName, &ObjectKey) -> Option<ObjectKey>,
) -> Vec<LiveObject> {
    let mut objects = Vec::with_capacity(parts.iter().map(|part| part.items.len()).sum());
    for LivePart { cluster, items } in parts {
        let own = |key: &ObjectKey| {
            let name = if qualified { format!("{}.{cluster}", key.name) } else { key.name.to_string() };
            ObjectKey::new(&key.namespace, &name)
        };
        for mut value in items {
            let Some(key) = key_of(&value) else { continue };
            let served = named(&cluster, &key).unwrap_or_else(|| own(&key));
            show(&mut value, &served.name, &cluster, stamp);
            objects.push(LiveObject { served, cluster: cluster.clone(), value });
        }
    }
    objects.sort_by(|a, b| a.served.cmp(&b.served));
    objects
}

/// Gives an object the name and the stamp that clients see.
pub(crate) fn show(value: &mut Value, name: &str, cluster: &ClusterName, stamp: Stamp) {
    let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    metadata.insert("name".to_owned(), name.into());
    let fields: &[&str] = match stamp {
        Stamp::Label => &["labels", "annotations"],
        Stamp::Annotation => &["annotations"],
        Stamp::None => &[],
    };
    for field in fields {
        let pairs = metadata.entry(*field).or_insert_with(|| json!({}));
        if !pairs.is_object() {
            *pairs = json!({});
        }
        pairs[CLUSTER_KEY] = cluster.as_str().into();
    }
}

/// A list of `objects` of a kind, in the form that was asked for. Items of typed lists name no kind.
pub(crate) fn list_json(rendering: &Rendering, kind: &str, api_version: &str, objects: &[LiveObject]) -> Vec<u8> {
    let mut out = Vec::new();
    rendering.write_list_head(kind, api_version, "{}", &mut out);
    for (at, object) in objects.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        rendering.write_item(object, &mut out);
    }
    out.extend_from_slice(b"]}\n");
    out
}

fn write_json(value: &Value, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("it was JSON");
}

// === impl LiveObject ===

impl Shown for LiveObject {
    fn write_body(&self, out: &mut Vec<u8>) {
        write_json(&self.value, out);
    }

    fn write_item(&self, out: &mut Vec<u8>) {
        self.write_body(out);
    }

    fn write_metadata(&self, out: &mut Vec<u8>) {
        write_json(&self.value["metadata"], out);
    }

    fn write_cells(&self, table: &TableRendering, out: &mut Vec<u8>) {
        let mut body = Vec::new();
        self.write_body(&mut body);
        table.printer.live_cells(&body, &self.served.name, self.cluster.as_str(), table.now, out);
    }

    fn table_metadata(&self) -> String {
        "{}".to_owned()
    }
}

fn key_of(item: &Value) -> Option<ObjectKey> {
    let metadata = item.get("metadata")?;
    let name = metadata.get("name")?.as_str().filter(|name| !name.is_empty())?;
    Some(ObjectKey::new(metadata.get("namespace").and_then(Value::as_str).unwrap_or_default(), name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(cluster: &str, names: &[&str]) -> LivePart {
        let items: Vec<_> = names.iter().map(|name| json!({"metadata": {"name": name, "namespace": "a"}})).collect();
        let list =
            json!({"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": items});
        LivePart::read(ClusterName::new(cluster).unwrap(), list.to_string().as_bytes()).unwrap()
    }

    fn names(objects: &[LiveObject]) -> Vec<&str> {
        objects.iter().map(|object| &*object.served.name).collect()
    }

    #[test]
    fn objects_of_several_members_are_qualified_and_in_the_order_of_lists() {
        let parts = vec![part("east", &["b", "a"]), part("west", &["c", "a"])];
        let objects = merged(parts.clone(), Stamp::Label, true, |_, _| None);
        assert_eq!(names(&objects), ["a.east", "a.west", "b.east", "c.west"]);
        assert_eq!(names(&merged(parts[..1].to_vec(), Stamp::Label, false, |_, _| None)), ["a", "b"]);
        let shown = &objects[1].value["metadata"];
        assert_eq!(shown["name"], "a.west");
        assert_eq!(
            (&shown["labels"][CLUSTER_KEY], &shown["annotations"][CLUSTER_KEY]),
            (&json!("west"), &json!("west"))
        );
    }

    #[test]
    fn what_an_object_is_about_names_it() {
        let known = |cluster: &ClusterName, key: &ObjectKey| (cluster.as_str() == "east").then(|| key.clone());
        let objects = merged(vec![part("east", &["a"]), part("west", &["a"])], Stamp::None, true, known);
        assert_eq!(names(&objects), ["a", "a.west"]);
        assert!(objects.iter().all(|object| object.value["metadata"].get("labels").is_none()));
    }

    #[test]
    fn a_list_has_no_version() {
        let objects = merged(vec![part("east", &["a"])], Stamp::None, false, |_, _| None);
        let json = list_json(&Rendering::Plain, "PodMetrics", "metrics.k8s.io/v1beta1", &objects);
        assert_eq!(
            String::from_utf8(json).unwrap(),
            "{\"kind\":\"PodMetricsList\",\"apiVersion\":\"metrics.k8s.io/v1beta1\",\"metadata\":{},\
             \"items\":[{\"metadata\":{\"name\":\"a\",\"namespace\":\"a\"}}]}\n"
        );
    }

    #[test]
    fn what_is_no_list_is_told_in_words() {
        let read = |json: &str| LivePart::read(ClusterName::new("east").unwrap(), json.as_bytes()).unwrap_err();
        assert!(read("<html>").starts_with("its answer is no list: "));
        assert_eq!(read(r#"{"kind":"Status","apiVersion":"v1"}"#), "its answer is a Status, no list");
        assert_eq!(
            read(r#"{"kind":"XList","apiVersion":"g/v1","items":[{}]}"#),
            "its list has an object without a name"
        );
    }
}
