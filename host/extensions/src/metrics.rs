use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use orrery_api::extension::{ExtensionKind, ExtensionName};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::CallError;
use crate::load::Step;
use crate::runtime::{Measured, Series};

/// What the extensions count.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    files: Family<FileLabel, Gauge>,
    policies: Gauge,
    failures: Counter,
    generations: Family<ExtensionLabel, Gauge>,
    refusals: Family<StepLabel, Counter>,
    calls: Family<CallLabel, Counter>,
    values: Family<ValueLabel, Gauge<f64, AtomicU64>>,
    known: Arc<Mutex<BTreeSet<ValueLabel>>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FileLabel {
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ExtensionLabel {
    kind: &'static str,
    name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StepLabel {
    kind: &'static str,
    name: String,
    step: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabel {
    kind: &'static str,
    name: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
struct ValueLabel {
    plugin: String,
    metric: String,
    /// As `key=value`, comma-separated.
    labels: String,
}

/// Series of all plugins together; what is beyond is not shown.
const VALUES_MAX: usize = 2000;

// === impl Metrics ===

impl Metrics {
    /// Registers all series.
    pub fn register(&self, registry: &mut Registry) {
        let extensions = registry.sub_registry_with_prefix("orrery_extensions");
        extensions.register(
            "files",
            "Files of the directory: in use, or refused as they stand now",
            self.files.clone(),
        );
        extensions.register("policies", "Placement policies in use", self.policies.clone());
        extensions.register(
            "failures",
            "Times that a file was refused, or the directory could not be read",
            self.failures.clone(),
        );
        extensions.register(
            "generation",
            "Generation of each extension that serves; 0 while none does",
            self.generations.clone(),
        );
        extensions.register(
            "refusals",
            "Revisions of an extension that do not serve, by the step that failed",
            self.refusals.clone(),
        );
        extensions.register("calls", "Calls of an extension, by how they ended", self.calls.clone());
        extensions.register(
            "plugin_value",
            "What plugins count and observe, by the metrics of their manifests",
            self.values.clone(),
        );
    }

    /// These are the extensions that there are.
    pub(crate) fn extensions<'n>(&self, names: impl Iterator<Item = &'n ExtensionName>) {
        let known: Vec<_> = names.map(label).collect();
        for label in &known {
            drop(self.generations.get_or_create(label));
        }
    }

    /// Generation `number` serves; 0 for none.
    pub(crate) fn serves(&self, name: &ExtensionName, number: u64) {
        self.generations.get_or_create(&label(name)).set(i64::try_from(number).unwrap_or(i64::MAX));
    }

    pub(crate) fn refused(&self, name: &ExtensionName, step: Step) {
        let ExtensionLabel { kind, name } = label(name);
        self.refusals.get_or_create(&StepLabel { kind, name, step: step.as_str() }).inc();
    }

    /// What a call of the extension counted and observed.
    pub(crate) fn measured(&self, name: &ExtensionName, values: BTreeMap<Series, Measured>) {
        for ((metric, labels), value) in values {
            let labels: Vec<_> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
            let label = ValueLabel { plugin: name.name.clone(), metric, labels: labels.join(",") };
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= VALUES_MAX && !known.contains(&label) {
                continue;
            }
            known.insert(label.clone());
            let gauge = self.values.get_or_create(&label);
            match value {
                Measured::Counted(more) => gauge.inc_by(more),
                Measured::Observed(value) => gauge.set(value),
            };
        }
    }

    pub(crate) fn called(&self, name: &ExtensionName, error: Option<&CallError>) {
        let ExtensionLabel { kind, name } = label(name);
        let outcome = error.map_or("answered", CallError::outcome);
        self.calls.get_or_create(&CallLabel { kind, name, outcome }).inc();
    }

    pub(crate) fn in_use(&self, files: usize, refused: usize, policies: usize) {
        let set = |state, count: usize| {
            self.files.get_or_create(&FileLabel { state }).set(i64::try_from(count).unwrap_or(i64::MAX));
        };
        set("in_use", files);
        set("refused", refused);
        self.policies.set(i64::try_from(policies).unwrap_or(i64::MAX));
    }

    pub(crate) fn failed(&self) {
        self.failures.inc();
    }
}

fn label(name: &ExtensionName) -> ExtensionLabel {
    let kind = match name.kind {
        ExtensionKind::Plugin => "Plugin",
        ExtensionKind::CelPolicy => "CelPolicy",
    };
    ExtensionLabel { kind, name: name.name.clone() }
}
