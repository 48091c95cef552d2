//! For tests: a policy and a request, put together step by step and asked through the component's exports.

use serde_json::{Value, json};

use crate::Cel;
use crate::bindings::exports::orrery::plugin::{
    lifecycle, named_selector, placement_filter, placement_score, placement_select, placement_split, virtual_labels,
};
use crate::bindings::orrery::plugin::placement_types::{Candidate, Current, RankedRequest, Request, Verdict};
use crate::bindings::orrery::plugin::selector_types::{Batch, MatchRequest, PlanRequest};
use crate::bindings::orrery::plugin::types::{Call, Failure};

/// A candidate with the facts of `doc`.
pub(crate) fn cluster(name: &str, doc: Value) -> (String, Value) {
    let mut doc = doc;
    doc["name"] = name.into();
    (name.to_owned(), doc)
}

#[derive(Clone, Debug)]
pub(crate) struct Ask {
    policy: Value,
    params: Value,
    unit: Value,
    now_ms: u64,
    replicas: Option<u32>,
    current: Vec<(String, u32)>,
    candidates: Vec<(String, Value)>,
    scores: Vec<i64>,
    objects: Vec<Value>,
}

// === impl Ask ===

impl Ask {
    pub(crate) fn new(policy: Value) -> Self {
        Self {
            policy,
            params: Value::Null,
            unit: json!({}),
            now_ms: 0,
            replicas: None,
            current: Vec::new(),
            candidates: Vec::new(),
            scores: Vec::new(),
            objects: Vec::new(),
        }
    }

    pub(crate) fn with(mut self, field: &str, value: Value) -> Self {
        self.policy[field] = value;
        self
    }

    pub(crate) fn failure_policy(self, policy: &str) -> Self {
        self.with("failurePolicy", policy.into())
    }

    pub(crate) fn params(mut self, params: Value) -> Self {
        self.params = params;
        self
    }

    pub(crate) fn unit(mut self, unit: Value) -> Self {
        self.unit = unit;
        self
    }

    pub(crate) fn now_ms(mut self, now_ms: u64) -> Self {
        self.now_ms = now_ms;
        self
    }

    pub(crate) fn replicas(mut self, replicas: u32) -> Self {
        self.replicas = Some(replicas);
        self
    }

    pub(crate) fn current(mut self, current: &[(&str, u32)]) -> Self {
        self.current = current.iter().map(|(cluster, replicas)| ((*cluster).to_owned(), *replicas)).collect();
        self
    }

    pub(crate) fn candidates(mut self, candidates: impl IntoIterator<Item = (String, Value)>) -> Self {
        self.candidates = candidates.into_iter().collect();
        self
    }

    pub(crate) fn scores(mut self, scores: &[i64]) -> Self {
        self.scores = scores.to_vec();
        self
    }

    pub(crate) fn objects(mut self, objects: impl IntoIterator<Item = Value>) -> Self {
        self.objects = objects.into_iter().collect();
        self
    }

    fn settings(&self) -> String {
        json!({"policy": self.policy, "params": self.params}).to_string()
    }

    fn call(&self) -> Call {
        Call {
            plugin: "test".to_owned(),
            generation: 1,
            params: self.settings(),
            now_ms: self.now_ms,
            seed: 0,
            trace: String::new(),
            hints: "{}".to_owned(),
        }
    }

    pub(crate) fn request(&self) -> Request {
        let current =
            self.current.iter().map(|(cluster, replicas)| Current { cluster: cluster.clone(), replicas: *replicas });
        let candidates =
            self.candidates.iter().map(|(name, doc)| Candidate { name: name.clone(), doc: doc.to_string() });
        Request {
            call: self.call(),
            unit: self.unit.to_string(),
            replicas: self.replicas,
            current: current.collect(),
            candidates: candidates.collect(),
        }
    }

    fn ranked(&self) -> RankedRequest {
        let mut scores = self.scores.clone();
        scores.resize(self.candidates.len(), 0);
        RankedRequest { base: self.request(), scores }
    }

    /// What is wrong with the policy: nothing, or a line each.
    pub(crate) fn problems(&self) -> String {
        <Cel as lifecycle::Guest>::check_params(self.settings())
            .map_or_else(|failure| failure.message, |()| String::new())
    }

    pub(crate) fn verdicts(&self) -> Result<Vec<Verdict>, Failure> {
        <Cel as placement_filter::Guest>::filter(self.request())
    }

    /// A line for each candidate: `east kept`, or `east CODE: message`.
    pub(crate) fn filtered(&self) -> Vec<String> {
        let verdicts = match self.verdicts() {
            Ok(verdicts) => verdicts,
            Err(failure) => return vec![said(&failure)],
        };
        let lines = self.candidates.iter().zip(verdicts).map(|((name, _), verdict)| match verdict.reason {
            Some(reason) => format!("{name} {}: {}", reason.code, reason.message),
            None if verdict.keep => format!("{name} kept"),
            None => format!("{name} out"),
        });
        lines.collect()
    }

    pub(crate) fn scored(&self) -> Result<Vec<i64>, String> {
        <Cel as placement_score::Guest>::score(self.request()).map_err(|failure| said(&failure))
    }

    /// The names of those that are selected, or the failure.
    pub(crate) fn selected(&self) -> Result<Vec<String>, String> {
        let places = <Cel as placement_select::Guest>::select(self.ranked()).map_err(|failure| said(&failure))?;
        Ok(places.into_iter().map(|place| self.candidates[place as usize].0.clone()).collect())
    }

    pub(crate) fn split(&self) -> Result<Vec<u32>, String> {
        <Cel as placement_split::Guest>::split(self.ranked()).map_err(|failure| said(&failure))
    }

    fn batch(&self) -> Batch {
        let objects = self.objects.iter().map(Value::to_string).collect();
        Batch { call: self.call(), gvr: "/v1/pods".to_owned(), objects }
    }

    /// The labels of each object as `key=value`.
    pub(crate) fn labelled(&self) -> Result<Vec<Vec<String>>, String> {
        let labels = <Cel as virtual_labels::Guest>::labels(self.batch()).map_err(|failure| said(&failure))?;
        let shown =
            |labels: Vec<(String, String)>| labels.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
        Ok(labels.into_iter().map(shown).collect())
    }

    /// Which objects a user who asks with `arg` gets.
    pub(crate) fn matched(&self, user: &str, groups: &[&str], arg: &str) -> Result<Vec<bool>, String> {
        let request = PlanRequest {
            call: self.call(),
            gvr: "/v1/pods".to_owned(),
            name: "test".to_owned(),
            args: json!(arg).to_string(),
            user: user.to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        };
        let plan = <Cel as named_selector::Guest>::prepare(request).map_err(|failure| said(&failure))?;
        let request = MatchRequest { base: self.batch(), plan: plan.state };
        <Cel as named_selector::Guest>::matches(request).map_err(|failure| said(&failure))
    }
}

fn said(failure: &Failure) -> String {
    format!("{}: {}", failure.code, failure.message)
}
