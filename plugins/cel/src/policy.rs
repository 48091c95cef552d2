//! The spec of a CelPolicy: read, and each of its expressions parsed.

use std::collections::BTreeSet;

use cel::common::ast::{Expr, IdedExpr, operators};
use serde_json::Value;

use crate::fields::{Fields, Problems};
use crate::parser::{Parsed, each_child, parse};

/// How many expressions, variables or conditions one policy has at most.
const MAX_EXPRESSIONS: usize = 64;
/// The reason of a cluster that an expression drops, where the policy gives none.
const DEFAULT_REASON: &str = "PolicyFalse";

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

const FAILURE_POLICIES: [(&str, FailurePolicy); 2] = [("Reject", FailurePolicy::Reject), ("Skip", FailurePolicy::Skip)];

const FIELDS: [&str; 9] = [
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

fn stage(fields: &Fields<'_>, problems: &mut Problems) -> Option<Stage> {
    let Some(target) = fields.get("target") else {
        problems.add("", "it needs a target, such as target: {stage: filter}");
        return None;
    };
    let target = Fields::of(target, "target", &["stage", "name", "resources", "clusterSelector"], problems)?;
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
fn check_others(fields: &Fields<'_>, problems: &mut Problems) {
    fields.text("environment", problems);
    if let Some(limits) = fields.get("limits") {
        Fields::of(limits, "limits", &["perEvaluation", "perDecision"], problems);
    }
    for (place, test) in fields.list("tests", problems) {
        if let Some(test) = Fields::of(test, &place, &["name", "inputs", "expect"], problems) {
            test.needed("name", problems);
        }
    }
    if let Some(params) = fields.get("params").filter(|params| !params.is_object()) {
        problems.add("params", format!("it is {}, not a map", crate::fields::kind(params)));
    }
}

fn named(fields: &Fields<'_>, list: &str, problems: &mut Problems) -> Vec<Named> {
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

fn rules(fields: &Fields<'_>, stage: Option<Stage>, problems: &mut Problems) -> Vec<Rule> {
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

/// All names that stand for themselves in an expression.
fn names(expression: &IdedExpr, all: &mut BTreeSet<String>) {
    if let Expr::Ident(name) = &expression.expr {
        all.insert(name.trim_start_matches('.').to_owned());
    }
    each_child(&expression.expr, |child| names(child, all));
}

/// Adds the fields of `cluster` that an expression uses; whether these are all that it uses of it.
fn cluster_fields(expression: &IdedExpr, fields: &mut BTreeSet<String>) -> bool {
    let is_cluster = |of: &IdedExpr| matches!(&of.expr, Expr::Ident(name) if name == "cluster");
    match &expression.expr {
        Expr::Select(select) if is_cluster(&select.operand) => {
            fields.insert(select.field.clone());
            return true;
        }
        Expr::Call(call) if call.target.as_deref().is_some_and(is_cluster) && call.func_name.starts_with("score") => {
            fields.insert("scores".to_owned());
            return call.args.iter().all(|arg| cluster_fields(arg, fields));
        }
        Expr::Call(call) if call.func_name == "@spread" => {
            fields.insert("labels".to_owned());
            return call.args.iter().skip(2).all(|arg| cluster_fields(arg, fields));
        }
        Expr::Ident(name) => return name.trim_start_matches('.') != "cluster",
        _ => {}
    }
    let mut all = true;
    each_child(&expression.expr, |child| all &= cluster_fields(child, fields));
    all
}

/// Makes `==` compare what documents hold with what expressions make (see [`crate::data::equal`]): the evaluator itself
/// asks the left value alone, which is right only beside a number, a text or the like.
fn prepare(expression: &mut IdedExpr) {
    let is_scalar = |side: &IdedExpr| matches!(side.expr, Expr::Literal(_));
    if let Expr::Call(call) = &mut expression.expr
        && !call.args.iter().any(is_scalar)
    {
        match call.func_name.as_str() {
            operators::EQUALS => call.func_name = "@equals".to_owned(),
            operators::NOT_EQUALS => call.func_name = "@differs".to_owned(),
            _ => {}
        }
    }
    if let Expr::Call(call) = &mut expression.expr
        && call.target.is_none()
        && call.func_name == "timestamp"
    {
        // The crate keeps the zone that a moment is written with, and answers getHours() in it; CEL's moments have none.
        call.func_name = "@timestamp".to_owned();
    }
    each_child_mut(&mut expression.expr, prepare);
}

fn each_child_mut(expr: &mut Expr, mut visit: impl FnMut(&mut IdedExpr)) {
    match expr {
        Expr::Call(call) => {
            call.target.iter_mut().for_each(|target| visit(target));
            call.args.iter_mut().for_each(visit);
        }
        Expr::Comprehension(comprehension) => {
            visit(&mut comprehension.iter_range);
            visit(&mut comprehension.accu_init);
            visit(&mut comprehension.loop_cond);
            visit(&mut comprehension.loop_step);
            visit(&mut comprehension.result);
        }
        Expr::List(list) => list.elements.iter_mut().for_each(visit),
        Expr::Map(map) => map.entries.iter_mut().for_each(|entry| match &mut entry.expr {
            cel::common::ast::EntryExpr::MapEntry(entry) => {
                visit(&mut entry.key);
                visit(&mut entry.value);
            }
            cel::common::ast::EntryExpr::StructField(field) => visit(&mut field.value),
        }),
        Expr::Select(select) => visit(&mut select.operand),
        Expr::Struct(_) | Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
    }
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether it can be the name part of a label key, as Kubernetes has it.
pub(crate) fn is_name(name: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    name.len() <= 63
        && edge(name.chars().next())
        && edge(name.chars().next_back())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}
