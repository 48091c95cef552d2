//! Nodes, namespaces, events, and kinds of the core group that hold data.

use anyhow::Result;
use serde_json::{Value, json};

use super::{Maker, condition};

pub(super) fn make(at: &Maker<'_>) -> Result<()> {
    nodes(at)?;
    namespaces(at)?;
    config_maps(at)?;
    secrets(at)?;
    events(at)
}

fn nodes(at: &Maker<'_>) -> Result<()> {
    let info = json!({"kubeletVersion": "v1.37.2", "osImage": "An OS <1>", "kernelVersion": "6.1", "architecture": "amd64",
        "containerRuntimeVersion": "fake://1", "machineID": "", "systemUUID": "", "bootID": "", "kubeProxyVersion": "",
        "operatingSystem": "linux"});
    let bare = json!({"kubeletVersion": "", "osImage": "", "kernelVersion": "", "architecture": "arm64",
        "containerRuntimeVersion": "", "machineID": "", "systemUUID": "", "bootID": "", "kubeProxyVersion": "",
        "operatingSystem": ""});
    let states = [
        (
            "ready",
            json!({"node-role.kubernetes.io/control-plane": "", "kubernetes.io/role": "edge"}),
            json!({}),
            json!({"conditions": [condition("Ready", "True", "")], "nodeInfo": info, "addresses": [
                {"type": "Hostname", "address": "ready"}, {"type": "InternalIP", "address": "10.1.0.1"},
                {"type": "InternalIP", "address": "fd00::2"}, {"type": "ExternalIP", "address": "192.0.2.1"}]}),
        ),
        (
            "not-ready",
            json!({}),
            json!({"unschedulable": true}),
            json!({"conditions": [condition("Ready", "Unknown", "NodeStatusUnknown")], "nodeInfo": bare}),
        ),
        ("silent", json!({"kubernetes.io/role": ""}), json!({}), Value::Null),
    ];
    for (name, labels, spec, status) in states {
        let metadata = json!({"name": name, "labels": labels});
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec});
        at.put("/api/v1/nodes", &node, &status)?;
    }
    Ok(())
}

fn namespaces(at: &Maker<'_>) -> Result<()> {
    for name in ["stays", "goes"] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        at.put("/api/v1/namespaces", &namespace, &Value::Null)?;
    }
    at.delete("/api/v1/namespaces/goes")
}

fn config_maps(at: &Maker<'_>) -> Result<()> {
    let contents = [
        ("empty", json!({}), json!({})),
        ("quoted", json!({"a": "\"x\"\n", "b": "<&>"}), json!({})),
        ("binary", json!({"a": "1"}), json!({"b": "AAE=", "c": "AAE="})),
    ];
    for (name, data, binary) in contents {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data, "binaryData": binary});
        at.put("/api/v1/namespaces/default/configmaps", &map, &Value::Null)?;
    }
    Ok(())
}

fn secrets(at: &Maker<'_>) -> Result<()> {
    at.all(
        "/api/v1/namespaces/default/secrets",
        "Secret",
        &[
            ("empty", json!({})),
            ("opaque", json!({"data": {"a": "AAE=", "b": ""}})),
            ("typed", json!({"type": "example.com/token", "data": {"token": "AAE="}})),
        ],
    )?;
    at.all("/api/v1/namespaces/default/serviceaccounts", "ServiceAccount", &[("robot", json!({}))])
}

fn events(at: &Maker<'_>) -> Result<()> {
    let (old, older) = ("2026-01-02T03:04:05Z", "2025-06-02T03:04:05Z");
    let about = json!({"kind": "Pod", "name": "fresh", "namespace": "default", "fieldPath": "spec.containers{main}"});
    let states = [
        (
            "counted",
            json!({"involvedObject": about, "reason": "Failed", "type": "Warning", "message": "  two\nlines \"quoted\" \n",
            "source": {"component": "kubelet", "host": "n1"}, "firstTimestamp": older, "lastTimestamp": old, "count": 9}),
        ),
        ("bare", json!({"involvedObject": {"kind": "Pod", "namespace": "default"}})),
        (
            "once",
            json!({"involvedObject": about, "reason": "Made", "type": "Normal", "eventTime": "2026-01-02T03:04:05.678901Z",
            "reportingComponent": "example.com/maker", "reportingInstance": "maker-1", "action": "Make"}),
        ),
        (
            "series",
            json!({"involvedObject": about, "reason": "Made", "type": "Normal", "eventTime": "2025-01-02T03:04:05.678901Z",
            "reportingComponent": "example.com/maker", "reportingInstance": "maker-1", "action": "Make",
            "series": {"count": 12, "lastObservedTime": "2026-01-02T03:04:05.678901Z"}}),
        ),
    ];
    for (name, fields) in states {
        let mut event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}});
        for (key, value) in fields.as_object().into_iter().flatten() {
            event[key] = value.clone();
        }
        at.put("/api/v1/namespaces/default/events", &event, &Value::Null)?;
    }
    Ok(())
}
