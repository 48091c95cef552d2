//! HorizontalPodAutoscalers, in autoscaling/v1 and v2.

mod metrics;

use std::borrow::Cow;

use super::Kind;
use crate::table::cells::{Cells, UNSET};
use crate::table::column::{AGE, NAME, text};
use crate::table::field::{MappedMetadata, Object, Reference, fields};
use crate::table::json::{Unreadable, read};
use metrics::{Metric, in_version_1, shown};

pub(super) static AUTOSCALERS: Kind = Kind {
    columns: &[
        NAME,
        text("Reference", "What is scaled, by kind and name."),
        text("Targets", "What is measured beside what it shall be, the first of it."),
        text("MinPods", "The least number of pods."),
        text("MaxPods", "The greatest number of pods."),
        text("Replicas", "How many pods there are."),
        AGE,
    ],
    print: autoscaler,
};

type Autoscaler<'a> = Object<MappedMetadata<'a>, Spec<'a>, Status<'a>>;

fields! {
    struct Spec<'a> {
        scale_target_ref: Reference<'a>,
        metrics: Vec<Metric<'a>>,
        #[serde(rename = "targetCPUUtilizationPercentage")]
        cpu_target: Option<i64>,
        min_replicas: Option<i64>,
        max_replicas: i64,
    }

    struct Status<'a> {
        current_metrics: Vec<Metric<'a>>,
        current_replicas: i64,
    }
}

fn autoscaler(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Autoscaler { metadata, spec, status } = read(body)?;
    let target = &spec.scale_target_ref;
    // Only v2 has the metrics as fields; what v1 has no fields for stands in annotations.
    let targets = match spec.metrics.is_empty() {
        true => in_version_1(&metadata.annotations, spec.cpu_target),
        false => shown(&spec.metrics, &status.current_metrics),
    };
    cells.text(&metadata.name).text(format!("{}/{}", &*target.kind, &*target.name)).text(targets);
    cells.text(spec.min_replicas.map_or(Cow::Borrowed(UNSET), |least| Cow::Owned(least.to_string())));
    cells.integer(spec.max_replicas).integer(status.current_replicas).age(&metadata.creation_timestamp);
    Ok(())
}
