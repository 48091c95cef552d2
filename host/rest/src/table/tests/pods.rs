//! READY, STATUS and RESTARTS of pods in every state.

use serde_json::{Value, json};

use super::{printer, row};

/// READY, STATUS and RESTARTS.
fn shown(body: &Value) -> [String; 3] {
    let row = row(&printer("", "pods", None), body);
    [1, 2, 3].map(|at| row["cells"][at].as_str().unwrap().to_owned())
}

fn container(state: &Value, ready: bool, restarts: u32) -> Value {
    json!({"name": "c", "state": state, "ready": ready, "restartCount": restarts})
}

fn ended(code: u32, reason: &str) -> Value {
    json!({"terminated": {"exitCode": code, "reason": reason}})
}

#[test]
fn a_finished_pod_has_a_condition_that_says_so() {
    let shown = row(&printer("", "pods", None), &json!({"metadata": {"name": "p"}, "status": {"phase": "Failed"}}));
    assert_eq!(shown["conditions"][0]["reason"], "Failed");
    let shown = row(&printer("", "pods", None), &json!({"metadata": {"name": "p"}, "status": {"phase": "Running"}}));
    assert_eq!(shown.get("conditions"), None);
}

#[test]
fn a_pods_last_restart_is_shown_with_its_count() {
    let ended = json!({"terminated": {"exitCode": 1, "finishedAt": "2027-01-15T07:55:00Z"}});
    let status = json!({"restartCount": 3, "ready": true, "state": {"running": {}}, "lastState": ended});
    let body = json!({"spec": {"containers": [{}]}, "status": {"phase": "Running", "containerStatuses": [status]}});
    let cells = row(&printer("", "pods", None), &body)["cells"].as_array().unwrap()[1..4].to_vec();
    assert_eq!(cells, ["1/1", "Running", "3 (5m ago)"]);
}

#[test]
fn what_the_first_container_says_counts() {
    let (crashed, waits) =
        (json!({"waiting": {"reason": "CrashLoopBackOff"}}), json!({"waiting": {"reason": "ImagePullBackOff"}}));
    let status =
        json!({"phase": "Running", "containerStatuses": [container(&crashed, false, 4), container(&waits, false, 0)]});
    let body = json!({"spec": {"containers": [{}, {}]}, "status": status});
    assert_eq!(shown(&body), ["0/2", "CrashLoopBackOff", "4"]);
}

#[test]
fn a_pod_of_which_one_container_is_done_says_what_the_others_do() {
    let of = |other: Value, ready: bool, conditions: Value| {
        let containers = [container(&ended(0, "Completed"), false, 0), container(&other, ready, 0)];
        let status = json!({"phase": "Running", "conditions": conditions, "containerStatuses": containers});
        shown(&json!({"spec": {"containers": [{}, {}]}, "status": status}))
    };
    let is_ready = json!([{"type": "Ready", "status": "True"}]);
    assert_eq!(of(json!({"running": {}}), true, is_ready.clone()), ["1/2", "Running", "0"]);
    assert_eq!(of(json!({"running": {}}), true, json!([])), ["1/2", "NotReady", "0"]);
    assert_eq!(of(ended(2, "Error"), false, is_ready), ["0/2", "Error", "0"]);
    assert_eq!(of(ended(0, "Completed"), false, json!([])), ["0/2", "Completed", "0"]);
}

#[test]
fn init_containers_are_counted_until_one_is_not_done() {
    let of = |first: Value, second: Value| {
        let statuses = [container(&first, false, 1), container(&second, false, 2)];
        let spec = json!({"containers": [{}], "initContainers": [{"name": "a"}, {"name": "b"}]});
        shown(&json!({"spec": spec, "status": {"phase": "Pending", "initContainerStatuses": statuses}}))
    };
    let waits = || json!({"waiting": {"reason": "PodInitializing"}});
    assert_eq!(of(json!({"running": {}}), waits()), ["0/1", "Init:0/2", "1"]);
    assert_eq!(of(ended(0, "Completed"), waits()), ["0/1", "Init:1/2", "3"]);
    assert_eq!(of(ended(1, "Error"), waits()), ["0/1", "Init:Error", "1"]);
    assert_eq!(of(json!({"terminated": {"exitCode": 137, "signal": 9}}), waits()), ["0/1", "Init:Signal:9", "1"]);
    assert_eq!(of(json!({"waiting": {"reason": "ErrImagePull"}}), waits()), ["0/1", "Init:ErrImagePull", "1"]);
}

#[test]
fn a_sidecar_is_one_of_the_containers_and_only_its_restarts_go_on_counting() {
    let sidecar = json!({"name": "car", "restartPolicy": "Always"});
    let spec = json!({"containers": [{}], "initContainers": [sidecar, {"name": "once"}]});
    let car = json!({"name": "car", "state": {"running": {}}, "ready": true, "started": true, "restartCount": 2});
    let once = json!({"name": "once", "state": ended(0, "Completed"), "restartCount": 7});
    let main = container(&json!({"running": {}}), true, 1);
    let status = json!({"phase": "Running", "initContainerStatuses": [car, once], "containerStatuses": [main]});
    assert_eq!(shown(&json!({"spec": spec, "status": status})), ["2/2", "Running", "3"]);
}

#[test]
fn a_pod_that_is_going_is_terminating_unless_it_is_over_or_lost() {
    let of = |status: Value| {
        shown(&json!({"metadata": {"deletionTimestamp": "2027-01-15T08:00:00Z"}, "status": status}))[1].clone()
    };
    assert_eq!(of(json!({"phase": "Running"})), "Terminating");
    assert_eq!(of(json!({"phase": "Failed", "reason": "Evicted"})), "Evicted");
    assert_eq!(of(json!({"phase": "Running", "reason": "NodeLost"})), "Unknown");
}

#[test]
fn a_pod_held_back_from_scheduling_says_so() {
    let gated = json!([{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]);
    let status = json!({"phase": "Pending", "conditions": gated});
    assert_eq!(shown(&json!({"spec": {"containers": [{}]}, "status": status})), ["0/1", "SchedulingGated", "0"]);
}
