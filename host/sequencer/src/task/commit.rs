//! Durable first, then visible.

use std::sync::PoisonError;
use std::time::Duration;

use orrery_markers::{AppendError, Segment};
use tokio::time::Instant;
use tracing::{error, warn};

use super::{Stopped, Task};

/// Between two tries of an append that failed.
const RETRY_MIN: Duration = Duration::from_millis(50);
const RETRY_MAX: Duration = Duration::from_secs(5);

// === impl Task ===

impl Task {
    /// Makes what is staged durable, however long the store needs, and shows it. While the store refuses, readers keep the
    /// last head, and members' watches wait.
    pub(super) async fn commit(&mut self) -> Result<(), Stopped> {
        let now = self.inner.settings.wall_clock.now();
        let segments = {
            let mut log = self.shared.log.write().unwrap_or_else(PoisonError::into_inner);
            if log.has_staged() { log.pack(now) } else { Vec::new() }
        };
        for segment in &segments {
            self.append(segment).await?;
        }
        if !self.waiting.is_empty() {
            self.show();
        }
        Ok(())
    }

    fn show(&mut self) {
        let batch = std::mem::take(&mut self.waiting);
        self.inner.metrics.records.get_or_create(&self.label).inc_by(batch.len().try_into().unwrap_or(u64::MAX));
        let expired_before = self.expire_before.take();
        self.followers.tell(&batch, expired_before, std::mem::take(&mut self.has_rewound));
        let ingests = &self.ingests;
        let not_shown = self.view.apply(batch, |cluster| !ingests.is_elsewhere(cluster));
        self.report(not_shown);
        if let Some(marker) = expired_before {
            self.view.expire_started_before(marker);
        }
        let head = self.view.reader().head();
        self.inner.metrics.head.get_or_create(&self.label).set(head.get().try_into().unwrap_or(i64::MAX));
        self.housekeeping.applied(head);
    }

    pub(super) fn report(&self, not_shown: Vec<orrery_cache::NotShown>) {
        for unreadable in not_shown {
            self.inner.metrics.unreadable.get_or_create(&self.label).inc();
            warn!(object = ?unreadable, "an object cannot be shown");
        }
    }

    async fn append(&mut self, segment: &Segment) -> Result<(), Stopped> {
        let mut wait = RETRY_MIN;
        loop {
            let begun = Instant::now();
            let failure = match self.inner.store.append(&self.label.resource, segment).await {
                Ok(()) => {
                    self.inner.metrics.append_seconds.observe(begun.elapsed().as_secs_f64());
                    self.inner.metrics.segment_bytes.get_or_create(&self.label).inc_by(segment.bytes.len() as u64);
                    self.housekeeping.appended(segment.bytes.len());
                    return Ok(());
                }
                Err(AppendError::Superseded(seq)) => {
                    error!(?seq, "another writer has appended to this log");
                    return Err("another writer has appended to this log: two hosts use one store".into());
                }
                Err(AppendError::Failed(cause) | AppendError::Unknown(cause)) => cause,
            };
            self.inner.metrics.append_failures.get_or_create(&self.label).inc();
            warn!(reason = %failure, wait_ms = wait.as_millis(), "append failed; readers keep the last head until it succeeds");
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(RETRY_MAX);
        }
    }
}
