//! Reads the parts of a spec.

use serde_json::Value;

use super::{FailurePolicy, Named, Rule, STAGES, Stage, is_name};
use crate::fields::{Fields, Problems};
use crate::parser::parse;

/// How many expressions, variables or conditions one policy has at most.
const MAX_EXPRESSIONS: usize = 64;
/// The reason of a cluster that an expression drops, where the policy gives none.
const DEFAULT_REASON: &str = "PolicyFalse";
pub(super) const FAILURE_POLICIES: [(&str, FailurePolicy); 2] =
    [("Reject", FailurePolicy::Reject), ("Skip", FailurePolicy::Skip)];

pub(super) const FIELDS: [&str; 9] = [
    "target",
    "matchConditions",
    "variables",
    "expressions",
    "params",
    "failurePolicy",
    "limits",
    "tests",
    "environment",
];

pub(super) fn stage(fields: &Fields<'_>, problems: &mut Problems) -> Option<Stage> {
    let Some(target) = fields.get("target") else {
        problems.add("", "it needs a target, such as target: {stage: filter}");
        return None;
    };
    let target = Fields::of(target, "target", &["stage", "name", "resources"], problems)?;
    let stage = target.one_of("stage", &STAGES, problems);
    if target.get("stage").is_none() {
        problems.add("target", "it needs a stage");
    }
    match (stage, target.text("name", problems)) {
        (Some(Stage::NamedSelector), None) => problems.add("target", "a named selector needs a name"),
        (Some(Stage::NamedSelector), Some(name)) if !is_name(name) => {
            problems.add("target.name", format!("{name} is no name; use letters, digits and - . _ between them"));
        }
        (Some(stage), Some(_)) if stage != Stage::NamedSelector => {
            problems.add("target.name", "only a named selector has a name");
        }
        _ => {}
    }
    for (place, resource) in target.list("resources", problems) {
        if !resource.is_string() {
            problems.add(&place, format!("it is {}, not a string", crate::fields::kind(resource)));
        }
    }
    stage
}

/// What the host reads of a spec, as far as it can be wrong here.
pub(super) fn check_others(fields: &Fields<'_>, problems: &mut Problems) {
    fields.text("environment", problems);
    // The host knows what limits and params there are.
    for name in ["limits", "params"] {
        if let Some(other) = fields.get(name).filter(|value| !value.is_object()) {
            problems.add(name, format!("it is {}, not a map", crate::fields::kind(other)));
        }
    }
    for (place, test) in fields.list("tests", problems) {
        if let Some(test) = Fields::of(test, &place, &["name", "inputs", "expect"], problems) {
            test.needed("name", problems);
        }
    }
}

pub(super) fn named(fields: &Fields<'_>, list: &str, problems: &mut Problems) -> Vec<Named> {
    let mut all: Vec<Named> = Vec::new();
    for (place, value) in bounded(fields, list, problems) {
        let Some(one) = Fields::of(value, &place, &["name", "expression"], problems) else { continue };
        let name = one.needed("name", problems);
        if let (Some(name), true) = (name, list == "variables") {
            if !is_identifier(name) {
                problems
                    .add(&place, format!("{name} cannot be written as variables.{name}; use letters, digits and _"));
            }
            if all.iter().any(|other| other.name == name) {
                problems.add(&place, format!("there is a variable {name} before"));
            }
        }
        all.extend(expression(&one, "expression", name.unwrap_or_default(), problems));
    }
    all
}

pub(super) fn rules(fields: &Fields<'_>, stage: Option<Stage>, problems: &mut Problems) -> Vec<Rule> {
    let known = ["name", "expression", "message", "messageExpression", "reason"];
    let mut all = Vec::new();
    let list = bounded(fields, "expressions", problems);
    match (list.len(), stage) {
        (0, _) => problems.add("expressions", "there has to be one at least"),
        (2.., Some(Stage::Select | Stage::Split)) => {
            problems.add("expressions", "select and split have one: it decides over all clusters");
        }
        _ => {}
    }
    for (at, (place, value)) in list.into_iter().enumerate() {
        let Some(one) = Fields::of(value, &place, &known, problems) else { continue };
        let name = match (one.text("name", problems), stage) {
            (Some(name), Some(Stage::VirtualLabel)) if !is_name(name) => {
                problems
                    .add(&place, format!("{name} is no key of a label; use letters, digits and - . _ between them"));
                name.to_owned()
            }
            (None, Some(Stage::VirtualLabel)) => {
                problems.add(&place, "it needs a name: the key of the label");
                String::new()
            }
            (name, _) => name.map_or_else(|| at.to_string(), str::to_owned),
        };
        if stage != Some(Stage::Filter) {
            for field in ["message", "messageExpression", "reason"].iter().filter(|field| one.get(field).is_some()) {
                problems.add(&one.place(field), "only an expression of a filter has one");
            }
        }
        let message_expression =
            one.get("messageExpression").and_then(|_| expression(&one, "messageExpression", &name, problems));
        let reason = one.text("reason", problems).unwrap_or(DEFAULT_REASON).to_owned();
        let message = one.text("message", problems).map(str::to_owned);
        if let Some(main) = expression(&one, "expression", &name, problems) {
            all.push(Rule { main, reason, message, message_expression });
        }
    }
    all
}

fn bounded<'a>(fields: &Fields<'a>, name: &str, problems: &mut Problems) -> Vec<(String, &'a Value)> {
    let mut list = fields.list(name, problems);
    if list.len() > MAX_EXPRESSIONS {
        problems.add(name, format!("there are {}, {MAX_EXPRESSIONS} at most are read", list.len()));
        list.truncate(MAX_EXPRESSIONS);
    }
    list
}

fn expression(fields: &Fields<'_>, field: &str, name: &str, problems: &mut Problems) -> Option<Named> {
    let place = fields.place(field);
    let text = fields.needed(field, problems)?;
    match parse(text) {
        Ok(parsed) => Some(Named { name: name.to_owned(), place, parsed }),
        Err(problem) => {
            problems.add(&place, problem);
            None
        }
    }
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
