//! The expressions of `tests/compat/cel.txt`, of which a test there sees what a kube-apiserver makes of each: here they give
//! the same, but for what `docs/cel.md` lists.

#[path = "../../../tests/compat/tests/cel/table.rs"]
#[allow(dead_code)]
mod table;

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use crate::explain::explain;
use crate::testing::Ask;
use table::{Seen, UNSHOWN, cases, compare_ours, differences};

/// What the other test does with an expression through the host.
fn seen(expression: &str) -> Seen {
    let shown = "'= %s %s'.format([dyn(type(variables.x)), dyn(variables.x)])";
    let policy = json!({
        "target": {"stage": "virtual-label"},
        "variables": [{"name": "x", "expression": expression}],
        "expressions": [{"name": "x", "expression": shown}],
    });
    let problems = Ask::new(policy.clone()).problems();
    if !problems.is_empty() {
        assert!(problems.starts_with("variables[0]"), "{expression}: {problems}");
        return Seen::refused(&problems);
    }
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x", "namespace": "default", "labels": {"tier": "gold", "sky.example.com/moon": "full"}},
        "data": {"text": "día", "number": "7"},
    });
    let explained = explain(&json!({"settings": {"policy": policy}, "objects": [object]}).to_string());
    let explained: Value = serde_json::from_str(&explained.expect("it is a policy")).expect("it is JSON");
    let on = &explained["on"][0];
    match (on["variables"][0]["error"].as_str(), on["expressions"][0]["value"].as_str()) {
        (Some(error), _) => Seen::error(error),
        (None, Some(value)) => {
            let value: String = serde_json::from_str(value).unwrap_or_else(|_| panic!("{expression} gives {value}"));
            Seen::value(value.trim_start_matches("= "))
        }
        (None, None) => Seen::value(UNSHOWN),
    }
}

#[test]
fn expressions_give_here_what_they_give_in_kubernetes() {
    let file = |path: &str| fs::read_to_string(format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))).expect(path);
    let all = cases(&file("tests/compat/cel.txt"));
    let seen: BTreeMap<_, _> = all.iter().map(|case| (case.expression.clone(), seen(&case.expression))).collect();
    let wrong = compare_ours(&all, &differences(&file("docs/cel.md")), &seen);
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}
