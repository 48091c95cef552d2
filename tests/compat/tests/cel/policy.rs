//! The expressions in ValidatingAdmissionPolicies.
//!
//! Each is a variable of a policy, and each variable has a validation of its own, which is false for the object that has the
//! variable's name and true for all others: of several denials only the first is told, so each create has one. The message
//! says the type and the value of the variable, or the error that its evaluation has. What is refused is told for all variables
//! at once, when the policy is made.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use orrery_harness::{Client, eventually};
use serde_json::{Value, json};

use crate::side_by_side;
use crate::table::{Seen, UNSHOWN};
use crate::{object, shown};

/// Expressions of one policy.
const OF_ONE: usize = 100;
/// How long the API server may take from a policy to its first denial.
const ENFORCED: Duration = Duration::from_secs(30);
const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const OBJECTS: &str = "/api/v1/namespaces/default/configmaps?dryRun=All";

/// Some of the expressions, each with the name of its variable and object.
struct Batch<'a> {
    policy: String,
    expressions: Vec<(String, &'a str)>,
}

/// What comes of each of `expressions`.
pub(crate) fn outcomes(client: &Client, expressions: &[&str]) -> Result<BTreeMap<String, Seen>> {
    let named = expressions.iter().enumerate().map(|(at, expression)| (format!("e{at}"), *expression));
    let named: Vec<_> = named.collect();
    let batches = named.chunks(OF_ONE).enumerate();
    let mut batches: Vec<_> = batches
        .map(|(at, chunk)| Batch { policy: format!("cel-{at}.example.com"), expressions: chunk.to_vec() })
        .collect();
    let mut seen = BTreeMap::new();
    for batch in &mut batches {
        seen.extend(batch.make(client)?);
    }
    let asked = side_by_side(&batches, |batch| batch.ask(client))?;
    seen.extend(asked.into_iter().flatten());
    Ok(seen)
}

// === impl Batch ===

impl Batch<'_> {
    /// Makes the policy and its binding, of the expressions that are not refused; gives those that are.
    fn make(&mut self, client: &Client) -> Result<Vec<(String, Seen)>> {
        let body = serde_json::to_vec(&self.document())?;
        let headers = [("content-type", "application/json")];
        let tried = client.send("POST", &format!("{POLICIES}?dryRun=All"), &headers, &body)?;
        let mut refused = Vec::new();
        if tried.status == 422 {
            let status: Value = serde_json::from_slice(&tried.body)?;
            let causes = status["details"]["causes"].as_array().context("a refusal has causes")?;
            for cause in causes {
                refused.push(variable_of(cause).with_context(|| format!("{cause} is about no variable"))?);
            }
        } else {
            tried.success()?;
        }
        let mut seen = Vec::new();
        for (at, said) in &refused {
            let (_, expression) = self.expressions.get(*at).context("a cause is about a variable that is there")?;
            seen.push(((*expression).to_owned(), Seen::refused(said)));
        }
        let mut at = 0;
        self.expressions.retain(|_| {
            at += 1;
            refused.iter().all(|(refused, _)| *refused != at - 1)
        });
        client.create(POLICIES, &self.document())?;
        let spec = json!({"policyName": self.policy, "validationActions": ["Deny"]});
        client.create(BINDINGS, &json!({"metadata": {"name": self.policy}, "spec": spec}))?;
        Ok(seen)
    }

    fn document(&self) -> Value {
        let variables: Vec<Value> =
            self.expressions.iter().map(|(name, expression)| json!({"name": name, "expression": expression})).collect();
        let validations = self.expressions.iter().map(|(name, _)| {
            json!({
                "expression": format!("object.metadata.name != '{name}' || size([dyn(variables.{name})]) == 0"),
                "messageExpression": format!("object.metadata.name == '{name}' ? {} : ''", shown(name)),
                "message": format!("= {UNSHOWN}"),
            })
        });
        let names: Vec<&String> = self.expressions.iter().map(|(name, _)| name).collect();
        let rule = json!({
            "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"],
            "resourceNames": names,
        });
        json!({
            "metadata": {"name": self.policy},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [rule]},
                "variables": variables,
                "validations": validations.collect::<Vec<_>>(),
            },
        })
    }

    fn ask(&self, client: &Client) -> Result<Vec<(String, Seen)>> {
        let Some((first, _)) = self.expressions.first() else { return Ok(Vec::new()) };
        eventually("the policy is enforced", ENFORCED, || self.denial(client, first).map(drop))?;
        let ask = |(name, expression): &(String, &str)| Ok(((*expression).to_owned(), self.denial(client, name)?));
        self.expressions.iter().map(ask).collect()
    }

    /// What the object `name` is denied with.
    fn denial(&self, client: &Client, name: &str) -> Result<Seen> {
        let headers = [("content-type", "application/json")];
        let answer = client.send("POST", OBJECTS, &headers, &serde_json::to_vec(&object(name))?)?;
        ensure!(answer.status == 422, "the create of {name} was answered {}: {}", answer.status, answer.text());
        let status: Value = serde_json::from_slice(&answer.body)?;
        let message = status["message"].as_str().unwrap_or_default();
        let by = format!("'{0}' with binding '{0}' denied request: ", self.policy);
        let (_, said) = message.split_once(&by).with_context(|| format!("{name}: another denial: {message}"))?;
        match (said.strip_prefix("= "), said.split_once(&format!("composited variable \"{name}\" fails to evaluate: ")))
        {
            (Some(value), _) => Ok(Seen::value(value)),
            (None, Some((_, error))) => Ok(Seen::error(error)),
            (None, None) => bail!("{name} was denied with neither a value nor its error: {said}"),
        }
    }
}

/// Which variable a cause is about, and what it says.
fn variable_of(cause: &Value) -> Option<(usize, String)> {
    let at = cause["field"].as_str()?.strip_prefix("spec.variables[")?.strip_suffix("].expression")?;
    Some((at.parse().ok()?, cause["message"].as_str()?.to_owned()))
}
