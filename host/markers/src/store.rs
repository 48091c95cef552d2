use bytes::Bytes;

/// Position of a segment in its log, counted by one from 1. 0 is the empty log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentSeq(pub u64);

/// An encoded segment: some records, below 1 MiB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its position.
    pub seq: SegmentSeq,
    /// Its bytes.
    pub bytes: Bytes,
}

/// A log as it stands in a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredLog {
    /// The newest checkpoint: the position up to which it folds everything, and its parts in order. Absent before the
    /// first fold.
    pub checkpoint: Option<(SegmentSeq, Vec<Bytes>)>,
    /// The segments after it, without a gap.
    pub segments: Vec<Segment>,
}

/// Why an append did not (surely) happen. Retrying is right only as each case says.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Another writer's segment stands at this position: this writer must stop and load the log again.
    #[error("another writer has appended segment {0:?}")]
    Superseded(SegmentSeq),
    /// Surely not done: the same append may be retried.
    #[error("failed to append")]
    Failed(#[source] StoreError),
    /// May be done: repeat the same append; a store answers `Ok` if the very same bytes stand there already.
    #[error("failed to learn whether the append was done")]
    Unknown(#[source] StoreError),
}

/// A store's failure.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be reached, read or written now.
    #[error("marker store is unavailable: {0}")]
    Unavailable(String),
    /// No space is left.
    #[error("marker store is full: {0}")]
    Full(String),
    /// What it holds cannot be read; says what to do.
    #[error("marker store is corrupt: {0}")]
    Corrupt(String),
}

/// Where marker logs are kept: one log per name (a resource in one version, as [`orrery_api::Gvr`] prints it).
///
/// Promises, held by one contract suite on every implementation:
/// - `append` is atomic and durable when it returns `Ok`, and succeeds only at the position after the last: two writers
///   cannot both append at one position. The same bytes again at the last position are `Ok` (so an unknown outcome is
///   settled by repeating).
/// - `load` returns a whole log: a checkpoint of all its parts or none, and every segment after it, in order.
/// - `fold` replaces checkpoint and the segments up to its position in one step: a reader sees the old or the new.
/// - A future that is dropped leaves the operation done or not done, never half.
#[async_trait::async_trait]
pub trait MarkerStore: Send + Sync + 'static {
    /// The names of all logs that have a segment or checkpoint.
    async fn logs(&self) -> Result<Vec<String>, StoreError>;

    /// The log `name`; the empty one where it was never written.
    async fn load(&self, name: &str) -> Result<StoredLog, StoreError>;

    /// Appends `segment` to the log `name`.
    async fn append(&self, name: &str, segment: &Segment) -> Result<(), AppendError>;

    /// Makes `parts` the checkpoint that stands for everything up to and including `upto`, and drops those segments.
    async fn fold(&self, name: &str, upto: SegmentSeq, parts: Vec<Bytes>) -> Result<(), StoreError>;
}
