//! The policies of this repository: each is right, and does what its tests say. So does the format of these tests, which
//! the host runs too.

use std::fs;

use serde_json::{Map, Value, json};

use crate::testing::Ask;

/// The documents of `policies/`, by file.
fn policies() -> Vec<(String, Value)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies");
    let files = fs::read_dir(folder).expect("the folder is there").map(|file| file.expect("it can be read").path());
    let mut files: Vec<_> = files.filter(|file| file.extension().is_some_and(|ending| ending == "yaml")).collect();
    files.sort();
    let read = |file: &std::path::PathBuf| {
        let text = fs::read_to_string(file).expect("it is text");
        serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    };
    files.iter().map(|file| (file.file_name().unwrap().to_string_lossy().into_owned(), read(file))).collect()
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn name(value: &Value) -> String {
    value["name"].as_str().unwrap_or_default().to_owned()
}

/// The policy and the inputs of a test.
fn asked(spec: &Value, inputs: &Value) -> Ask {
    let candidates: Vec<(String, Value)> =
        list(&inputs["candidates"]).into_iter().map(|doc| (name(&doc), doc)).collect();
    let current = list(&inputs["current"]);
    let current: Vec<(&str, u32)> = current
        .iter()
        .map(|one| (one["cluster"].as_str().unwrap(), one["replicas"].as_u64().unwrap() as u32))
        .collect();
    let scores: Vec<i64> =
        candidates.iter().map(|(name, _)| inputs["scores"][name.as_str()].as_i64().unwrap_or_default()).collect();
    let now =
        inputs["now"].as_str().map_or(0, |now| chrono::DateTime::parse_from_rfc3339(now).unwrap().timestamp_millis());
    let unit = if inputs["unit"].is_null() { json!({}) } else { inputs["unit"].clone() };
    Ask::new(spec.clone())
        .params(inputs["params"].clone())
        .unit(unit)
        .now_ms(now as u64)
        .current(&current)
        .scores(&scores)
        .candidates(candidates)
        .objects(list(&inputs["objects"]))
}

/// What the policy does, in the terms of `expect`, as far as `expect` asks.
fn done(ask: &Ask, stage: &str, inputs: &Value, expect: &Value) -> Value {
    let names: Vec<String> = list(&inputs["candidates"]).iter().map(name).collect();
    let mut done = Map::new();
    match stage {
        "filter" => {
            let verdicts = ask.verdicts().unwrap_or_else(|failure| panic!("{}", failure.message));
            let pairs: Vec<_> = names.iter().zip(verdicts).collect();
            let kept = pairs.iter().filter(|(_, verdict)| verdict.keep).map(|(name, _)| json!(name));
            done.insert("kept".to_owned(), kept.collect::<Vec<_>>().into());
            let reasons = pairs.iter().filter_map(|(name, verdict)| Some((name, verdict.reason.as_ref()?)));
            let reasons: Vec<_> = reasons.collect();
            let codes = reasons.iter().map(|(name, reason)| ((**name).to_string(), json!(reason.code)));
            done.insert("reasons".to_owned(), Value::Object(codes.collect()));
            let messages = reasons.iter().map(|(name, reason)| ((**name).to_string(), json!(reason.message)));
            done.insert(
                "messages".to_owned(),
                Value::Object(messages.filter(|(name, _)| !expect["messages"][name].is_null()).collect()),
            );
        }
        "score" => {
            let scores = ask.scored().unwrap_or_else(|failure| panic!("{failure}"));
            let scores = names.into_iter().zip(scores).map(|(name, score)| (name, score.into()));
            done.insert("scores".to_owned(), Value::Object(scores.collect()));
        }
        "select" => {
            done.insert("selected".to_owned(), ask.selected().unwrap_or_else(|failure| panic!("{failure}")).into());
        }
        _ => {
            let labels = ask.labelled().unwrap_or_else(|failure| panic!("{failure}"));
            let object = |labels: Vec<String>| {
                let pairs = labels.iter().filter_map(|label| label.split_once('='));
                Value::Object(pairs.map(|(key, value)| (key.to_owned(), value.into())).collect())
            };
            done.insert("labels".to_owned(), labels.into_iter().map(object).collect::<Vec<_>>().into());
        }
    }
    done.retain(|field, _| !expect[field.as_str()].is_null());
    Value::Object(done)
}

/// The example at the head of the reference.
fn example() -> (String, Value) {
    let text =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cel.md")).expect("the reference is there");
    let block = text.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("it has an example");
    ("docs/cel.md".to_owned(), serde_saphyr::from_str(block).unwrap())
}

#[test]
fn every_policy_is_right_and_does_what_its_tests_say() {
    let policies = policies();
    assert!(policies.len() >= 7, "only {} policies were found", policies.len());
    for (file, document) in policies.into_iter().chain([example()]) {
        assert_eq!(
            (&document["apiVersion"], &document["kind"]),
            (&json!("orrery.dev/v1alpha1"), &json!("CelPolicy")),
            "{file}"
        );
        let spec = &document["spec"];
        assert_eq!(Ask::new(spec.clone()).problems(), "", "{file}");
        let tests = list(&spec["tests"]);
        assert!(!tests.is_empty(), "{file} has no tests");
        for test in tests {
            let (inputs, expect) = (&test["inputs"], &test["expect"]);
            let done = done(&asked(spec, inputs), spec["target"]["stage"].as_str().unwrap(), inputs, expect);
            assert_eq!(&done, expect, "{file}: {}", test["name"]);
        }
    }
}

#[test]
fn no_policy_has_an_error_on_a_cluster_of_which_nothing_is_known() {
    let bare =
        [json!({"name": "bare"}), json!({"name": "empty", "labels": {}, "taints": [], "scores": {}, "free": {}})];
    for (file, document) in policies() {
        // Not even an error that is skipped: a policy that rejects would show it.
        let spec = &document["spec"];
        assert!(spec["failurePolicy"].is_null(), "{file}");
        for unit in [
            json!({}),
            json!({"namespace": "shop", "replicas": null, "requests": null, "tolerations": [], "labels": {}}),
        ] {
            let ask = asked(spec, &json!({"candidates": bare, "unit": unit, "objects": [{}, {"metadata": {}}]}));
            match spec["target"]["stage"].as_str().unwrap() {
                "filter" => assert_eq!(ask.filtered(), ["bare kept", "empty kept"], "{file}"),
                "score" => assert_eq!(ask.scored(), Ok(vec![0, 0]), "{file}"),
                "select" => assert_eq!(ask.selected().map(|all| all.len()), Ok(2), "{file}"),
                _ => assert_eq!(ask.labelled().map(|all| all.len()), Ok(2), "{file}"),
            }
        }
    }
}
