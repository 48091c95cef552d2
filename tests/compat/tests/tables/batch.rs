//! Jobs at every stage, and CronJobs.

use anyhow::Result;
use serde_json::{Value, json};

use super::workloads::workload;
use super::{Maker, condition};

pub(super) fn make(at: &Maker<'_>) -> Result<()> {
    jobs(at)?;
    cron_jobs(at)
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

fn cron_jobs(at: &Maker<'_>) -> Result<()> {
    let mut job = json!({"spec": workload("Job", "j", &json!({}))["spec"]});
    job["spec"]["template"]["spec"]["restartPolicy"] = json!("Never");
    let ran = json!({"lastScheduleTime": "2026-01-02T03:04:05Z", "active": [
        {"apiVersion": "batch/v1", "kind": "Job", "name": "one"}, {"apiVersion": "batch/v1", "kind": "Job", "name": "two"}]});
    at.all(
        "/apis/batch/v1/namespaces/default/cronjobs",
        "CronJob",
        &[
            ("fresh", json!({"spec": {"schedule": "*/5 * * * *", "jobTemplate": job}})),
            (
                "ran",
                json!({"spec": {"schedule": "@daily", "timeZone": "Etc/UTC", "suspend": true, "jobTemplate": job},
                "status": ran}),
            ),
        ],
    )
}
