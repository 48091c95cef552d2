//! The spec of a CelPolicy: read, and each of its expressions parsed.

mod prepared;
mod spec;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::fields::{Fields, Problems};
use crate::library::budget;
use crate::parser::Parsed;
use prepared::{cluster_fields, names, prepare};
use spec::{FAILURE_POLICIES, FIELDS, check_others, named, rules, stage};

/// What a policy decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Which clusters are left.
    Filter,
    /// How good each cluster is.
    Score,
    /// Which clusters are taken.
    Select,
    /// How many replicas each gets.
    Split,
    /// A label that an object appears to have.
    VirtualLabel,
    /// Whether an object is selected.
    NamedSelector,
}

/// What an error on one cluster or object comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailurePolicy {
    /// The cluster is out, or last; the object is not selected.
    Reject,
    /// As if the expression were not there.
    Skip,
}

/// One expression with its name.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) name: String,
    /// Where it stands in the spec: `variables[0].expression`.
    pub(crate) place: String,
    pub(crate) parsed: Parsed,
}

/// One of `expressions`.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) main: Named,
    pub(crate) reason: String,
    pub(crate) message: Option<String>,
    pub(crate) message_expression: Option<Named>,
}

/// A policy whose expressions were all read. Whether their types are right is another question.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) stage: Stage,
    pub(crate) match_conditions: Vec<Named>,
    pub(crate) variables: Vec<Named>,
    pub(crate) expressions: Vec<Rule>,
    pub(crate) failure: FailurePolicy,
    /// Names that any expression uses: what is not used is not bound.
    pub(crate) uses: BTreeSet<String>,
    /// How many elements one cluster or object may have its comprehensions go over.
    pub(crate) elements: u64,
    /// Fields of `cluster` that any expression uses; none if one uses it as a whole.
    pub(crate) cluster_fields: Option<BTreeSet<String>>,
}

pub(crate) const STAGES: [(&str, Stage); 6] = [
    ("filter", Stage::Filter),
    ("score", Stage::Score),
    ("select", Stage::Select),
    ("split", Stage::Split),
    ("virtual-label", Stage::VirtualLabel),
    ("named-selector", Stage::NamedSelector),
];

// === impl Policy ===

impl Policy {
    /// Reads a spec; all problems otherwise.
    pub(crate) fn read(spec: &Value) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        let policy = Self::parse(spec, &mut problems);
        match policy {
            Some(policy) if problems.is_empty() => Ok(policy),
            _ => Err(problems),
        }
    }

    fn parse(spec: &Value, problems: &mut Problems) -> Option<Self> {
        let fields = Fields::of(spec, "", &FIELDS, problems)?;
        let stage = stage(&fields, problems);
        check_others(&fields, problems);
        let match_conditions = named(&fields, "matchConditions", problems);
        let variables = named(&fields, "variables", problems);
        let expressions = rules(&fields, stage, problems);
        let failure = fields.one_of("failurePolicy", &FAILURE_POLICIES, problems).unwrap_or(FailurePolicy::Reject);
        let mut policy = Self {
            stage: stage?,
            match_conditions,
            variables,
            expressions,
            failure,
            uses: BTreeSet::new(),
            elements: budget::elements(
                fields.get("limits").and_then(|limits| limits.get("fuel")).and_then(Value::as_u64),
            ),
            cluster_fields: None,
        };
        policy.finish();
        Some(policy)
    }

    /// Every expression, in the order in which they stand.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Named> {
        let rules = self.expressions.iter().flat_map(|rule| [Some(&rule.main), rule.message_expression.as_ref()]);
        self.match_conditions.iter().chain(&self.variables).chain(rules.flatten())
    }

    fn finish(&mut self) {
        let mut uses = BTreeSet::new();
        self.all().for_each(|named| names(&named.parsed.expression, &mut uses));
        let mut fields = BTreeSet::from(["name".to_owned()]);
        // The elements of clusters go by many names.
        let is_known =
            !uses.contains("clusters") && self.all().all(|named| cluster_fields(&named.parsed.expression, &mut fields));
        self.cluster_fields = is_known.then_some(fields);
        self.uses = uses;
        let rules =
            self.expressions.iter_mut().flat_map(|rule| [Some(&mut rule.main), rule.message_expression.as_mut()]);
        for named in self.match_conditions.iter_mut().chain(&mut self.variables).chain(rules.flatten()) {
            prepare(&mut named.parsed.expression);
        }
    }
}

/// Whether it can be the name part of a label key, as Kubernetes has it.
pub(crate) fn is_name(name: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    name.len() <= 63
        && edge(name.chars().next())
        && edge(name.chars().next_back())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}
