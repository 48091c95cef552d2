//! What API servers and controllers keep for themselves.

use anyhow::Result;
use serde_json::{Value, json};

use super::{Maker, condition};

pub(super) fn make(at: &Maker<'_>) -> Result<()> {
    leases(at)?;
    flows(at)?;
    versions(at)?;
    evictions(at)
}

fn leases(at: &Maker<'_>) -> Result<()> {
    at.all(
        "/apis/coordination.k8s.io/v1/namespaces/default/leases",
        "Lease",
        &[
            ("free", json!({"spec": {}})),
            ("held", json!({"spec": {"holderIdentity": "me", "leaseDurationSeconds": 5}})),
        ],
    )?;
    at.all(
        "/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates",
        "LeaseCandidate",
        &[(
            "one",
            json!({"spec": {"leaseName": "held", "binaryVersion": "1.37.2", "emulationVersion": "1.37.0",
            "strategy": "OldestEmulationVersion"}}),
        )],
    )
}

/// Beside those that the API server makes.
fn flows(at: &Maker<'_>) -> Result<()> {
    let group = "/apis/flowcontrol.apiserver.k8s.io/v1";
    let subjects = json!([{"kind": "User", "user": {"name": "nobody"}}]);
    let rules = json!([{"subjects": subjects, "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/none"]}]}]);
    at.all(&format!("{group}/prioritylevelconfigurations"), "PriorityLevelConfiguration", &[
        (
            "queues",
            json!({"spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Queue",
                "queuing": {"queues": 16, "handSize": 4, "queueLengthLimit": 50}}}}}),
        ),
        (
            "rejects",
            json!({"spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 0, "limitResponse": {"type": "Reject"}}}}),
        ),
    ])?;
    at.all(&format!("{group}/flowschemas"), "FlowSchema", &[
        (
            "z-first",
            json!({"spec": {"matchingPrecedence": 5, "priorityLevelConfiguration": {"name": "queues"},
                "distinguisherMethod": {"type": "ByUser"}, "rules": rules}}),
        ),
        (
            "a-last",
            json!({"spec": {"matchingPrecedence": 9999, "priorityLevelConfiguration": {"name": "missing"}, "rules": rules}}),
        ),
    ])
}

fn versions(at: &Maker<'_>) -> Result<()> {
    let ended = |kind: &str| {
        let mut condition = condition(kind, "True", "Moved");
        condition["lastTransitionTime"] = json!("2026-01-02T03:04:05Z");
        condition["message"] = json!("");
        json!({"resourceVersion": "1", "conditions": [condition]})
    };
    let spec = |group: &str, resource: &str| json!({"resource": {"group": group, "resource": resource}});
    at.all(
        "/apis/storagemigration.k8s.io/v1/storageversionmigrations",
        "StorageVersionMigration",
        &[
            ("waits", json!({"spec": spec("apps", "deployments")})),
            ("runs", json!({"spec": spec("", "pods"), "status": ended("Running")})),
            ("done", json!({"spec": spec("", "configmaps"), "status": ended("Succeeded")})),
        ],
    )?;
    at.also("/apis/internal.apiserver.k8s.io/v1alpha1/storageversions");
    at.also("/apis/apiregistration.k8s.io/v1/apiservices");
    Ok(())
}

fn evictions(at: &Maker<'_>) -> Result<()> {
    let target = json!({"pod": {"name": "fresh", "uid": "8e1b3a0c-52b0-4c8e-9f43-000000000001"}});
    let condition = |kind: &str, reason: &str| {
        let mut condition = condition(kind, "True", reason);
        condition["lastTransitionTime"] = json!("2026-01-02T03:04:05Z");
        condition["message"] = json!("");
        condition
    };
    let request = |status: Value| json!({"spec": {"target": target, "requester": "drain.example.com/node", "intent": "Eviction"}, "status": status});
    let group = "/apis/lifecycle.k8s.io/v1alpha1/namespaces/default";
    at.all(
        &format!("{group}/evictionrequests"),
        "EvictionRequest",
        &[
            ("fresh", request(Value::Null)),
            ("seen", request(json!({"observedGeneration": 1}))),
            (
                "done",
                request(json!({"observedGeneration": 1, "conditions": [condition("TargetEvicted", "PodDeleted")]})),
            ),
        ],
    )?;
    let requesters =
        json!([{"name": "b.example.com/x", "intent": "Eviction"}, {"name": "a.example.com/x", "intent": "Eviction"}]);
    let responders = json!([{"name": "imperative-eviction.k8s.io/evictor", "priority": 100, "state": "Active"}]);
    let eviction = |status: Value| json!({"spec": {"target": target}, "status": status});
    let path = format!("{group}/evictions");
    at.all(&path, "Eviction", &[("fresh", eviction(Value::Null))])?;
    // Responders are let begin only about now.
    let now = at.client.json(&format!("{path}/fresh"))?["metadata"]["creationTimestamp"].clone();
    let responder = json!([{"name": "imperative-eviction.k8s.io/evictor", "startTime": now}]);
    let begun = json!({"observedGeneration": 1, "requesters": requesters, "targetResponders": responders,
        "responders": responder});
    at.all(&path, "Eviction", &[("begun", eviction(begun))])
}
