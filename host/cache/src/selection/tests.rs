//! Tables of selectors: what they select, and the API server's words where they are none. The words were read from
//! apimachinery 0.37 and kubernetes 1.37.

use bytes::Bytes;
use orrery_api::{ClusterName, Gvr, Naming, ObjectKey, Stamp, Uid};
use orrery_markers::{Digest, Marker, MemberObject, MemberVersion};

use super::{FieldSelector, LabelSelector, Selection};
use crate::object::{Interner, Showing};
use crate::{FieldTable, Object, Shape};

fn table(group: &str, resource: &str) -> FieldTable {
    FieldTable::of(&Gvr::new(group, "v1", resource), true)
}

/// An object of `resource` in cluster east with this JSON.
fn object(group: &str, resource: &str, body: &str) -> Object {
    let gvr = Gvr::new(group, "v1", resource);
    let fields = FieldTable::of(&gvr, true);
    let shape =
        Shape { gvr, kind: "Kind".into(), namespaced: true, stamp: Stamp::None, naming: Naming::Unique, fields };
    let key = ObjectKey::new("ns", "name");
    let body = Bytes::copy_from_slice(body.as_bytes());
    let version = MemberVersion::from_number(1);
    let object = MemberObject {
        key: key.clone(),
        uid: Uid::new("u"),
        version,
        digest: Digest::from_bits(0),
        terminating: false,
        body,
    };
    let cluster = ClusterName::new("east").unwrap();
    let showing = Showing { marker: Marker::MAX, served: &key, cluster: &cluster, holders: None };
    Object::new(&object, &showing, &shape, &mut Interner::default()).unwrap()
}

fn labelled() -> Object {
    object("", "pods", r#"{"metadata":{"name":"name","labels":{"app":"web","tier":"","n":"10","example.com/x":"y"}}}"#)
}

#[test]
fn label_selectors_select_as_the_api_server_does() {
    let cases = [
        ("", true),
        ("app", true),
        ("!app", false),
        ("nope", false),
        ("!nope", true),
        ("app=web", true),
        ("app==web", true),
        ("app = web", true),
        ("app=web,tier=", true),
        ("tier", true),
        ("app=db", false),
        ("app!=db", true),
        ("app!=web", false),
        ("nope!=web", true),
        ("nope=", false),
        ("app in (web,db)", true),
        ("app in (db)", false),
        ("app notin (db)", true),
        ("app notin (web)", false),
        ("nope notin (web)", true),
        ("tier in ()", true),
        ("tier in (,a)", true),
        ("app in (,a)", false),
        ("n>9", true),
        ("n>10", false),
        ("n<11", true),
        ("app>1", false),
        ("nope<1", false),
        ("example.com/x=y,app=web", true),
        ("example.com/x=y,app=db", false),
        ("orrery.dev/cluster=east", true),
        ("orrery.dev/cluster!=east", false),
        ("orrery.dev/cluster in (west,east)", true),
        ("orrery.dev/cluster", true),
    ];
    let object = labelled();
    for (text, selected) in cases {
        let selection = Selection { labels: LabelSelector::parse(text).unwrap(), ..Selection::everything() };
        assert_eq!(selection.selects(&object), selected, "{text}");
    }
}

#[test]
fn label_selectors_are_printed_as_the_api_server_prints_them() {
    for (text, printed) in [
        ("b=1, a in (y,x) ,!c", "a in (x,y),b=1,!c"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("a==b,c!=d", "a==b,c!=d"),
        ("x notin (),y>05", "x notin (),y>5"),
        ("a", "a"),
    ] {
        assert_eq!(LabelSelector::parse(text).unwrap().to_string(), printed);
    }
}

#[test]
fn texts_that_are_no_label_selector_are_refused_in_the_api_servers_words() {
    let value_rule = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
        start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
        '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    let key_rule = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
        alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
        '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let cases = [
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a (b)", "unable to parse requirement: found '(', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (!)", "unable to parse requirement: found '!', expected: ',', ')' or identifier"),
        ("a in (b,!)", "unable to parse requirement: found '!', expected: ',', or identifier"),
        ("a=!", "unable to parse requirement: found '!', expected: identifier"),
        (
            "a>b",
            "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
    ];
    for (text, error) in cases {
        assert_eq!(LabelSelector::parse(text).unwrap_err().to_string(), error, "{text}");
    }
    let error = |text: &str| LabelSelector::parse(text).unwrap_err().to_string();
    assert_eq!(
        error("a=b/c"),
        format!("unable to parse requirement: values[0][a]: Invalid value: \"b/c\": {value_rule}")
    );
    assert_eq!(error("-a=b"), format!("unable to parse requirement: <nil>: Invalid value: \"-a\": {key_rule}"));
    assert_eq!(error("/a"), "unable to parse requirement: <nil>: Invalid value: \"/a\": prefix part must be non-empty");
    assert!(error("a/b/c").contains("with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"));
    assert!(error(&format!("a={}", "x".repeat(64))).ends_with("must be no more than 63 bytes"));
    assert!(error("a in (-,b/)").contains("[values[0][a]: "), "{}", error("a in (-,b/)"));
}

#[test]
fn a_selector_admits_the_clusters_that_its_virtual_label_allows() {
    let east = ClusterName::new("east").unwrap();
    for (text, admitted) in [
        ("", true),
        ("app=web", true),
        ("orrery.dev/cluster=east", true),
        ("orrery.dev/cluster=west", false),
        ("orrery.dev/cluster notin (west)", true),
        ("!orrery.dev/cluster", false),
    ] {
        assert_eq!(LabelSelector::parse(text).unwrap().admits_cluster(&east), admitted, "{text}");
    }
}

#[test]
fn what_members_are_asked_is_the_selector_without_the_virtual_label() {
    let rest = |text: &str| LabelSelector::parse(text).unwrap().without_cluster().to_string();
    assert_eq!(rest("app in (a,b),orrery.dev/cluster=east,!x"), "app in (a,b),!x");
    assert_eq!(rest("orrery.dev/cluster notin (west)"), "");
}

#[test]
fn field_selectors_select_as_the_api_server_does() {
    let pod = r#"{"metadata":{"name":"name"},"spec":{"nodeName":"n,1","restartPolicy":"Always"},"status":{"phase":"Running","podIP":"10.0.0.1"}}"#;
    let event = r#"{"metadata":{"name":"name"},"involvedObject":{"kind":"Pod","name":"p"},"source":{"component":""},"reportingComponent":"kubelet","type":"Normal"}"#;
    let cases = [
        ("", "pods", pod, "metadata.name=name,metadata.namespace=ns", true),
        ("", "pods", pod, "metadata.name!=name", false),
        ("", "pods", pod, "spec.nodeName=n\\,1", true),
        ("", "pods", pod, "spec.nodeName==n\\,1,status.phase!=Failed", true),
        ("", "pods", pod, "spec.host=other", false),
        ("", "pods", pod, "spec.hostNetwork=false,status.podIP=10.0.0.1", true),
        ("", "pods", pod, "status.nominatedNodeName=", true),
        ("", "nodes", r#"{"metadata":{"name":"name"}}"#, "spec.unschedulable=false", true),
        ("", "nodes", r#"{"metadata":{"name":"name"},"spec":{"unschedulable":true}}"#, "spec.unschedulable=true", true),
        ("batch", "jobs", r#"{"metadata":{"name":"name"},"status":{"succeeded":3}}"#, "status.successful=3", true),
        ("batch", "jobs", r#"{"metadata":{"name":"name"}}"#, "status.successful=0", true),
        (
            "",
            "replicationcontrollers",
            r#"{"metadata":{"name":"name"},"status":{"replicas":2}}"#,
            "status.replicas=2",
            true,
        ),
        ("", "events", event, "involvedObject.kind=Pod,involvedObject.name=p,type!=Warning", true),
        ("", "events", event, "source=kubelet,reportingComponent=kubelet,reason=", true),
        ("", "secrets", r#"{"metadata":{"name":"name"},"type":"Opaque"}"#, "type=Opaque", true),
        ("", "configmaps", r#"{"metadata":{"name":"name"}}"#, ",metadata.name=name,", true),
    ];
    for (group, resource, body, text, selected) in cases {
        let fields = FieldSelector::parse(text, &table(group, resource)).unwrap();
        let selection = Selection { fields, ..Selection::everything() };
        assert_eq!(selection.selects(&object(group, resource, body)), selected, "{resource} {text}");
    }
}

#[test]
fn texts_that_are_no_field_selector_are_refused_in_the_api_servers_words() {
    let cases = [
        ("", "pods", "spec.foo=1", "field label not supported: spec.foo"),
        ("", "nodes", "metadata.namespace=a", "field label not supported: metadata.namespace"),
        ("", "pods", "metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("", "pods", "metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
        ("", "pods", "metadata.name=a\\b", "invalid field selector: invalid escape sequence: \\b"),
        ("", "pods", "metadata.name=a\\", "invalid field selector: invalid escape sequence: \\"),
        ("batch", "jobs", "spec.x=1", "field label \"spec.x\" not supported for Job"),
        (
            "resource.k8s.io",
            "resourceslices",
            "x=1",
            "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: x",
        ),
        (
            "apps",
            "deployments",
            "x=1",
            "\"x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
        ),
        ("example.com", "widgets", "spec.x=1", "field label not supported: spec.x"),
    ];
    for (group, resource, text, error) in cases {
        let refused = FieldSelector::parse(text, &table(group, resource)).unwrap_err();
        assert_eq!(refused.to_string(), error, "{resource} {text}");
    }
    let clustered = FieldTable::of(&Gvr::new("example.com", "v1", "widgets"), false);
    assert!(FieldSelector::parse("metadata.namespace=a", &clustered).is_err());
}

#[test]
fn a_field_selector_says_which_name_it_requires() {
    let parse = |text| FieldSelector::parse(text, &table("", "pods")).unwrap();
    assert_eq!(parse("status.phase=Running,metadata.name=a").name(), Some("a"));
    assert_eq!(parse("metadata.name!=a").name(), None);
    assert_eq!(parse("metadata.namespace==b").namespace(), Some("b"));
    assert_eq!(parse("spec.nodeName=a\\=b,metadata.name=c").to_string(), "metadata.name=c,spec.nodeName=a\\=b");
}
