//! The store in one redb file.
//!
//! One thread writes: it takes all writes that wait, of whatever logs, and commits them in one durable transaction, so
//! that many resources cost one flush. Reads run on snapshots beside it. After a failed write the file is opened again
//! (redb refuses a handle that has met an error), and what was left unknown is looked up.

mod file;
mod tables;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use bytes::Bytes;
use orrery_markers::{AppendError, MarkerStore, Segment, SegmentSeq, StoreError, StoredLog};
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::{DirLock, Metrics};
use file::StoreFile;
use writer::{Command, Done, Work};

/// Marker logs in the file `markers.redb` of a held directory. Dropping it waits for the writes that are queued.
#[derive(Debug)]
pub struct RedbStore {
    file: Arc<StoreFile>,
    /// `None` only while dropped: the writer ends once it is gone.
    commands: Option<mpsc::Sender<Command>>,
    writer: Option<JoinHandle<()>>,
    folding: Mutex<()>,
    metrics: Metrics,
    _lock: Arc<DirLock>,
}

/// Why the file cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It is damaged. Nothing was changed in it.
    #[error(
        "{} is damaged ({reason}); to begin with an empty one, after which clients list once more, run: mv {0} {0}.broken",
        path.display(),
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// It was written by a later version of Orrery.
    #[error("{} is of format {found}, which this version cannot read; use the version of orrery that wrote it", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// It cannot be read, written, made or locked.
    #[error("failed to open {}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: StoreError,
    },
}

/// Writes that may wait. Each holds below 1 MiB; who comes later waits for a place.
const QUEUE: usize = 64;
/// Bytes of a checkpoint that are written in one commit, so that a fold of a large log delays no append by more.
const STAGE_BYTES: usize = 1 << 20;

// === impl RedbStore ===

impl RedbStore {
    /// Name of the file in the directory.
    pub const FILE: &str = "markers.redb";

    /// Opens the store in the directory that `lock` holds, or makes it there. Reads and verifies the whole file, so it
    /// blocks: call it before serving, or on a thread for that.
    ///
    /// # Errors
    /// Where the file is damaged, of another format, or cannot be used. It is left as it is then.
    pub fn open(lock: Arc<DirLock>, metrics: Metrics) -> Result<Self, OpenError> {
        let file = Arc::new(StoreFile::open(lock.dir().join(Self::FILE), metrics.clone())?);
        let (commands, queue) = mpsc::channel(QUEUE);
        let writer = {
            let (file, metrics) = (file.clone(), metrics.clone());
            std::thread::Builder::new()
                .name("marker-store".to_owned())
                .spawn(move || writer::run(&file, queue, &metrics))
        };
        let writer = writer.map_err(|error| OpenError::Unusable {
            path: file.path().to_owned(),
            source: StoreError::Unavailable(error.to_string()),
        })?;
        let (commands, writer) = (Some(commands), Some(writer));
        Ok(Self { file, commands, writer, folding: Mutex::new(()), metrics, _lock: lock })
    }

    async fn write(&self, work: Work) -> Result<Done, AppendError> {
        let ended = || StoreError::Unavailable("its writer has ended".to_owned());
        let (reply, answer) = oneshot::channel();
        let commands = self.commands.as_ref().expect("the sender is taken only by drop");
        self.metrics.queued.inc();
        if commands.send(Command { work, reply }).await.is_err() {
            self.metrics.queued.dec();
            return Err(AppendError::Failed(ended()));
        }
        answer.await.unwrap_or_else(|_| Err(AppendError::Unknown(ended())))
    }

    /// As [`Self::write`] for work whose repetition does no harm, so that whether it was done does not matter.
    async fn write_part(&self, work: Work) -> Result<Done, StoreError> {
        self.write(work).await.map_err(|error| match error {
            AppendError::Failed(error) | AppendError::Unknown(error) => error,
            AppendError::Superseded(seq) => StoreError::Unavailable(format!("segment {} stands in the way", seq.0)),
        })
    }

    async fn read<T: Send + 'static>(
        &self,
        what: impl Fn(&redb::ReadTransaction) -> Result<T, redb::Error> + Send + 'static,
    ) -> Result<T, StoreError> {
        let file = self.file.clone();
        let read = tokio::task::spawn_blocking(move || file.read(what)).await;
        read.unwrap_or_else(|panic| Err(StoreError::Unavailable(format!("a read ended early: {panic}"))))
    }

    /// Drops what no reader sees any more, in commits of bounded size.
    async fn sweep(&self, name: &Arc<str>) -> Result<(), StoreError> {
        while let Done::InPart = self.write_part(Work::Sweep { name: name.clone() }).await? {}
        Ok(())
    }
}

#[async_trait::async_trait]
impl MarkerStore for RedbStore {
    async fn logs(&self) -> Result<Vec<String>, StoreError> {
        self.read(tables::log_names).await
    }

    async fn load(&self, name: &str) -> Result<StoredLog, StoreError> {
        let name = name.to_owned();
        self.read(move |transaction| tables::load(transaction, &name)).await
    }

    async fn append(&self, name: &str, segment: &Segment) -> Result<(), AppendError> {
        let done = self.write(Work::Append { name: name.into(), segment: segment.clone() }).await?;
        match done {
            Done::Superseded(seq) => Err(AppendError::Superseded(seq)),
            Done::All | Done::InPart => {
                self.metrics.segments.inc();
                self.metrics.segment_bytes.inc_by(segment.bytes.len() as u64);
                Ok(())
            }
        }
    }

    /// A checkpoint may be large, so its parts are first written where no reader looks, in commits of their own, and
    /// then made the log's in one.
    async fn fold(&self, name: &str, upto: SegmentSeq, parts: Vec<Bytes>) -> Result<(), StoreError> {
        let name: Arc<str> = name.into();
        let _one_at_a_time = self.folding.lock().await;
        self.sweep(&name).await?;
        let count = parts.len() as u32;
        for (first, parts) in stages(parts) {
            self.write_part(Work::Stage { name: name.clone(), first, parts }).await?;
        }
        match self.write_part(Work::Switch { name: name.clone(), upto, parts: count }).await? {
            Done::Superseded(last) => return Err(crate::memory::fold_beyond(upto, last)),
            Done::All | Done::InPart => self.metrics.folds.inc(),
        };
        if let Err(error) = self.sweep(&name).await {
            tracing::warn!(log = &*name, %error, "folded segments stay in the file until the next fold");
        }
        Ok(())
    }
}

impl Drop for RedbStore {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the marker store's writer has panicked");
        }
    }
}

/// The parts in groups of about [`STAGE_BYTES`], each with the place of its first.
fn stages(parts: Vec<Bytes>) -> Vec<(u32, Vec<Bytes>)> {
    let mut stages: Vec<(u32, Vec<Bytes>)> = Vec::new();
    let mut room = 0;
    for (index, part) in parts.into_iter().enumerate() {
        match stages.last_mut() {
            Some((_, stage)) if part.len() <= room => {
                room -= part.len();
                stage.push(part);
            }
            _ => {
                room = STAGE_BYTES.saturating_sub(part.len());
                stages.push((index as u32, vec![part]));
            }
        }
    }
    stages
}
