//! Selectors and maps of labels as text (apimachinery pkg/labels).

use super::cells::NONE;
use super::field::{Map, Text, fields};

fields! {
    /// A meta/v1 LabelSelector.
    pub(super) struct Selector<'a> {
        match_labels: Map<'a>,
        match_expressions: Vec<Requirement<'a>>,
    }

    struct Requirement<'a> {
        key: Text<'a>,
        operator: Text<'a>,
        values: Vec<Text<'a>>,
    }
}

/// A selector that is none.
pub(super) struct Invalid;

/// The selector of a ReplicaSet or Job (meta/v1 FormatLabelSelector).
pub(super) fn selector_or_none(selector: Option<&Selector<'_>>) -> String {
    match selector.map(Selector::text) {
        None => NONE.to_owned(),
        Some(Err(Invalid)) => "<error>".to_owned(),
        Some(Ok(text)) if text.is_empty() => NONE.to_owned(),
        Some(Ok(text)) => text,
    }
}

/// A map of labels (FormatLabels), sorted by what is shown of each: `a-b=1` comes before `a=1`.
pub(super) fn labels_or_none(labels: &Map<'_>) -> String {
    if labels.is_empty() {
        return NONE.to_owned();
    }
    let mut shown: Vec<_> = labels.iter().map(|(key, value)| format!("{}={}", &**key, &**value)).collect();
    shown.sort_unstable();
    shown.join(",")
}

// === impl Selector ===

impl Selector<'_> {
    /// Its text, sorted by key; empty where it selects all.
    pub(super) fn text(&self) -> Result<String, Invalid> {
        let mut parts: Vec<(&str, String)> = Vec::new();
        parts.extend(self.match_labels.iter().map(|(key, value)| (&**key, format!("{}={}", &**key, &**value))));
        for requirement in &self.match_expressions {
            parts.push((&requirement.key, requirement.text()?));
        }
        parts.sort_by(|one, other| one.0.cmp(other.0));
        Ok(parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(","))
    }

    /// The Go syntax in which admission policies' bindings show it (its generated String).
    pub(super) fn go_text(&self) -> String {
        let labels: String =
            self.match_labels.iter().map(|(key, value)| format!("{}: {},", &**key, &**value)).collect();
        let expressions: String = self.match_expressions.iter().map(Requirement::go_text).collect();
        format!(
            "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},\
             MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
        )
    }
}

// === impl Requirement ===

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

    fn go_text(&self) -> String {
        let values = super::field::joined(&self.values, " ");
        format!("LabelSelectorRequirement{{Key:{},Operator:{},Values:[{values}],}},", &*self.key, &*self.operator)
    }
}
