//! Custom resources, by columns of all types and paths.

use anyhow::Result;
use orrery_harness::Client;
use serde_json::{Value, json};

use super::Maker;

fn definition(plural: &str, kind: &str, columns: &Value) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.odd.example.com")},
        "spec": {"group": "odd.example.com", "scope": "Namespaced", "names": {"plural": plural, "singular": kind.to_lowercase(),
            "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{"name": "v1", "served": true, "storage": true, "additionalPrinterColumns": columns,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
}

pub(super) fn make(at: &Maker<'_>) -> Result<()> {
    let column = |name: &str, kind: &str, path: &str| json!({"name": name, "type": kind, "jsonPath": path});
    let mut wide = column("Wide", "string", ".spec.text");
    wide["priority"] = json!(1);
    wide["description"] = json!("A text.");
    let mut sized = column("Size", "integer", ".spec.size");
    sized["format"] = json!("int32");
    let columns = json!([
        column("Text", "string", ".spec.text"),
        sized,
        column("Ratio", "number", ".spec.ratio"),
        column("On", "boolean", ".spec.on"),
        column("When", "date", ".spec.when"),
        wide,
        column("Ready", "string", ".status.conditions[?(@.type==\"Ready\")].status"),
        column("First", "string", ".spec.list[0]"),
        column("Last", "string", ".spec.list[-1]"),
        column("Some", "string", ".spec.list[1:3]"),
        column("All", "string", ".spec.list[*]"),
        column("Map", "string", ".spec.map"),
        column("List", "string", ".spec.list"),
        column("Dotted", "string", ".metadata.labels.example\\.com/name"),
        column("Quoted", "string", ".spec['text']"),
        column("Above", "string", ".spec.list[?(@>1)]"),
        column("Deep", "string", "..deep"),
        column("Nothing", "string", ".spec.missing.below"),
        column("Null", "string", ".spec.null"),
        column("Age", "date", ".metadata.creationTimestamp"),
    ]);
    let broken = json!([
        column("Fine", "string", ".spec.text"),
        column("Broken", "string", ".spec[?(@.x==]"),
        column("After", "string", ".spec.text")
    ]);
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    at.put(crds, &definition("gadgets", "Gadget", &columns), &Value::Null)?;
    at.put(crds, &definition("plains", "Plain", &json!([])), &Value::Null)?;
    at.put(crds, &definition("brokens", "Broken", &broken), &Value::Null)?;
    let specs = [
        (
            "full",
            json!({"text": "some <text>", "size": 12, "ratio": 1.5, "on": true, "when": "2026-01-02T03:04:05Z",
            "list": [1, 2, 3], "map": {"b": "<x>", "a": [1, {"c": null}]}, "deep": "near", "more": {"deep": "far"}}),
        ),
        ("empty", json!({})),
        ("large", json!({"text": 1_234_567.5, "ratio": 1_234_567.5, "list": [100_000.5, 0.00005], "size": 1e7})),
        (
            "crossed",
            json!({"text": 5, "size": 2.9, "ratio": 3, "on": "true", "when": "soon", "list": "x", "map": true, "null": null}),
        ),
        ("floats", json!({"text": 1.5, "size": "7", "ratio": "x", "when": "", "list": [0.1, 1e21, -3], "map": 1e6})),
        ("nested", json!({"text": ["a", "b"], "size": null, "list": [["x"], {"y": 1}], "map": null, "when": 5})),
    ];
    for (plural, kind) in [("gadgets", "Gadget"), ("plains", "Plain"), ("brokens", "Broken")] {
        let path = format!("/apis/odd.example.com/v1/namespaces/default/{plural}");
        wait_for(at.client, &path)?;
        for (name, spec) in &specs {
            let object = json!({"apiVersion": "odd.example.com/v1", "kind": kind, "spec": spec,
                "metadata": {"name": name, "labels": {"example.com/name": "labelled"}},
                "status": {"conditions": [{"type": "Synced", "status": "False"}, {"type": "Ready", "status": "True"}]}});
            at.put(&path, &object, &Value::Null)?;
        }
    }
    Ok(())
}

fn wait_for(client: &Client, path: &str) -> Result<()> {
    let served = || client.get(path)?.success().map(drop);
    orrery_harness::eventually(&format!("{path} is served"), std::time::Duration::from_secs(20), served)
}
