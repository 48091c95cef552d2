use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Deserializer};

/// One label: key and value are such as Kubernetes takes. Prints as `KEY=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    key: String,
    value: String,
}

/// Labels of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(BTreeMap<String, String>);

/// Which sets of labels are meant: requirements that all have to hold (apimachinery's `LabelSelector`, `matchLabels` and
/// `matchExpressions`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
}

/// What one label has to be. Prints as in a label selector: `region in (eu, us)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    key: String,
    relation: Relation,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Relation {
    Is(String),
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
}

/// Why a text cannot be a label's key or value.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum LabelError {
    /// Not a key.
    #[error(
        "{0:?} is no label key; write NAME or DOMAIN/NAME, the name at most 63 letters, digits, '-', '_' and '.', first and \
         last a letter or digit"
    )]
    Key(String),
    /// Not a value.
    #[error(
        "{0:?} is no label value; write at most 63 letters, digits, '-', '_' and '.', first and last a letter or digit"
    )]
    Value(String),
}

/// As it stands in YAML.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Written {
    match_labels: Labels,
    match_expressions: Vec<Expression>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expression {
    key: String,
    operator: Operator,
    #[serde(default)]
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

// === impl Label ===

impl Label {
    /// The label `key` with `value`, which may be empty.
    ///
    /// # Errors
    /// Kubernetes would not take it.
    pub fn new(key: &str, value: &str) -> Result<Self, LabelError> {
        check_key(key)?;
        check_value(value)?;
        Ok(Self { key: key.to_owned(), value: value.to_owned() })
    }

    /// Its key.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

// === impl Labels ===

impl FromIterator<Label> for Labels {
    /// Of two with one key the later holds.
    fn from_iter<I: IntoIterator<Item = Label>>(labels: I) -> Self {
        Self(labels.into_iter().map(|Label { key, value }| (key, value)).collect())
    }
}

impl IntoIterator for Labels {
    type Item = Label;
    type IntoIter =
        std::iter::Map<std::collections::btree_map::IntoIter<String, String>, fn((String, String)) -> Label>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(|(key, value)| Label { key, value })
    }
}

impl Deref for Labels {
    type Target = BTreeMap<String, String>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = BTreeMap::<String, String>::deserialize(deserializer)?;
        let labels = written.iter().map(|(key, value)| Label::new(key, value));
        labels.collect::<Result<_, _>>().map_err(serde::de::Error::custom)
    }
}

// === impl LabelSelector ===

impl LabelSelector {
    /// The first requirement that does not hold where `label` gives the value of a key.
    pub fn unmet<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> Option<&Requirement> {
        self.requirements.iter().find(|requirement| !requirement.holds(label(&requirement.key)))
    }
}

impl<'de> Deserialize<'de> for LabelSelector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { match_labels, match_expressions } = Written::deserialize(deserializer)?;
        let exact = match_labels.0.into_iter().map(|(key, value)| Requirement { key, relation: Relation::Is(value) });
        let mut requirements: Vec<Requirement> = exact.collect();
        for expression in match_expressions {
            requirements.push(expression.requirement().map_err(serde::de::Error::custom)?);
        }
        Ok(Self { requirements })
    }
}

// === impl Expression ===

impl Expression {
    fn requirement(self) -> Result<Requirement, String> {
        check_key(&self.key).map_err(|error| error.to_string())?;
        self.values.iter().try_for_each(|value| check_value(value)).map_err(|error| error.to_string())?;
        let Self { key, operator, values } = self;
        let relation = match (operator, values.is_empty()) {
            (Operator::In, false) => Relation::In(values),
            (Operator::NotIn, false) => Relation::NotIn(values),
            (Operator::Exists, true) => Relation::Exists,
            (Operator::DoesNotExist, true) => Relation::DoesNotExist,
            (Operator::In | Operator::NotIn, true) => return Err(format!("{operator:?} of {key} needs `values`")),
            (Operator::Exists | Operator::DoesNotExist, false) => {
                return Err(format!("{operator:?} of {key} takes no `values`"));
            }
        };
        Ok(Requirement { key, relation })
    }
}

// === impl Requirement ===

impl Requirement {
    /// The label's key.
    pub fn key(&self) -> &str {
        &self.key
    }

    fn holds(&self, value: Option<&str>) -> bool {
        let is_in = |values: &[String]| value.is_some_and(|value| values.iter().any(|wanted| wanted == value));
        match &self.relation {
            Relation::Is(wanted) => value == Some(wanted),
            Relation::In(values) => is_in(values),
            Relation::NotIn(values) => !is_in(values),
            Relation::Exists => value.is_some(),
            Relation::DoesNotExist => value.is_none(),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.relation {
            Relation::Is(value) => write!(f, "{key}={value}"),
            Relation::In(values) => write!(f, "{key} in ({})", values.join(", ")),
            Relation::NotIn(values) => write!(f, "{key} notin ({})", values.join(", ")),
            Relation::Exists => f.write_str(key),
            Relation::DoesNotExist => write!(f, "!{key}"),
        }
    }
}

/// Whether `text` can be a label's key (apimachinery's `IsQualifiedName`).
pub(super) fn check_key(text: &str) -> Result<(), LabelError> {
    let (domain, name) = text.split_once('/').map_or((None, text), |(domain, name)| (Some(domain), name));
    let is_key = is_word(name) && domain.is_none_or(is_domain);
    if is_key { Ok(()) } else { Err(LabelError::Key(text.to_owned())) }
}

/// Whether `text` can be a label's value; it may be empty.
pub(super) fn check_value(text: &str) -> Result<(), LabelError> {
    if text.is_empty() || is_word(text) { Ok(()) } else { Err(LabelError::Value(text.to_owned())) }
}

fn is_word(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let outer = |c: char| c.is_ascii_alphanumeric();
    (1..=63).contains(&text.len()) && text.chars().all(inner) && text.starts_with(outer) && text.ends_with(outer)
}

/// A DNS subdomain (RFC 1123).
fn is_domain(text: &str) -> bool {
    let outer = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_part =
        |part: &str| part.starts_with(outer) && part.ends_with(outer) && part.chars().all(|c| outer(c) || c == '-');
    text.len() <= 253 && text.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(yaml: &str) -> Result<LabelSelector, String> {
        crate::yaml::parse(yaml).map_err(|error| error.to_string())
    }

    fn unmet(yaml: &str, labels: &[(&str, &str)]) -> String {
        let value = |key: &str| labels.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        selector(yaml).unwrap().unmet(value).map(ToString::to_string).unwrap_or_default()
    }

    #[test]
    fn every_requirement_has_to_hold_and_the_first_that_does_not_is_named() {
        let eu = [("region", "eu"), ("tier", "gold")];
        assert_eq!(unmet("{}", &eu), "");
        assert_eq!(unmet("matchLabels: {region: eu, tier: gold}", &eu), "");
        assert_eq!(unmet("matchLabels: {region: eu, tier: iron}", &eu), "tier=iron");
        let expression = |operator: &str, values: &str| {
            format!("matchExpressions: [{{key: region, operator: {operator}, values: [{values}]}}]")
        };
        assert_eq!(unmet(&expression("In", "us, eu"), &eu), "");
        assert_eq!(unmet(&expression("In", "us, ap"), &eu), "region in (us, ap)");
        assert_eq!(unmet(&expression("NotIn", "eu"), &eu), "region notin (eu)");
        assert_eq!(unmet(&expression("NotIn", "eu"), &[]), "");
        assert_eq!(unmet(&expression("Exists", ""), &[]), "region");
        assert_eq!(unmet(&expression("DoesNotExist", ""), &eu), "!region");
    }

    #[test]
    fn an_expression_that_means_nothing_is_refused() {
        let wrong = |yaml: &str| selector(yaml).unwrap_err();
        assert!(wrong("matchExpressions: [{key: a, operator: In}]").contains("In of a needs `values`"));
        let error = wrong("matchExpressions: [{key: a, operator: Exists, values: [b]}]");
        assert!(error.contains("Exists of a takes no `values`"), "{error}");
        assert!(wrong("matchExpressions: [{key: a, operator: Is}]").contains("unknown value `Is`; did you mean `In`?"));
        assert!(wrong("matchLabel: {a: b}").contains("did you mean `matchLabels`?"));
        assert!(wrong("matchLabels: {a b: c}").contains("is no label key"));
    }

    #[test]
    fn keys_and_values_are_those_that_kubernetes_takes() {
        for key in ["a", "A_b.c-d", "topology.kubernetes.io/region", &"a".repeat(63)] {
            assert_eq!(check_key(key), Ok(()), "{key:?}");
        }
        for key in ["", "/a", "a/", "a/b/c", "-a", "a b", "A.b/c", "a..b/c", &"a".repeat(64)] {
            assert!(check_key(key).is_err(), "{key:?}");
        }
        assert_eq!(check_value(""), Ok(()));
        assert!(check_value(".a").is_err());
    }
}
