//! What an extension's status and log say.

use std::collections::VecDeque;
use std::time::SystemTime;

use orrery_api::status::{
    ExtensionLogLine, ExtensionLogs, ExtensionState, ExtensionStatus, GenerationStatus, RefusalStatus,
};

use super::Slot;
use crate::runtime::CallLog;

/// The last lines of all generations.
#[derive(Default)]
pub(super) struct Lines {
    lines: VecDeque<ExtensionLogLine>,
    dropped: u64,
}

/// Lines that are kept.
const LINES: usize = 1000;

// === impl Lines ===

impl Lines {
    pub(super) fn take(&mut self, generation: u64, log: &CallLog) {
        let (lines, dropped) = log.take_lines();
        self.dropped += dropped;
        for line in lines {
            if self.lines.len() == LINES {
                self.lines.pop_front();
            }
            self.lines.push_back(ExtensionLogLine {
                time: Some(SystemTime::now()),
                generation,
                level: line.level.to_owned(),
                message: line.message,
                fields: line.fields,
            });
        }
    }
}

// === impl Slot ===

impl Slot {
    /// How it is.
    pub(crate) fn status(&self) -> ExtensionStatus {
        let state = self.state();
        let serving = state.history.serving();
        let how = match (serving, &state.refusal) {
            (Some(_), None) => ExtensionState::Serving,
            (Some(_), Some(_)) => ExtensionState::Stale,
            (None, Some(_)) if state.loading == 0 => ExtensionState::Failed,
            (None, _) => ExtensionState::Loading,
        };
        ExtensionStatus {
            kind: self.name.kind,
            name: self.name.name.clone(),
            state: how,
            generation: serving.map(|generation| GenerationStatus {
                number: generation.number,
                component: generation.revision.code.digest.clone(),
                exports: generation.guest().exports().into_iter().map(str::to_owned).collect(),
                since: state.since,
                calls: state.health.calls,
                faults: state.health.faulty,
            }),
            previous: state.history.before().map(|generation| generation.number).collect(),
            refusal: state.refusal.as_ref().map(|(refused, since)| RefusalStatus {
                step: refused.step.to_string(),
                reason: refused.reason.clone(),
                since: Some(*since),
            }),
        }
    }

    /// What it wrote last.
    pub(crate) fn logs(&self) -> ExtensionLogs {
        let state = self.state();
        ExtensionLogs { lines: state.lines.lines.iter().cloned().collect(), dropped: state.lines.dropped }
    }
}
