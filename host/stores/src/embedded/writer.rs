//! The thread that writes.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use orrery_markers::{AppendError, Segment, SegmentSeq, StoreError};
use redb::Database;
use tokio::sync::{mpsc, oneshot};

use super::file::StoreFile;
pub(super) use super::tables::Done;
use super::tables::{self, Tables};
use crate::Metrics;

/// One write, and who waits for it.
pub(super) struct Command {
    pub(super) work: Work,
    pub(super) reply: oneshot::Sender<Result<Done, AppendError>>,
}

/// What is to be written. All but `Append` may be repeated without harm.
pub(super) enum Work {
    /// A segment after the log's last.
    Append { name: Arc<str>, segment: Segment },
    /// Parts of the log's next checkpoint, from place `first` on.
    Stage { name: Arc<str>, first: u32, parts: Vec<Bytes> },
    /// The staged checkpoint becomes the log's.
    Switch { name: Arc<str>, upto: SegmentSeq, parts: u32 },
    /// Some of what is not read any more goes.
    Sweep { name: Arc<str> },
}

/// Why a commit failed.
enum Failure {
    /// Before it began: surely nothing is done.
    Before(redb::Error),
    /// In it: all of it is done, or nothing.
    Within(redb::Error),
}

/// Bytes that are committed at once, at most one segment more: what comes later waits no longer than these take.
const COMMIT_BYTES: usize = 8 << 20;

/// Writes what `queue` brings until its senders are gone.
pub(super) fn run(file: &StoreFile, mut queue: mpsc::Receiver<Command>, metrics: &Metrics) {
    while let Some(first) = queue.blocking_recv() {
        let batch = gather(first, &mut queue);
        metrics.queued.dec_by(batch.len() as i64);
        let began = Instant::now();
        let works: Vec<&Work> = batch.iter().map(|command| &command.work).collect();
        let answers = write(file, &works, metrics);
        metrics.commit_seconds.observe(began.elapsed().as_secs_f64());
        for (command, answer) in batch.into_iter().zip(answers) {
            // Who does not wait any more does not miss it.
            let _ = command.reply.send(answer);
        }
    }
}

fn gather(first: Command, queue: &mut mpsc::Receiver<Command>) -> Vec<Command> {
    let mut bytes = first.work.bytes_len();
    let mut batch = vec![first];
    while bytes < COMMIT_BYTES
        && let Ok(next) = queue.try_recv()
    {
        bytes += next.work.bytes_len();
        batch.push(next);
    }
    batch
}

fn write(file: &StoreFile, works: &[&Work], metrics: &Metrics) -> Vec<Result<Done, AppendError>> {
    let failure = match file.with(|database| commit(database, works)) {
        Ok(Ok(done)) => return done.into_iter().map(Ok).collect(),
        Ok(Err(failure)) => failure,
        Err(lost) => return works.iter().map(|_| Err(AppendError::Failed(copy(&lost)))).collect(),
    };
    metrics.failures.inc();
    file.lose();
    match failure {
        Failure::Before(error) => works.iter().map(|_| Err(AppendError::Failed(file.store_error(&error)))).collect(),
        Failure::Within(error) => works.iter().map(|work| settle(file, work, &error)).collect(),
    }
}

fn commit(database: &Database, works: &[&Work]) -> Result<Vec<Done>, Failure> {
    let before = |error: redb::Error| Failure::Before(error);
    let mut transaction = database.begin_write().map_err(|error| before(error.into()))?;
    // The newest commit can then be told from a torn one, so that damage to it is found, and not undone.
    transaction.set_two_phase_commit(true);
    let done = {
        let mut tables = Tables::open(&transaction).map_err(before)?;
        works.iter().map(|work| work.apply(&mut tables)).collect::<Result<_, _>>().map_err(before)?
    };
    transaction.commit().map_err(|error| Failure::Within(error.into()))?;
    Ok(done)
}

/// Looks up, in the file opened again, whether a write of a failed commit was done after all.
fn settle(file: &StoreFile, work: &Work, error: &redb::Error) -> Result<Done, AppendError> {
    let Work::Append { name, segment } = work else {
        return Err(AppendError::Unknown(file.store_error(error)));
    };
    match file.read(|transaction| tables::has(transaction, name, segment)) {
        Ok(true) => Ok(Done::All),
        Ok(false) => Err(AppendError::Failed(file.store_error(error))),
        Err(_) => Err(AppendError::Unknown(file.store_error(error))),
    }
}

fn copy(error: &StoreError) -> StoreError {
    match error {
        StoreError::Unavailable(text) => StoreError::Unavailable(text.clone()),
        StoreError::Full(text) => StoreError::Full(text.clone()),
        StoreError::Corrupt(text) => StoreError::Corrupt(text.clone()),
    }
}

// === impl Work ===

impl Work {
    fn apply(&self, tables: &mut Tables<'_>) -> Result<Done, redb::Error> {
        match self {
            Self::Append { name, segment } => tables.append(name, segment),
            Self::Stage { name, first, parts } => tables.stage(name, *first, parts),
            Self::Switch { name, upto, parts } => tables.switch(name, *upto, *parts),
            Self::Sweep { name } => tables.sweep(name),
        }
    }

    fn bytes_len(&self) -> usize {
        match self {
            Self::Append { segment, .. } => segment.bytes.len(),
            Self::Stage { parts, .. } => parts.iter().map(Bytes::len).sum(),
            Self::Switch { .. } | Self::Sweep { .. } => 0,
        }
    }
}
