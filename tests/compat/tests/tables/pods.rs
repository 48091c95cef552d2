//! Pods at every stage that the STATUS column tells apart.

use anyhow::Result;
use serde_json::{Value, json};

use super::{Maker, condition};

const PODS: &str = "/api/v1/namespaces/default/pods";
const AGO: &str = "2026-01-02T03:04:05Z";

/// A pod with the containers `main` and `side`; `spec` is merged over.
fn pod(name: &str, spec: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "m"}, {"name": "side", "image": "s"}]},
    });
    for (key, value) in spec.as_object().into_iter().flatten() {
        object["spec"][key] = value.clone();
    }
    object
}

fn container(name: &str, state: &Value, ready: bool, restarts: u32) -> Value {
    let (image, id) = ("m", "");
    json!({"name": name, "image": image, "imageID": id, "ready": ready, "restartCount": restarts, "state": state})
}

fn restarted(mut container: Value) -> Value {
    container["lastState"] = json!({"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": AGO}});
    container
}

fn started(mut container: Value) -> Value {
    container["started"] = json!(true);
    container
}

fn running() -> Value {
    json!({"running": {"startedAt": AGO}})
}

fn waiting(reason: &str) -> Value {
    json!({"waiting": {"reason": reason}})
}

fn ended(code: u32, signal: u32, reason: &str) -> Value {
    json!({"terminated": {"exitCode": code, "signal": signal, "reason": reason}})
}

pub(super) fn make(at: &Maker<'_>) -> Result<()> {
    let init = json!({"initContainers": [{"name": "one", "image": "i"}, {"name": "two", "image": "i"}]});
    let sidecar = json!({"initContainers": [
        {"name": "car", "image": "i", "restartPolicy": "Always"}, {"name": "two", "image": "i"}]});
    let at_init = |first: Value, second: Value| json!({"phase": "Pending", "initContainerStatuses": [first, second]});
    let with = |phase: &str, main: Value, side: Value, conditions: Value| json!({"phase": phase, "containerStatuses": [main, side], "conditions": conditions});
    let ready = json!([condition("Ready", "True", "")]);
    let (main, side) = (
        |state: Value, ready| container("main", &state, ready, 0),
        |state: Value, ready| container("side", &state, ready, 2),
    );
    let one = |state: Value| container("one", &state, false, 1);
    let two = |state: Value| container("two", &state, false, 0);
    let states = [
        ("fresh", json!({}), Value::Null),
        (
            "ran",
            json!({"nodeName": "n1"}),
            json!({"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"},
            {"ip": "fd00::1"}], "containerStatuses": [restarted(main(running(), true)), restarted(side(running(), true))]}),
        ),
        (
            "crash-loop",
            json!({}),
            with("Running", main(waiting("CrashLoopBackOff"), false), side(running(), true), json!([])),
        ),
        (
            "waiting-silent",
            json!({}),
            with("Pending", main(json!({"waiting": {}}), false), side(running(), true), json!([])),
        ),
        (
            "exit-code",
            json!({}),
            with("Failed", main(ended(3, 0, ""), false), side(ended(0, 0, "Completed"), false), json!([])),
        ),
        ("signal", json!({}), with("Running", main(ended(137, 9, ""), false), side(running(), false), json!([]))),
        (
            "succeeded",
            json!({}),
            with("Succeeded", main(ended(0, 0, "Completed"), false), side(ended(0, 0, "Completed"), false), json!([])),
        ),
        (
            "half-done-ready",
            json!({}),
            with("Running", main(ended(0, 0, "Completed"), false), side(running(), true), ready),
        ),
        (
            "half-done",
            json!({}),
            with("Running", main(ended(0, 0, "Completed"), false), side(running(), true), json!([])),
        ),
        (
            "half-failed",
            json!({}),
            with("Running", main(ended(0, 0, "Completed"), false), side(ended(1, 0, "Error"), false), json!([])),
        ),
        (
            "pulls-badly",
            json!({}),
            with(
                "Pending",
                main(waiting("ImagePullBackOff"), false),
                side(waiting("ContainerCreating"), false),
                json!([]),
            ),
        ),
        (
            "killed",
            json!({}),
            with("Failed", main(ended(137, 0, "OOMKilled"), false), side(running(), true), json!([])),
        ),
        ("unknown", json!({}), json!({"phase": "Unknown", "reason": "NodeLost"})),
        ("evicted", json!({}), json!({"phase": "Failed", "reason": "Evicted", "message": "low on memory"})),
        ("gated", json!({"schedulingGates": [{"name": "example.com/hold"}]}), Value::Null),
        ("init-waits", init.clone(), at_init(one(waiting("PodInitializing")), two(waiting("PodInitializing")))),
        ("init-second", init.clone(), at_init(one(ended(0, 0, "Completed")), two(running()))),
        (
            "init-loops",
            init.clone(),
            at_init(restarted(one(waiting("CrashLoopBackOff"))), two(waiting("PodInitializing"))),
        ),
        ("init-error", init.clone(), at_init(one(ended(1, 0, "Error")), two(json!({})))),
        ("init-code", init.clone(), at_init(one(ended(4, 0, "")), two(json!({})))),
        ("init-signal", init.clone(), at_init(one(ended(0, 0, "")), two(ended(143, 15, "")))),
        (
            "init-over",
            init,
            json!({"phase": "Running", "conditions": [condition("Initialized", "True", "")],
            "initContainerStatuses": [one(ended(1, 0, "Error"))], "containerStatuses": [main(running(), true)]}),
        ),
        (
            "sidecar",
            sidecar.clone(),
            json!({"phase": "Running",
            "initContainerStatuses": [restarted(started(container("car", &running(), true, 5))), two(ended(0, 0, "Completed"))],
            "containerStatuses": [main(running(), true), side(running(), true)]}),
        ),
        (
            "sidecar-over",
            sidecar.clone(),
            json!({"phase": "Succeeded",
            "initContainerStatuses": [restarted(container("car", &ended(0, 0, "Completed"), false, 3)), two(ended(0, 0, "Completed"))],
            "containerStatuses": [main(ended(0, 0, "Completed"), false), side(ended(0, 0, "Completed"), false)]}),
        ),
        (
            "sidecar-fails",
            sidecar.clone(),
            json!({"phase": "Running", "conditions": [condition("Initialized", "True", "")],
            "initContainerStatuses": [restarted(started(container("car", &waiting("CrashLoopBackOff"), false, 9))), two(ended(0, 0, ""))],
            "containerStatuses": [main(running(), true), side(running(), false)]}),
        ),
        ("sidecar-starts", sidecar, at_init(container("car", &running(), false, 0), two(waiting("PodInitializing")))),
        (
            "gates",
            json!({"readinessGates": [{"conditionType": "example.com/a"}, {"conditionType": "example.com/b"}]}),
            json!({"phase": "Running", "nominatedNodeName": "n2", "conditions": [
                condition("example.com/a", "True", ""), condition("example.com/b", "False", "")]}),
        ),
    ];
    for (name, spec, status) in states {
        at.put(PODS, &pod(name, &spec), &status)?;
    }
    for (name, status) in [
        ("leaving", json!({"phase": "Running"})),
        ("lost", json!({"phase": "Running", "reason": "NodeLost"})),
        ("left", json!({"phase": "Succeeded"})),
    ] {
        let mut object = pod(name, &json!({}));
        object["metadata"]["finalizers"] = json!(["example.com/stay"]);
        at.put(PODS, &object, &status)?;
        at.delete(&format!("{PODS}/{name}?gracePeriodSeconds=0"))?;
    }
    Ok(())
}
