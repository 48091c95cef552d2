//! What a call writes: lines and values, up to their bounds.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use orrery_api::extension::{Limits, Metric};

/// What a call wrote.
#[derive(Debug)]
pub(crate) struct CallLog {
    lines_max: usize,
    metrics: Vec<Metric>,
    written: Mutex<Written>,
}

#[derive(Debug, Default)]
struct Written {
    lines: Vec<LogLine>,
    /// Lines over the bound.
    dropped: u64,
    series: BTreeMap<Series, Measured>,
}

/// A metric's name, and its labels in order.
pub(crate) type Series = (String, Vec<(String, String)>);

/// A value of a plugin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Measured {
    /// To be added to what was counted before.
    Counted(f64),
    /// In the place of what was observed before.
    Observed(f64),
}

/// A line of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogLine {
    pub(crate) level: &'static str,
    pub(crate) message: String,
    /// A JSON object, or nothing.
    pub(crate) fields: String,
}

/// A guest writes far more than is kept. What it asks of the host burns no fuel, so this has a bound of its own.
#[derive(Debug, thiserror::Error)]
#[error("it wrote {FLOOD} lines and values more than are kept")]
pub(super) struct Flood;

/// Lines and values over their bounds after which a call ends.
const FLOOD: u64 = 1000;

/// Longest line that is kept, in bytes.
const LINE_MAX: usize = 8 << 10;

/// Most series of one call.
const SERIES_MAX: usize = 50;

// === impl CallLog ===

impl CallLog {
    pub(crate) fn new(limits: &Limits, metrics: &[Metric]) -> Arc<Self> {
        let lines_max = usize::try_from(limits.log_lines).unwrap_or(usize::MAX);
        Arc::new(Self { lines_max, metrics: metrics.to_vec(), written: Mutex::default() })
    }

    /// The lines, and how many were dropped.
    pub(crate) fn take_lines(&self) -> (Vec<LogLine>, u64) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut written.lines), std::mem::take(&mut written.dropped))
    }

    pub(super) fn line(&self, line: LogLine) -> Result<(), Flood> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.lines.len() < self.lines_max {
            written.lines.push(line);
            return Ok(());
        }
        written.drop_one()
    }

    /// The values, by series.
    pub(crate) fn take_values(&self) -> BTreeMap<Series, Measured> {
        std::mem::take(&mut self.written.lock().unwrap_or_else(PoisonError::into_inner).series)
    }

    /// What is not declared is dropped like a line that is one too many.
    pub(super) fn value(
        &self,
        name: String,
        mut labels: Vec<(String, String)>,
        change: impl FnOnce(Option<Measured>) -> Measured,
    ) -> Result<(), Flood> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let has_keys = |metric: &Metric| {
            metric.labels.len() == labels.len() && labels.iter().all(|(key, _)| metric.labels.contains(key))
        };
        let is_declared = self.metrics.iter().any(|metric| metric.name == name && has_keys(metric));
        labels.sort_unstable();
        let key = (name, labels);
        if is_declared && (written.series.len() < SERIES_MAX || written.series.contains_key(&key)) {
            let before = written.series.get(&key).copied();
            written.series.insert(key, change(before));
            return Ok(());
        }
        written.drop_one()
    }
}

// === impl Measured ===

impl Measured {
    pub(super) fn number(self) -> f64 {
        match self {
            Self::Counted(number) | Self::Observed(number) => number,
        }
    }
}

// === impl Written ===

impl Written {
    fn drop_one(&mut self) -> Result<(), Flood> {
        self.dropped += 1;
        if self.dropped > FLOOD { Err(Flood) } else { Ok(()) }
    }
}

/// `text`, at most as long as is kept.
pub(super) fn cut(mut text: String) -> String {
    if text.len() > LINE_MAX {
        text.truncate(text.floor_char_boundary(LINE_MAX));
    }
    text
}
