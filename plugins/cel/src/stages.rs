//! The stages: what a policy makes of a request.
//!
//! An error on one cluster or object concerns that one alone. What it comes to is the policy's `failurePolicy`:
//!
//! | stage | Reject | Skip |
//! |---|---|---|
//! | filter | the cluster is out, reason `PolicyError` | the cluster stays |
//! | score | the cluster has the lowest score of all | the expression adds nothing |
//! | select, split | the call fails, code `PolicyError` | as if the conditions did not match |
//! | virtual-label | the label is missing, as for | Skip |
//! | named-selector | the object is not selected | the object is selected |

mod objects;
mod placement;

use std::sync::{Arc, Mutex, PoisonError};

use cel::common::types::CelTimestamp;
use cel::common::value::Val;
use serde_json::Value;

use crate::bindings::orrery::plugin::types::{Call, Failure};
use crate::data::{Node, read};
use crate::fields::{Fields, Problems};
use crate::policy::{Policy, Stage};

pub(crate) use objects::{labels, matches, prepare, selector_batch};
pub(crate) use placement::{Placement, filter, score, select, split};

/// The policy of a call and its params: the policy's own, and the user's in their place.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) policy: Arc<Policy>,
    pub(crate) params: Node,
}

/// Whether these settings can be used: one failure that lists every problem with its place.
pub(crate) fn check(params: &str) -> Result<(), Failure> {
    let settings = Settings::read(params)?;
    let mut problems = Problems::default();
    crate::check::check(&settings.policy, &mut problems);
    if problems.is_empty() { Ok(()) } else { Err(failure("InvalidParams", problems.message())) }
}

// === impl Settings ===

impl Settings {
    /// The settings of a call, for this stage. What was read last is kept, as an instance may answer more than once.
    pub(crate) fn of(call: &Call, stage: Stage) -> Result<Self, Failure> {
        static LAST: Mutex<Option<(String, Settings)>> = Mutex::new(None);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        let settings = match &*last {
            Some((params, settings)) if *params == call.params => settings.clone(),
            _ => Self::read(&call.params)?,
        };
        *last = Some((call.params.clone(), settings.clone()));
        if settings.policy.stage != stage {
            return Err(failure("InvalidParams", "the policy is for another stage"));
        }
        Ok(settings)
    }

    pub(crate) fn read(params: &str) -> Result<Self, Failure> {
        let invalid = |message: String| failure("InvalidParams", message);
        let document: Value = serde_json::from_str(params).map_err(|error| invalid(format!("not JSON: {error}")))?;
        let mut problems = Problems::default();
        let spec = Fields::of(&document, "", &["policy", "params"], &mut problems).and_then(|fields| {
            fields.get("policy").or_else(|| {
                problems.add("", "it needs a policy");
                None
            })
        });
        let Some(spec) = spec.filter(|_| problems.is_empty()) else { return Err(invalid(problems.message())) };
        let policy = Policy::read(spec).map_err(|problems| invalid(problems.message()))?;
        let params = merged(spec.get("params"), document.get("params")).map_err(invalid)?;
        let params = read("params", &params.to_string()).map_err(invalid)?;
        Ok(Self { policy: Arc::new(policy), params })
    }
}

/// The policy's own params, with those of the user in place of the ones of the same name.
fn merged(own: Option<&Value>, given: Option<&Value>) -> Result<Value, String> {
    let mut all = own.and_then(Value::as_object).cloned().unwrap_or_default();
    match given {
        None | Some(Value::Null) => {}
        Some(Value::Object(given)) => all.extend(given.clone()),
        Some(other) => return Err(format!("params: it is {}, not a map", crate::fields::kind(other))),
    }
    Ok(Value::Object(all))
}

pub(crate) fn failure(code: &str, message: impl Into<String>) -> Failure {
    Failure { code: code.to_owned(), message: message.into(), retry_after_ms: None }
}

/// The value of `now`.
fn now(call: &Call) -> Box<dyn Val> {
    let moment = i64::try_from(call.now_ms).ok().and_then(chrono::DateTime::from_timestamp_millis).unwrap_or_default();
    Box::new(CelTimestamp::from(moment.fixed_offset()))
}

/// Lines of a call that a reader of the log gets at most; the host has a bound too.
const MAX_LINES: usize = 8;

/// Tells the log of errors, which concern one cluster or object each and are in no result.
#[derive(Debug, Default)]
pub(crate) struct Errors(usize);

// === impl Errors ===

impl Errors {
    pub(crate) fn add(&mut self, call: &Call, message: &str) {
        self.0 += 1;
        if self.0 <= MAX_LINES {
            write(&format!("{}: {message}", call.plugin));
        }
    }
}

#[cfg(target_arch = "wasm32")]
fn write(line: &str) {
    use crate::bindings::orrery::plugin::log::{Level, write};
    write(Level::Warn, line, "");
}

/// Natively there is no host to write to.
#[cfg(not(target_arch = "wasm32"))]
fn write(_line: &str) {}

#[cfg(test)]
mod tests;
