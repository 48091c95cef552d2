//! What a bench found.

use std::path::Path;

use anyhow::Context;
use serde::Serialize;

/// One figure of a bench, as it stands in the file of `--json`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figure {
    /// The figure's name, once over all benches.
    pub(crate) name: &'static str,
    /// Unit of `host` and `direct`.
    pub(crate) unit: &'static str,
    /// Measured through the host.
    pub(crate) host: f64,
    /// Measured without it in the same run, where there is such a thing.
    pub(crate) direct: Option<f64>,
    /// How many times better the host is than direct, or what the target is about otherwise.
    pub(crate) ratio: Option<f64>,
    /// What `ratio` or, without one, `host` should reach; its direction is the figure's.
    pub(crate) target: f64,
    /// Whether it does.
    pub(crate) met: bool,
}

// === impl Figure ===

impl Figure {
    /// A figure of the host alone that should be at least `target`.
    pub(crate) fn at_least(name: &'static str, unit: &'static str, host: f64, target: f64) -> Self {
        Self { name, unit, host, direct: None, ratio: None, target, met: host >= target }
    }
}

/// Writes the figures to `path` as a JSON list.
pub(crate) fn write_json(path: &Path, figures: &[Figure]) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(figures).context("failed to encode the figures")?;
    std::fs::write(path, text + "\n").with_context(|| format!("failed to write {}", path.display()))
}

/// The figure as one line for people.
pub(crate) fn line(figure: &Figure) -> String {
    let Figure { name, unit, host, direct, ratio, target, met } = figure;
    let direct = direct.map_or(String::new(), |direct| format!(", direct {direct:.1}"));
    let ratio = ratio.map_or(String::new(), |ratio| format!(", ratio {ratio:.2}"));
    let met = if *met { "met" } else { "MISSED" };
    format!("{name}: {host:.1} {unit}{direct}{ratio} (target {target}: {met})")
}
