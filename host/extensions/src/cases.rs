//! Golden cases: what a generation answers before it goes live is what its author wrote down.

use orrery_api::extension::Case;
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::generation::Generation;
use crate::runtime::CallError;
use crate::runtime::wit::placement_types::{Candidate, Current, RankedRequest, Request, Verdict};
use crate::runtime::wit::selector_types::{Batch, MatchRequest, PlanRequest};
use crate::runtime::wit::types::Reason;

/// The time of a case that says none: the first second of 2026.
const NOW_MS: u64 = 1_767_225_600_000;

/// Runs all cases of `generation`; which one fails, with what was answered, else.
pub(crate) async fn check(generation: &Generation) -> Result<(), String> {
    for case in &generation.revision.cases {
        let name = &case.name;
        let Some(expected) = case.expect.as_object() else {
            return Err(format!("case {name:?}: `expect` is no map, as `expect: {{score: [1]}}`"));
        };
        for (question, expected) in expected {
            let answer =
                ask(generation, case, question).await.map_err(|problem| format!("case {name:?}: {problem}"))?;
            if !is_as_expected(&answer, expected) {
                return Err(format!("case {name:?}: {question} is {answer}, and {expected} was expected"));
            }
        }
    }
    Ok(())
}

/// Numbers are equal by value.
fn is_as_expected(answer: &Value, expected: &Value) -> bool {
    match (answer, expected) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(answer, expected)| is_as_expected(answer, expected))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && b.iter().all(|(key, expected)| a.get(key).is_some_and(|answer| is_as_expected(answer, expected)))
        }
        _ => answer == expected,
    }
}

/// What `generation` answers to `question` in `case`: by the names of the clusters, or of each object.
async fn ask(generation: &Generation, case: &Case, question: &str) -> Result<Value, String> {
    let inputs = Inputs::of(generation, case)?;
    let answer = match question {
        "kept" => {
            inputs
                .filter(|all| all.iter().filter(|(_, verdict)| verdict.keep).map(|(name, _)| json!(name)).collect())
                .await
        }
        "reasons" => inputs.filter(|all| reasons(all, |reason| &reason.code)).await,
        // Of messages only those are looked at that the case names.
        "messages" => inputs.filter(|all| only(reasons(all, |reason| &reason.message), &case.expect["messages"])).await,
        "scores" => inputs.scores(case.expect["scores"].is_array()).await,
        "selected" => inputs.select().await,
        "replicas" => inputs.split().await,
        "labels" => inputs.labels().await,
        "matches" => inputs.matches().await,
        other => {
            return Err(format!(
                "`{other}` is nothing that can be expected; write kept, reasons, messages, scores, selected, replicas, \
                 labels or matches"
            ));
        }
    };
    match answer {
        Ok(answer) => Ok(answer),
        Err(error) => Ok(json!({"error": error.to_string()})),
    }
}

/// A case, as requests.
struct Inputs<'a> {
    generation: &'a Generation,
    inputs: &'a Value,
    request: Request,
}

// === impl Inputs ===

impl<'a> Inputs<'a> {
    fn of(generation: &'a Generation, case: &'a Case) -> Result<Self, String> {
        let inputs = &case.inputs;
        let candidate = |cluster: &Value| Candidate {
            name: cluster["name"].as_str().unwrap_or_default().to_owned(),
            doc: cluster.get("doc").unwrap_or(cluster).to_string(),
        };
        let now_ms = inputs["now"].as_str().map_or(Ok(NOW_MS), milliseconds)?;
        let mut call = generation.call(now_ms, &case.name);
        if let Some(params) = case.params.as_ref().or_else(|| inputs.get("params")) {
            call.params = generation.revision.params_with(params).to_string();
        }
        let current = |one: &Value| Current {
            cluster: one["cluster"].as_str().unwrap_or_default().to_owned(),
            replicas: one["replicas"].as_u64().and_then(|replicas| u32::try_from(replicas).ok()).unwrap_or(0),
        };
        let request = Request {
            call,
            unit: inputs.get("unit").unwrap_or(&json!({})).to_string(),
            replicas: inputs["unit"]["replicas"].as_u64().and_then(|replicas| u32::try_from(replicas).ok()),
            current: list(inputs, "current").map(current).collect(),
            candidates: list(inputs, "candidates").map(candidate).collect(),
        };
        Ok(Self { generation, inputs, request })
    }

    async fn filter(&self, tell: impl Fn(&[(&str, Verdict)]) -> Value) -> Result<Value, CallError> {
        let verdicts = self.generation.guest().filter(&self.generation.caller(), &self.request).await?;
        let names = self.request.candidates.iter().map(|candidate| candidate.name.as_str());
        Ok(tell(&names.zip(verdicts).collect::<Vec<_>>()))
    }

    async fn scores(&self, as_list: bool) -> Result<Value, CallError> {
        let scores = self.generation.guest().score(&self.generation.caller(), &self.request).await?;
        let scores = scores.into_iter().map(Value::from);
        Ok(if as_list { scores.collect() } else { self.by_cluster(scores) })
    }

    async fn select(&self) -> Result<Value, CallError> {
        let chosen = self.generation.guest().select(&self.generation.caller(), &self.ranked()).await?;
        let name =
            |at: u32| usize::try_from(at).ok().and_then(|at| Some(self.request.candidates.get(at)?.name.clone()));
        Ok(chosen.into_iter().map(|at| json!(name(at))).collect())
    }

    async fn split(&self) -> Result<Value, CallError> {
        let replicas = self.generation.guest().split(&self.generation.caller(), &self.ranked()).await?;
        Ok(self.by_cluster(replicas.into_iter().map(Value::from)))
    }

    async fn labels(&self) -> Result<Value, CallError> {
        let labels = self.generation.guest().labels(&self.generation.caller(), &self.batch()).await?;
        let of_object = |labels: Vec<(String, String)>| -> Value {
            labels.into_iter().map(|(key, value)| (key, Value::from(value))).collect::<Map<_, _>>().into()
        };
        Ok(labels.into_iter().map(of_object).collect())
    }

    async fn matches(&self) -> Result<Value, CallError> {
        let (caller, text) =
            (self.generation.caller(), |key: &str| self.asked(key).as_str().unwrap_or_default().to_owned());
        let groups = list(&self.inputs["request"], "groups");
        let request = PlanRequest {
            call: self.request.call.clone(),
            gvr: self.gvr(),
            name: text("name"),
            args: json!({"arg": text("arg")}).to_string(),
            user: text("user"),
            groups: groups.filter_map(Value::as_str).map(str::to_owned).collect(),
        };
        let plan = self.generation.guest().prepare(&caller, &request).await?;
        let request = MatchRequest { base: self.batch(), plan: plan.state };
        let matches = self.generation.guest().matches(&caller, &request).await?;
        Ok(matches.into_iter().map(Value::from).collect())
    }

    fn asked(&self, key: &str) -> &Value {
        &self.inputs["request"][key]
    }

    fn gvr(&self) -> String {
        self.inputs["gvr"].as_str().unwrap_or("/v1/pods").to_owned()
    }

    fn batch(&self) -> Batch {
        let objects = list(self.inputs, "objects");
        Batch { call: self.request.call.clone(), gvr: self.gvr(), objects: objects.map(Value::to_string).collect() }
    }

    fn ranked(&self) -> RankedRequest {
        let given = |candidate: &Candidate| self.inputs["scores"][candidate.name.as_str()].as_i64().unwrap_or(0);
        RankedRequest { base: self.request.clone(), scores: self.request.candidates.iter().map(given).collect() }
    }

    fn by_cluster(&self, answers: impl Iterator<Item = Value>) -> Value {
        let names = self.request.candidates.iter().map(|candidate| candidate.name.clone());
        names.zip(answers).collect::<Map<_, _>>().into()
    }
}

/// What `tell` says of the reason of each cluster that is out, by name.
fn reasons(all: &[(&str, Verdict)], tell: impl Fn(&Reason) -> &String) -> Value {
    let told = |(name, verdict): &(&str, Verdict)| Some(((*name).to_owned(), json!(tell(verdict.reason.as_ref()?))));
    Value::Object(all.iter().filter_map(told).collect())
}

/// Of the map `all` what `named` has too.
fn only(mut all: Value, named: &Value) -> Value {
    if let Value::Object(fields) = &mut all {
        fields.retain(|key, _| named.get(key).is_some());
    }
    all
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value[key].as_array().into_iter().flatten()
}

fn milliseconds(text: &str) -> Result<u64, String> {
    let time = OffsetDateTime::parse(text, &Rfc3339).map_err(|error| format!("{text:?} is no time: {error}"))?;
    u64::try_from(time.unix_timestamp_nanos() / 1_000_000).map_err(|_| format!("{text:?} is before 1970"))
}
