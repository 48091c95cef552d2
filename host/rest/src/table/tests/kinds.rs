//! Cells of kinds whose printers are more than their fields. Every kind is compared with kube-apiserver's in tests/compat.

use serde_json::{Value, json};

use super::{names, printer, row};

/// The cells of an object of `resource` that stand under `columns`.
fn cells<const N: usize>(group: &str, resource: &str, columns: [&str; N], body: &Value) -> [Value; N] {
    let printer = printer(group, resource, None);
    let names = names(&printer);
    let row = row(&printer, body);
    columns.map(|column| {
        let at = names.iter().position(|name| name.trim_end_matches('*') == column).unwrap();
        row["cells"][at].clone()
    })
}

#[test]
fn labels_are_sorted_by_all_that_is_shown_of_them() {
    let selector = json!({"app": "a", "app-b": "b", "app.example.com/c": "c", "app1": "d"});
    let [shown] = cells("", "services", ["Selector"], &json!({"spec": {"selector": selector}}));
    assert_eq!(shown, "app-b=b,app.example.com/c=c,app1=d,app=a");
}

#[test]
fn a_jobs_duration_ends_with_its_completion() {
    let start = "2027-01-15T07:00:00Z";
    let shown = |status: Value| cells("batch", "jobs", ["Duration"], &json!({ "status": status }))[0].clone();
    assert_eq!(shown(json!({})), "");
    assert_eq!(shown(json!({"startTime": start})), "60m");
    assert_eq!(shown(json!({"startTime": start, "completionTime": "2027-01-15T07:03:05Z"})), "3m5s");
}

#[test]
fn a_failed_job_that_is_deleted_has_failed() {
    let shown = |conditions: &[&str]| {
        let is: Vec<_> = conditions.iter().map(|kind| json!({"type": kind, "status": "True"})).collect();
        let body = json!({"metadata": {"deletionTimestamp": "2027-01-15T07:00:00Z"}, "status": {"conditions": is}});
        cells("batch", "jobs", ["Status"], &body)[0].clone()
    };
    assert_eq!(shown(&["FailureTarget", "Failed"]), "Failed");
    assert_eq!(shown(&["FailureTarget"]), "Terminating");
    assert_eq!(shown(&["Suspended"]), "Terminating");
}

#[test]
fn quotas_are_split_into_limits_and_the_rest() {
    let hard = json!({"pods": "10", "limits.memory": "1Gi", "limits.cpu": "2", "limitsize": "1", "cpu": "1"});
    let body = json!({"status": {"hard": hard, "used": {"pods": "3", "limits.cpu": "250m", "gone": "1"}}});
    let [request, limit] = cells("", "resourcequotas", ["Request", "Limit"], &body);
    assert_eq!(request, "cpu: 0/1, limitsize: 0/1, pods: 3/10");
    assert_eq!(limit, "limits.cpu: 250m/2, limits.memory: 0/1Gi");
}

#[test]
fn a_disruption_budget_has_a_number_a_share_or_nothing() {
    let columns = ["Min Available", "Max Unavailable", "Allowed Disruptions"];
    let shown = |spec: Value| cells("policy", "poddisruptionbudgets", columns, &json!({ "spec": spec }));
    assert_eq!(shown(json!({"minAvailable": 2})), [json!("2"), json!("N/A"), json!(0)]);
    assert_eq!(shown(json!({"maxUnavailable": "25%"})), [json!("N/A"), json!("25%"), json!(0)]);
}

#[test]
fn a_volume_that_is_going_is_terminating_and_keeps_its_claim() {
    let columns = ["Capacity", "Access Modes", "Status", "Claim", "StorageClass", "VolumeAttributesClass"];
    let metadata = json!({"deletionTimestamp": "2027-01-15T07:00:00Z",
        "annotations": {"volume.beta.kubernetes.io/storage-class": "old"}});
    let spec = json!({"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOncePod", "ReadWriteOnce", "ReadWriteOnce"],
        "claimRef": {"namespace": "n", "name": "c"}, "storageClassName": "new"});
    let body = json!({"metadata": metadata, "spec": spec, "status": {"phase": "Bound"}});
    let shown = cells("", "persistentvolumes", columns, &body);
    assert_eq!(shown, ["5Gi", "RWO,RWOP", "Terminating", "n/c", "old", "<unset>"]);
    let shown = cells("", "persistentvolumes", columns, &json!({"status": {"phase": "Available"}}));
    assert_eq!(shown, ["0", "", "Available", "", "", "<unset>"]);
}

#[test]
fn a_claim_without_a_volume_has_no_capacity() {
    let columns = ["Volume", "Capacity", "Access Modes"];
    let status = json!({"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteMany"]});
    let of = |volume: &str| json!({"spec": {"volumeName": volume}, "status": status});
    assert_eq!(cells("", "persistentvolumeclaims", columns, &of("")), ["", "", ""]);
    assert_eq!(cells("", "persistentvolumeclaims", columns, &of("v")), ["v", "5Gi", "RWX"]);
}

#[test]
fn a_denied_signing_request_is_denied_whatever_else_it_is() {
    let shown = |conditions: &[&str], certificate: &str| {
        let conditions: Vec<_> = conditions.iter().map(|kind| json!({"type": kind, "status": "True"})).collect();
        let body = json!({"status": {"conditions": conditions, "certificate": certificate}});
        cells("certificates.k8s.io", "certificatesigningrequests", ["Condition"], &body)[0].clone()
    };
    assert_eq!(shown(&[], ""), "Pending");
    assert_eq!(shown(&["Approved"], "LS0t"), "Approved,Issued");
    assert_eq!(shown(&["Approved", "Denied"], ""), "Denied");
    assert_eq!(shown(&["Failed", "Approved"], ""), "Approved,Failed");
}

fn targets(wanted: &Value, current: &Value) -> Value {
    let body = json!({"spec": {"metrics": wanted}, "status": {"currentMetrics": current}});
    cells("autoscaling", "horizontalpodautoscalers", ["Targets"], &body)[0].clone()
}

#[test]
fn an_autoscalers_metric_stands_beside_its_target() {
    let metric = |kind: &str, field: &str, amounts: &Value| {
        let mut metric = json!({"type": kind});
        metric[field] = amounts.clone();
        json!([metric])
    };
    let target = |amount: Value| json!({"name": "cpu", "target": amount});
    let current = |amount: Value| json!({"name": "cpu", "current": amount});
    let cases = [
        ("Resource", "resource", json!({"averageUtilization": 50}), json!({"averageUtilization": 7}), "cpu: 7%/50%"),
        ("Resource", "resource", json!({}), json!({}), "cpu: <unknown>/<auto>"),
        ("Resource", "resource", json!({"averageValue": "1"}), json!({}), "cpu: <nil>/1"),
        (
            "ContainerResource",
            "containerResource",
            json!({"averageValue": "1"}),
            json!({"averageValue": "2"}),
            "cpu: 2/1",
        ),
        ("Pods", "pods", json!({"averageValue": "1"}), json!({"averageValue": "500m"}), "500m/1"),
        ("External", "external", json!({"averageValue": "1"}), json!({"value": "9"}), "<unknown>/1 (avg)"),
        ("External", "external", json!({"value": "1"}), json!({}), "<nil>/1"),
        ("Object", "object", json!({"averageValue": "1"}), json!({"averageValue": "2"}), "2/1 (avg)"),
        ("Object", "object", json!({"value": "1k"}), json!({"value": "2"}), "2/1k"),
        ("Odd", "odd", json!({}), json!({}), "<unknown type>"),
    ];
    for (kind, field, wanted, now, shown) in cases {
        let (wanted, now) = (metric(kind, field, &target(wanted)), metric(kind, field, &current(now)));
        assert_eq!(targets(&wanted, &now), shown);
    }
    assert_eq!(targets(&metric("Pods", "pods", &target(json!({"averageValue": "1"}))), &json!([])), "<unknown>/1");
}

#[test]
fn of_an_autoscalers_metrics_two_are_shown() {
    let share =
        |of: u32| json!({"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": of}}});
    let none = json!([]);
    assert_eq!(targets(&none, &none), "<none>");
    assert_eq!(targets(&json!([share(1), share(2)]), &none), "cpu: <unknown>/1%, cpu: <unknown>/2%");
    let three = json!([share(1), share(2), share(3)]);
    assert_eq!(targets(&three, &none), "cpu: <unknown>/1%, cpu: <unknown>/2% + 1 more...");
}

#[test]
fn an_autoscaler_of_version_1_shows_the_metrics_in_its_annotations() {
    let metrics =
        json!([{"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}}]).to_string();
    let current = json!([
        {"type": "Resource", "resource": {"name": "cpu", "currentAverageUtilization": 7, "currentAverageValue": "70m"}},
        {"type": "Resource", "resource": {"name": "memory", "currentAverageValue": "2Gi"}}])
    .to_string();
    let shown = |annotations: Value| {
        let body = json!({"metadata": {"annotations": annotations}, "spec": {"targetCPUUtilizationPercentage": 50}});
        cells("autoscaling", "horizontalpodautoscalers", ["Targets"], &body)[0].clone()
    };
    let (metrics_key, current_key) =
        ("autoscaling.alpha.kubernetes.io/metrics", "autoscaling.alpha.kubernetes.io/current-metrics");
    assert_eq!(shown(json!({})), "cpu: <unknown>/50%");
    assert_eq!(shown(json!({metrics_key: metrics, current_key: current})), "cpu: 7%/50%, memory: 2Gi/1Gi");
    assert_eq!(shown(json!({metrics_key: metrics})), "memory: <unknown>/1Gi, cpu: <unknown>/50%");
    assert_eq!(shown(json!({metrics_key: "["})), "cpu: <unknown>/50%");
}

#[test]
fn of_many_endpoints_three_are_shown() {
    let address = |at: u8| json!({"ip": format!("10.0.0.{at}")});
    let subset = json!({"addresses": [address(1), address(2)], "ports": [{"port": 80}, {"port": 443}]});
    let [shown] = cells("", "endpoints", ["Endpoints"], &json!({"subsets": [subset]}));
    assert_eq!(shown, "10.0.0.1:80,10.0.0.2:80,10.0.0.1:443 + 1 more...");
    let six = json!({"subsets": [{"addresses": [{"ip": "fd00::1"}], "ports": [{"port": 80}]}]});
    assert_eq!(cells("", "endpoints", ["Endpoints"], &six), ["[fd00::1]:80"]);
    assert_eq!(cells("", "endpoints", ["Endpoints"], &json!({})), ["<none>"]);
}

#[test]
fn hosts_of_an_ingress_are_those_of_its_first_rules() {
    let shown = |hosts: &[&str]| {
        let rules: Vec<_> = hosts.iter().map(|host| json!({"host": host})).collect();
        cells("networking.k8s.io", "ingresses", ["Hosts"], &json!({"spec": {"rules": rules}}))[0].clone()
    };
    assert_eq!(shown(&[]), "*");
    assert_eq!(shown(&["", ""]), "*");
    assert_eq!(shown(&["a", "", "b", "c"]), "a,b,c");
    assert_eq!(shown(&["a", "", "b", "c", ""]), "a,b,c + 2 more...");
}

#[test]
fn an_address_has_a_cell_behind_its_last_column_as_upstream() {
    let printer = printer("networking.k8s.io", "ipaddresses", None);
    assert_eq!(names(&printer), ["Name", "ParentRef", "Cluster"]);
    let parent = json!({"group": "", "resource": "services", "namespace": "n", "name": "s"});
    let shown = row(&printer, &json!({"metadata": {"name": "10.0.0.1"}, "spec": {"parentRef": parent}}));
    assert_eq!(shown["cells"], json!(["10.0.0.1", "services/n/s", "east", "<unknown>"]));
}

#[test]
fn a_component_is_healthy_only_if_it_says_so() {
    let columns = ["Status", "Message", "Error"];
    let is =
        |status: &str| json!({"conditions": [{"type": "Healthy", "status": status, "message": "m", "error": "e"}]});
    assert_eq!(cells("", "componentstatuses", columns, &is("True")), ["Healthy", "m", "e"]);
    assert_eq!(cells("", "componentstatuses", columns, &is("False")), ["Unhealthy", "m", "e"]);
    assert_eq!(cells("", "componentstatuses", columns, &json!({})), ["Unknown", "", ""]);
}

#[test]
fn an_eviction_shows_the_responder_at_work() {
    let columns = [
        "Active Responder",
        "Responder Status",
        "Responder Expected Finish",
        "Requesters",
        "Responder Heartbeat",
        "Responder Status Message",
    ];
    let shown = |targets: Value, responders: Value, requesters: Value| {
        let status = json!({"targetResponders": targets, "responders": responders, "requesters": requesters});
        cells("lifecycle.k8s.io", "evictions", columns, &json!({ "status": status }))
    };
    let none = shown(json!([]), json!([]), json!([]));
    assert_eq!(none, ["<unset> (0/0)", "<unset>", "<unknown>", "<none>", "<unset>", "<unset>"]);

    let targets = json!([{"name": "a", "state": "Completed"}, {"name": "b", "state": "Active"}, {"name": "c", "state": "Inactive"}]);
    let responder = json!([{"name": "b", "startTime": "2027-01-15T07:59:00Z", "heartbeatTime": "2027-01-15T07:59:30Z",
        "expectedCompletionTime": "2027-01-15T08:01:00Z", "message": " moving "}]);
    let requesters = json!([{"name": "z", "intent": "Eviction"}, {"name": "y", "intent": "Eviction"}, {"name": "x", "intent": "Withdrawn"}]);
    let active = shown(targets, responder, requesters);
    assert_eq!(active, ["b (2/3)", "Started (60s ago)", "in 60s", "y + 1 more...", "30s ago", "moving"]);

    let targets = json!([{"name": "a", "state": "Completed"}]);
    let responder = json!([{"name": "a", "completionTime": "2027-01-15T07:58:00Z"}]);
    let done = shown(targets, responder, json!([{"name": "z", "intent": "Withdrawn"}]));
    assert_eq!(done, ["a (1/1)", "Completed (2m ago)", "-", "<withdrawn>", "<unset>", "<unset>"]);
}
