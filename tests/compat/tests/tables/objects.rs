//! Objects in states that a printer may get wrong.

mod pods;

use anyhow::{Context, Result};
use orrery_harness::Client;
use serde_json::{Value, json};

/// The lists that are compared.
pub(crate) const LISTS: [&str; 14] = [
    "/api/v1/pods",
    "/api/v1/nodes",
    "/api/v1/namespaces",
    "/api/v1/configmaps",
    "/api/v1/services",
    "/api/v1/events",
    "/apis/events.k8s.io/v1/events",
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/replicasets",
    "/apis/batch/v1/jobs",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/odd.example.com/v1/gadgets",
    "/apis/odd.example.com/v1/plains",
    "/apis/odd.example.com/v1/brokens",
];

/// Makes them all.
pub(crate) fn make(client: &Client) -> Result<()> {
    let at = Maker { client };
    pods::make(&at)?;
    nodes(&at)?;
    namespaces(&at)?;
    workloads(&at)?;
    jobs(&at)?;
    services(&at)?;
    config_maps(&at)?;
    events(&at)?;
    custom_resources(&at)
}

struct Maker<'c> {
    client: &'c Client,
}

impl Maker<'_> {
    /// Makes `object` in the list at `path`, then gives it `status` where that is not null.
    fn put(&self, path: &str, object: &Value, status: &Value) -> Result<()> {
        let name = object["metadata"]["name"].as_str().context("an object has a name")?;
        self.client.create(path, object).with_context(|| format!("making {path}/{name}"))?;
        if status.is_null() {
            return Ok(());
        }
        let patch = json!({ "status": status }).to_string();
        let headers = [("Content-Type", "application/merge-patch+json")];
        let answer = self.client.send("PATCH", &format!("{path}/{name}/status"), &headers, patch.as_bytes())?;
        answer.success().with_context(|| format!("the status of {path}/{name}")).map(drop)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.client.send("DELETE", path, &[], b"")?.success().with_context(|| format!("deleting {path}")).map(drop)
    }
}

fn condition(kind: &str, status: &str, reason: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason})
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

fn workload(kind: &str, name: &str, spec: &Value) -> Value {
    let version = if kind == "Job" { "batch/v1" } else { "apps/v1" };
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

fn jobs(at: &Maker<'_>) -> Result<()> {
    let path = "/apis/batch/v1/namespaces/default/jobs";
    let job = |name: &str, spec: Value| {
        let mut job = workload("Job", name, &spec);
        job["spec"]["template"]["spec"]["restartPolicy"] = json!("Never");
        job
    };
    let is = |kind: &str| condition(kind, "True", "");
    let (start, end) = ("2026-01-02T03:04:05Z", "2026-01-02T05:06:07Z");
    let states = [
        ("fresh", json!({}), Value::Null),
        ("many", json!({"completions": 7, "parallelism": 2}), json!({"startTime": start, "succeeded": 3})),
        ("queue", json!({"parallelism": 3}), json!({"startTime": start})),
        ("suspended", json!({"suspend": true}), json!({"conditions": [is("Suspended")]})),
        (
            "complete",
            json!({"completions": 2}),
            json!({"startTime": start, "completionTime": end, "succeeded": 2,
            "conditions": [is("SuccessCriteriaMet"), is("Complete")]}),
        ),
        (
            "failed",
            json!({}),
            json!({"startTime": start, "failed": 1, "conditions": [is("FailureTarget"), is("Failed")]}),
        ),
        ("failing", json!({}), json!({"startTime": start, "conditions": [is("FailureTarget")]})),
        ("ending", json!({}), json!({"startTime": start, "conditions": [is("SuccessCriteriaMet")]})),
    ];
    for (name, spec, status) in states {
        at.put(path, &job(name, spec), &status)?;
    }
    let mut leaving = job("leaving", json!({}));
    leaving["metadata"]["finalizers"] = json!(["example.com/stay"]);
    at.put(path, &leaving, &json!({"startTime": start}))?;
    at.delete(&format!("{path}/leaving"))
}

fn services(at: &Maker<'_>) -> Result<()> {
    let ports = json!([{"name": "a", "port": 80}, {"name": "b", "port": 53, "protocol": "UDP"}]);
    let selector = json!({"tier": "x", "app": "a"});
    let balanced = json!({"loadBalancer": {"ingress": [
        {"hostname": "lb.example.com"}, {"ip": "192.0.2.9"}, {"ip": "192.0.2.10"}]}});
    let states = [
        ("plain", json!({"ports": ports, "selector": selector}), Value::Null),
        ("headless", json!({"clusterIP": "None", "selector": selector}), Value::Null),
        ("open", json!({"type": "NodePort", "ports": ports, "externalIPs": ["192.0.2.1", "192.0.2.2"]}), Value::Null),
        ("pending", json!({"type": "LoadBalancer", "ports": ports}), Value::Null),
        ("balanced", json!({"type": "LoadBalancer", "ports": ports}), balanced.clone()),
        ("both", json!({"type": "LoadBalancer", "ports": ports, "externalIPs": ["192.0.2.1"]}), balanced),
        ("named", json!({"type": "ExternalName", "externalName": "example.com"}), Value::Null),
    ];
    for (name, spec, status) in states {
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec});
        at.put("/api/v1/namespaces/default/services", &service, &status)?;
    }
    Ok(())
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

fn definition(plural: &str, kind: &str, columns: &Value) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.odd.example.com")},
        "spec": {"group": "odd.example.com", "scope": "Namespaced", "names": {"plural": plural, "singular": kind.to_lowercase(),
            "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{"name": "v1", "served": true, "storage": true, "additionalPrinterColumns": columns,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
}

fn custom_resources(at: &Maker<'_>) -> Result<()> {
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
