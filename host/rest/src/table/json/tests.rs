use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::*;

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Example {
    text: String,
    number: i64,
    flag: bool,
    inner: Option<Inner>,
    list: Vec<String>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Inner {
    text: String,
}

#[test]
fn what_no_field_asks_for_is_passed_over() {
    let body = br#" { "skip" : {"a":[1,{"b":"}]\\\"{"}],"c":null} , "text":"x", "more":[[],{}], "number" : -7,
        "s":"\"}","flag":true,"inner":{"x":[{}],"text":"y"},"n":1e9,"list":["a","b"] } "#;
    let inner = Some(Inner { text: "y".into() });
    let list = vec!["a".into(), "b".into()];
    assert_eq!(read::<Example>(body).unwrap(), Example { text: "x".into(), number: -7, flag: true, inner, list });
}

#[test]
fn null_is_absent() {
    let body = br#"{"text":null,"number":null,"flag":null,"inner":null,"list":null}"#;
    assert_eq!(read::<Example>(body).unwrap(), Example::default());
}

#[test]
fn escapes_are_read_in_values_and_names() {
    let body = r#"{"te\u0078t":"\u00e9\ud83d\ude00\n\"\\","list":["é"]}"#.as_bytes();
    let read: Example = read(body).unwrap();
    assert_eq!((&*read.text, &*read.list[0]), ("é😀\n\"\\", "é"));
}

#[test]
fn what_is_cut_off_or_of_another_shape_is_unreadable() {
    let body = br#"{"skip":{"a":["b\"",{"c":1}]},"text":"x","inner":{"text":"y"},"list":["a"]}"#;
    for length in 0..body.len() {
        assert!(read::<Example>(&body[..length]).is_err(), "{length} bytes");
    }
    for body in
        [r#"{"text":5}"#, r#"{"number":"5"}"#, r#"{"inner":[]}"#, "[]", "{,}", r#"{"text":"\x"}"#, r#"{"flag":tru}"#]
    {
        assert!(read::<Example>(body.as_bytes()).is_err(), "{body}");
    }
}

#[test]
fn depth_costs_no_stack() {
    let depth = 200_000;
    let body = format!(r#"{{"skip":{}{},"text":"x"}}"#, "[".repeat(depth), "]".repeat(depth));
    assert_eq!(read::<Example>(body.as_bytes()).unwrap().text, "x");
}

/// Any JSON, with what a scan by quotes and brackets may get wrong.
fn json() -> impl Strategy<Value = Value> {
    let text =
        prop::collection::vec(prop::sample::select(vec!["\"", "\\", "{", "}", "[", "]", "a", "é", "[{;", "\n"]), 0..40);
    let text = text.prop_map(|parts| Value::from(parts.concat()));
    let leaf =
        prop_oneof![text, any::<i32>().prop_map(Value::from), any::<bool>().prop_map(Value::from), Just(Value::Null)];
    leaf.prop_recursive(6, 200, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((r#"[a"\\{}\[\]]{0,20}"#, inner), 0..6).prop_map(|pairs| pairs.into_iter().collect()),
        ]
    })
}

/// Without the members that are null.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().filter(|(_, value)| !value.is_null());
            members.map(|(key, value)| (key, without_nulls(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

proptest! {
    #[test]
    fn whatever_is_read_is_what_serde_json_reads(value in json(), pretty: bool) {
        let body = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        prop_assert_eq!(read::<Value>(body.as_bytes()).unwrap(), without_nulls(value));
    }

    #[test]
    fn whatever_is_passed_over_ends_where_it_ends(value in json(), padding in 0..70usize) {
        let body = format!(r#"{{"{}":{value},"text":"behind"}}"#, "p".repeat(padding));
        prop_assert_eq!(read::<Example>(body.as_bytes()).unwrap().text, "behind");
        let members: BTreeMap<String, IgnoredAny> = read(body.as_bytes()).unwrap();
        prop_assert!(members.contains_key("text"));
    }

    #[test]
    fn no_input_panics(body: Vec<u8>, text in r#"[{}\[\]",:\\a0n ]{0,200}"#) {
        let _ = read::<Value>(&body);
        let _ = read::<Example>(&body);
        let _ = read::<Value>(text.as_bytes());
        let _ = read::<Example>(text.as_bytes());
    }
}
