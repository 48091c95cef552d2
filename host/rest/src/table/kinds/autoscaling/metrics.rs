//! What an autoscaler measures beside what it shall be (formatHPAMetrics).

use crate::table::cells::{NONE, UNKNOWN};
use crate::table::field::{Map, Text, fields};
use crate::table::json::read;

/// How many metrics are shown.
const SHOWN_MAX: usize = 2;
/// Where autoscaling/v1 keeps what it has no fields for.
const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";

fields! {
    /// A metric's target in a spec, or its value in a status; of its parts, the one that its type names.
    pub(super) struct Metric<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        external: Option<Source<'a>>,
        object: Option<Source<'a>>,
        pods: Option<Source<'a>>,
        resource: Option<Source<'a>>,
        container_resource: Option<Source<'a>>,
    }

    struct Source<'a> {
        name: Text<'a>,
        target: Amount<'a>,
        current: Amount<'a>,
        // Under these names in autoscaling/v1.
        target_value: Option<Text<'a>>,
        target_average_value: Option<Text<'a>>,
        target_average_utilization: Option<i64>,
        current_value: Option<Text<'a>>,
        current_average_value: Option<Text<'a>>,
        current_average_utilization: Option<i64>,
        average_value: Option<Text<'a>>,
    }

    struct Amount<'a> {
        value: Option<Text<'a>>,
        average_value: Option<Text<'a>>,
        average_utilization: Option<i64>,
    }
}

/// The metrics of a spec, with those of the status at the same places.
pub(super) fn shown(wanted: &[Metric<'_>], current: &[Metric<'_>]) -> String {
    if wanted.is_empty() {
        return NONE.to_owned();
    }
    let shown = wanted.iter().enumerate().take(SHOWN_MAX).map(|(at, metric)| metric.beside(current.get(at)));
    let shown = shown.collect::<Vec<_>>().join(", ");
    if wanted.len() > SHOWN_MAX { format!("{shown} + {} more...", wanted.len() - SHOWN_MAX) } else { shown }
}

/// The metrics of an object in autoscaling/v1: the share of CPU in a field and all others in annotations, whose place
/// among them is not told. CPU stands where it is in the status; where it is not there, last, as upstream reads v1.
pub(super) fn in_version_1(annotations: &Map<'_>, cpu_target: Option<i64>) -> String {
    let annotated = |key| annotations.get(key).and_then(|text| read::<Vec<Metric<'_>>>(text.as_bytes()).ok());
    let (mut wanted, current) =
        (annotated(METRICS).unwrap_or_default(), annotated(CURRENT_METRICS).unwrap_or_default());
    if let Some(share) = cpu_target {
        let place = current.iter().position(|metric| metric.resource.as_ref().is_some_and(|of| &*of.name == "cpu"));
        wanted.insert(place.unwrap_or(wanted.len()).min(wanted.len()), Metric::cpu(share));
    }
    shown(&wanted, &current)
}

// === impl Metric ===

impl<'a> Metric<'a> {
    fn cpu(share: i64) -> Self {
        let target = Amount { average_utilization: Some(share), ..Amount::default() };
        let cpu = Source { name: Text::from("cpu"), target, ..Source::default() };
        Self { kind: Text::from("Resource"), resource: Some(cpu), ..Self::default() }
    }

    fn source(&self, kind: &str) -> Option<&Source<'a>> {
        match kind {
            "External" => self.external.as_ref(),
            "Object" => self.object.as_ref(),
            "Pods" => self.pods.as_ref(),
            "Resource" => self.resource.as_ref(),
            "ContainerResource" => self.container_resource.as_ref(),
            _ => None,
        }
    }

    fn beside(&self, current: Option<&Metric<'_>>) -> String {
        let Some(wanted) = self.source(&self.kind) else { return "<unknown type>".to_owned() };
        let current = current.and_then(|current| current.source(&self.kind));
        match &*self.kind {
            "Pods" => {
                let current = current.map_or(UNKNOWN, |current| or_nil(current.current_average()));
                format!("{current}/{}", or_nil(wanted.target_average()))
            }
            "External" | "Object" => wanted.value_beside(current),
            _ => format!("{}: {}", &*wanted.name, wanted.share_beside(current)),
        }
    }
}

// === impl Source ===

impl Source<'_> {
    fn value_beside(&self, current: Option<&Source<'_>>) -> String {
        if let Some(average) = self.target_average() {
            let current = current.and_then(Source::current_average);
            return format!("{}/{average} (avg)", current.unwrap_or(UNKNOWN));
        }
        let now = current.map_or(UNKNOWN, |current| or_nil(either(&current.current.value, &current.current_value)));
        format!("{now}/{}", or_nil(either(&self.target.value, &self.target_value)))
    }

    fn share_beside(&self, current: Option<&Source<'_>>) -> String {
        if let Some(average) = self.target_average() {
            let current = current.map_or(UNKNOWN, |current| or_nil(current.current_average()));
            return format!("{current}/{average}");
        }
        let percent = |share: Option<i64>, nothing: &str| share.map_or(nothing.to_owned(), |share| format!("{share}%"));
        let now = current.and_then(|of| of.current.average_utilization.or(of.current_average_utilization));
        let wanted = self.target.average_utilization.or(self.target_average_utilization);
        format!("{}/{}", percent(now, UNKNOWN), percent(wanted, "<auto>"))
    }

    fn target_average(&self) -> Option<&str> {
        either(&self.target.average_value, &self.target_average_value).or(self.average_value.as_deref())
    }

    fn current_average(&self) -> Option<&str> {
        either(&self.current.average_value, &self.current_average_value).or(self.average_value.as_deref())
    }
}

fn either<'t>(version_2: &'t Option<Text<'_>>, version_1: &'t Option<Text<'_>>) -> Option<&'t str> {
    version_2.as_deref().or(version_1.as_deref())
}

/// A quantity that is not there, as Go prints it.
fn or_nil(quantity: Option<&str>) -> &str {
    quantity.unwrap_or("<nil>")
}
