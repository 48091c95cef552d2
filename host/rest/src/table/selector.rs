//! Selectors and maps of labels as text (apimachinery pkg/labels).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::cells::NONE;
use super::field::{Maybe, Text};

/// A meta/v1 LabelSelector.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
pub(super) struct Selector<'a> {
    match_labels: Maybe<BTreeMap<Text<'a>, Text<'a>>>,
    match_expressions: Maybe<Vec<Requirement<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Requirement<'a> {
    key: Text<'a>,
    operator: Text<'a>,
    values: Maybe<Vec<Text<'a>>>,
}

/// A selector that is none.
pub(super) struct Invalid;

// === impl Selector ===

impl Selector<'_> {
    /// Its text, sorted by key; empty where it selects all.
    pub(super) fn text(&self) -> Result<String, Invalid> {
        let mut parts: Vec<(&str, String)> = Vec::new();
        parts.extend(self.match_labels.iter().map(|(key, value)| (&**key, format!("{}={}", &**key, &**value))));
        for requirement in self.match_expressions.iter() {
            parts.push((&requirement.key, requirement.text()?));
        }
        parts.sort_by(|one, other| one.0.cmp(other.0));
        Ok(parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(","))
    }
}

impl Requirement<'_> {
    fn text(&self) -> Result<String, Invalid> {
        let key = &*self.key;
        let set = |operator| {
            let mut values: Vec<&str> = self.values.iter().map(|value| &**value).collect();
            values.sort_unstable();
            if values.is_empty() { Err(Invalid) } else { Ok(format!("{key} {operator} ({})", values.join(","))) }
        };
        match &*self.operator {
            "In" => set("in"),
            "NotIn" => set("notin"),
            "Exists" => Ok(key.to_owned()),
            "DoesNotExist" => Ok(format!("!{key}")),
            _ => Err(Invalid),
        }
    }
}

/// The selector of a ReplicaSet or Job (meta/v1 FormatLabelSelector).
pub(super) fn selector_or_none(selector: Option<&Selector<'_>>) -> String {
    match selector.map(Selector::text) {
        None => NONE.to_owned(),
        Some(Err(Invalid)) => "<error>".to_owned(),
        Some(Ok(text)) if text.is_empty() => NONE.to_owned(),
        Some(Ok(text)) => text,
    }
}

/// A map of labels, sorted by key.
pub(super) fn labels_or_none(labels: &BTreeMap<Text<'_>, Text<'_>>) -> String {
    if labels.is_empty() {
        return NONE.to_owned();
    }
    labels.iter().map(|(key, value)| format!("{}={}", &**key, &**value)).collect::<Vec<_>>().join(",")
}
