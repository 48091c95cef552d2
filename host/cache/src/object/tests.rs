//! The splice against serde_json: what it writes is what an edit of the parsed value would write, and all bytes that it
//! does not have to touch are the member's.

use std::sync::Arc;

use bytes::Bytes;
use orrery_api::{CLUSTER_KEY, CLUSTERS_KEY, ClusterName, Gvr, Naming, ObjectKey, Stamp, Uid};
use orrery_markers::{Digest, Marker, MemberObject, MemberVersion};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{BodyError, Interner, Object, Showing};
use crate::{FieldTable, Shape};

fn shape(stamp: Stamp) -> Shape {
    let gvr = Gvr::new("", "v1", "pods");
    let fields = FieldTable::of(&gvr, true);
    Shape { gvr, kind: "Pod".into(), namespaced: true, stamp, naming: Naming::Unique, fields }
}

fn cluster(name: &str) -> ClusterName {
    ClusterName::new(name).unwrap()
}

fn member(body: &str) -> MemberObject {
    MemberObject {
        key: ObjectKey::new("ns", "pod"),
        uid: Uid::new("u"),
        version: MemberVersion::from_number(7),
        digest: Digest::from_bits(0),
        terminating: false,
        body: Bytes::copy_from_slice(body.as_bytes()),
    }
}

fn splice(body: &str, served: &str, stamp: Stamp, holders: Option<&Arc<[ClusterName]>>) -> Result<Object, BodyError> {
    splice_as(body, served, &shape(stamp), holders)
}

fn splice_as(
    body: &str,
    served: &str,
    shape: &Shape,
    holders: Option<&Arc<[ClusterName]>>,
) -> Result<Object, BodyError> {
    let showing = Showing {
        marker: Marker::new(1_700_000_000_000_000).unwrap(),
        served: &ObjectKey::new("ns", served),
        cluster: &cluster("east"),
        holders,
    };
    Object::new(&member(body), &showing, shape, &mut Interner::default())
}

fn served(body: &str, stamp: Stamp) -> String {
    text(splice(body, "pod", stamp, None).unwrap().body())
}

fn text(parts: super::Parts<'_>) -> String {
    String::from_utf8(parts.to_bytes().to_vec()).unwrap()
}

const STAMPED: &str = r#""labels":{"orrery.dev/cluster":"east"},"annotations":{"orrery.dev/cluster":"east"}"#;

#[test]
fn an_item_of_a_typed_list_gets_types_marker_and_stamp_and_keeps_all_else() {
    let body =
        r#"{"metadata":{"name":"pod","namespace":"ns","resourceVersion":"7","uid":"u"},"spec":{"b":1,"a":[ 2 ]}}"#;
    let expected = format!(
        r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"pod","namespace":"ns","resourceVersion":"1700000000000000",{STAMPED},"uid":"u"}},"spec":{{"b":1,"a":[ 2 ]}}}}"#
    );
    let object = splice(body, "pod", Stamp::Label, None).unwrap();
    assert_eq!(text(object.body()), expected);
    assert_eq!(text(object.list_item()), expected.replacen(r#""kind":"Pod","apiVersion":"v1","#, "", 1));
    assert_eq!(
        text(object.partial()),
        format!(
            r#"{{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{}}}"#,
            text(object.metadata())
        )
    );
}

#[test]
fn a_typed_object_alone_has_its_types_in_its_body_and_not_in_its_list_item() {
    let body = r#"{ "kind" : "Pod", "apiVersion":"v1" , "metadata":{"name":"pod","resourceVersion":"7"}}"#;
    let object = splice(body, "pod", Stamp::None, None).unwrap();
    assert_eq!(text(object.body()), body.replace("\"7\"", "\"1700000000000000\""));
    assert_eq!(text(object.list_item()), r#"{ "metadata":{"name":"pod","resourceVersion":"1700000000000000"}}"#);
}

#[test]
fn a_custom_resource_keeps_its_types_in_its_list_item() {
    for body in [
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"pod","resourceVersion":"7"}}"#,
        r#"{"metadata":{"name":"pod","resourceVersion":"7"},"kind":"Pod","apiVersion":"v1"}"#,
        r#"{"kind":"Pod","metadata":{"name":"pod","resourceVersion":"7"},"apiVersion":"v1"}"#,
    ] {
        let object = splice(body, "pod", Stamp::None, None).unwrap();
        assert_eq!(text(object.list_item()), body.replace("\"7\"", "\"1700000000000000\""));
    }
}

#[test]
fn the_stamp_is_label_and_annotation_or_annotation_or_nothing() {
    let body = r#"{"metadata":{"name":"pod","resourceVersion":"7"}}"#;
    let value = |stamp| serde_json::from_str::<Value>(&served(body, stamp)).unwrap()["metadata"].clone();
    assert_eq!(value(Stamp::Label)["labels"], json!({CLUSTER_KEY: "east"}));
    assert_eq!(value(Stamp::Label)["annotations"], json!({CLUSTER_KEY: "east"}));
    assert_eq!(value(Stamp::Annotation)["labels"], Value::Null);
    assert_eq!(value(Stamp::Annotation)["annotations"], json!({CLUSTER_KEY: "east"}));
    assert_eq!(value(Stamp::None)["annotations"], Value::Null);
}

#[test]
fn a_label_of_the_object_that_has_the_stamps_name_shows_the_true_cluster_once() {
    let body = r#"{"metadata":{"name":"pod","resourceVersion":"7","labels":{"a":"b","orrery.dev/cluster":"liar"}}}"#;
    let object = splice(body, "pod", Stamp::Label, None).unwrap();
    assert!(text(object.body()).contains(r#""labels":{"a":"b","orrery.dev/cluster":"east"}"#));
    assert_eq!(object.labels().collect::<Vec<_>>(), [(CLUSTER_KEY, "east"), ("a", "b")]);
}

#[test]
fn one_object_of_several_clusters_names_them() {
    let holders: Arc<[_]> = [cluster("east"), cluster("west")].into();
    let body = r#"{"metadata":{"name":"pod","resourceVersion":"7","annotations":{"orrery.dev/clusters":"old"}}}"#;
    let object = splice(body, "pod", Stamp::Annotation, Some(&holders)).unwrap();
    let value: Value = serde_json::from_str(&text(object.body())).unwrap();
    assert_eq!(value["metadata"]["annotations"], json!({CLUSTER_KEY: "east", CLUSTERS_KEY: "east,west"}));
}

#[test]
fn a_deleted_object_differs_in_its_version_only() {
    let body = r#"{"metadata":{"name":"pod","resourceVersion":"7","uid":"u"},"spec":{"nodeName":"n"}}"#;
    let object = splice(body, "pod", Stamp::Label, None).unwrap();
    for marker in [9, 1_700_000_000_000_001] {
        let deleted = object.at_marker(Marker::new(marker).unwrap());
        let expected = text(object.body()).replace("1700000000000000", &marker.to_string());
        assert_eq!(text(deleted.body()), expected);
        assert_eq!(text(deleted.metadata()), text(object.metadata()).replace("1700000000000000", &marker.to_string()));
        let again = deleted.at_marker(object.marker());
        assert_eq!(text(again.list_item()), text(object.list_item()));
    }
}

#[test]
fn what_is_shown_can_be_shown_again_with_other_holders() {
    let holders = |names: &[&str]| Some(names.iter().map(|name| cluster(name)).collect::<Arc<[_]>>());
    let body = r#"{"metadata":{"name":"pod","resourceVersion":"7"}}"#;
    let first = splice(body, "pod", Stamp::Label, holders(&["east"]).as_ref()).unwrap();
    let both = holders(&["east", "west"]);
    let direct = splice(body, "pod", Stamp::Label, both.as_ref()).unwrap();
    let showing =
        Showing { marker: direct.marker(), served: direct.served(), cluster: direct.cluster(), holders: both.as_ref() };
    let again =
        Object::new(&first.as_member_object(), &showing, &shape(Stamp::Label), &mut Interner::default()).unwrap();
    assert_eq!(text(again.body()), text(direct.body()));
    assert_eq!(text(again.list_item()), text(direct.list_item()));
}

#[test]
fn values_of_selectable_fields_are_read_as_the_api_server_reads_them() {
    let body = r#"{"spec":{"nodeName":"n\u0031","hostNetwork":true,"x":{"nodeName":"no"}},"status":{"phase":null},"metadata":{"name":"pod"}}"#;
    let object = splice(body, "pod", Stamp::None, None).unwrap();
    let field = |name: &str| object.head.field(shape(Stamp::None).fields.meaning(name).unwrap()).to_owned();
    let expected = [
        ("metadata.name", "pod"),
        ("metadata.namespace", "ns"),
        ("spec.nodeName", "n1"),
        ("spec.host", "n1"),
        ("spec.hostNetwork", "true"),
        ("spec.schedulerName", ""),
        ("status.phase", ""),
        ("status.podIPs", ""),
    ];
    for (name, value) in expected {
        assert_eq!(field(name), value, "{name}");
    }
}

#[test]
fn a_custom_resource_has_the_fields_that_its_definition_names() {
    let paths = [".spec.colour", ".spec.size", ".spec.on", ".spec.list[0]", "spec.undotted"];
    let fields = FieldTable::custom(true, paths.into_iter());
    let body = r#"{"spec":{"size":7,"on":false},"metadata":{"name":"pod"}}"#;
    let shape = Shape { fields, ..shape(Stamp::None) };
    let object = splice_as(body, "pod", &shape, None).unwrap();
    let field = |name: &str| shape.fields.meaning(name).map(|meaning| object.head.field(meaning).to_owned());
    assert_eq!(field("spec.colour"), Ok(String::new()));
    assert_eq!(field("spec.size"), Ok("7".to_owned()));
    assert_eq!(field("spec.on"), Ok("false".to_owned()));
    for unknown in ["spec.list[0]", "spec.undotted", "spec"] {
        assert_eq!(field(unknown), Err(format!("field label not supported: {unknown}")));
    }
}

#[test]
fn bytes_that_are_not_one_object_are_errors() {
    let broken = [
        "",
        "[]",
        "{",
        r#"{"metadata":{"name":"pod"}"#,
        r#"{"metadata":{"name":"pod"}}}"#,
        r#"{"metadata":{"name":"pod"}} x"#,
        r#"{"metadata":{"name":"pod}}"#,
        r#"{"metadata":{"name":"pod",}}"#,
        r#"{"metadata":{"name":"pod"},"spec":[}]}"#,
        r#"{"metadata" {"name":"pod"}}"#,
        r#"{"metadata":{"name":"pod","labels":7}}"#,
        r#"{"metadata":{"name":"\ud800"}}"#,
    ];
    for body in broken {
        let error = splice(body, "pod", Stamp::Label, None).unwrap_err();
        assert!(matches!(error, BodyError::Syntax { .. } | BodyError::Escape { .. }), "{body}: {error:?}");
    }
    let error = |body| splice(body, "pod", Stamp::Label, None).unwrap_err().to_string();
    assert_eq!(error("{}"), "the object has no metadata");
    assert_eq!(error(r#"{"metadata":{}}"#), "the object has no metadata.name");
    assert_eq!(error(r#"{"metadata":{"name":"a"},"metadata":{}}"#), "the object has metadata twice");
    assert_eq!(error(r#"{"metadata":{"name":"a","labels":{},"labels":{}}}"#), "the object has metadata.labels twice");
}

/// Any JSON value, small.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any_text().prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any_text(), inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect()))
        ]
    })
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{0,6}", "[\\\\\"{}\\[\\],:\\n é\u{1F600}]{0,6}"]
}

fn any_map() -> impl Strategy<Value = Option<Value>> {
    let key = prop_oneof![3 => any_text(), 1 => Just(CLUSTER_KEY.to_owned()), 1 => Just(CLUSTERS_KEY.to_owned())];
    let map = prop::collection::vec((key, any_text().prop_map(Value::from)), 0..4);
    prop_oneof![
        Just(None),
        Just(Some(Value::Null)),
        map.prop_map(|pairs| Some(Value::Object(pairs.into_iter().collect())))
    ]
}

prop_compose! {
    /// An object with members in any order.
    fn any_object()(
        labels in any_map(),
        annotations in any_map(),
        version in prop::option::of("[0-9]{1,20}"),
        other in prop::collection::vec((any_text(), any_value()), 0..4),
        top in prop::collection::vec((any_text(), any_value()), 0..4),
        types in 0..3usize,
        metadata_at in 0..6usize,
        order in any::<prop::sample::Index>(),
    ) -> Vec<(String, Value)> {
        let mut metadata: Vec<(String, Value)> = vec![("name".into(), json!("pod"))];
        metadata.extend(version.map(|version| ("resourceVersion".into(), Value::from(version))));
        metadata.extend(labels.map(|labels| ("labels".into(), labels)));
        metadata.extend(annotations.map(|annotations| ("annotations".into(), annotations)));
        metadata.extend(other);
        let turn = order.index(metadata.len());
        metadata.rotate_left(turn);
        let mut members: Vec<(String, Value)> = match types {
            0 => vec![],
            1 => vec![("kind".into(), json!("Pod")), ("apiVersion".into(), json!("v1"))],
            _ => vec![("apiVersion".into(), json!("v1")), ("kind".into(), json!("Pod"))],
        };
        members.extend(top);
        let at = if types == 0 { metadata_at.min(members.len()) } else { metadata_at.clamp(2, members.len().max(2)) };
        members.insert(at, ("metadata".into(), Value::Object(metadata.into_iter().collect())));
        members
    }
}

/// Writes members in their order, with or without white space.
fn written(members: &[(String, Value)], is_pretty: bool) -> String {
    let mut seen = std::collections::HashSet::new();
    let members = members.iter().filter(|(key, _)| seen.insert(key.clone()));
    let one = |(key, value): &(String, Value)| {
        let value = if is_pretty { serde_json::to_string_pretty(value).unwrap() } else { value.to_string() };
        let (before, after) = if is_pretty { ("\n\t ", " \r\n") } else { ("", "") };
        format!("{before}{}{after}:{before}{value}{after}", Value::from(key.as_str()))
    };
    format!("{{{}}}", members.map(one).collect::<Vec<_>>().join(","))
}

fn stamp_into(map: &mut Value, pairs: &[(&str, &str)]) {
    if pairs.is_empty() {
        return;
    }
    if map.is_null() {
        *map = json!({});
    }
    pairs.iter().for_each(|(key, value)| map[*key] = json!(value));
}

/// What the served object is, made the slow way.
fn expected(body: &str, served: &str, stamp: Stamp, holders: Option<&Arc<[ClusterName]>>) -> Value {
    let mut value: Value = serde_json::from_str(body).unwrap();
    value["kind"] = json!("Pod");
    value["apiVersion"] = json!("v1");
    value["metadata"]["name"] = json!(served);
    value["metadata"]["resourceVersion"] = json!("1700000000000000");
    let names =
        holders.into_iter().flat_map(|holders| holders.iter()).map(ClusterName::as_str).collect::<Vec<_>>().join(",");
    let mut annotations = vec![(CLUSTER_KEY, "east")];
    annotations.extend(holders.map(|_| (CLUSTERS_KEY, &*names)));
    if stamp == Stamp::Label {
        stamp_into(&mut value["metadata"]["labels"], &[(CLUSTER_KEY, "east")]);
    }
    if stamp != Stamp::None {
        stamp_into(&mut value["metadata"]["annotations"], &annotations);
    }
    value
}

/// The index operator of serde_json makes absent members null; those do not count.
fn without_created_nulls(value: &mut Value, body: &str) {
    let original: Value = serde_json::from_str(body).unwrap();
    if let (Some(metadata), Some(original)) = (value["metadata"].as_object_mut(), original["metadata"].as_object()) {
        metadata.retain(|key, value| !value.is_null() || original.contains_key(key));
    }
}

fn any_stamp() -> impl Strategy<Value = Stamp> {
    prop_oneof![Just(Stamp::Label), Just(Stamp::Annotation), Just(Stamp::None)]
}

fn any_holders() -> impl Strategy<Value = Option<Arc<[ClusterName]>>> {
    prop_oneof![Just(None), Just(Some([cluster("east")].into())), Just(Some([cluster("east"), cluster("west")].into()))]
}

#[test]
fn an_object_without_its_bytes_fits_a_block_of_256_bytes() {
    let counts = 2 * size_of::<usize>();
    assert!(size_of::<Object>() + counts <= 256, "{}", size_of::<Object>());
}

proptest! {
    #[test]
    fn a_spliced_object_is_the_edited_one(
        members in any_object(), is_pretty: bool, served in "[a-z]{1,4}|pod", stamp in any_stamp(), holders in any_holders()
    ) {
        let body = written(&members, is_pretty);
        let object = splice(&body, &served, stamp, holders.as_ref()).unwrap();
        let mut expected = expected(&body, &served, stamp, holders.as_ref());
        without_created_nulls(&mut expected, &body);
        let parsed: Value = serde_json::from_slice(&object.body().to_bytes()).unwrap();
        prop_assert_eq!(&parsed, &expected);
        let metadata: Value = serde_json::from_slice(&object.metadata().to_bytes()).unwrap();
        prop_assert_eq!(&metadata, &expected["metadata"]);
        let mut item: Value = serde_json::from_slice(&object.list_item().to_bytes()).unwrap();
        if item.get("kind").is_none() {
            item["kind"] = json!("Pod");
            item["apiVersion"] = json!("v1");
        }
        prop_assert_eq!(&item, &expected);
    }

    #[test]
    fn slices_lengths_and_copies_of_a_body_agree(pad in 0..20_000usize) {
        let body = format!(r#"{{"metadata":{{"name":"pod"}},"pad":"{}"}}"#, "x".repeat(pad));
        let object = splice(&body, "pod", Stamp::Label, None).unwrap();
        for parts in [object.body(), object.list_item(), object.metadata(), object.partial()] {
            let mut written = Vec::new();
            parts.write_to(&mut written);
            prop_assert_eq!(parts.len(), written.len());
            prop_assert_eq!(parts.slices().collect::<Vec<_>>().concat(), written.clone());
            prop_assert_eq!(parts.bytes().collect::<Vec<_>>().concat(), written);
        }
    }

    #[test]
    fn cut_or_changed_bytes_never_panic(members in any_object(), at: prop::sample::Index, byte: u8, is_cut: bool) {
        let mut bytes = written(&members, false).into_bytes();
        let at = at.index(bytes.len());
        if is_cut { bytes.truncate(at) } else { bytes[at] = byte }
        let object = MemberObject { body: bytes.into(), ..member("") };
        let east = cluster("east");
        let showing = Showing { marker: Marker::MAX, served: &ObjectKey::new("ns", "pod"), cluster: &east, holders: None };
        if let Ok(object) = Object::new(&object, &showing, &shape(Stamp::Label), &mut Interner::default()) {
            prop_assert_eq!(object.at_marker(Marker::MAX).body().to_bytes(), object.body().to_bytes());
        }
    }
}
