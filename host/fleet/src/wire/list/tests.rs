use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn split(body: &[u8], cut: usize) -> Result<(Vec<Bytes>, ListEnd), WireError> {
    let mut list = ListItems::default();
    let mut items = Vec::new();
    for chunk in body.chunks(cut.max(1)) {
        list.push(&Bytes::copy_from_slice(chunk));
        while let Some(item) = list.next()? {
            items.push(item);
        }
    }
    Ok((items, list.end()?))
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a\\\\\"{}\\[\\],:\u{e9} \n]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z\"\\\\]{1,4}", inner, 0..4)
                .prop_map(|map| Value::from(map.into_iter().collect::<serde_json::Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_the_items_and_however_the_body_is_cut_the_items_come_out_as_they_went_in(
        items in prop::collection::vec(value(), 0..6),
        other in value(),
        cut in 1usize..40,
        pretty in any::<bool>(),
        metadata_last in any::<bool>(),
    ) {
        let metadata = ("metadata", json!({"resourceVersion": "17", "continue": "more"}));
        let mut fields = vec![("kind", json!("PodList")), ("odd", other), ("items", Value::from(items.clone()))];
        fields.insert(if metadata_last { 3 } else { 0 }, metadata);
        let write = |value: &Value| if pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) }.unwrap();
        let fields: Vec<_> = fields.iter().map(|(key, value)| format!("\"{key}\" : {}", write(value))).collect();
        let body = format!("{{{}}}\n", fields.join(" ,\n"));
        let (split, end) = split(body.as_bytes(), cut).unwrap();
        let split: Vec<Value> = split.iter().map(|item| serde_json::from_slice(item).unwrap()).collect();
        prop_assert_eq!(split, items);
        prop_assert_eq!(end, ListEnd { version: MemberVersion::from_number(17), next: "more".to_owned() });
    }
}

#[test]
fn an_item_keeps_its_bytes() {
    let body = br#"{"metadata":{"resourceVersion":"1"},"items":[{"a" : 1.0e3,"b":"\u003c\"}"},{}]}"#;
    let (items, end) = split(body, 3).unwrap();
    assert_eq!(items, [&br#"{"a" : 1.0e3,"b":"\u003c\"}"}"#[..], b"{}"]);
    assert_eq!(end.next, "");
}

#[test]
fn null_items_are_an_empty_list() {
    assert_eq!(split(br#"{"items":null,"metadata":{"resourceVersion":"1"}}"#, 99).unwrap().0.len(), 0);
}

#[test]
fn what_is_no_list_or_ends_early_is_an_error_and_never_a_short_list() {
    for body in [
        "<html>",
        "[]",
        "{\"items\":}",
        "{\"items\":{}}",
        "{\"items\":[}",
        "{}x",
        "{\"items\":[]}",
        "{\"metadata\":{\"resourceVersion\":\"1\"}}",
    ] {
        assert!(split(body.as_bytes(), 99).is_err(), "{body}");
    }
    let whole = br#"{"items":[{"a":1},{"b":2}],"metadata":{"resourceVersion":"1"}}"#;
    for length in 0..whole.len() {
        assert!(split(&whole[..length], 5).is_err(), "cut at {length}");
    }
    assert!(split(whole, 5).is_ok());
}
