use expect_test::expect;
use proptest::prelude::*;

use super::*;

/// The YAML of a JSON text that comes in parts of so many bytes.
fn written(json: &str, part: usize) -> String {
    let (mut writer, mut out) = (YamlWriter::default(), Vec::new());
    for part in json.as_bytes().chunks(part) {
        writer.feed(part, &mut out);
    }
    writer.finish(&mut out);
    String::from_utf8(out).unwrap()
}

/// Any JSON value of a few levels, with the texts that YAML might take for something else.
fn values() -> impl Strategy<Value = serde_json::Value> {
    let text = prop_oneof![
        "[ -~]{0,6}",
        "[a-z:#\\- \\n\\t\"'\\\\]{0,12}",
        ".{0,8}",
        "[\\x00-\\x1f\\x7f-\\xa0\u{2028}\u{feff}]{0,3}",
        "[0-9_.:xeE+\\-]{1,6}",
        Just("on".to_owned()),
        Just("Null".to_owned()),
        Just("12:30:45".to_owned()),
        Just("2026-11-30T11:00:00Z".to_owned()),
        Just("a\n\n b\n\n\n".to_owned()),
        Just("a\n".to_owned()),
    ];
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        text.clone().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::btree_map(text.clone(), inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_read_back_from_its_yaml(value in values(), part in 1usize..20) {
        let yaml = written(&value.to_string(), part);
        let read: serde_json::Value = serde_saphyr::from_str(&yaml).map_err(|error| TestCaseError::fail(format!("{error}\n{yaml}")))?;
        prop_assert_eq!(read, value, "{}", yaml);
    }
}

#[test]
fn an_object_is_written_in_block_style() {
    let json = r#"{"kind":"ConfigMap","metadata":{"name":"a","labels":{},"uid":"7a7327ec","resourceVersion":"284"},
        "data":{"text":"one\ntwo\n","spaced":" x","on":"off"},"items":[{"a":1,"b":[true,null]},[[2],[]],"- x"]}
"#;
    let expected = expect![[r#"
        kind: ConfigMap
        metadata:
          name: a
          labels: {}
          uid: "7a7327ec"
          resourceVersion: "284"
        data:
          text: |
            one
            two
          spaced: " x"
          "on": "off"
        items:
        - a: 1
          b:
          - true
          - null
        - - - 2
          - []
        - "- x"
    "#]];
    for part in [1, 2, 3, 7, 1000] {
        expected.assert_eq(&written(json, part));
    }
}
