//! Deployments, ReplicaSets and Jobs.

use std::time::SystemTime;

use serde::Deserialize;

use super::age;
use super::cells::Cells;
use super::column::{Column, docs};
use super::field::{Condition, Maybe, Metadata, Text, status_of};
use super::selector::{Invalid, Selector, selector_or_none};

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Workload<'a> {
    metadata: Maybe<Metadata<'a>>,
    spec: Maybe<Spec<'a>>,
    status: Maybe<Status<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Spec<'a> {
    replicas: Maybe<i64>,
    completions: Option<i64>,
    parallelism: Maybe<i64>,
    selector: Option<Selector<'a>>,
    template: Maybe<Template<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Template<'a> {
    spec: Maybe<PodSpec<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct PodSpec<'a> {
    containers: Maybe<Vec<Container<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Container<'a> {
    name: Text<'a>,
    image: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
struct Status<'a> {
    replicas: Maybe<i64>,
    ready_replicas: Maybe<i64>,
    updated_replicas: Maybe<i64>,
    available_replicas: Maybe<i64>,
    succeeded: Maybe<i64>,
    start_time: Text<'a>,
    completion_time: Text<'a>,
    conditions: Maybe<Vec<Condition<'a>>>,
}

pub(super) fn deployment_columns() -> Vec<Column> {
    let shown = [
        Column::name(),
        Column::text("Ready", "How many pods are ready, of how many wanted."),
        Column::text("Up-to-date", docs::DEPLOYMENT_UPDATED_REPLICAS),
        Column::text("Available", docs::DEPLOYMENT_AVAILABLE_REPLICAS),
        Column::age(),
    ];
    shown.into_iter().chain(template_columns(docs::DEPLOYMENT_SELECTOR)).collect()
}

pub(super) fn deployment_cells(body: &[u8], now: SystemTime, cells: &mut Cells<'_>) -> Result<(), serde_json::Error> {
    let deployment: Workload<'_> = serde_json::from_slice(body)?;
    let status = &deployment.status;
    cells.text(&deployment.metadata.name);
    cells.text(&format!("{}/{}", *status.ready_replicas, *deployment.spec.replicas));
    cells.integer(*status.updated_replicas);
    cells.integer(*status.available_replicas);
    cells.text(&age::since(&deployment.metadata.creation_timestamp, now));
    deployment.spec.template.cells(cells);
    let selector = deployment.spec.selector.as_ref().map_or(Ok(String::new()), Selector::text);
    cells.text(&selector.unwrap_or_else(|Invalid| "<invalid>".to_owned()));
    Ok(())
}

pub(super) fn replica_set_columns() -> Vec<Column> {
    let shown = [
        Column::name(),
        Column::typed("Desired", "integer", docs::REPLICA_SET_SPEC_REPLICAS),
        Column::typed("Current", "integer", docs::REPLICA_SET_STATUS_REPLICAS),
        Column::typed("Ready", "integer", docs::REPLICA_SET_READY_REPLICAS),
        Column::age(),
    ];
    shown.into_iter().chain(template_columns(docs::REPLICA_SET_SELECTOR)).collect()
}

pub(super) fn replica_set_cells(body: &[u8], now: SystemTime, cells: &mut Cells<'_>) -> Result<(), serde_json::Error> {
    let set: Workload<'_> = serde_json::from_slice(body)?;
    cells.text(&set.metadata.name);
    cells.integer(*set.spec.replicas);
    cells.integer(*set.status.replicas);
    cells.integer(*set.status.ready_replicas);
    cells.text(&age::since(&set.metadata.creation_timestamp, now));
    set.spec.template.cells(cells);
    cells.text(&selector_or_none(set.spec.selector.as_ref()));
    Ok(())
}

pub(super) fn job_columns() -> Vec<Column> {
    let shown = [
        Column::name(),
        Column::text("Status", "What the conditions of the job come to."),
        Column::text("Completions", docs::JOB_SUCCEEDED),
        Column::text("Duration", "Time from the start of the job to its completion, or to now."),
        Column::age(),
    ];
    shown.into_iter().chain(template_columns(docs::JOB_SELECTOR)).collect()
}

pub(super) fn job_cells(body: &[u8], now: SystemTime, cells: &mut Cells<'_>) -> Result<(), serde_json::Error> {
    let job: Workload<'_> = serde_json::from_slice(body)?;
    cells.text(&job.metadata.name);
    cells.text(job.job_state());
    cells.text(&job.completions());
    cells.text(&job.status.lasted(now));
    cells.text(&age::since(&job.metadata.creation_timestamp, now));
    job.spec.template.cells(cells);
    cells.text(&selector_or_none(job.spec.selector.as_ref()));
    Ok(())
}

fn template_columns(selector: &'static str) -> [Column; 3] {
    [
        Column::text("Containers", "Names of the containers in the pod template.").wide(),
        Column::text("Images", "Images of the containers in the pod template.").wide(),
        Column::text("Selector", selector).wide(),
    ]
}

// === impl Workload ===

impl Workload<'_> {
    /// The condition that says most; a deletion counts for more than those that only announce an end.
    fn job_state(&self) -> &'static str {
        let is = |kind| status_of(&self.status.conditions, kind) == Some("True");
        if is("Complete") {
            "Complete"
        } else if is("Failed") {
            "Failed"
        } else if self.metadata.deletion_timestamp.is_some() {
            "Terminating"
        } else if is("Suspended") {
            "Suspended"
        } else if is("FailureTarget") {
            "FailureTarget"
        } else if is("SuccessCriteriaMet") {
            "SuccessCriteriaMet"
        } else {
            "Running"
        }
    }

    fn completions(&self) -> String {
        let succeeded = *self.status.succeeded;
        match (self.spec.completions, *self.spec.parallelism) {
            (Some(wanted), _) => format!("{succeeded}/{wanted}"),
            (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
            (None, _) => format!("{succeeded}/1"),
        }
    }
}

// === impl Template ===

impl Template<'_> {
    fn cells(&self, cells: &mut Cells<'_>) {
        let containers = &self.spec.containers;
        cells.text(&containers.iter().map(|container| &*container.name).collect::<Vec<_>>().join(","));
        cells.text(&containers.iter().map(|container| &*container.image).collect::<Vec<_>>().join(","));
    }
}

// === impl Status ===

impl Status<'_> {
    fn lasted(&self, now: SystemTime) -> String {
        let Some(start) = age::parse(&self.start_time) else { return String::new() };
        age::between(start, age::parse(&self.completion_time).unwrap_or(now))
    }
}
