use serde_json::json;

use super::*;

const WHOLE: &str = "\
# Two rules and what asks them.
apiVersion: orrery.dev/v1alpha1
kind: Plugin
metadata: {name: cheap}
spec:
  component: {path: cheap.wasm}
  params: {weight: 2}
  capabilities: [inventory]
  limits: {fuel: 5000}
---
apiVersion: orrery.dev/v1alpha1
kind: CelPolicy
metadata: {name: gpu}
spec:
  target: {stage: filter}
  expressions:
  - {name: gpu, expression: 'cluster.labels.has(\"gpu\")'}
  tests:
  - {name: none, inputs: {candidates: []}, expect: {kept: []}}
---
---
apiVersion: orrery.dev/v1alpha1
kind: ClusterPlacementPolicy
metadata: {name: all}
spec:
  stages:
  - {stage: filter, celPolicy: gpu, failurePolicy: UseBuiltin}
  - {stage: score, plugin: cheap, failurePolicy: UseLastKnown}
";

fn problem(right: &str, wrong: &str) -> String {
    assert!(WHOLE.contains(right), "{right}");
    Document::parse(&WHOLE.replacen(right, wrong, 1)).unwrap_err().to_string()
}

#[test]
fn documents_of_several_kinds_stand_in_one_file() {
    let documents = Document::parse(WHOLE).unwrap();
    let names: Vec<_> = documents.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["Plugin cheap", "CelPolicy gpu", "ClusterPlacementPolicy all"]);
    let Document::Plugin(plugin) = &documents[0] else { panic!() };
    assert_eq!((plugin.limits.fuel, &plugin.params), (5000, &json!({"weight": 2})));
    let Document::Cel(policy) = &documents[1] else { panic!() };
    assert_eq!((policy.target, policy.tests[0].name.as_str()), (CelTarget::Filter, "none"));
    assert_eq!(policy.spec["expressions"][0]["name"], "gpu");
}

#[test]
fn what_is_wrong_is_said_with_its_place_in_the_file() {
    assert_eq!(
        problem("kind: Plugin", "kind: Plugn"),
        "line 3, column 7: unknown kind `Plugn`; did you mean `Plugin`?"
    );
    assert_eq!(problem("path: cheap.wasm", "pth: a"), "line 6, column 15: unknown key `pth`; did you mean `path`?");
    let outside = problem("path: cheap.wasm", "path: ../cheap.wasm");
    assert!(outside.starts_with("line 6, column 14: \"../cheap.wasm\" is no file of the directory"), "{outside}");
    assert!(problem("{path: cheap.wasm}", "{oci: a/b}").contains("needs the `digest`"));
    assert!(problem("{path: cheap.wasm}", "{path: a, digest: 'sha256:1'}").contains("is no digest"));
    assert!(problem("{fuel: 5000}", "{fuel: 0}").starts_with("line 9, column 11: `fuel` is 0"));
    assert!(problem("name: gpu", "name: Gpu").starts_with("line 13, column 11: \"Gpu\" is no name of an extension"));
    let stage = problem("stage: filter}", "stage: filtr}");
    assert_eq!(stage, "line 15, column 19: unknown value `filtr`; did you mean `filter`?");
}

#[test]
fn a_stage_of_an_extension_names_it_and_a_built_in_one_does_not() {
    assert!(problem("celPolicy: gpu, ", "").contains("name one, as `plugin: NAME` or `celPolicy: NAME`"));
    assert!(problem("stage: filter, celPolicy", "stage: taints, celPolicy").contains("this stage is built in"));
    let built_in = problem(
        "{stage: score, plugin: cheap, failurePolicy: UseLastKnown}",
        "{stage: taints, failurePolicy: UseLastKnown}",
    );
    assert!(built_in.contains("taints is built in; its `failurePolicy` is Reject or Skip"), "{built_in}");
    assert!(problem("plugin: cheap,", "plugin: cheap, params: {},").contains("write them in its `spec.params`"));
}

#[test]
fn no_two_documents_of_a_file_have_one_name() {
    let twice = format!("{WHOLE}---\n{}", WHOLE.split("---\n").last().unwrap());
    let problem = Document::parse(&twice).unwrap_err().to_string();
    assert!(
        problem.ends_with("ClusterPlacementPolicy all stands in this file twice; give one another name"),
        "{problem}"
    );
}
