/// Indents JSON by two spaces, as Go's `json.MarshalIndent` does, while it streams by: state is a depth and two flags.
#[derive(Clone, Debug, Default)]
pub(crate) struct Indenter {
    depth: usize,
    /// Inside a text, and whether the next byte of it is escaped.
    text: Option<Escaped>,
    /// An opening bracket was written, and what follows decides whether it stays empty.
    opened: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escaped {
    No,
    Next,
}

// === impl Indenter ===

impl Indenter {
    /// Appends the indented form of the next part of a JSON text to `out`.
    pub(crate) fn feed(&mut self, json: &[u8], out: &mut Vec<u8>) {
        for &byte in json {
            match self.text {
                Some(_) => self.in_text(byte, out),
                None => self.structure(byte, out),
            }
        }
    }

    fn in_text(&mut self, byte: u8, out: &mut Vec<u8>) {
        out.push(byte);
        self.text = match (self.text, byte) {
            (Some(Escaped::Next), _) => Some(Escaped::No),
            (_, b'\\') => Some(Escaped::Next),
            (_, b'"') => None,
            _ => Some(Escaped::No),
        };
    }

    fn structure(&mut self, byte: u8, out: &mut Vec<u8>) {
        if byte.is_ascii_whitespace() {
            return;
        }
        let empty = std::mem::take(&mut self.opened);
        if matches!(byte, b'}' | b']') {
            self.depth = self.depth.saturating_sub(1);
            if !empty {
                self.new_line(out);
            }
            out.push(byte);
            return;
        }
        if empty {
            self.new_line(out);
        }
        out.push(byte);
        match byte {
            b'{' | b'[' => {
                self.depth += 1;
                self.opened = true;
            }
            b',' => self.new_line(out),
            b':' => out.push(b' '),
            b'"' => self.text = Some(Escaped::No),
            _ => {}
        }
    }

    fn new_line(&self, out: &mut Vec<u8>) {
        out.push(b'\n');
        out.resize(out.len() + 2 * self.depth, b' ');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn indented(json: &str, part: usize) -> String {
        let (mut indenter, mut out) = (Indenter::default(), Vec::new());
        for part in json.as_bytes().chunks(part) {
            indenter.feed(part, &mut out);
        }
        String::from_utf8(out).unwrap()
    }

    /// Any JSON value of a few levels.
    fn values() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            ".{0,8}".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::btree_map(".{0,4}", inner, 0..4)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_json_is_indented_as_serde_does_wherever_it_is_cut(value in values(), part in 1usize..20) {
            prop_assert_eq!(indented(&value.to_string(), part), serde_json::to_string_pretty(&value).unwrap());
        }
    }

    #[test]
    fn json_is_indented_as_go_does_wherever_it_is_cut() {
        let json = r#"{"a":{},"b":[],"c":[1,{"d":"x\"{,:"}],"e":null}
"#;
        let expected = "{\n  \"a\": {},\n  \"b\": [],\n  \"c\": [\n    1,\n    {\n      \"d\": \"x\\\"{,:\"\n    }\n  ],\n  \"e\": null\n}";
        for part in [1, 2, 3, 7, 1000] {
            assert_eq!(indented(json, part), expected, "in parts of {part}");
        }
    }
}
