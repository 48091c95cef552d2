//! One log: its segments and its checkpoint.
//!
//! Where the answer to an append is lost, the append may be done, not done, or still on its way. So the log's head is
//! written once more, as it was, by a transaction that compares it as the append does: of the two, only one can succeed.
//! If that one does, the append is not done and never will be; else the head says whose segment stands there. A fold
//! guards its steps in the same way, by the checkpoint's row.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use etcd_client::{Compare, CompareOp, DeleteOptions, GetOptions, KeyValue, Txn, TxnOp};
use orrery_markers::{AppendError, Segment, SegmentSeq, StoreError, StoredLog};
use tokio::sync::Mutex;

use super::keys::{CheckpointRow, Keys, LogKeys};
use super::requests::{Failure, Requests, again_and_again, read_by, revision_of};
use super::writer::{Term, Writer};
use crate::Metrics;
use crate::memory::fold_beyond;

/// How often something is tried that another write of this host, or a compaction, gets in the way of.
const TRIES: usize = 4;
/// Segments that one transaction drops, so that no append waits long behind it.
const SWEPT_MAX: u64 = 1000;

/// A log below the prefix.
#[derive(Debug)]
pub(super) struct Log {
    requests: Arc<Requests>,
    keys: LogKeys,
    /// The head as this host left it; `None` where that is not known.
    head: Mutex<Option<Head>>,
    folding: Mutex<()>,
    metrics: Metrics,
}

/// The head of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Head {
    /// Position of the last segment; 0 where there is none.
    last: u64,
    /// When the head was written; 0 where it never was.
    revision: i64,
}

/// The row of a log's checkpoint, and when it was written.
#[derive(Clone, Copy)]
struct Guard {
    row: CheckpointRow,
    revision: i64,
}

/// How a transaction that changes a log ended.
enum Change {
    /// All of it is done, at this revision.
    Done(i64),
    /// Nothing is done: this host is not the writer any more.
    NotWriter(StoreError),
    /// Nothing is done: what it compared was not so. The key as it is.
    Differs(Option<KeyValue>),
}

// === impl Log ===

impl Log {
    pub(super) fn new(requests: Arc<Requests>, keys: LogKeys, metrics: Metrics) -> Self {
        Self { requests, keys, head: Mutex::default(), folding: Mutex::default(), metrics }
    }

    /// The log as of one revision, however many pages it takes.
    pub(super) async fn load(&self) -> Result<StoredLog, StoreError> {
        for _ in 1..TRIES {
            match self.load_once().await {
                Err(Failure::Compacted) => {}
                loaded => return loaded.map_err(Failure::into_store_error)?,
            }
        }
        self.load_once().await.map_err(Failure::into_store_error)?
    }

    async fn load_once(&self) -> Result<Result<StoredLog, StoreError>, Failure> {
        let (head, guard, revision) = match self.rows().await? {
            Ok(rows) => rows,
            Err(corrupt) => return Ok(Err(corrupt)),
        };
        let mut log = StoredLog::default();
        if guard.row.folded > 0 {
            let (first, end) =
                (self.keys.generation(guard.row.generation), self.keys.generation(guard.row.generation + 1));
            let parts = self.requests.scan(first, &end, revision).await?;
            log.checkpoint = Some((SegmentSeq(guard.row.folded), parts.into_iter().map(value).collect()));
        }
        let (first, end) = (self.keys.segment(guard.row.folded + 1), self.keys.segment(head.last + 1));
        if first < end {
            let segments = self.requests.scan(first, &end, revision).await?;
            log.segments = segments.into_iter().filter_map(|segment| self.segment_of(segment)).collect();
        }
        Ok(self.whole(&head, &guard.row, log))
    }

    pub(super) async fn append(&self, writer: &Writer, segment: &Segment) -> Result<(), AppendError> {
        let _waits = self.metrics.waiting();
        let mut known = self.head.lock().await;
        let began = Instant::now();
        let term = writer.term().map_err(AppendError::Failed)?;
        // Unknown again if this future is dropped on the way.
        let mut head = match known.take() {
            Some(head) => head,
            None => self.read_head().await.map_err(|failure| AppendError::Failed(failure.into_store_error()))?,
        };
        for _ in 0..TRIES {
            if segment.seq.0 != head.last + 1 {
                *known = Some(head);
                return self.judge(head, segment).await;
            }
            match self.put_segment(writer, term, head, segment).await {
                Ok(Change::Done(revision)) => {
                    *known = Some(Head { last: segment.seq.0, revision });
                    self.metrics.commit_seconds.observe(began.elapsed().as_secs_f64());
                    self.metrics.segments.inc();
                    self.metrics.segment_bytes.inc_by(segment.bytes.len() as u64);
                    return Ok(());
                }
                Ok(Change::NotWriter(error)) => return Err(AppendError::Failed(error)),
                Ok(Change::Differs(found)) => head = Head::of(found).map_err(AppendError::Failed)?,
                Err(Failure::Unanswered(error)) => {
                    self.metrics.failures.inc();
                    head = self.settle(writer, term, head, segment, error).await?;
                }
                Err(Failure::Refused(StoreError::Full(reason))) => {
                    self.metrics.failures.inc();
                    head = self.look_after_full(head, StoreError::Full(reason)).await?;
                }
                Err(failure) => {
                    self.metrics.failures.inc();
                    *known = Some(head);
                    return Err(AppendError::Failed(failure.into_store_error()));
                }
            }
        }
        Err(AppendError::Failed(StoreError::Unavailable("the log's head does not stand still".to_owned())))
    }

    async fn put_segment(&self, writer: &Writer, term: Term, head: Head, segment: &Segment) -> Result<Change, Failure> {
        let puts = [
            TxnOp::put(self.keys.head.as_str(), segment.seq.0.to_string(), None),
            TxnOp::put(self.keys.segment(segment.seq.0), segment.bytes.as_ref(), None),
        ];
        self.change(writer, term, (&self.keys.head, head.revision), puts.to_vec()).await
    }

    /// Learns what became of an append whose answer was lost. The head, where the append surely is not done and may be
    /// tried again.
    async fn settle(
        &self,
        writer: &Writer,
        term: Term,
        head: Head,
        segment: &Segment,
        error: StoreError,
    ) -> Result<Head, AppendError> {
        let again = || vec![TxnOp::put(self.keys.head.as_str(), head.last.to_string(), None)];
        let settled = again_and_again(|| self.change(writer, term, (&self.keys.head, head.revision), again())).await;
        let (outcome, result) = match settled {
            Ok(Change::Done(revision)) => ("not_done", Ok(Head { revision, ..head })),
            Ok(Change::Differs(found)) => match Head::of(found).map_err(AppendError::Failed)? {
                now if now.last < segment.seq.0 => ("not_done", Ok(now)),
                now => ("done", Ok(now)),
            },
            // Its transaction compares the term too, so from here on it cannot be done; but it may have been before.
            Ok(Change::NotWriter(lost)) => match self.read_head().await {
                Ok(now) if now.last < segment.seq.0 => ("not_done", Err(AppendError::Failed(lost))),
                Ok(now) => ("done", Ok(now)),
                Err(_) => ("unknown", Err(AppendError::Unknown(lost))),
            },
            Err(_) => ("unknown", Err(AppendError::Unknown(error))),
        };
        self.metrics.etcd.settled(outcome);
        result
    }

    /// etcd answers that it is full, too, to the first transaction that finds it so, and does it all the same (its
    /// server/etcdserver/apply, the applier with quota). What it has answered is not on its way any more, so the head tells.
    async fn look_after_full(&self, head: Head, full: StoreError) -> Result<Head, AppendError> {
        match self.read_head().await {
            Ok(now) if now == head => Err(AppendError::Failed(full)),
            Ok(now) => Ok(now),
            Err(_) => Err(AppendError::Unknown(full)),
        }
    }

    /// The answer to an append at another place than the next one.
    async fn judge(&self, head: Head, segment: &Segment) -> Result<(), AppendError> {
        let seq = segment.seq.0;
        if seq == head.last && seq > 0 {
            let stands = self.requests.get(&self.keys.segment(seq)).await;
            let stands = stands.map_err(|failure| AppendError::Failed(failure.into_store_error()))?;
            if stands.is_some_and(|stands| stands.value() == segment.bytes) {
                return Ok(());
            }
        }
        Err(AppendError::Superseded(SegmentSeq(seq.min(head.last))))
    }

    pub(super) async fn fold(&self, writer: &Writer, upto: SegmentSeq, parts: Vec<Bytes>) -> Result<(), StoreError> {
        let _one_at_a_time = self.folding.lock().await;
        let term = writer.term()?;
        let (head, guard, _) = self.rows().await.map_err(Failure::into_store_error)??;
        if upto.0 > head.last {
            return Err(fold_beyond(upto, SegmentSeq(head.last)));
        }
        if upto.0 <= guard.row.folded {
            return Ok(());
        }
        // From here on nothing that an earlier fold may still have on its way can happen.
        let begun = CheckpointRow { begun: guard.row.begun + 1, ..guard.row };
        let mut guard = self.put_row(writer, term, guard, begun).await?;
        self.sweep_parts(writer, term, guard).await?;
        let count = parts.len() as u64;
        for (place, part) in parts.into_iter().enumerate() {
            let put = TxnOp::put(self.keys.part(begun.begun, place), Vec::from(part), None);
            self.step(writer, term, guard, vec![put]).await?;
        }
        let row = CheckpointRow { folded: upto.0, generation: begun.begun, parts: count, ..begun };
        guard = self.put_row(writer, term, guard, row).await?;
        self.metrics.folds.inc();
        if let Err(error) = self.sweep(writer, term, guard, head).await {
            tracing::warn!(log = self.keys.head, %error, "folded segments stay in etcd until the next fold");
        }
        Ok(())
    }

    /// Writes the row, and gives what guards the next step.
    async fn put_row(
        &self,
        writer: &Writer,
        term: Term,
        guard: Guard,
        row: CheckpointRow,
    ) -> Result<Guard, StoreError> {
        let put = TxnOp::put(self.keys.checkpoint.as_str(), row.encode(), None);
        match self.guarded(writer, term, guard, vec![put]).await? {
            Ok(revision) => Ok(Guard { row, revision }),
            // Done by an attempt whose answer was lost: nobody else begins a generation of that number.
            Err(found) if found.row == row => Ok(found),
            Err(_) => Err(come_between()),
        }
    }

    /// A step of a fold that may be done twice without harm.
    async fn step(&self, writer: &Writer, term: Term, guard: Guard, ops: Vec<TxnOp>) -> Result<(), StoreError> {
        self.guarded(writer, term, guard, ops).await?.map(drop).map_err(|_| come_between())
    }

    /// Drops what no reader sees any more. The last segment stays, so that repeating its append is answered as before.
    async fn sweep(&self, writer: &Writer, term: Term, guard: Guard, head: Head) -> Result<(), StoreError> {
        self.sweep_parts(writer, term, guard).await?;
        let end = head.last.min(guard.row.folded + 1);
        let first = self.first_segment(end).await?;
        for from in (first..end).step_by(SWEPT_MAX as usize) {
            let to = end.min(from + SWEPT_MAX);
            let drop = delete(self.keys.segment(from), self.keys.segment(to));
            self.step(writer, term, guard, vec![drop]).await?;
        }
        Ok(())
    }

    /// Position of the first segment before `end` that stands there, or `end`.
    async fn first_segment(&self, end: u64) -> Result<u64, StoreError> {
        let range = GetOptions::new().with_range(self.keys.segment(end)).with_limit(1).with_keys_only();
        let read = Txn::new().and_then([TxnOp::get(self.keys.segment(0), Some(range))]);
        let answer = self.requests.read(read).await.map_err(Failure::into_store_error)?;
        let first = read_by(answer.op_responses().pop()).pop();
        Ok(first.and_then(|first| self.keys.seq_of_segment(first.key())).unwrap_or(end))
    }

    /// Drops the parts of all checkpoints but the log's and the one that is being made: a step that is done a second time,
    /// late, must not drop what was written after its first.
    async fn sweep_parts(&self, writer: &Writer, term: Term, guard: Guard) -> Result<(), StoreError> {
        let CheckpointRow { generation, begun, .. } = guard.row;
        let unread = [0..generation, generation + 1..begun].into_iter().filter(|range| !range.is_empty());
        let drops = unread.map(|range| delete(self.keys.generation(range.start), self.keys.generation(range.end)));
        self.step(writer, term, guard, drops.collect()).await
    }

    /// A change that happens only while this host is the writer and the checkpoint's row is as `guard` says: its revision,
    /// or the row as it is.
    async fn guarded(
        &self,
        writer: &Writer,
        term: Term,
        guard: Guard,
        ops: Vec<TxnOp>,
    ) -> Result<Result<i64, Guard>, StoreError> {
        let key = (self.keys.checkpoint.as_str(), guard.revision);
        let changed = again_and_again(|| self.change(writer, term, key, ops.clone())).await;
        match changed.map_err(Failure::into_store_error)? {
            Change::Done(revision) => Ok(Ok(revision)),
            Change::NotWriter(error) => Err(error),
            Change::Differs(found) => Ok(Err(Guard::of(found)?)),
        }
    }

    /// Does `ops` if this host is the writer in `term` and `key` was last written at `revision`.
    async fn change(
        &self,
        writer: &Writer,
        term: Term,
        (key, revision): (&str, i64),
        ops: Vec<TxnOp>,
    ) -> Result<Change, Failure> {
        let compares = [writer.compare(term), Compare::mod_revision(key, CompareOp::Equal, revision)];
        let reads = [TxnOp::get(writer.key(), None), TxnOp::get(key, None)];
        let answer = self.requests.txn(Txn::new().when(compares).and_then(ops).or_else(reads)).await?;
        if answer.succeeded() {
            return Ok(Change::Done(revision_of(&answer)));
        }
        let mut read = answer.op_responses().into_iter();
        let writes = read_by(read.next()).pop();
        if let Some(lost) = writer.lost(term, writes.as_ref()) {
            return Ok(Change::NotWriter(lost));
        }
        Ok(Change::Differs(read_by(read.next()).pop()))
    }

    async fn read_head(&self) -> Result<Head, Failure> {
        Head::of(self.requests.get(&self.keys.head).await?).map_err(Failure::Refused)
    }

    /// Head and checkpoint as of one revision.
    async fn rows(&self) -> Result<Result<(Head, Guard, i64), StoreError>, Failure> {
        let reads = [TxnOp::get(self.keys.head.as_str(), None), TxnOp::get(self.keys.checkpoint.as_str(), None)];
        let answer = self.requests.read(Txn::new().and_then(reads)).await?;
        let mut read = answer.op_responses().into_iter();
        let (head, row) = (read_by(read.next()).pop(), read_by(read.next()).pop());
        let rows = Head::of(head).and_then(|head| Ok((head, Guard::of(row)?, revision_of(&answer))));
        Ok(rows)
    }

    fn segment_of(&self, found: KeyValue) -> Option<Segment> {
        let seq = self.keys.seq_of_segment(found.key())?;
        Some(Segment { seq: SegmentSeq(seq), bytes: value(found) })
    }

    fn whole(&self, head: &Head, row: &CheckpointRow, log: StoredLog) -> Result<StoredLog, StoreError> {
        let parts = log.checkpoint.as_ref().map_or(0, |(_, parts)| parts.len());
        let corrupt = |what: String| {
            let keys = [&self.keys.head, &self.keys.checkpoint].map(String::as_str).join(", ");
            StoreError::Corrupt(format!("{what}; delete the keys {keys}, after which clients of it list once more"))
        };
        if parts as u64 != row.parts {
            return Err(corrupt(format!("{parts} parts of a checkpoint that has {}", row.parts)));
        }
        let expected = row.folded + 1..=head.last;
        if !log.segments.iter().map(|segment| segment.seq.0).eq(expected) {
            return Err(corrupt(format!("{} segments of {} after {}", log.segments.len(), head.last, row.folded)));
        }
        Ok(log)
    }
}

/// The names of all logs that have a segment.
pub(super) async fn names(requests: &Requests, keys: &Keys) -> Result<Vec<String>, StoreError> {
    let heads = keys.heads();
    // The character after the slash ends the range.
    let end = format!("{}0", heads.trim_end_matches('/'));
    let found = requests.scan(heads, &end, 0).await.map_err(Failure::into_store_error)?;
    let written = found.iter().filter(|head| head.value() != b"0");
    Ok(written.filter_map(|head| keys.log_of_head(head.key())).collect())
}

fn come_between() -> StoreError {
    StoreError::Unavailable("another fold of this log has come between; fold again".to_owned())
}

fn delete(from: String, to: String) -> TxnOp {
    TxnOp::delete(from, Some(DeleteOptions::new().with_range(to)))
}

fn value(found: KeyValue) -> Bytes {
    found.into_key_value().1.into()
}

// === impl Head ===

impl Head {
    fn of(found: Option<KeyValue>) -> Result<Self, StoreError> {
        let Some(found) = found else { return Ok(Self::default()) };
        let last = found.value_str().ok().and_then(|text| text.parse().ok());
        let last = last.ok_or_else(|| not_ours(&found))?;
        Ok(Self { last, revision: found.mod_revision() })
    }
}

// === impl Guard ===

impl Guard {
    fn of(found: Option<KeyValue>) -> Result<Self, StoreError> {
        let Some(found) = found else { return Ok(Self { row: CheckpointRow::default(), revision: 0 }) };
        let row = CheckpointRow::decode(found.value()).ok_or_else(|| not_ours(&found))?;
        Ok(Self { row, revision: found.mod_revision() })
    }
}

fn not_ours(found: &KeyValue) -> StoreError {
    let key = String::from_utf8_lossy(found.key()).into_owned();
    StoreError::Corrupt(format!("what stands at key {key} of etcd was not written by orrery"))
}
