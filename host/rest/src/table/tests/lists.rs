//! What is printed of an object for the sake of the others in its list.

use std::sync::Arc;

use bytes::Bytes;
use orrery_api::{ClusterName, Gvr, Naming, ObjectKey, Stamp, Uid};
use orrery_cache::{BaseObject, Budget, FieldTable, Metrics, Object, Shape, resource};
use orrery_markers::{Digest, Marker, MemberObject, MemberVersion};
use serde_json::{Value, json};

use super::{Printer, now};

/// A list of `resource` in the order of its names: each of a cluster, with a name and other fields.
fn list(resource_name: &Gvr, objects: &[(&str, &str, Value)]) -> Vec<Arc<Object>> {
    let fields = FieldTable::of(resource_name, false);
    let (gvr, kind) = (resource_name.clone(), "Kind".into());
    let shape = Shape { gvr, kind, namespaced: false, stamp: Stamp::Label, naming: Naming::Unique, fields };
    let (mut writer, reader) = resource(shape, &Budget::new(1 << 30), &Metrics::default());
    let base = objects.iter().zip(1..).map(|((cluster, name, fields), at)| {
        let mut body = fields.clone();
        body["metadata"]["name"] = json!(name);
        body["metadata"]["resourceVersion"] = json!("7");
        let object = MemberObject {
            key: ObjectKey::new("", name),
            uid: Uid::new(name),
            version: MemberVersion::from_number(7),
            digest: Digest::from_bits(0),
            terminating: false,
            body: Bytes::from(body.to_string()),
        };
        let (served, cluster) = (ObjectKey::new("", name), ClusterName::new(cluster).unwrap());
        BaseObject { served, marker: Marker::new(at).unwrap(), cluster, object, holders: None }
    });
    assert!(writer.begin(base.collect(), Vec::new(), Marker::new(100).unwrap()).is_empty());
    reader.latest().range(None, None).cloned().collect()
}

/// The names that are printed, in their order.
fn names(printer: &Printer, mut objects: Vec<Arc<Object>>) -> Vec<String> {
    let marks = printer.list(&mut objects);
    let name = |object: &Arc<Object>| {
        let mut out = b"{".to_vec();
        printer.cells(object, &marks, now(), &mut out);
        out.push(b'}');
        let row: Value = serde_json::from_slice(&out).unwrap();
        row["cells"][0].as_str().unwrap().to_owned()
    };
    objects.iter().map(name).collect()
}

fn class(created: &str, default: &str) -> Value {
    let annotations = json!({"storageclass.kubernetes.io/is-default-class": default});
    json!({"metadata": {"creationTimestamp": created, "annotations": annotations}})
}

#[test]
fn each_clusters_youngest_default_class_is_the_default() {
    let gvr = Gvr::new("storage.k8s.io", "v1", "storageclasses");
    let printer = Printer::for_resource(&gvr, None, true);
    assert!(printer.looks_at_lists());
    let (old, new) = ("2026-01-01T00:00:00Z", "2026-02-02T00:00:00Z");
    let classes = list(
        &gvr,
        &[
            ("east", "a", class(new, "false")),
            ("east", "b", class(old, "true")),
            ("east", "c", class(new, "true")),
            ("east", "d", class(new, "true")),
            ("west", "e", class(old, "true")),
            ("south", "f", json!({})),
        ],
    );
    assert_eq!(names(&printer, classes), ["a", "b", "c (default)", "d", "e (default)", "f"]);
}

#[test]
fn flow_schemas_are_listed_in_the_order_in_which_they_are_tried() {
    let gvr = Gvr::new("flowcontrol.apiserver.k8s.io", "v1", "flowschemas");
    let printer = Printer::for_resource(&gvr, None, true);
    assert!(printer.looks_at_lists());
    let precedence = |number: i64| json!({"spec": {"matchingPrecedence": number}});
    let schemas = list(
        &gvr,
        &[
            ("east", "a", precedence(900)),
            ("east", "b", precedence(5)),
            ("west", "c", precedence(900)),
            ("west", "d", precedence(1)),
        ],
    );
    assert_eq!(names(&printer, schemas), ["d", "b", "a", "c"]);
}

#[test]
fn other_lists_are_printed_as_they_come() {
    let gvr = Gvr::new("", "v1", "nodes");
    let printer = Printer::for_resource(&gvr, None, true);
    assert!(!printer.looks_at_lists());
    assert_eq!(names(&printer, list(&gvr, &[("east", "b", json!({})), ("east", "a", json!({}))])), ["a", "b"]);
}
