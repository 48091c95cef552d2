//! The parameters of a URL.

mod duration;

use std::borrow::Cow;

use crate::status::Status;

/// The query of a URL. Where a parameter is repeated the first counts, and a parameter that nobody asks for is ignored,
/// as upstream (AM pkg/runtime/conversion.go) reads them. One that Go's `net/url` cannot read (a bad escape, a semicolon)
/// is as absent as there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    raw: String,
    pairs: Vec<(String, String)>,
}

// === impl Query ===

impl Query {
    /// Reads the part of a URL after `?`.
    pub(crate) fn parse(raw: &str) -> Self {
        let readable = raw.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';'));
        let pairs = readable.filter_map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((unescaped(name)?, unescaped(value)?))
        });
        Self { raw: raw.to_owned(), pairs: pairs.collect() }
    }

    /// As it was sent.
    pub(crate) fn raw(&self) -> &str {
        &self.raw
    }

    /// `path` with it behind, as it was sent.
    pub(crate) fn behind(&self, path: String) -> String {
        if self.raw.is_empty() { path } else { format!("{path}?{}", self.raw) }
    }

    /// The first value of `name`.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All values of `name`.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.pairs.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The first value of `name`; empty where it is absent.
    pub(crate) fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }

    /// A boolean: only absence, `0` and `false` in any case are false; the empty text is true.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).map(|value| !(value == "0" || value.eq_ignore_ascii_case("false")))
    }

    /// Whether `name` is a duration as Go's `time.ParseDuration` reads it (`1m30s`), or is absent; 400 otherwise. Nothing
    /// here takes as long as any of them.
    pub(crate) fn check_timeout(&self, name: &str) -> Result<(), Status> {
        let invalid =
            |why: String| Status::bad_request(format!("invalid timeout specified in the request URL - {why}"));
        self.get(name).filter(|text| !text.is_empty()).map_or(Ok(()), duration::check).map_err(invalid)
    }

    /// A decimal number; 400 with the words of Go's `strconv` otherwise.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        self.get(name).map(parse_int).transpose().map_err(Status::bad_request)
    }
}

/// A decimal i64 as Go's `strconv.ParseInt` reads it, and its words where it does not.
fn parse_int(text: &str) -> Result<i64, String> {
    text.parse()
        .map_err(|error: std::num::ParseIntError| format!("strconv.ParseInt: {}", go_number_error(text, &error)))
}

/// What Go says of a text that is no number.
pub(crate) fn go_number_error(text: &str, error: &std::num::ParseIntError) -> String {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    let why = if matches!(error.kind(), PosOverflow | NegOverflow) { "value out of range" } else { "invalid syntax" };
    format!("parsing {}: {why}", quoted(text))
}

/// A text in double quotes, as Go's `%q` prints it.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0b' => out.push_str("\\v"),
            '\x0c' => out.push_str("\\f"),
            '\n' | '\r' | '\t' => out.extend(c.escape_default()),
            '\0'..='\x1f' | '\x7f' => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A part of a query in clear; `None` where an escape is none. What is no UTF-8 is replaced, as in Go's JSON.
fn unescaped(part: &str) -> Option<String> {
    let mut rest = part;
    while let Some((_, after)) = rest.split_once('%') {
        let is_escape = after.len() >= 2 && after.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
        rest = is_escape.then_some(after)?;
    }
    let spaced: Cow<'_, str> = if part.contains('+') { part.replace('+', " ").into() } else { part.into() };
    Some(percent_encoding::percent_decode_str(&spaced).decode_utf8_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_repeated_parameter_the_first_counts() {
        let query = Query::parse("limit=5&limit=x&a=%20b+c");
        assert_eq!(query.number("limit").unwrap(), Some(5));
        assert_eq!(query.get("a"), Some(" b c"));
        assert_eq!(query.number("absent").unwrap(), None);
    }

    #[test]
    fn what_go_cannot_read_is_as_absent_as_there() {
        let query = Query::parse("a=%zz&a=1&b=2;3&b&&=x&c=%e4%&d=a%2bb%20c+d&e=%C3");
        let seen = ["a", "b", "c", "d", "e", "", "zz"].map(|name| query.get(name));
        assert_eq!(seen, [Some("1"), Some(""), None, Some("a+b c d"), Some("\u{fffd}"), Some("x"), None]);
    }

    #[test]
    fn texts_are_quoted_as_go_quotes_them() {
        assert_eq!(quoted("a\"\\\n\0\u{7f}ä\u{308}\u{85}"), "\"a\\\"\\\\\\n\\x00\\x7fä\u{308}\\u0085\"");
    }

    #[test]
    fn only_absence_zero_and_false_are_false() {
        for (raw, expected) in [
            ("w=0", Some(false)),
            ("w=False", Some(false)),
            ("w=", Some(true)),
            ("w", Some(true)),
            ("w=no", Some(true)),
            ("", None),
        ] {
            assert_eq!(Query::parse(raw).flag("w"), expected, "{raw:?}");
        }
    }

    #[test]
    fn a_text_that_is_no_number_is_refused_in_the_words_of_go() {
        for (raw, message) in [
            ("limit=x", r#"strconv.ParseInt: parsing "x": invalid syntax"#),
            ("limit=", r#"strconv.ParseInt: parsing "": invalid syntax"#),
            ("limit=99999999999999999999", r#"strconv.ParseInt: parsing "99999999999999999999": value out of range"#),
        ] {
            assert_eq!(Query::parse(raw).number("limit").unwrap_err().message(), message);
        }
    }
}
