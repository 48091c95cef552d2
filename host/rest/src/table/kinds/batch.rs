//! Jobs and CronJobs.

use std::time::SystemTime;

use super::Kind;
use super::templates::Template;
use crate::table::age;
use crate::table::cells::{Cells, NONE, UNSET};
use crate::table::column::{AGE, CONTAINERS, IMAGES, NAME, boolean, integer, text};
use crate::table::field::{Condition, Length, Metadata, Object, Text, fields, status_of};
use crate::table::json::{Unreadable, read};
use crate::table::selector::{Selector, selector_or_none};

pub(super) static JOBS: Kind = Kind {
    columns: &[
        NAME,
        text("Status", "What the conditions of the job come to."),
        text("Completions", "How many pods have succeeded, of those wanted."),
        text("Duration", "Time from the start of the job to its completion, or to now."),
        AGE,
        CONTAINERS.wide(),
        IMAGES.wide(),
        text("Selector", "Which pods the job owns, by label.").wide(),
    ],
    print: job,
};

pub(super) static CRON_JOBS: Kind = Kind {
    columns: &[
        NAME,
        text("Schedule", "When jobs are made, as cron spells it."),
        text("Timezone", "The time zone of the schedule."),
        boolean("Suspend", "Whether no more jobs are made for now."),
        integer("Active", "How many of its jobs are running."),
        text("Last Schedule", "How long ago the last job was due that was made."),
        AGE,
        CONTAINERS.wide(),
        IMAGES.wide(),
        text("Selector", "Which pods its jobs own, by label.").wide(),
    ],
    print: cron_job,
};

type Job<'a> = Object<Metadata<'a>, JobSpec<'a>, JobStatus<'a>>;
type CronJob<'a> = Object<Metadata<'a>, CronJobSpec<'a>, CronJobStatus<'a>>;

fields! {
    struct JobSpec<'a> {
        completions: Option<i64>,
        parallelism: i64,
        selector: Option<Selector<'a>>,
        template: Template<'a>,
    }

    struct JobStatus<'a> {
        succeeded: i64,
        start_time: Text<'a>,
        completion_time: Text<'a>,
        conditions: Vec<Condition<'a>>,
    }

    struct CronJobSpec<'a> {
        schedule: Text<'a>,
        time_zone: Option<Text<'a>>,
        suspend: Option<bool>,
        job_template: JobTemplate<'a>,
    }

    struct JobTemplate<'a> {
        spec: JobSpec<'a>,
    }

    struct CronJobStatus<'a> {
        active: Length,
        last_schedule_time: Option<Text<'a>>,
    }
}

fn job(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let job: Job<'_> = read(body)?;
    let Object { metadata, spec, status } = &job;
    cells.text(&metadata.name).text(job.state()).text(spec.completions(status.succeeded));
    cells.text(status.lasted(cells.now())).age(&metadata.creation_timestamp);
    spec.template_cells(cells);
    Ok(())
}

fn cron_job(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let CronJob { metadata, spec, status } = read(body)?;
    cells.text(&metadata.name).text(&spec.schedule).field_or(spec.time_zone.as_ref(), NONE);
    cells.text(spec.suspend.map_or(UNSET, |suspend| if suspend { "True" } else { "False" }));
    cells.count(status.active.len());
    match &status.last_schedule_time {
        Some(time) => cells.age(time),
        None => cells.text(NONE),
    };
    cells.age(&metadata.creation_timestamp);
    spec.job_template.spec.template_cells(cells);
    Ok(())
}

// === impl Job ===

impl Job<'_> {
    /// The condition that says most; a deletion counts for more than those that only announce an end.
    fn state(&self) -> &'static str {
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
}

// === impl JobSpec ===

impl JobSpec<'_> {
    fn completions(&self, succeeded: i64) -> String {
        match (self.completions, self.parallelism) {
            (Some(wanted), _) => format!("{succeeded}/{wanted}"),
            (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
            (None, _) => format!("{succeeded}/1"),
        }
    }

    fn template_cells(&self, cells: &mut Cells<'_>) {
        self.template.containers_and_images(cells);
        cells.text(selector_or_none(self.selector.as_ref()));
    }
}

// === impl JobStatus ===

impl JobStatus<'_> {
    fn lasted(&self, now: SystemTime) -> String {
        let Some(start) = age::parse(&self.start_time) else { return String::new() };
        age::between(start, age::parse(&self.completion_time).unwrap_or(now))
    }
}
