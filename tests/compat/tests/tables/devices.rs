//! Devices, claims to them, and groups of pods.

use anyhow::Result;
use serde_json::{Value, json};

use super::{Maker, condition};

pub(super) fn make(at: &Maker<'_>) -> Result<()> {
    claims(at)?;
    slices(at)?;
    pod_groups(at)
}

fn claims(at: &Maker<'_>) -> Result<()> {
    let group = "/apis/resource.k8s.io/v1";
    let path = format!("{group}/namespaces/default/resourceclaims");
    let spec = json!({"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}});
    let given =
        json!({"devices": {"results": [{"request": "r", "driver": "gpu.example.com", "pool": "p", "device": "d"}]}});
    let reserved = json!([{"resource": "pods", "name": "fresh", "uid": "u"}]);
    let held = json!({"finalizers": ["example.com/stay"]});
    at.all(
        &path,
        "ResourceClaim",
        &[
            ("pending", json!({"spec": spec})),
            ("allocated", json!({"spec": spec, "status": {"allocation": given}})),
            ("reserved", json!({"spec": spec, "status": {"allocation": given, "reservedFor": reserved}})),
            ("deleted", json!({"metadata": held, "spec": spec})),
            ("going", json!({"metadata": held, "spec": spec, "status": {"allocation": given}})),
        ],
    )?;
    at.delete(&format!("{path}/deleted"))?;
    at.delete(&format!("{path}/going"))?;
    at.all(&format!("{group}/deviceclasses"), "DeviceClass", &[("gpu", json!({"spec": {}}))])?;
    let template = json!({"spec": {"spec": spec}});
    at.all(&format!("{group}/namespaces/default/resourceclaimtemplates"), "ResourceClaimTemplate", &[("one", template)])
}

fn slices(at: &Maker<'_>) -> Result<()> {
    let pool = json!({"name": "pool-1", "generation": 1, "resourceSliceCount": 1});
    at.all(
        "/apis/resource.k8s.io/v1/resourceslices",
        "ResourceSlice",
        &[
            ("on-node", json!({"spec": {"driver": "gpu.example.com", "nodeName": "ready", "pool": pool}})),
            ("anywhere", json!({"spec": {"driver": "net.example.com", "allNodes": true, "pool": pool}})),
        ],
    )?;
    let taint = |added: Value| {
        let mut taint = json!({"key": "example.com/broken", "value": "yes", "effect": "NoSchedule"});
        if !added.is_null() {
            taint["timeAdded"] = added;
        }
        json!({"spec": {"deviceSelector": {"driver": "gpu.example.com"}, "taint": taint}})
    };
    at.all(
        "/apis/resource.k8s.io/v1/devicetaintrules",
        "DeviceTaintRule",
        &[("fresh", taint(Value::Null)), ("old", taint(json!("2026-01-02T03:04:05Z")))],
    )?;
    pool_requests(at)
}

fn pool_requests(at: &Maker<'_>) -> Result<()> {
    let spec = json!({"driver": "gpu.example.com"});
    let ended = |kind: &str| {
        let mut condition = condition(kind, "True", "Ended");
        condition["lastTransitionTime"] = json!("2026-01-02T03:04:05Z");
        condition["message"] = json!("");
        json!([condition])
    };
    let pool = |name: &str, total: u32| {
        json!({"driver": "gpu.example.com", "poolName": name, "generation": 1, "resourceSliceCount": 1, "totalDevices": total,
            "availableDevices": total - 1, "allocatedDevices": 1, "unavailableDevices": 0})
    };
    at.all("/apis/resource.k8s.io/v1alpha3/resourcepoolstatusrequests", "ResourcePoolStatusRequest", &[
        ("pending", json!({"spec": spec})),
        ("failed", json!({"spec": spec, "status": {"poolCount": 0, "conditions": ended("Failed")}})),
        (
            "complete",
            json!({"spec": spec, "status": {"poolCount": 2, "pools": [pool("a", 3), pool("b", 4)],
                "conditions": ended("Complete")}}),
        ),
        ("part", json!({"spec": spec, "status": {"poolCount": 2, "pools": [pool("a", 3)], "conditions": ended("Complete")}})),
    ])
}

fn pod_groups(at: &Maker<'_>) -> Result<()> {
    let condition = |kind: &str, status: &str, reason: &str| {
        let mut condition = condition(kind, status, reason);
        condition["lastTransitionTime"] = json!("2026-01-02T03:04:05Z");
        condition["message"] = json!("");
        condition
    };
    let (basic, gang) = (json!({"basic": {}}), json!({"gang": {"minCount": 2}}));
    let of = json!({"workloadName": "w", "templateName": "t"});
    let scheduled = |status: &str| condition("PodGroupInitiallyScheduled", status, "Unschedulable");
    at.all("/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups", "PodGroup", &[
        ("alone", json!({"spec": {"schedulingPolicy": basic}})),
        ("gang", json!({"spec": {"schedulingPolicy": gang, "workloadRef": of}, "status": {"conditions": [scheduled("True")]}})),
        ("stuck", json!({"spec": {"schedulingPolicy": gang}, "status": {"conditions": [scheduled("False")]}})),
        (
            "gone",
            json!({"spec": {"schedulingPolicy": gang}, "status": {"conditions": [
                scheduled("True"), condition("DisruptionTarget", "True", "PreemptionByScheduler")]}}),
        ),
    ])?;
    at.all(
        "/apis/scheduling.k8s.io/v1alpha3/namespaces/default/compositepodgroups",
        "CompositePodGroup",
        &[("gangs", json!({"spec": {"schedulingPolicy": {"gang": {"minGroupCount": 2}}, "workloadRef": of}}))],
    )?;
    let template = json!({"name": "t", "schedulingPolicy": basic});
    at.all(
        "/apis/scheduling.k8s.io/v1beta1/namespaces/default/workloads",
        "Workload",
        &[("w", json!({"spec": {"podGroupTemplates": [template]}}))],
    )
}
