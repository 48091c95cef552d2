use std::collections::VecDeque;
use std::sync::Arc;

use crate::generation::Generation;

/// The generations of an extension.
#[derive(Default)]
pub(super) struct History {
    numbered: u64,
    serving: Option<Arc<Generation>>,
    /// Those before it, the newest first.
    before: VecDeque<Arc<Generation>>,
}

/// How many generations before the one that serves are kept.
const KEPT: usize = 3;

// === impl History ===

impl History {
    pub(super) fn next_number(&mut self) -> u64 {
        self.numbered += 1;
        self.numbered
    }

    pub(super) fn serving(&self) -> Option<&Arc<Generation>> {
        self.serving.as_ref()
    }

    pub(super) fn before(&self) -> impl Iterator<Item = &Arc<Generation>> {
        self.before.iter()
    }

    /// Makes `generation` the one that serves; what it replaces.
    pub(super) fn serve(&mut self, generation: Arc<Generation>) -> Option<Arc<Generation>> {
        let replaced = self.serving.replace(generation);
        if let Some(replaced) = &replaced {
            self.before.push_front(renewed(replaced));
            self.before.truncate(KEPT);
        }
        replaced
    }

    /// Puts the generation before back; its number, and what it replaces, which is not kept.
    pub(super) fn roll_back(&mut self) -> Option<(u64, Arc<Generation>)> {
        let before = self.before.pop_front()?;
        let number = before.number;
        let replaced = self.serving.replace(before)?;
        Some((number, replaced))
    }

    pub(super) fn put_out(&mut self) -> Option<Arc<Generation>> {
        self.serving.take()
    }
}

/// The same generation with calls of its own, which end with it and not with those of now.
fn renewed(generation: &Arc<Generation>) -> Arc<Generation> {
    Arc::new(Generation::new(generation.number, generation.revision.clone(), generation.guest().clone()))
}
