//! Names and types, proved before a policy goes live.
//!
//! What placement works on is known ([`crate::schema`]): a name that is not there, a wrong field and a wrong type are errors,
//! with place and nearest right name. `params`, `object` and `unit.object` may be anything, so what is made of them is
//! found out when it is evaluated.

mod operators;
mod signatures;
mod types;
mod walk;

use crate::fields::Problems;
use crate::policy::{Named, Policy, Stage};
use crate::schema::{CANDIDATE, CURRENT, REQUEST, UNIT};

pub(crate) use types::Type;

use types::Bound;
use walk::Walk;

/// Adds what is wrong with the expressions of a policy.
pub(crate) fn check(policy: &Policy, problems: &mut Problems) {
    let mut checker = Checker { stage: policy.stage, variables: Vec::new(), problems };
    for variable in &policy.variables {
        let found = checker.type_of(variable).unwrap_or(Type::Dyn);
        checker.variables.push((variable.name.clone(), found));
    }
    for condition in &policy.match_conditions {
        checker.expect(condition, "a condition", |found| is(&Type::Bool, found), "bool");
    }
    for rule in &policy.expressions {
        checker.rule(&rule.main);
        if let Some(message) = &rule.message_expression {
            checker.expect(message, "a message", |found| is(&Type::Text, found), "string");
        }
    }
}

/// Whether a value of type `found` is one of type `wanted`. What is not known may be.
fn is(wanted: &Type, found: &Type) -> bool {
    !matches!(found, Type::Null) && wanted.takes(found, &mut Bound::new())
}

struct Checker<'a> {
    stage: Stage,
    variables: Vec<(String, Type)>,
    problems: &'a mut Problems,
}

// === impl Checker ===

impl Checker<'_> {
    fn rule(&mut self, main: &Named) {
        match self.stage {
            Stage::Filter => self.expect(main, "a filter", |found| is(&Type::Bool, found), "bool"),
            Stage::NamedSelector => self.expect(main, "a selector", |found| is(&Type::Bool, found), "bool"),
            Stage::Score => {
                let is_number =
                    |found: &Type| [Type::Int, Type::Uint, Type::Double].iter().any(|number| is(number, found));
                self.expect(main, "a score", is_number, "int or double");
            }
            Stage::Select => {
                self.expect(main, "a selection", |found| is(&Type::list(Type::Text), found), "list<string>");
            }
            Stage::Split => {
                let shares = [Type::map(Type::Text, Type::Int), Type::list(Type::Int)];
                self.expect(
                    main,
                    "a split",
                    |found| shares.iter().any(|share| is(share, found)),
                    "map<string, int> or list<int>",
                );
            }
            Stage::VirtualLabel => {
                let is_label = |found: &Type| match found {
                    Type::Null => true,
                    Type::Optional(of) => is(&Type::Text, of),
                    found => is(&Type::Text, found),
                };
                self.expect(main, "a label", is_label, "string, null or an optional string");
            }
        }
    }

    fn expect(&mut self, named: &Named, what: &str, is_right: impl Fn(&Type) -> bool, wanted: &str) {
        let Some(found) = self.type_of(named) else { return };
        if !is_right(&found) {
            let message = format!("{what} is {wanted}, this is {found}");
            let problem = named.parsed.source.problem(named.parsed.expression.id, message);
            self.problems.add(&named.place, problem);
        }
    }

    fn type_of(&mut self, named: &Named) -> Option<Type> {
        let mut known: Vec<(String, Type)> =
            known(self.stage).into_iter().map(|(name, of)| (name.to_owned(), of)).collect();
        known.push(("variables".to_owned(), Type::Fields(self.variables.clone())));
        match Walk::new(&named.parsed, known, elsewhere(self.stage)).run() {
            Ok(found) => Some(found),
            Err(problems) => {
                problems.into_iter().for_each(|problem| self.problems.add(&named.place, problem));
                None
            }
        }
    }
}

/// The variables of a stage. What depends on an object alone has no `now`: a watch would have to be told when time passes.
pub(crate) fn known(stage: Stage) -> Vec<(&'static str, Type)> {
    let mut all = vec![("params", Type::Dyn)];
    if matches!(stage, Stage::Filter | Stage::Score | Stage::Select | Stage::Split) {
        let current = Type::list(Type::Object(&CURRENT));
        all.extend([("now", Type::Timestamp), ("unit", Type::Object(&UNIT)), ("current", current)]);
    }
    all.extend(match stage {
        Stage::Filter | Stage::Score => {
            vec![("cluster", Type::Object(&CANDIDATE)), ("@spread", Type::Opaque("spread"))]
        }
        Stage::Select | Stage::Split => {
            vec![("clusters", Type::list(Type::Object(&CANDIDATE))), ("scores", Type::map(Type::Text, Type::Int))]
        }
        Stage::VirtualLabel => vec![("object", Type::Dyn)],
        Stage::NamedSelector => vec![("object", Type::Dyn), ("request", Type::Object(&REQUEST))],
    });
    all
}

/// Variables that other stages have, and why this one does not.
fn elsewhere(stage: Stage) -> &'static [(&'static str, &'static str)] {
    const SCORES: (&str, &str) =
        ("scores", "what stages before gave is for select and split; cluster.scores are its ClusterScores");
    match stage {
        Stage::Filter | Stage::Score => &[
            ("clusters", "a filter and a score look at one cluster at a time; it is cluster"),
            SCORES,
            ("object", "the manifest is unit.object"),
            ("request", "it is of named selectors"),
        ],
        Stage::Select | Stage::Split => &[
            ("cluster", "select and split decide over all at once; they are clusters"),
            ("@spread", "spread() is for a filter and a score, which look at one cluster"),
            ("object", "the manifest is unit.object"),
            ("request", "it is of named selectors"),
        ],
        Stage::VirtualLabel => &[
            ("cluster", "a label depends on the object alone"),
            ("clusters", "a label depends on the object alone"),
            ("unit", "a label depends on the object alone; it is object"),
            ("current", "a label depends on the object alone"),
            ("now", "a label depends on the object alone, whenever it is asked for"),
            ("request", "it is of named selectors"),
            SCORES,
        ],
        Stage::NamedSelector => &[
            ("cluster", "a selection depends on the object and the request alone"),
            ("clusters", "a selection depends on the object and the request alone"),
            ("unit", "a selection depends on the object; it is object"),
            ("current", "a selection depends on the object and the request alone"),
            ("now", "a selection depends on the object and the request alone, whenever it is asked for"),
            SCORES,
        ],
    }
}

#[cfg(test)]
mod tests;
