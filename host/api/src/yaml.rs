//! YAML that people write: what is wrong in it is said with its place and the nearest right name.

use std::mem;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_saphyr::{DefaultMessageFormatter, Location, MessageFormatter as _};

/// Why a text is not what it should be.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{place}: {problem}")]
pub struct YamlError {
    /// Where in the text.
    pub place: Place,
    /// What is wrong, and what would be right.
    pub problem: String,
}

/// A place in a text, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Line.
    pub line: u64,
    /// Column, in characters.
    pub column: u64,
}

/// The `T` that `text` spells.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    serde_saphyr::from_str(text).map_err(|error| YamlError::of(&error))
}

/// The documents of `text` that say anything, each below as many empty lines as put what stands in it at its own place.
///
/// # Errors
/// One is no YAML.
pub(crate) fn documents(text: &str) -> Result<Vec<String>, YamlError> {
    let (mut documents, mut document) = (Vec::new(), String::new());
    for (at, line) in text.lines().chain(["---"]).enumerate() {
        let Some(rest) = after_marker(line) else {
            document.push_str(line);
            document.push('\n');
            continue;
        };
        let whole = mem::replace(&mut document, format!("{}   {rest}\n", "\n".repeat(at)));
        if !parse::<Option<Value>>(&whole)?.is_none_or(|value| value.is_null()) {
            documents.push(whole);
        }
    }
    Ok(documents)
}

/// What follows the marker that ends a document and begins another (YAML 1.2, 9.1.2).
fn after_marker(line: &str) -> Option<&str> {
    line.strip_prefix("---").filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

// === impl YamlError ===

impl YamlError {
    fn of(error: &serde_saphyr::Error) -> Self {
        let error = error.without_snippet();
        let place = error.location().map_or(Place::START, Place::of);
        let problem = match error {
            serde_saphyr::Error::SerdeUnknownField { field, expected, .. } => unknown("key", field, expected),
            serde_saphyr::Error::SerdeUnknownVariant { variant, expected, .. } => unknown("value", variant, expected),
            other => DefaultMessageFormatter.format_message(other).into_owned(),
        };
        Self { place, problem }
    }
}

// === impl Place ===

impl Place {
    /// Where a text begins.
    pub const START: Self = Self { line: 1, column: 1 };

    pub(crate) fn of(location: Location) -> Self {
        Self { line: location.line(), column: location.column() }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Names the nearest of `known` where it is near enough to be meant, and all of them where none is.
pub(crate) fn unknown(what: &str, written: &str, known: &[&str]) -> String {
    match nearest(written, known) {
        Some(name) => format!("unknown {what} `{written}`; did you mean `{name}`?"),
        None => format!("unknown {what} `{written}`; known here are {}", known.join(", ")),
    }
}

/// Which of `known` was meant by `written`, where one is near enough.
pub fn nearest<'k>(written: &str, known: &[&'k str]) -> Option<&'k str> {
    let distance = |name: &str| strsim::damerau_levenshtein(&name.to_lowercase(), &written.to_lowercase());
    let nearest = known.iter().copied().min_by_key(|name| distance(name));
    nearest.filter(|name| distance(name) <= 1 + written.chars().count() / 3)
}
