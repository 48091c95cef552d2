//! What each expression of a policy gives on given data, and each part of one: for `orrery policy explain`.
//!
//! The request is JSON, the same for all stages:
//!
//! ```json
//! {"settings": {"policy": {}, "params": {}}, "nowMs": 0,
//!  "unit": {}, "current": [{"cluster": "east", "replicas": 1}], "candidates": [{"name": "east"}], "scores": [0],
//!  "objects": [{}], "request": {"user": "", "groups": [], "name": "", "arg": ""}}
//! ```
//!
//! The answer is `{"on": [{"name": "east", "matchConditions": […], "variables": […], "expressions": […]}]}`: one entry for
//! each cluster (filter, score), one for all (select, split) or one for each object. An expression is
//! `{"name", "place", "value" or "error", "parts"}`, a part `{"text", "line", "column", "value" or "error"}`. Values are as
//! messages show them; what a comprehension does with each element is not among the parts. `clusterFields` beside `on` lists the
//! fields of the schema `candidate` that the policy reads, and is null where it may read all: the host need send no others.

use cel::common::ast::{Expr, IdedExpr};
use cel::common::value::Val;
use serde_json::{Map, Value, json};

use crate::bindings::orrery::plugin::placement_types::{Candidate, Current, Request};
use crate::bindings::orrery::plugin::types::{Call, Failure};
use crate::data::{Node, read};
use crate::fields::{Fields, Problems};
use crate::library::budget;
use crate::parser::each_child;
use crate::policy::{Named, Policy, Stage};
use crate::render;
use crate::scope::{Batch, Scope};
use crate::source::Source;
use crate::stages::{Placement, Settings, failure, selector_batch};

/// Parts of one expression that are shown.
const MAX_PARTS: usize = 64;

/// Answers a request.
pub(crate) fn explain(request: &str) -> Result<String, Failure> {
    let invalid = |message: String| failure("InvalidRequest", message);
    let document: Value = serde_json::from_str(request).map_err(|error| invalid(format!("not JSON: {error}")))?;
    let mut problems = Problems::default();
    let known = ["settings", "nowMs", "unit", "current", "candidates", "scores", "objects", "request"];
    let fields = Fields::of(&document, "", &known, &mut problems);
    let Some(fields) = fields.filter(|_| problems.is_empty()) else { return Err(invalid(problems.message())) };
    let settings =
        fields.get("settings").map(Value::to_string).ok_or_else(|| invalid("it needs settings".to_owned()))?;
    let call = Call {
        plugin: "explain".to_owned(),
        generation: 0,
        params: settings,
        now_ms: fields.get("nowMs").and_then(Value::as_u64).unwrap_or_default(),
        seed: 0,
        trace: String::new(),
        hints: String::new(),
    };
    let settings = Settings::read(&call.params)?;
    let cluster_fields = settings.policy.cluster_fields.clone();
    let on = match settings.policy.stage {
        Stage::Filter | Stage::Score | Stage::Select | Stage::Split => of_placement(settings, call, &fields)?,
        Stage::VirtualLabel | Stage::NamedSelector => of_objects(settings, &fields)?,
    };
    Ok(json!({"on": on, "clusterFields": cluster_fields}).to_string())
}

fn of_placement(settings: Settings, call: Call, fields: &Fields<'_>) -> Result<Vec<Value>, Failure> {
    let stage = settings.policy.stage;
    let list = |name| fields.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let current = list("current").iter().map(|one| Current {
        cluster: text(one, "cluster"),
        replicas: one
            .get("replicas")
            .and_then(Value::as_u64)
            .and_then(|count| u32::try_from(count).ok())
            .unwrap_or_default(),
    });
    let candidates = list("candidates").iter().map(|one| Candidate { name: text(one, "name"), doc: one.to_string() });
    let request = Request {
        call,
        unit: fields.get("unit").map_or("{}".to_owned(), Value::to_string),
        replicas: None,
        current: current.collect(),
        candidates: candidates.collect(),
    };
    let decides_over_all = matches!(stage, Stage::Select | Stage::Split);
    let mut scores: Vec<i64> = list("scores").iter().map(|score| score.as_i64().unwrap_or_default()).collect();
    scores.resize(request.candidates.len(), 0);
    let placement = Placement::with(settings, &request, decides_over_all.then_some(scores.as_slice()))?;
    if decides_over_all {
        return Ok(vec![described("all", &placement.batch.policy, &placement.batch.scope(Vec::new()))]);
    }
    let on = placement.clusters.iter().zip(&request.candidates);
    Ok(on
        .map(|(cluster, candidate)| described(&candidate.name, &placement.batch.policy, &placement.scope(cluster)))
        .collect())
}

fn of_objects(settings: Settings, fields: &Fields<'_>) -> Result<Vec<Value>, Failure> {
    let invalid = |message: String| failure("InvalidRequest", message);
    let request = fields.get("request").map_or("{}".to_owned(), Value::to_string);
    let request = read("the request", &request).map_err(invalid)?;
    let batch = match settings.policy.stage {
        Stage::NamedSelector => selector_batch(settings, &request),
        _ => Batch::new(settings.policy, vec![("params", settings.params.boxed())]),
    };
    let objects = fields.get("objects").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut on = Vec::new();
    for object in objects {
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let object: Node = read("an object", &object.to_string()).map_err(invalid)?;
        on.push(described(name, &batch.policy, &batch.scope(vec![("object", object.boxed())])));
    }
    Ok(on)
}

fn described(name: &str, policy: &Policy, scope: &Scope) -> Value {
    let all = |named: &mut dyn Iterator<Item = &Named>| named.map(|named| expression(named, scope)).collect::<Vec<_>>();
    let mut rules =
        policy.expressions.iter().flat_map(|rule| [Some(&rule.main), rule.message_expression.as_ref()]).flatten();
    json!({
        "name": name,
        "matchConditions": all(&mut policy.match_conditions.iter()),
        "variables": all(&mut policy.variables.iter()),
        "expressions": all(&mut rules),
    })
}

fn expression(named: &Named, scope: &Scope) -> Value {
    let mut parts = Vec::new();
    add_parts(&named.parsed.expression, named, scope, &mut parts);
    let mut shown = given(&named.parsed.expression, &named.parsed.source, scope);
    shown.insert("name".to_owned(), named.name.clone().into());
    shown.insert("place".to_owned(), named.place.clone().into());
    shown.insert("parts".to_owned(), parts.into());
    shown.into()
}

/// The parts below `expression`, the outer ones first. Literals say what they are.
fn add_parts(expression: &IdedExpr, named: &Named, scope: &Scope, parts: &mut Vec<Value>) {
    let mut add = |child: &IdedExpr| {
        if parts.len() >= MAX_PARTS || matches!(child.expr, Expr::Literal(_)) {
            return;
        }
        let text = named.parsed.source.written(child.id);
        let is_namespace =
            matches!(&child.expr, Expr::Ident(name) if crate::library::table::NAMESPACES.contains(&name.as_str()));
        // What macros are made of stands where they do, and is not written by itself.
        if !text.is_empty() && !is_namespace && child.id != named.parsed.expression.id {
            let place = named.parsed.source.problem(child.id, String::new());
            let mut part = given(child, &named.parsed.source, scope);
            part.insert("text".to_owned(), text.into());
            part.insert("line".to_owned(), place.line.into());
            part.insert("column".to_owned(), place.column.into());
            parts.push(part.into());
        }
        add_parts(child, named, scope, parts);
    };
    match &expression.expr {
        Expr::Comprehension(comprehension) => {
            add(if budget::is_bind(comprehension) { &comprehension.accu_init } else { budget::range(comprehension) });
        }
        expr => each_child(expr, add),
    }
}

fn given(expression: &IdedExpr, source: &Source, scope: &Scope) -> Map<String, Value> {
    let (field, text) = match scope.value(expression) {
        Ok(value) => ("value", render::short(value.as_ref() as &dyn Val)),
        Err(error) => ("error", budget::spent(&error, source).unwrap_or_else(|| render::error(&error))),
    };
    Map::from_iter([(field.to_owned(), text.into())])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(request: &Value) -> Value {
        serde_json::from_str(&explain(&request.to_string()).unwrap_or_else(|failure| panic!("{}", failure.message)))
            .unwrap()
    }

    #[test]
    fn each_part_of_an_expression_is_shown_with_its_value_or_error() {
        let request = json!({
            "settings": {"policy": {
                "target": {"stage": "filter"},
                "variables": [{"name": "free", "expression": "cluster.free.cpuMilli"}],
                "expressions": [{"name": "room", "expression": "variables.free > params.least && cluster.taints.all(t, t.key != 'x')"}],
            }, "params": {"least": 100}},
            "candidates": [{"name": "east", "free": {"cpuMilli": 500}, "taints": []}, {"name": "west", "taints": []}],
        });
        let answer = explained(&request);
        assert_eq!(answer["clusterFields"], json!(["free", "name", "taints"]));
        assert_eq!(answer["on"][0]["variables"][0]["value"], "500");
        let parts = answer["on"][0]["expressions"][0]["parts"].as_array().unwrap();
        let shown: Vec<String> = parts
            .iter()
            .map(|part| format!("{} = {}", part["text"].as_str().unwrap(), part["value"].as_str().unwrap()))
            .collect();
        assert_eq!(
            shown,
            [
                "variables.free > params.least = true",
                "variables.free = 500",
                "variables = a map",
                "params.least = 100",
                "params = {\"least\":100}",
                "cluster.taints.all(t, t.key != 'x') = true",
                "cluster.taints = []",
                "cluster = {\"free\":{\"cpuMilli\":500},\"name\":\"east\",\"taints\":[]}",
            ]
        );
        assert_eq!(answer["on"][1]["variables"][0]["error"], "no such key: free");
        assert_eq!(answer["on"][1]["expressions"][0]["error"], "variables.free: no such key: free");
    }

    #[test]
    fn every_stage_can_be_explained() {
        for (stage, expression, value) in [
            ("score", "cluster.name.size()", "4"),
            ("select", "clusters.map(c, c.name)", "[\"east\"]"),
            ("split", "clusters.map(c, scores[c.name])", "[7]"),
            ("virtual-label", "object.metadata.name", "\"web\""),
            ("named-selector", "request.user == 'ann'", "true"),
        ] {
            let mut target = json!({"stage": stage});
            if stage == "named-selector" {
                target["name"] = "mine".into();
            }
            let answer = explained(&json!({
                "settings": {"policy": {"target": target, "expressions": [{"name": "x", "expression": expression}]}},
                "candidates": [{"name": "east"}],
                "scores": [7],
                "objects": [{"metadata": {"name": "web"}}],
                "request": {"user": "ann", "groups": [], "name": "mine", "arg": ""},
            }));
            assert_eq!(answer["on"][0]["expressions"][0]["value"], value, "{stage}");
        }
        assert_eq!(
            explain("{\"setings\": {}}").unwrap_err().message,
            "there is no field setings; did you mean settings?"
        );
    }
}
