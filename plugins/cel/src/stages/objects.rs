//! Virtual labels and named selectors: what depends on one object alone.

use cel::common::types::{CelNull, CelOptional, CelString};
use cel::common::value::Val;
use serde_json::{Value, json};

use super::{Errors, Settings, failure};
use crate::bindings::orrery::plugin::selector_types::{Batch as Objects, MatchRequest, Plan, PlanRequest};
use crate::bindings::orrery::plugin::types::Failure;
use crate::data::{Node, read};
use crate::policy::{FailurePolicy, Stage, is_name};
use crate::render;
use crate::scope::{Batch, Scope};

/// The labels of each object.
pub(crate) fn labels(request: &Objects) -> Result<Vec<Vec<(String, String)>>, Failure> {
    let settings = Settings::of(&request.call, Stage::VirtualLabel)?;
    let batch = Batch::new(settings.policy, vec![("params", settings.params.boxed())]);
    let mut errors = Errors::default();
    let mut all = Vec::new();
    for object in &request.objects {
        let object = match read("an object", object) {
            Ok(object) => object,
            Err(error) => {
                errors.add(&request.call, &error);
                all.push(Vec::new());
                continue;
            }
        };
        let scope = batch.scope(vec![("object", object.boxed())]);
        all.push(labels_of(&batch, &scope, |error| errors.add(&request.call, &format!("{}: {error}", name(&object)))));
    }
    Ok(all)
}

fn labels_of(batch: &Batch, scope: &Scope, mut failed: impl FnMut(String)) -> Vec<(String, String)> {
    match scope.matches() {
        Ok(true) => {}
        Ok(false) => return Vec::new(),
        Err(error) => {
            failed(error);
            return Vec::new();
        }
    }
    let mut labels = Vec::new();
    for rule in &batch.policy.expressions {
        match scope.evaluate(&rule.main).and_then(|value| label(value.as_ref())) {
            Ok(value) => labels.extend(value.map(|value| (rule.main.name.clone(), value))),
            Err(error) => failed(format!("expression {}: {error}", rule.main.name)),
        }
    }
    labels
}

/// The value of a label; none for null and an empty optional.
pub(crate) fn label(value: &dyn Val) -> Result<Option<String>, String> {
    if value.downcast_ref::<CelNull>().is_some() {
        return Ok(None);
    }
    if let Some(optional) = value.downcast_ref::<CelOptional<'_>>() {
        return optional.option().map_or(Ok(None), label);
    }
    match value.downcast_ref::<CelString<'_>>().map(CelString::inner) {
        Some(text) if text.is_empty() || is_name(text) => Ok(Some(text.to_owned())),
        Some(text) => Err(format!("{text:?} is no value of a label: up to 63 letters, digits and - . _ between them")),
        None => Err(format!("it gives {}, not a string", render::short(value))),
    }
}

/// What `matches` needs: the name, the argument and who asks. Nothing is left to the host's indexes, as a policy cannot say
/// what its expression has in common with a label selector.
pub(crate) fn prepare(request: &PlanRequest) -> Result<Plan, Failure> {
    Settings::of(&request.call, Stage::NamedSelector)?;
    let args: Value = match request.args.trim() {
        "" => Value::Null,
        args => serde_json::from_str(args)
            .map_err(|error| failure("InvalidRequest", format!("args is not JSON: {error}")))?,
    };
    let arg = match &args {
        Value::String(arg) => arg.as_str(),
        Value::Object(args) => args.get("arg").and_then(Value::as_str).unwrap_or_default(),
        _ => "",
    };
    let state = json!({"name": request.name, "arg": arg, "user": request.user, "groups": request.groups});
    Ok(Plan {
        state: state.to_string(),
        label_selector: String::new(),
        field_selector: String::new(),
        namespaces: None,
    })
}

/// Whether each object is selected.
pub(crate) fn matches(request: &MatchRequest) -> Result<Vec<bool>, Failure> {
    let plan = read("the plan", &request.plan).map_err(|error| failure("InvalidRequest", error))?;
    let settings = Settings::of(&request.base.call, Stage::NamedSelector)?;
    let batch = selector_batch(settings, &plan);
    let mut errors = Errors::default();
    let mut all = Vec::new();
    for object in &request.base.objects {
        let selected = read("an object", object).and_then(|object| {
            let scope = batch.scope(vec![("object", object.boxed())]);
            is_selected(&batch, &scope).map_err(|error| format!("{}: {error}", name(&object)))
        });
        all.push(selected.unwrap_or_else(|error| {
            errors.add(&request.base.call, &error);
            batch.policy.failure == FailurePolicy::Skip
        }));
    }
    Ok(all)
}

/// What all objects of a named selector see. `plan` is what [`prepare`] made, or a plan that has it as its `state`.
pub(crate) fn selector_batch(settings: Settings, plan: &Node) -> Batch {
    let request = plan.field("state").unwrap_or(plan).boxed();
    Batch::new(settings.policy, vec![("params", settings.params.boxed()), ("request", request)])
}

fn is_selected(batch: &Batch, scope: &Scope) -> Result<bool, String> {
    if !scope.matches()? {
        return Ok(false);
    }
    for rule in &batch.policy.expressions {
        let selected = scope.test(&rule.main).map_err(|error| format!("expression {}: {error}", rule.main.name))?;
        if !selected {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What a message calls the object.
fn name(object: &Node) -> String {
    let text = |field| {
        object.field("metadata").and_then(|metadata| metadata.field(field)).and_then(Node::as_text).unwrap_or_default()
    };
    match text("namespace") {
        "" => format!("object {}", text("name")),
        namespace => format!("object {namespace}/{}", text("name")),
    }
}
