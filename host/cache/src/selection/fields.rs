use std::fmt;
use std::sync::Arc;

use super::SelectorError;
use crate::FieldTable;
use crate::fields::Meaning;
use crate::object::Head;

/// A field selector: terms that all have to hold (the grammar of apimachinery's `pkg/fields/selector.go`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    terms: Arc<[Term]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: String,
    meaning: Meaning,
    relation: Relation,
    value: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Equal,
    NotEqual,
}

/// Operators, the longer before their prefixes.
const OPERATORS: [(&str, Relation); 3] = [("!=", Relation::NotEqual), ("==", Relation::Equal), ("=", Relation::Equal)];

// === impl FieldSelector ===

impl FieldSelector {
    /// Selects all.
    pub fn everything() -> Self {
        Self::default()
    }

    /// The selector that `text` spells, of the fields in `table`. In values `\,`, `\=` and `\\` stand for themselves.
    ///
    /// # Errors
    /// In the API server's words.
    pub fn parse(text: &str, table: &FieldTable) -> Result<Self, SelectorError> {
        let mut parts = split_terms(text);
        parts.sort_unstable();
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        let split: Vec<_> = parts.map(|part| split_term(text, part)).collect::<Result<_, _>>()?;
        let terms = split.into_iter().map(|(field, relation, value)| {
            let meaning = table.meaning(field).map_err(SelectorError::new)?;
            Ok(Term { field: field.to_owned(), meaning, relation, value })
        });
        Ok(Self { terms: terms.collect::<Result<_, _>>()? })
    }

    /// Whether nothing is left out.
    pub fn is_everything(&self) -> bool {
        self.terms.is_empty()
    }

    /// The one name that it requires, if it does.
    pub fn name(&self) -> Option<&str> {
        self.required(Meaning::Name)
    }

    /// The one namespace that it requires, if it does.
    pub fn namespace(&self) -> Option<&str> {
        self.required(Meaning::Namespace)
    }

    pub(crate) fn matches(&self, head: &Head) -> bool {
        self.terms.iter().all(|term| (head.field(term.meaning) == term.value) == (term.relation == Relation::Equal))
    }

    fn required(&self, meaning: Meaning) -> Option<&str> {
        let mut terms = self.terms.iter();
        terms.find(|term| term.meaning == meaning && term.relation == Relation::Equal).map(|term| &*term.value)
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Term { field, relation, value, .. }) in self.terms.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let operator = if *relation == Relation::Equal { "=" } else { "!=" };
            let value = value.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=");
            write!(f, "{comma}{field}{operator}{value}")?;
        }
        Ok(())
    }
}

/// The parts between commas; a backslash takes the meaning of what follows it.
fn split_terms(text: &str) -> Vec<&str> {
    let mut after_backslash = false;
    let is_comma = |c: char| {
        let is_escaped = after_backslash;
        after_backslash = !is_escaped && c == '\\';
        c == ',' && !is_escaped
    };
    text.split(is_comma).collect()
}

/// Field, relation and value of one part of the selector `text`.
fn split_term<'a>(text: &str, part: &'a str) -> Result<(&'a str, Relation, String), SelectorError> {
    for (at, _) in part.char_indices() {
        for (operator, relation) in OPERATORS {
            if let Some(value) = part[at..].strip_prefix(operator) {
                return Ok((&part[..at], relation, unescape(value)?));
            }
        }
    }
    Err(SelectorError::new(format!("invalid selector: '{text}'; can't understand '{part}'")))
}

fn unescape(value: &str) -> Result<String, SelectorError> {
    let bad_sequence = |sequence: String| {
        Err(SelectorError::new(format!("invalid field selector: invalid escape sequence: {sequence}")))
    };
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped @ ('\\' | ',' | '=')) => out.push(escaped),
                Some(other) => return bad_sequence(format!("\\{other}")),
                None => return bad_sequence("\\".to_owned()),
            },
            // Upstream prints the character's number.
            ',' | '=' => {
                let text = format!("invalid field selector: unescaped character in value: {}", u32::from(c));
                return Err(SelectorError::new(text));
            }
            _ => out.push(c),
        }
    }
    Ok(out)
}
