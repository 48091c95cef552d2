//! What pods may use, how many there shall be, and which go first.

use anyhow::Result;
use serde_json::{Value, json};

use super::Maker;

pub(super) fn make(at: &Maker<'_>) -> Result<()> {
    quotas(at)?;
    budgets(at)?;
    autoscalers(at)?;
    priorities(at)
}

/// In a namespace of their own, so that they stop no other object.
fn quotas(at: &Maker<'_>) -> Result<()> {
    let hard = json!({"pods": "10", "limits.cpu": "2", "requests.memory": "2Gi", "cpu": "1500m", "limits.memory": "1536Mi",
        "count/jobs.batch": "5"});
    let used = json!({"pods": "3", "limits.cpu": "250m", "cpu": "0"});
    at.all(
        "/api/v1/namespaces/stays/resourcequotas",
        "ResourceQuota",
        &[
            ("fresh", json!({"spec": {"hard": hard}})),
            ("used", json!({"spec": {"hard": hard}, "status": {"hard": hard, "used": used}})),
        ],
    )?;
    at.all(
        "/api/v1/namespaces/stays/limitranges",
        "LimitRange",
        &[("one", json!({"spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]}}))],
    )
}

fn budgets(at: &Maker<'_>) -> Result<()> {
    let selector = json!({"matchLabels": {"app": "a"}});
    let status = json!({"disruptionsAllowed": 2, "currentHealthy": 4, "desiredHealthy": 2, "expectedPods": 4});
    at.all(
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
        "PodDisruptionBudget",
        &[
            ("neither", json!({"spec": {"selector": selector}})),
            ("least", json!({"spec": {"selector": selector, "minAvailable": 2}, "status": status})),
            ("share", json!({"spec": {"selector": selector, "maxUnavailable": "25%"}})),
        ],
    )
}

fn autoscalers(at: &Maker<'_>) -> Result<()> {
    let share = |name: &str, of: u32| json!({"type": "Resource", "resource": {"name": name, "target": {"type": "Utilization", "averageUtilization": of}}});
    let share_now = |name: &str, of: u32, value: &str| json!({"type": "Resource", "resource": {"name": name, "current": {"averageUtilization": of, "averageValue": value}}});
    let amount = |kind: &str, field: &str, about: Value, target: Value| {
        let mut metric = json!({"type": kind, field: about});
        metric[field]["target"] = target;
        metric
    };
    let now = |kind: &str, field: &str, about: Value, current: Value| {
        let mut metric = json!({"type": kind, field: about});
        metric[field]["current"] = current;
        metric
    };
    let named = json!({"metric": {"name": "m"}});
    let object = json!({"metric": {"name": "m"}, "describedObject": {"kind": "Service", "name": "s"}});
    let container = json!({"name": "memory", "container": "main"});
    let average = |value: &str| json!({"type": "AverageValue", "averageValue": value});
    let exact = |value: &str| json!({"type": "Value", "value": value});
    let memory = amount("Resource", "resource", json!({"name": "memory"}), average("128Mi"));
    let states = [
        ("cpu", vec![share("cpu", 50)], vec![]),
        ("cpu-known", vec![share("cpu", 50)], vec![share_now("cpu", 37, "370m")]),
        ("both", vec![share("cpu", 50), memory], vec![share_now("cpu", 37, "370m"), share_now("memory", 1, "100Mi")]),
        (
            "external",
            vec![
                amount("External", "external", named.clone(), exact("1500m")),
                amount("External", "external", named.clone(), average("10")),
            ],
            vec![
                now("External", "external", named.clone(), json!({"value": "2"})),
                now("External", "external", named.clone(), json!({"averageValue": "7"})),
            ],
        ),
        (
            "objects",
            vec![
                amount("Object", "object", object.clone(), exact("1k")),
                amount("Object", "object", object.clone(), average("10")),
            ],
            vec![
                now("Object", "object", object.clone(), json!({"value": "2"})),
                now("Object", "object", object, json!({"value": "1", "averageValue": "7"})),
            ],
        ),
        (
            "pods",
            vec![amount("Pods", "pods", named.clone(), average("10"))],
            vec![now("Pods", "pods", named, json!({"averageValue": "500m"}))],
        ),
        (
            "containers",
            vec![
                amount("ContainerResource", "containerResource", container.clone(), average("64Mi")),
                amount(
                    "ContainerResource",
                    "containerResource",
                    container.clone(),
                    json!({"type": "Utilization", "averageUtilization": 70}),
                ),
                share("cpu", 50),
            ],
            vec![now("ContainerResource", "containerResource", container, json!({"averageValue": "32Mi"}))],
        ),
    ];
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "part"});
    let states: Vec<_> = states.into_iter().map(|(name, metrics, current)| {
        let status = json!({"currentReplicas": 3, "desiredReplicas": 4, "currentMetrics": current, "conditions": []});
        (name, json!({"spec": {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 9, "metrics": metrics}, "status": status}))
    }).collect();
    at.all("/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", "HorizontalPodAutoscaler", &states)?;
    let bare = json!({"spec": {"scaleTargetRef": target, "maxReplicas": 9}});
    at.all(
        "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers",
        "HorizontalPodAutoscaler",
        &[("bare", bare)],
    )
}

fn priorities(at: &Maker<'_>) -> Result<()> {
    at.all(
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        "PriorityClass",
        &[
            ("low", json!({"value": -5, "preemptionPolicy": "Never"})),
            ("usual", json!({"value": 1000, "globalDefault": true})),
        ],
    )?;
    at.all("/apis/node.k8s.io/v1/runtimeclasses", "RuntimeClass", &[("fast", json!({"handler": "runf"}))])
}
