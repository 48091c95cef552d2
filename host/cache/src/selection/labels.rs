//! Label selectors.

use std::fmt;
use std::sync::Arc;

use orrery_api::{CLUSTER_KEY, ClusterName};

use super::SelectorError;
use crate::object::Head;

mod grammar;

/// A label selector: requirements that all have to hold (apimachinery's `pkg/labels/selector.go`). The virtual label
/// `orrery.dev/cluster` is a label like any other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    requirements: Arc<[Requirement]>,
}

/// What one label has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    relation: Relation,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Relation {
    Exists,
    DoesNotExist,
    /// Is one of the values; the spelling of it in the selector.
    In(Vec<String>, Spelling),
    /// Is none of the values, or not there.
    NotIn(Vec<String>, Spelling),
    Above(i64),
    Below(i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    /// `key in (…)`, `key notin (…)`.
    Set,
    /// `key=value`, `key!=value`.
    Sign,
    /// `key==value`.
    DoubleSign,
}

// === impl LabelSelector ===

impl LabelSelector {
    /// Selects all.
    pub fn everything() -> Self {
        Self::default()
    }

    /// The selector that `text` spells: `a=b,c!=d,e in (x,y),f notin (z),g,!h,i>1,j<2`.
    ///
    /// # Errors
    /// In the API server's words.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut requirements = grammar::parse(text).map_err(SelectorError::new)?;
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self { requirements: requirements.into() })
    }

    /// Whether nothing is left out.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether objects of `cluster` can be selected, by what is required of the virtual label.
    pub fn admits_cluster(&self, cluster: &ClusterName) -> bool {
        let mut of_cluster = self.requirements.iter().filter(|requirement| requirement.key == CLUSTER_KEY);
        of_cluster.all(|requirement| requirement.relation.holds(Some(cluster.as_str())))
    }

    /// Without what is required of the virtual label: what members can be asked.
    #[must_use]
    pub fn without_cluster(&self) -> Self {
        let others = self.requirements.iter().filter(|requirement| requirement.key != CLUSTER_KEY);
        Self { requirements: others.cloned().collect() }
    }

    /// What is required of keys that begin with `prefix`, and what of all others.
    #[must_use]
    pub fn split_by(&self, prefix: &str) -> (Self, Self) {
        let (own, others): (Vec<_>, Vec<_>) =
            self.requirements.iter().cloned().partition(|requirement| requirement.key.starts_with(prefix));
        (Self { requirements: own.into() }, Self { requirements: others.into() })
    }

    /// Its keys, each with the one value that it has to have, where that is what is required of it.
    pub fn equalities(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.requirements.iter().map(|requirement| {
            let value = match &requirement.relation {
                Relation::In(values, _) if values.len() == 1 => values.first().map(String::as_str),
                _ => None,
            };
            (requirement.key.as_str(), value)
        })
    }

    /// Whether all of it holds of what `label` gives for each key.
    pub fn holds(&self, label: &dyn Fn(&str) -> Option<String>) -> bool {
        self.requirements.iter().all(|requirement| requirement.relation.holds(label(&requirement.key).as_deref()))
    }

    pub(crate) fn matches(&self, head: &Head) -> bool {
        self.requirements.iter().all(|requirement| requirement.relation.holds(head.label(&requirement.key)))
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

// === impl Requirement ===

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, relation } = self;
        match relation {
            Relation::Exists => f.write_str(key),
            Relation::DoesNotExist => write!(f, "!{key}"),
            Relation::In(values, Spelling::Set) => write!(f, "{key} in ({})", values.join(",")),
            Relation::In(values, Spelling::Sign) => write!(f, "{key}={}", values.concat()),
            Relation::In(values, Spelling::DoubleSign) => write!(f, "{key}=={}", values.concat()),
            Relation::NotIn(values, Spelling::Set) => write!(f, "{key} notin ({})", values.join(",")),
            Relation::NotIn(values, _) => write!(f, "{key}!={}", values.concat()),
            Relation::Above(bound) => write!(f, "{key}>{bound}"),
            Relation::Below(bound) => write!(f, "{key}<{bound}"),
        }
    }
}

// === impl Relation ===

impl Relation {
    fn holds(&self, value: Option<&str>) -> bool {
        let is_in = |values: &[String]| value.is_some_and(|value| values.iter().any(|wanted| wanted == value));
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::Exists => value.is_some(),
            Self::DoesNotExist => value.is_none(),
            Self::In(values, _) => is_in(values),
            Self::NotIn(values, _) => !is_in(values),
            Self::Above(bound) => number().is_some_and(|number| number > *bound),
            Self::Below(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}
