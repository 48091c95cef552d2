//! Deployments and the like, at several numbers of pods.

use anyhow::Result;
use serde_json::{Value, json};

use super::Maker;

pub(super) fn make(at: &Maker<'_>) -> Result<()> {
    workloads(at)?;
    sets(at)?;
    templates(at)
}

/// A workload of two containers; `spec` is merged over.
pub(super) fn workload(kind: &str, name: &str, spec: &Value) -> Value {
    let version = match kind {
        "Job" => "batch/v1",
        "ReplicationController" => "v1",
        _ => "apps/v1",
    };
    let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": {
        "template": {"metadata": {"labels": {"app": "a", "tier": "x"}}, "spec": {"containers": [
            {"name": "one", "image": "registry.example.com/one:1"}, {"name": "two", "image": "two"}]}}}});
    for (key, value) in spec.as_object().into_iter().flatten() {
        object["spec"][key] = value.clone();
    }
    object
}

fn workloads(at: &Maker<'_>) -> Result<()> {
    let plain = json!({"matchLabels": {"tier": "x", "app": "a"}});
    let rich = json!({"matchLabels": {"tier": "x"}, "matchExpressions": [
        {"key": "app", "operator": "In", "values": ["b", "a"]}, {"key": "app", "operator": "NotIn", "values": ["z"]},
        {"key": "gone", "operator": "DoesNotExist"}, {"key": "tier", "operator": "Exists"}]});
    for (path, kind) in [("deployments", "Deployment"), ("replicasets", "ReplicaSet")] {
        let path = format!("/apis/apps/v1/namespaces/default/{path}");
        at.put(&path, &workload(kind, "fresh", &json!({"selector": plain})), &Value::Null)?;
        let status = match kind {
            "Deployment" => json!({"replicas": 4, "readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1}),
            _ => json!({"replicas": 4, "readyReplicas": 2, "availableReplicas": 1}),
        };
        at.put(&path, &workload(kind, "part", &json!({"selector": rich, "replicas": 5})), &status)?;
        at.put(&path, &workload(kind, "none", &json!({"selector": plain, "replicas": 0})), &Value::Null)?;
    }
    Ok(())
}

fn sets(at: &Maker<'_>) -> Result<()> {
    let plain = json!({"matchLabels": {"tier": "x", "app": "a"}});
    let stateful = "/apis/apps/v1/namespaces/default/statefulsets";
    let spec = json!({"selector": plain, "serviceName": "s"});
    at.put(stateful, &workload("StatefulSet", "fresh", &spec), &Value::Null)?;
    let spec = json!({"selector": plain, "serviceName": "s", "replicas": 3});
    at.put(stateful, &workload("StatefulSet", "part", &spec), &json!({"replicas": 3, "readyReplicas": 2}))?;

    let daemons = "/apis/apps/v1/namespaces/default/daemonsets";
    let counts = json!({"desiredNumberScheduled": 5, "currentNumberScheduled": 4, "numberReady": 3, "numberMisscheduled": 0,
        "updatedNumberScheduled": 2, "numberAvailable": 1});
    at.put(daemons, &workload("DaemonSet", "everywhere", &json!({"selector": plain})), &Value::Null)?;
    let mut picky = workload("DaemonSet", "picky", &json!({"selector": plain}));
    picky["spec"]["template"]["spec"]["nodeSelector"] = json!({"app": "x", "app-b": "y", "app.example.com/c": "z"});
    at.put(daemons, &picky, &counts)?;

    let controllers = "/api/v1/namespaces/default/replicationcontrollers";
    let spec = json!({"replicas": 3, "selector": {"tier": "x"}});
    let status = json!({"replicas": 2, "readyReplicas": 1});
    at.put(controllers, &workload("ReplicationController", "old", &spec), &status)
}

fn templates(at: &Maker<'_>) -> Result<()> {
    let path = "/api/v1/namespaces/default/podtemplates";
    let template = workload("Deployment", "t", &json!({}))["spec"]["template"].clone();
    let bare = json!({"spec": template["spec"]});
    at.all(path, "PodTemplate", &[("labelled", json!({"template": template})), ("bare", json!({"template": bare}))])?;
    let owner = |version: &str, kind: &str, controller: bool| {
        json!({"data": {}, "revision": 7, "metadata": {"ownerReferences": [
            {"apiVersion": version, "kind": kind, "name": "owner", "uid": "u", "controller": controller}]}})
    };
    at.all(
        "/apis/apps/v1/namespaces/default/controllerrevisions",
        "ControllerRevision",
        &[
            ("alone", json!({"data": {}, "revision": 1})),
            ("owned", owner("apps/v1", "DaemonSet", true)),
            ("held", owner("apps/v1", "DaemonSet", false)),
            ("core", owner("v1", "Pod", true)),
        ],
    )
}
