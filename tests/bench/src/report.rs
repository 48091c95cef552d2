//! What a bench found.

use std::path::Path;

use anyhow::Context;
use serde::Serialize;

use crate::say;

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
    /// How many times faster the host is, or for a cost that should stay low how many times direct's it is; [`Target`]
    /// says which.
    pub(crate) ratio: Option<f64>,
    /// What `ratio` or, without one, `host` should reach; null where nothing was set.
    pub(crate) target: Option<f64>,
    /// Whether it does.
    pub(crate) met: Option<bool>,
}

/// What was found, and which parts failed.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) figures: Vec<Figure>,
    pub(crate) failed: Vec<&'static str>,
}

/// Which way is better, and how far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    /// Direct's time over the host's: at least so much, if anything is asked for.
    Faster(Option<f64>),
    /// The host's time over direct's: at most so much.
    Dearer(f64),
}

const HEAD: [&str; 7] = ["name", "unit", "host", "direct", "ratio", "target", "met"];

// === impl Outcome ===

impl Outcome {
    /// Adds what a part found; of one that failed, its error is said now.
    pub(crate) fn add(&mut self, part: &'static str, found: anyhow::Result<Vec<Figure>>) {
        match found {
            Ok(figures) => self.figures.extend(figures),
            Err(error) => {
                say(&format!("{part} FAILED: {error:#}"));
                self.failed.push(part);
            }
        }
    }
}

// === impl Figure ===

impl Figure {
    /// A figure of the host alone that should be at least `target`.
    pub(crate) fn at_least(name: &'static str, unit: &'static str, host: f64, target: f64) -> Self {
        Self { name, unit, host, direct: None, ratio: None, target: Some(target), met: Some(host >= target) }
    }

    /// A figure of the host alone that should be at most `target`, if one is set.
    pub(crate) fn at_most(name: &'static str, unit: &'static str, host: f64, target: Option<f64>) -> Self {
        Self { name, unit, host, direct: None, ratio: None, target, met: target.map(|target| host <= target) }
    }

    /// Times in milliseconds, side by side.
    pub(crate) fn beside(name: &'static str, host: f64, direct: f64, target: Target) -> Self {
        let (ratio, target, met) = match target {
            Target::Faster(target) => (direct / host, target, target.map(|target| direct / host >= target)),
            Target::Dearer(target) => (host / direct, Some(target), Some(host / direct <= target)),
        };
        Self { name, unit: "ms", host, direct: Some(direct), ratio: Some(ratio), target, met }
    }

    /// Rates, side by side: the host's is to be at least `target` of direct's.
    pub(crate) fn rates(name: &'static str, unit: &'static str, host: f64, direct: f64, target: f64) -> Self {
        let ratio = host / direct;
        let met = Some(ratio >= target);
        Self { name, unit, host, direct: Some(direct), ratio: Some(ratio), target: Some(target), met }
    }

    fn cells(&self) -> [String; 7] {
        let number = |number: f64, decimals: usize| format!("{number:.decimals$}");
        let met = self.met.map_or("-", |met| if met { "yes" } else { "NO" });
        [
            self.name.to_owned(),
            self.unit.to_owned(),
            number(self.host, 2),
            self.direct.map_or("-".to_owned(), |direct| number(direct, 2)),
            self.ratio.map_or("-".to_owned(), |ratio| number(ratio, 2)),
            self.target.map_or("-".to_owned(), |target| target.to_string()),
            met.to_owned(),
        ]
    }
}

/// Writes the figures to `path` as a JSON list.
pub(crate) fn write_json(path: &Path, figures: &[Figure]) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(figures).context("failed to encode the figures")?;
    std::fs::write(path, text + "\n").with_context(|| format!("failed to write {}", path.display()))
}

/// The figures as a table for people.
pub(crate) fn table(figures: &[Figure]) -> String {
    let rows: Vec<[String; 7]> =
        std::iter::once(HEAD.map(str::to_owned)).chain(figures.iter().map(Figure::cells)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or_default();
    let widths: [usize; 7] = std::array::from_fn(width);
    let line = |row: &[String; 7]| {
        let cells = row.iter().zip(widths).enumerate();
        let padded = cells.map(
            |(column, (cell, width))| {
                if column < 2 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            },
        );
        padded.collect::<Vec<_>>().join("  ")
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The value in the middle, or the mean of the two.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        len if len % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// The smallest value that `percent` of all do not exceed.
pub(crate) fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_met_on_the_right_side_of_its_target() {
        let faster = |host| Figure::beside("list", host, 80.0, Target::Faster(Some(8.0)));
        assert_eq!((faster(10.0).ratio, faster(10.0).met), (Some(8.0), Some(true)));
        assert_eq!(faster(11.0).met, Some(false));
        let dearer = |host| Figure::beside("restart", host, 100.0, Target::Dearer(1.2));
        assert_eq!((dearer(120.0).met, dearer(121.0).met), (Some(true), Some(false)));
        let rates = |host| Figure::rates("exec", "MB/s", host, 100.0, 0.8);
        assert_eq!((rates(80.0).ratio, rates(80.0).met, rates(79.0).met), (Some(0.8), Some(true), Some(false)));
        assert_eq!(Figure::at_most("memory", "KB", 10.1, Some(10.0)).met, Some(false));
        assert_eq!(Figure::at_most("watchers", "ms", 10.1, None).met, None);
    }

    #[test]
    fn percentiles_are_values_that_were_seen() {
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!((percentile(&hundred, 50), percentile(&hundred, 99), percentile(&[7.0], 99)), (50.0, 99.0, 7.0));
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0])), (2.0, 2.5));
        assert!(median(&[]).is_nan() && percentile(&[], 50).is_nan());
    }

    #[test]
    fn the_table_is_aligned_and_leaves_out_what_there_is_not() {
        let figures = [
            Figure::beside("list", 10.0, 80.0, Target::Faster(None)),
            Figure::at_least("markers_redb_per_s", "records/s", 5.0, 100_000.0),
        ];
        let expected = "name                unit        host  direct  ratio  target  met\n\
                        list                ms         10.00   80.00   8.00       -    -\n\
                        markers_redb_per_s  records/s   5.00       -      -  100000   NO";
        assert_eq!(table(&figures), expected);
    }
}
