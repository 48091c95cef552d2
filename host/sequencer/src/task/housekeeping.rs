//! What is done about once a second: old bodies packed, names freed, old segments folded.

use std::collections::VecDeque;
use std::time::Duration;

use orrery_markers::{Log, Marker, UnixMicros};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tracing::warn;

use super::Task;

/// How long deletions keep their names, and segments stay as they were written: the ring's five minutes and the minute
/// that a restart goes back.
const KEPT: Duration = Duration::from_secs(360);
/// Between two notes of which marker was the head.
const NOTE_EVERY: Duration = Duration::from_secs(10);
/// Segments are folded once they have so many bytes, and as many as the checkpoint: so the work of all folds stays in
/// proportion to what was written.
const FOLD_BYTES_MIN: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Housekeeping {
    /// Heads of the past, one about every ten seconds.
    heads: VecDeque<(Instant, Marker)>,
    appended_bytes: usize,
    checkpoint_bytes: usize,
    last_fold: Option<Instant>,
    folding: Option<JoinHandle<Option<usize>>>,
    settling: Option<JoinHandle<()>>,
}

// === impl Housekeeping ===

impl Housekeeping {
    pub(super) fn appended(&mut self, bytes: usize) {
        self.appended_bytes += bytes;
    }

    pub(super) fn applied(&mut self, head: Marker) {
        if self.heads.back().is_none_or(|(noted, _)| noted.elapsed() >= NOTE_EVERY) {
            self.heads.push_back((Instant::now(), head));
        }
    }

    /// What was the head when what is to be forgotten now was new.
    fn forgotten(&mut self) -> Option<Marker> {
        let mut before = None;
        while let Some(&(_, head)) = self.heads.front().filter(|(noted, _)| noted.elapsed() > KEPT) {
            before = Some(head);
            self.heads.pop_front();
        }
        before
    }

    fn is_fold_due(&self) -> bool {
        self.folding.is_none()
            && self.appended_bytes > FOLD_BYTES_MIN.max(self.checkpoint_bytes)
            && self.last_fold.is_none_or(|last| last.elapsed() > KEPT)
    }
}

// === impl Task ===

impl Task {
    pub(super) async fn keep_house(&mut self) {
        self.settle_cache();
        self.shared.refresh_counts();
        if let Some(before) = self.housekeeping.forgotten() {
            self.stage(None, |log, effects| log.expire(before, effects));
        }
        self.fold().await;
    }

    /// Packs old bodies and trims the ring, beside the loop: it takes processor time, in which nobody has to wait.
    fn settle_cache(&mut self) {
        let settling = &mut self.housekeeping.settling;
        if settling.as_ref().is_none_or(JoinHandle::is_finished) {
            let (reader, now) = (self.view.reader(), Instant::now().into_std());
            *settling = Some(tokio::task::spawn_blocking(move || reader.settle(now)));
        }
    }

    /// Folds old segments into a checkpoint, beside the loop: the log is read back from the store for it.
    async fn fold(&mut self) {
        if let Some(folding) = self.housekeeping.folding.take_if(|folding| folding.is_finished()) {
            if let Ok(Some(bytes)) = folding.await {
                self.housekeeping.checkpoint_bytes = bytes;
                self.housekeeping.appended_bytes = 0;
            }
            self.housekeeping.last_fold = Some(Instant::now());
        }
        if !self.housekeeping.is_fold_due() {
            return;
        }
        let (store, name, naming) = (self.inner.store.clone(), self.label.resource.clone(), self.shared.naming);
        let before = UnixMicros(
            self.inner.settings.wall_clock.now().0.saturating_sub(KEPT.as_micros().try_into().unwrap_or(u64::MAX)),
        );
        self.housekeeping.folding = Some(tokio::spawn(async move {
            let stored = store
                .load(&name)
                .await
                .inspect_err(|error| warn!(reason = %error, "failed to read the log to fold it"))
                .ok()?;
            let folded = tokio::task::spawn_blocking(move || Log::fold(&stored, naming, before)).await.ok()?;
            let (upto, parts) = folded.inspect_err(|error| warn!(reason = %error, "failed to fold the log")).ok()??;
            let bytes = parts.iter().map(bytes::Bytes::len).sum();
            store
                .fold(&name, upto, parts)
                .await
                .inspect_err(|error| warn!(reason = %error, "failed to store a checkpoint"))
                .ok()?;
            Some(bytes)
        }));
    }
}
