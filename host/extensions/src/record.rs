//! What extensions were asked and said, for asking another revision the same.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use orrery_api::placement::Verdict;

use crate::generation::Asked;
use crate::runtime::CallError;

/// The last decisions of an extension. What was not declared as its input was not sent, and so is not here.
#[derive(Debug, Default)]
pub(crate) struct Decisions(Mutex<Ring>);

#[derive(Debug, Default)]
struct Ring {
    decisions: VecDeque<Arc<Recorded>>,
    bytes: usize,
}

/// One call with its answer.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) at: SystemTime,
    pub(crate) generation: u64,
    pub(crate) asked: Asked,
    pub(crate) judged: Result<Vec<Verdict>, String>,
}

/// Most that is kept of each extension.
const DECISIONS: usize = 10_000;
const BYTES: usize = 16 << 20;

// === impl Decisions ===

impl Decisions {
    pub(crate) fn push(&self, recorded: Recorded) {
        let mut ring = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ring.bytes += recorded.bytes();
        ring.decisions.push_back(Arc::new(recorded));
        while ring.decisions.len() > DECISIONS || ring.bytes > BYTES {
            let Some(oldest) = ring.decisions.pop_front() else { break };
            ring.bytes -= oldest.bytes();
        }
    }

    /// Those since `since`, the oldest first.
    pub(crate) fn since(&self, since: SystemTime) -> Vec<Arc<Recorded>> {
        let ring = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ring.decisions.iter().filter(|recorded| recorded.at >= since).cloned().collect()
    }
}

// === impl Recorded ===

impl Recorded {
    pub(crate) fn new(generation: u64, asked: Asked, judged: &Result<Vec<Verdict>, CallError>) -> Self {
        let judged = judged.clone().map_err(|error| error.to_string());
        Self { at: SystemTime::now(), generation, asked, judged }
    }

    fn bytes(&self) -> usize {
        let candidates = self.asked.request.candidates.iter();
        let candidates: usize = candidates.map(|candidate| candidate.name.len() + candidate.doc.len() + 128).sum();
        self.asked.request.unit.len() + candidates + 256
    }
}
