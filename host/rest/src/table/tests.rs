mod kinds;
mod lists;
mod pods;

use std::time::Duration;

use serde_json::{Value, json};

use super::*;

/// 2027-01-15T08:00:00Z
fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

fn row(printer: &Printer, body: &Value) -> Value {
    let mut out = b"{".to_vec();
    let cells = Cells::begin(&mut out, now(), printer.cluster_at.map(|at| (at, "east")));
    if !printer.print(body.to_string().as_bytes(), cells) {
        out.truncate(1);
        printer.print_unknown("served", "east", now(), &mut out);
    }
    out.push(b'}');
    serde_json::from_slice(&out).unwrap()
}

fn printer(group: &str, resource: &str, crd: Option<&Value>) -> Printer {
    let crd = crd.map(Value::to_string);
    Printer::for_resource(&Gvr::new(group, "v1", resource), crd.as_ref().map(String::as_bytes), true)
}

fn names(printer: &Printer) -> Vec<String> {
    let definitions: Vec<Value> = serde_json::from_slice(printer.column_definitions()).unwrap();
    definitions
        .iter()
        .map(|column| {
            format!("{}{}", column["name"].as_str().unwrap(), "*".repeat(usize::from(column["priority"] == 1)))
        })
        .collect()
}

fn crd(columns: &Value) -> Value {
    json!({"spec": {"versions": [{"name": "v1beta1"}, {"name": "v1", "additionalPrinterColumns": columns}]}})
}

#[test]
fn cluster_is_the_last_column_that_is_always_shown() {
    assert_eq!(names(&printer("apps", "deployments", None))[4..6], ["Age", "Cluster"]);
    let event = printer("", "events", None);
    assert_eq!(names(&event)[4..8], ["Subobject*", "Source*", "Message", "Cluster"]);
    let body = json!({"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "p"}, "message": "m"});
    let cells = row(&event, &body)["cells"].as_array().unwrap()[3..].to_vec();
    assert_eq!(cells, json!(["pod/p", "", "", "m", "east", "<unknown>", 1, "e"]).as_array().unwrap()[..]);
}

#[test]
fn without_a_cluster_column_there_is_no_cluster_cell() {
    let printer = Printer::for_resource(&Gvr::new("", "v1", "namespaces"), None, false);
    let shown = row(&printer, &json!({"metadata": {"name": "n"}, "status": {"phase": "Active"}}));
    assert_eq!(shown["cells"], json!(["n", "Active", "<unknown>"]));
}

#[test]
fn an_object_that_has_not_its_kinds_shape_still_has_its_row() {
    let pods = printer("", "pods", None);
    for body in [json!({"metadata": {"name": "p"}, "spec": 5}), json!(5), json!({"status": {"containerStatuses": "x"}})]
    {
        let cells = row(&pods, &body)["cells"].clone();
        assert_eq!(cells.as_array().unwrap().len(), names(&pods).len());
        assert_eq!(
            (&cells[0], &cells[2], &cells[5]),
            (&json!("served"), &json!("<unknown>"), &json!("east")),
            "{body}"
        );
    }
}

#[test]
fn of_an_object_that_cannot_be_read_only_the_name_is_known() {
    let attachments = printer("storage.k8s.io", "volumeattachments", None);
    let shown = row(&attachments, &json!({"metadata": {"name": "a"}, "spec": 5}));
    assert_eq!(
        shown["cells"],
        json!(["served", "<unknown>", "<unknown>", "<unknown>", "<unknown>", "<unknown>", "east"])
    );
}

#[test]
fn absent_and_null_fields_are_zero() {
    let shown = |body: Value| row(&printer("", "pods", None), &body)["cells"].clone();
    let bare = shown(json!({"metadata": {"name": "p"}}));
    assert_eq!(bare, json!(["p", "0/0", "", "0", "<unknown>", "east", "<none>", "<none>", "<none>", "<none>"]));
    let null = shown(
        json!({"metadata": {"name": "p", "creationTimestamp": null}, "spec": {"containers": null}, "status": null}),
    );
    assert_eq!(null, bare);
}

#[test]
fn a_custom_resource_is_shown_by_its_own_columns() {
    let definition = crd(&json!([
        {"name": "Text", "type": "string", "jsonPath": ".spec.text", "description": "A text."},
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1, "format": "int32"},
        {"name": "When", "type": "date", "jsonPath": ".spec.when"},
    ]));
    let widgets = printer("example.com", "widgets", Some(&definition));
    assert_eq!(names(&widgets), ["Name", "Text", "Size*", "When", "Cluster"]);
    let body =
        json!({"metadata": {"name": "w"}, "spec": {"text": {"<": 1}, "size": 2.9, "when": "2027-01-15T07:00:00Z"}});
    assert_eq!(row(&widgets, &body)["cells"], json!(["w", "{\"\\u003c\":1}", 2, "60m", "east"]));
    let body = json!({"metadata": {"name": "w"}, "spec": {"text": 0.00001, "size": "2", "when": "soon"}});
    assert_eq!(row(&widgets, &body)["cells"], json!(["w", "1e-05", null, "<invalid>", "east"]));
}

#[test]
fn a_custom_resource_without_columns_has_a_name_and_an_age() {
    let plain = printer("example.com", "widgets", Some(&crd(&json!([]))));
    assert_eq!(names(&plain), ["Name", "Age", "Cluster"]);
    let body = json!({"metadata": {"name": "w", "creationTimestamp": "2027-01-15T07:00:00Z"}});
    assert_eq!(row(&plain, &body)["cells"], json!(["w", "60m", "east"]));
    let unreadable = Printer::for_resource(&Gvr::new("example.com", "v1", "widgets"), Some(b"{"), true);
    assert_eq!(names(&unreadable), ["Name", "Age", "Cluster"]);
}

#[test]
fn a_kind_that_no_printer_knows_has_a_name_and_its_time_of_creation() {
    let roles = printer("rbac.authorization.k8s.io", "roles", None);
    assert_eq!(names(&roles), ["Name", "Created At", "Cluster"]);
    let body = json!({"metadata": {"name": "r", "creationTimestamp": "2027-01-15T07:00:00Z"}});
    assert_eq!(row(&roles, &body)["cells"], json!(["r", "2027-01-15T07:00:00Z", "east"]));
}
