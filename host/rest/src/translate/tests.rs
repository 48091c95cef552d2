use super::*;

const MARKER: u64 = 1_700_000_000_000_001;

fn border<'a>(cluster: &'a ClusterName) -> Border<'a> {
    Border {
        stamp: Stamp::Label,
        cluster,
        served: "web.east",
        name: "web",
        versions: Versions::Of(Some((Marker::new(MARKER).unwrap(), MemberVersion::from_number(7)))),
        own: Own::default(),
        service: None,
        owners: &[],
        renamed: &[],
    }
}

fn east() -> ClusterName {
    ClusterName::new("east").unwrap()
}

fn inward(json: &str, shape: Shape) -> Result<String, Refused> {
    let east = east();
    let (bytes, syntax) = Document::new(json.into(), Syntax::Json, shape).inward(&border(&east))?;
    assert_eq!(syntax, Syntax::Json);
    Ok(String::from_utf8(bytes).unwrap())
}

fn patched(json: &str) -> Result<String, Refused> {
    let east = east();
    let patch = JsonPatch::parse(json.as_bytes()).unwrap().inward(&border(&east))?;
    Ok(String::from_utf8(patch.to_bytes()).unwrap())
}

#[test]
fn an_object_goes_in_with_the_members_name_and_version_and_without_the_stamp() {
    let body = format!(
        r#"{{"kind":"Pod","metadata":{{"name":"web.east","resourceVersion":"{MARKER}","labels":{{"a":"b","orrery.dev/cluster":"east"}},"annotations":{{"orrery.dev/cluster":"east","orrery.dev/clusters":"x"}}}},"spec":{{"x":1.0,"x":2}}}}"#
    );
    let expected =
        r#"{"kind":"Pod","metadata":{"name":"web","resourceVersion":"7","labels":{"a":"b"}},"spec":{"x":1.0,"x":2}}"#;
    assert_eq!(inward(&body, Shape::Object).unwrap(), expected);
}

#[test]
fn what_says_nothing_that_is_translated_goes_in_as_it_came() {
    for body in [
        r#"{ "metadata" : { "name" : "other", "labels" : null } }"#,
        r#"{"metadata":{"resourceVersion":"0"}}"#,
        r#"{"metadata":{"resourceVersion":""}}"#,
        r#"{"metadata":[1]}"#,
        "[1]",
        "{",
        "",
    ] {
        assert_eq!(inward(body, Shape::Object).unwrap(), body);
    }
}

#[test]
fn a_version_that_is_not_the_current_one_is_a_conflict_wherever_it_stands() {
    for version in ["7", "1", "x", "1700000000000002"] {
        let metadata = format!(r#"{{"resourceVersion":"{version}"}}"#);
        let object = inward(&format!(r#"{{"metadata":{metadata}}}"#), Shape::Object);
        let deletion = inward(&format!(r#"{{"preconditions":{metadata}}}"#), Shape::Deletion);
        let eviction = inward(&format!(r#"{{"deleteOptions":{{"preconditions":{metadata}}}}}"#), Shape::Eviction);
        let patch = patched(&format!(r#"[{{"op":"test","path":"/metadata/resourceVersion","value":"{version}"}}]"#));
        assert_eq!([object, deletion, eviction, patch], [const { Err(Refused::Conflict) }; 4], "{version}");
    }
}

#[test]
fn preconditions_of_deletions_and_evictions_are_translated() {
    let options = format!(r#"{{"preconditions":{{"uid":"u","resourceVersion":"{MARKER}"}}}}"#);
    let expected = r#"{"preconditions":{"uid":"u","resourceVersion":"7"}}"#;
    assert_eq!(inward(&options, Shape::Deletion).unwrap(), expected);
    let eviction = format!(r#"{{"metadata":{{"name":"web.east"}},"deleteOptions":{options}}}"#);
    let expected = format!(r#"{{"metadata":{{"name":"web"}},"deleteOptions":{expected}}}"#);
    assert_eq!(inward(&eviction, Shape::Eviction).unwrap(), expected);
}

#[test]
fn what_goes_to_one_more_holder_of_a_name_says_nothing_of_version_and_uid() {
    let east = east();
    let border = Border { versions: Versions::Dropped, served: "", name: "made", ..border(&east) };
    let other = |body: &str, shape| {
        let (bytes, _) = Document::new(body.into(), Syntax::Json, shape).inward(&border).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let generated = r#"{"metadata":{"generateName":"m","resourceVersion":"5"}}"#;
    let expected = r#"{"metadata":{"generateName":"m","resourceVersion":"","name":"made"}}"#;
    assert_eq!(other(generated, Shape::Object), expected);
    assert_eq!(other(r#"{"a":1,"preconditions":{"uid":"u","resourceVersion":"5"}}"#, Shape::Deletion), r#"{"a":1}"#);
    let patch = br#"[{"op":"test","path":"/metadata/resourceVersion","value":"5"},{"op":"remove","path":"/a"}]"#;
    let patch = JsonPatch::parse(patch).unwrap().inward(&border).unwrap();
    assert_eq!(String::from_utf8(patch.to_bytes()).unwrap(), r#"[{"op":"remove","path":"/a"}]"#);
}

#[test]
fn a_stamp_that_names_another_cluster_is_refused_and_its_removal_means_nothing() {
    let refused = inward(r#"{"metadata":{"labels":{"orrery.dev/cluster":"west"}}}"#, Shape::Object).unwrap_err();
    assert!(matches!(&refused, Refused::OtherCluster { value, .. } if value == "west"), "{refused}");
    assert_eq!(
        refused.to_string(),
        "metadata.labels[orrery.dev/cluster]: \"west\" is another cluster than east, which holds the object; objects do \
         not move"
    );
    let removal = r#"{"metadata":{"labels":{"orrery.dev/cluster":null,"a":null}}}"#;
    assert_eq!(inward(removal, Shape::Object).unwrap(), r#"{"metadata":{"labels":{"a":null}}}"#);
}

#[test]
fn what_the_members_object_has_under_the_stamps_keys_survives_its_replacement() {
    let east = east();
    let object = r#"{"metadata":{"labels":{"orrery.dev/cluster":"mine","a":"b"},"annotations":{"x":"y"}}}"#;
    let own = Own::of(object, Stamp::Label);
    assert_eq!(own.labels, [("orrery.dev/cluster".to_owned(), "mine".to_owned())]);
    let border = Border { own, ..border(&east) };
    let replaced = |body: &str| {
        let document = Document::new(body.into(), Syntax::Json, Shape::Object);
        String::from_utf8(document.inward(&border).unwrap().0).unwrap()
    };
    for (body, expected) in [
        (
            r#"{"metadata":{"labels":{"a":"c","orrery.dev/cluster":"east"}}}"#,
            r#"{"metadata":{"labels":{"a":"c","orrery.dev/cluster":"mine"}}}"#,
        ),
        (r#"{"metadata":{"name":"x"}}"#, r#"{"metadata":{"name":"x","labels":{"orrery.dev/cluster":"mine"}}}"#),
    ] {
        assert_eq!(replaced(body), expected);
    }
}

#[test]
fn the_manifest_that_was_last_applied_goes_in_with_the_members_name() {
    let manifest = r#"{"kind":"Pod","metadata":{"labels":{"orrery.dev/cluster":"east"},"name":"web.east"}}"#;
    let body = serde_json::json!({"metadata": {"annotations": {LAST_APPLIED: format!("{manifest}\n")}}}).to_string();
    let inward = inward(&body, Shape::Object).unwrap();
    let inward: serde_json::Value = serde_json::from_str(&inward).unwrap();
    assert_eq!(
        inward["metadata"]["annotations"][LAST_APPLIED],
        "{\"kind\":\"Pod\",\"metadata\":{\"labels\":{},\"name\":\"web\"}}\n"
    );
}

#[test]
fn json_patches_are_translated_step_by_step() {
    for (patch, expected) in [
        (
            format!(r#"[{{"op":"replace","path":"/metadata/resourceVersion","value":"{MARKER}"}}]"#),
            r#"[{"op":"replace","path":"/metadata/resourceVersion","value":"7"}]"#,
        ),
        (
            r#"[{"op":"test","path":"/metadata/name","value":"web.east"},{"op":"remove","path":"/spec/x"}]"#.to_owned(),
            r#"[{"op":"test","path":"/metadata/name","value":"web"},{"op":"remove","path":"/spec/x"}]"#,
        ),
        (
            r#"[{"op":"test","path":"/metadata/labels/orrery.dev~1cluster","value":"east"},
                {"op":"remove","path":"/metadata/annotations/orrery.dev~1cluster"},
                {"op":"add","path":"/metadata/labels/orrery.dev~1cluster","value":"east"}]"#
                .to_owned(),
            "[]",
        ),
        (
            r#"[{"op":"replace","path":"/metadata/labels","value":{"orrery.dev/cluster":"east","a":"b"}}]"#.to_owned(),
            r#"[{"op":"replace","path":"/metadata/labels","value":{"a":"b"}}]"#,
        ),
        (
            r#"[{"op":"replace","path":"/metadata","value":{"name":"web.east"}},{"op":"copy","from":"/a","path":"/b"}]"#
                .to_owned(),
            r#"[{"op":"replace","path":"/metadata","value":{"name":"web"}},{"op":"copy","path":"/b","from":"/a"}]"#,
        ),
    ] {
        assert_eq!(patched(&patch).unwrap(), expected);
    }
    let test = r#"[{"op":"test","path":"/metadata/labels/orrery.dev~1cluster","value":"west"}]"#;
    assert!(matches!(patched(test), Err(Refused::TestFailed(_))));
    let other = r#"[{"op":"add","path":"/metadata/labels/orrery.dev~1cluster","value":"west"}]"#;
    assert!(matches!(patched(other), Err(Refused::OtherCluster { .. })));
}

#[test]
fn a_patch_into_a_map_that_only_the_stamp_makes_is_given_that_map() {
    let patch = JsonPatch::parse(br#"[{"op":"add","path":"/metadata/labels/a","value":"b"}]"#).unwrap();
    assert!(patch.enters(Pairs::Labels) && !patch.enters(Pairs::Annotations));
    assert_eq!(
        String::from_utf8(patch.with_map(Pairs::Labels).to_bytes()).unwrap(),
        r#"[{"op":"test","path":"/metadata/labels","value":null},{"op":"add","path":"/metadata/labels","value":{}},{"op":"add","path":"/metadata/labels/a","value":"b"}]"#
    );
}

#[test]
fn yaml_is_read_for_its_facts_and_stays_yaml_where_nothing_is_translated() {
    let east = east();
    let yaml = "metadata:\n  name: db # a comment\n  labels: {a: b}\n";
    let document = Document::new(yaml.into(), Syntax::Yaml, Shape::Object);
    assert_eq!(document.facts().name, "db");
    assert_eq!(document.inward(&border(&east)).unwrap(), (yaml.into(), Syntax::Yaml));
    let yaml = "metadata:\n  name: web.east\n";
    let (bytes, syntax) = Document::new(yaml.into(), Syntax::Yaml, Shape::Object).inward(&border(&east)).unwrap();
    assert_eq!((String::from_utf8(bytes).unwrap().as_str(), syntax), (r#"{"metadata":{"name":"web"}}"#, Syntax::Json));
}

/// A protobuf field that holds bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat()
}

fn enveloped(object: &[u8]) -> Vec<u8> {
    [b"k8s\0".as_slice(), &field(1, &field(2, b"Pod")), &field(2, object)].concat()
}

#[test]
fn protobuf_is_translated_without_its_schema() {
    let east = east();
    let entry = |key: &str, value: &str| field(11, &[field(1, key.as_bytes()), field(2, value.as_bytes())].concat());
    let object = |name: &str, version: &str, stamp: &[u8]| {
        let labels = [entry("a", "b"), stamp.to_vec()].concat();
        let metadata = [field(1, name.as_bytes()), vec![7 << 3, 5], field(6, version.as_bytes()), labels].concat();
        enveloped(&[field(1, &metadata), field(9, b"spec")].concat())
    };
    let sent = object("web.east", &MARKER.to_string(), &entry("orrery.dev/cluster", "east"));
    let document = Document::new(sent, Syntax::Protobuf, Shape::Object);
    let facts = document.facts();
    assert_eq!((facts.name.as_str(), facts.labels.len()), ("web.east", 2));
    assert_eq!(document.inward(&border(&east)).unwrap(), (object("web", "7", &[]), Syntax::Protobuf));

    let options = |version: &str| enveloped(&field(2, &[field(1, b"u"), field(2, version.as_bytes())].concat()));
    let deletion = |version: &str| Document::new(options(version), Syntax::Protobuf, Shape::Deletion);
    assert_eq!(deletion(&MARKER.to_string()).inward(&border(&east)).unwrap().0, options("7"));
    assert_eq!(deletion("8").inward(&border(&east)), Err(Refused::Conflict));
    let garbage = Document::new(b"k8s\0\xff\xff".to_vec(), Syntax::Protobuf, Shape::Object);
    assert!(matches!(garbage.inward(&border(&east)), Err(Refused::Malformed(_))));
}

/// A Service of `east` that goes in, whose member has `own` under the stamp's key.
fn service_inward(own: Option<&str>, extent: Extent, body: &str) -> Result<String, Refused> {
    let east = east();
    let own = Own { selector: own.map(str::to_owned), ..Own::default() };
    let border = Border { service: Some(extent), own, ..border(&east) };
    if let Some(patch) = JsonPatch::parse(body.as_bytes()) {
        return Ok(String::from_utf8(patch.inward(&border)?.to_bytes()).unwrap());
    }
    let (bytes, _) = Document::new(body.into(), Syntax::Json, Shape::Object).inward(&border)?;
    Ok(String::from_utf8(bytes).unwrap())
}

#[test]
fn a_services_selector_goes_in_without_its_own_cluster() {
    let stamped = r#"{"app":"a","orrery.dev/cluster":"east"}"#;
    for (body, expected) in [
        (format!(r#"{{"spec":{{"selector":{stamped}}}}}"#), r#"{"spec":{"selector":{"app":"a"}}}"#),
        (
            r#"{"spec":{"selector":{"orrery.dev/cluster":null}}}"#.to_owned(),
            r#"{"spec":{"selector":{"orrery.dev/cluster":null}}}"#,
        ),
        (
            format!(r#"[{{"op":"add","path":"/spec/selector","value":{stamped}}}]"#),
            r#"[{"op":"add","path":"/spec/selector","value":{"app":"a"}}]"#,
        ),
        (
            format!(r#"[{{"op":"replace","path":"/spec","value":{{"selector":{stamped}}}}}]"#),
            r#"[{"op":"replace","path":"/spec","value":{"selector":{"app":"a"}}}]"#,
        ),
        (r#"[{"op":"add","path":"/spec/selector/orrery.dev~1cluster","value":"east"}]"#.to_owned(), "[]"),
        (
            r#"[{"op":"remove","path":"/spec/selector/orrery.dev~1cluster"}]"#.to_owned(),
            r#"[{"op":"remove","path":"/spec/selector/orrery.dev~1cluster"}]"#,
        ),
    ] {
        assert_eq!(service_inward(None, Extent::Whole, &body).unwrap(), expected);
    }
    let other_kind = format!(r#"{{"spec":{{"selector":{stamped}}}}}"#);
    assert_eq!(inward(&other_kind, Shape::Object).unwrap(), other_kind);
}

#[test]
fn a_selector_of_another_cluster_or_of_a_cluster_alone_is_refused() {
    let body = |selector: &str| format!(r#"{{"spec":{{"selector":{selector}}}}}"#);
    let refused = |body: &str| service_inward(None, Extent::Whole, body).unwrap_err();
    assert_eq!(
        refused(&body(r#"{"app":"a","orrery.dev/cluster":"west"}"#)).to_string(),
        "spec.selector[orrery.dev/cluster]: \"west\" is another cluster than east, which holds the object; objects do not \
         move"
    );
    let alone = r#"{"orrery.dev/cluster":"east"}"#;
    assert_eq!(refused(&body(alone)), Refused::OnlyCluster);
    let patch = format!(r#"[{{"op":"replace","path":"/spec/selector","value":{alone}}}]"#);
    assert_eq!(refused(&patch), Refused::OnlyCluster);
    // A patch that only adds what is there changes nothing.
    assert_eq!(service_inward(None, Extent::Change, &body(alone)).unwrap(), body("{}"));
}

#[test]
fn what_a_members_service_selects_by_itself_stays() {
    for own in ["east", "mine"] {
        let body = format!(r#"{{"spec":{{"selector":{{"orrery.dev/cluster":"{own}"}}}}}}"#);
        assert_eq!(service_inward(Some(own), Extent::Whole, &body).unwrap(), body);
        let shown = Own::default().with_selector_of(&body);
        assert_eq!(shown.selector.as_deref(), Some(own));
    }
}

#[test]
fn a_service_in_protobuf_goes_in_without_its_own_cluster() {
    let east = east();
    let border = Border { service: Some(Extent::Whole), ..border(&east) };
    let entry = |key: &str, value: &str| field(2, &[field(1, key.as_bytes()), field(2, value.as_bytes())].concat());
    let service = |selector: &[Vec<u8>]| enveloped(&field(2, &[selector.concat(), field(3, b"10.0.0.9")].concat()));
    let inward = |selector: &[Vec<u8>]| {
        Document::new(service(selector), Syntax::Protobuf, Shape::Object).inward(&border).map(|(bytes, _)| bytes)
    };
    let (app, stamp) = (entry("app", "a"), entry("orrery.dev/cluster", "east"));
    assert_eq!(inward(&[app.clone(), stamp.clone()]).unwrap(), service(&[app]));
    assert_eq!(inward(&[stamp]), Err(Refused::OnlyCluster));
}

/// What of each resource names another object, and bodies that do, in JSON and in protobuf.
fn mentioning(name: &str) -> Vec<(Place, Mention, String, Vec<u8>)> {
    let reference = |kind: &str, namespace: &str| Mention {
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
    };
    let json = |kind: &str, namespace: &str| {
        format!(r#"{{"kind":"{kind}","namespace":"{namespace}","name":"{name}","apiVersion":"v1"}}"#)
    };
    let protobuf = |kind: &str, namespace: &str| {
        [(1, kind), (2, namespace), (3, name), (5, "v1")].map(|(number, text)| field(number, text.as_bytes())).concat()
    };
    let label = [field(1, SERVICE_LABEL.as_bytes()), field(2, name.as_bytes())].concat();
    let mut all = vec![
        (
            Place::NodeName,
            Mention::node(name.to_owned()),
            format!(r#"{{"spec":{{"nodeName":"{name}"}}}}"#),
            field(2, &[field(9, b"x"), field(10, name.as_bytes())].concat()),
        ),
        (
            Place::ServiceLabel,
            Mention::service(name.to_owned()),
            format!(r#"{{"metadata":{{"labels":{{"{SERVICE_LABEL}":"{name}"}}}}}}"#),
            field(1, &field(11, &label)),
        ),
    ];
    let references =
        [("", "bindings", "Node", ""), ("", "events", "Pod", "a"), ("events.k8s.io", "events", "Pod", "a")];
    for (group, resource, kind, namespace) in references {
        for place in Place::of(group, resource, None) {
            let Place::Reference(of) = place else { panic!("{place:?}") };
            let object = format!(r#"{{"{}":{}}}"#, of.member, json(kind, namespace));
            let number = u8::try_from(of.number).unwrap();
            all.push((place, reference(kind, namespace), object, field(number, &protobuf(kind, namespace))));
        }
    }
    all
}

#[test]
fn names_of_other_objects_in_bodies_become_those_that_the_member_has() {
    let east = east();
    let (served, members) = (mentioning("node-1.east"), mentioning("node-1"));
    assert_eq!(served.len(), 7);
    for ((place, mention, json, protobuf), (_, _, json_inward, protobuf_inward)) in served.into_iter().zip(members) {
        let renamed = [Renamed { place, from: "node-1.east".to_owned(), to: "node-1".to_owned() }];
        let border = Border { renamed: &renamed, ..border(&east) };
        for (body, expected, syntax) in [
            (json.into_bytes(), json_inward.into_bytes(), Syntax::Json),
            (enveloped(&protobuf), enveloped(&protobuf_inward), Syntax::Protobuf),
        ] {
            let document = Document::new(body, syntax, Shape::Object);
            assert_eq!(document.mention(place).as_ref(), Some(&mention), "{place:?} {syntax:?}");
            let (once, _) = document.inward(&border).unwrap();
            assert_eq!(once, expected, "{place:?} {syntax:?}");
            // What says the member's name already, or nothing, stays.
            let again = Document::new(once, syntax, Shape::Object).inward(&border).unwrap().0;
            assert_eq!(again, expected, "{place:?} {syntax:?}");
        }
        for syntax in [Syntax::Json, Syntax::Protobuf] {
            let empty = if syntax == Syntax::Json { b"{}".to_vec() } else { enveloped(&[]) };
            assert_eq!(Document::new(empty, syntax, Shape::Object).mention(place), None);
        }
    }
}
