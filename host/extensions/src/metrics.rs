use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// What the extensions count.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    files: Family<FileLabel, Gauge>,
    policies: Gauge,
    failures: Counter,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FileLabel {
    state: &'static str,
}

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
