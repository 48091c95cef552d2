//! The expressions in rules of the host, which its component evaluates.
//!
//! Each is a variable of a CelPolicy. Whether it is refused is told where the rule is tried; what it gives is explained.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use orrery_harness::{Client, eventually};
use serde_json::{Value, json};

use crate::table::{Seen, UNSHOWN};
use crate::{object, shown, side_by_side};

/// Expressions of one rule: as many as it may have.
const OF_ONE: usize = 64;
/// How long the component may take to compile where nothing was compiled before, and a rule until it serves.
const SERVING: Duration = Duration::from_secs(150);

type Named<'a> = (String, &'a str);

/// What comes of each of `expressions`. `folder` is the host's `--extensions`.
pub(crate) fn outcomes(client: &Client, folder: &Path, expressions: &[&str]) -> Result<BTreeMap<String, Seen>> {
    let named = expressions.iter().enumerate().map(|(at, expression)| (format!("e{at}"), *expression));
    let named: Vec<Named<'_>> = named.collect();
    let mut seen = BTreeMap::new();
    let mut taken = Vec::new();
    for (one, refusal) in named.iter().zip(refusals(client, &named)?) {
        match refusal {
            Some(said) => drop(seen.insert(one.1.to_owned(), Seen::refused(&said))),
            None => taken.push(one.clone()),
        }
    }
    let batches: Vec<_> = taken.chunks(OF_ONE).enumerate().collect();
    for (at, batch) in &batches {
        fs::write(folder.join(format!("{}.yaml", rule_name(*at))), document(&rule_name(*at), batch).to_string())?;
    }
    let explained = side_by_side(&batches, |(at, batch)| explain(client, &rule_name(*at), batch))?;
    seen.extend(explained.into_iter().flatten());
    Ok(seen)
}

fn rule_name(at: usize) -> String {
    format!("cel-{at}")
}

fn document(name: &str, batch: &[Named<'_>]) -> Value {
    let all = |text: &dyn Fn(&Named<'_>) -> String| {
        batch.iter().map(|one| json!({"name": one.0, "expression": text(one)})).collect::<Vec<_>>()
    };
    let spec = json!({
        "target": {"stage": "virtual-label"},
        "variables": all(&|(_, expression)| (*expression).to_owned()),
        "expressions": all(&|(name, _)| shown(name)),
        "limits": {"fuel": 10_000_000_000_u64},
    });
    json!({"apiVersion": "orrery.dev/v1alpha1", "kind": "CelPolicy", "metadata": {"name": name}, "spec": spec})
}

/// Why each is refused, where it is: one rule each, as a rule tells what cannot be read before it looks at types.
fn refusals(client: &Client, named: &[Named<'_>]) -> Result<Vec<Option<String>>> {
    let documents: Vec<String> =
        named.iter().map(|one| document(&one.0, std::slice::from_ref(one)).to_string()).collect();
    let headers = [("content-type", "application/yaml")];
    let try_all = |text: &str| client.send("POST", "/orrery/v1/try", &headers, text.as_bytes())?.success();
    eventually("the component is compiled", SERVING, || {
        let trials = try_all(&document("ready", &[("ready".to_owned(), "true")]).to_string())?;
        ensure!(trials[0]["step"].is_null(), "{trials}");
        Ok(())
    })?;
    let mut refusals = Vec::new();
    for some in documents.chunks(OF_ONE) {
        let trials = try_all(&some.join("\n---\n"))?;
        let trials = trials.as_array().context("the answer is a list")?;
        ensure!(trials.len() == some.len(), "{} rules were tried instead of {}", trials.len(), some.len());
        for trial in trials {
            let reason = trial["reason"].as_str().unwrap_or_default();
            let is_about_it = trial["step"] == "check-params" && reason.contains("variables[0].expression: ");
            ensure!(trial["step"].is_null() || is_about_it, "a rule was not tried: {trial}");
            refusals.push(is_about_it.then(|| reason.to_owned()));
        }
    }
    Ok(refusals)
}

fn explain(client: &Client, rule: &str, batch: &[Named<'_>]) -> Result<Vec<(String, Seen)>> {
    let path = format!("/orrery/v1/extensions/CelPolicy/{rule}/explain");
    let explained = eventually("the rule serves", SERVING, || client.create(&path, &object("explained")))?;
    let on = &explained["on"][0];
    let part = |of: &str, at: usize, name: &str| {
        let part = on[of][at].clone();
        ensure!(part["name"] == name, "{rule} does not explain {name}: {part}");
        Ok(part)
    };
    let mut seen = Vec::new();
    for (at, (name, expression)) in batch.iter().enumerate() {
        let (variable, shown) = (part("variables", at, name)?, part("expressions", at, name)?);
        let outcome = match (variable["error"].as_str(), shown["value"].as_str()) {
            (Some(error), _) => Seen::error(error),
            (None, Some(text)) => value(text).with_context(|| format!("{expression} gives {text}"))?,
            (None, None) => Seen::value(UNSHOWN),
        };
        seen.push(((*expression).to_owned(), outcome));
    }
    Ok(seen)
}

/// The value in a text that is explained: in quotes, and cut where it is long.
fn value(text: &str) -> Result<Seen> {
    let shown: String = serde_json::from_str(text).context("it is no text, or longer than what is shown")?;
    Ok(Seen::value(shown.strip_prefix("= ").context("it is not what was asked for")?))
}
