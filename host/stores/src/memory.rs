use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use orrery_markers::{AppendError, MarkerStore, Segment, SegmentSeq, StoreError, StoredLog};

/// Marker logs in memory. Clones share them; they end with the last clone.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    logs: Arc<Mutex<BTreeMap<String, Log>>>,
}

#[derive(Clone, Debug, Default)]
struct Log {
    stored: StoredLog,
    /// Stays when it is folded, so that repeating its append is answered as before.
    last: Option<Segment>,
}

// === impl MemoryStore ===

impl MemoryStore {
    /// A store without logs.
    pub fn new() -> Self {
        Self::default()
    }

    /// A copy as of now that shares nothing: what a backup of the store would hold.
    #[must_use]
    pub fn copy(&self) -> Self {
        Self { logs: Arc::new(Mutex::new(self.logs().clone())) }
    }

    fn logs(&self) -> MutexGuard<'_, BTreeMap<String, Log>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait::async_trait]
impl MarkerStore for MemoryStore {
    async fn logs(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.logs().keys().cloned().collect())
    }

    async fn load(&self, name: &str) -> Result<StoredLog, StoreError> {
        Ok(self.logs().get(name).map(|log| log.stored.clone()).unwrap_or_default())
    }

    async fn append(&self, name: &str, segment: &Segment) -> Result<(), AppendError> {
        let mut logs = self.logs();
        let last = logs.get(name).and_then(|log| log.last.as_ref());
        let last_seq = last.map_or(0, |last| last.seq.0);
        if last == Some(segment) {
            return Ok(());
        }
        if segment.seq.0 != last_seq + 1 {
            return Err(AppendError::Superseded(SegmentSeq(segment.seq.0.min(last_seq))));
        }
        let log = logs.entry(name.to_owned()).or_default();
        log.stored.segments.push(segment.clone());
        log.last = Some(segment.clone());
        Ok(())
    }

    async fn fold(&self, name: &str, upto: SegmentSeq, parts: Vec<Bytes>) -> Result<(), StoreError> {
        let mut logs = self.logs();
        let log = logs.get_mut(name).ok_or_else(|| fold_beyond(upto, SegmentSeq(0)))?;
        let last = log.last.as_ref().map_or(SegmentSeq(0), |last| last.seq);
        let folded = log.stored.checkpoint.as_ref().map_or(SegmentSeq(0), |(upto, _)| *upto);
        if upto > last {
            return Err(fold_beyond(upto, last));
        }
        if upto > folded {
            log.stored.segments.retain(|segment| segment.seq > upto);
            log.stored.checkpoint = Some((upto, parts));
        }
        Ok(())
    }
}

/// A fold that stands for segments which the store does not have would lose those that come at their positions.
pub(crate) fn fold_beyond(upto: SegmentSeq, last: SegmentSeq) -> StoreError {
    StoreError::Unavailable(format!(
        "the log ends at segment {} and cannot be folded up to {}; load it again",
        last.0, upto.0
    ))
}
