use crate::status::Status;

/// The query of a URL. Where a parameter is repeated the first counts, and a parameter that nobody asks for is ignored,
/// as upstream (AM pkg/runtime/conversion.go) reads them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    raw: String,
    pairs: Vec<(String, String)>,
}

// === impl Query ===

impl Query {
    /// Reads the part of a URL after `?`.
    pub(crate) fn parse(raw: &str) -> Self {
        let pairs = form_urlencoded::parse(raw.as_bytes()).map(|(name, value)| (name.into_owned(), value.into_owned()));
        Self { raw: raw.to_owned(), pairs: pairs.collect() }
    }

    /// As it was sent.
    pub(crate) fn raw(&self) -> &str {
        &self.raw
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

/// A text in double quotes, as Go's `%q` prints the usual ones.
pub(crate) fn quoted(text: &str) -> String {
    format!("{text:?}")
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
