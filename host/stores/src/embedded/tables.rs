//! What stands in the file, and each read and write of it within one transaction.

use bytes::Bytes;
use orrery_markers::{Segment, SegmentSeq, StoredLog};
use redb::{ReadTransaction, ReadableTable, Table, TableDefinition, TableError, WriteTransaction};

/// The file's format, by which a later version can tell.
pub(super) const FORMAT: u32 = 1;

const META: TableDefinition<'_, &str, u32> = TableDefinition::new("meta");
/// By log: last segment, folded up to, generation of the checkpoint, number of its parts.
const LOGS: TableDefinition<'_, &str, (u64, u64, u64, u32)> = TableDefinition::new("logs");
/// By log and position. Those folded are not read any more and are swept, but for the log's last one.
const SEGMENTS: TableDefinition<'_, (&str, u64), &[u8]> = TableDefinition::new("segments");
/// By log, generation and place. Those of another generation than the log's are not read; they are swept.
const PARTS: TableDefinition<'_, (&str, u64, u32), &[u8]> = TableDefinition::new("parts");

/// Rows that one sweep removes at most.
const SWEPT_MAX: usize = 1000;

/// A log's row.
#[derive(Clone, Copy, Default)]
struct LogRow {
    last: u64,
    folded: u64,
    generation: u64,
    parts: u32,
}

/// The tables of one write transaction.
pub(super) struct Tables<'txn> {
    logs: Table<'txn, &'static str, (u64, u64, u64, u32)>,
    segments: Table<'txn, (&'static str, u64), &'static [u8]>,
    parts: Table<'txn, (&'static str, u64, u32), &'static [u8]>,
}

/// How a write ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// As asked, or it stood there already.
    All,
    /// There is more to do of it.
    InPart,
    /// Not at all: the log's segments do not allow it. For an append, the segment that stands at its place or, where
    /// the place is too far, the last one; for a fold, the last one.
    Superseded(SegmentSeq),
}

/// Makes the tables of a new file.
pub(super) fn create(transaction: &WriteTransaction) -> Result<(), redb::Error> {
    transaction.open_table(META)?.insert("format", FORMAT)?;
    Tables::open(transaction)?;
    Ok(())
}

/// The file's format; `None` where it does not say, so is none of ours.
pub(super) fn format(transaction: &ReadTransaction) -> Result<Option<u32>, redb::Error> {
    match transaction.open_table(META) {
        Ok(meta) => Ok(meta.get("format")?.map(|format| format.value())),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The names of all logs.
pub(super) fn log_names(transaction: &ReadTransaction) -> Result<Vec<String>, redb::Error> {
    let logs = transaction.open_table(LOGS)?;
    logs.iter()?.map(|row| Ok(row?.0.value().to_owned())).collect()
}

/// One log as of the transaction.
pub(super) fn load(transaction: &ReadTransaction, name: &str) -> Result<StoredLog, redb::Error> {
    let Some(row) = transaction.open_table(LOGS)?.get(name)?.map(|row| LogRow::of(row.value())) else {
        return Ok(StoredLog::default());
    };
    let mut log = StoredLog::default();
    if row.folded > 0 {
        let table = transaction.open_table(PARTS)?;
        let parts = table.range((name, row.generation, 0)..(name, row.generation, row.parts))?;
        let parts =
            parts.map(|part| Ok(Bytes::copy_from_slice(part?.1.value()))).collect::<Result<_, redb::Error>>()?;
        log.checkpoint = Some((SegmentSeq(row.folded), parts));
    }
    let table = transaction.open_table(SEGMENTS)?;
    for segment in table.range((name, row.folded + 1)..=(name, row.last))? {
        let (key, bytes) = segment?;
        log.segments.push(Segment { seq: SegmentSeq(key.value().1), bytes: Bytes::copy_from_slice(bytes.value()) });
    }
    whole(&row, &log).map_err(redb::Error::Corrupted)?;
    Ok(log)
}

/// Whether `segment` stands in its log, with just these bytes.
pub(super) fn has(transaction: &ReadTransaction, name: &str, segment: &Segment) -> Result<bool, redb::Error> {
    let row = transaction.open_table(LOGS)?.get(name)?.map(|row| LogRow::of(row.value()));
    let found = transaction.open_table(SEGMENTS)?.get((name, segment.seq.0))?;
    Ok(row.is_some_and(|row| row.last >= segment.seq.0) && found.is_some_and(|found| found.value() == segment.bytes))
}

fn whole(row: &LogRow, log: &StoredLog) -> Result<(), String> {
    let parts = log.checkpoint.as_ref().map_or(0, |(_, parts)| parts.len());
    if parts as u32 != row.parts {
        return Err(format!("{parts} parts of a checkpoint that has {}", row.parts));
    }
    if log.segments.len() as u64 != row.last - row.folded {
        return Err(format!("{} segments of {} after {}", log.segments.len(), row.last, row.folded));
    }
    Ok(())
}

// === impl Tables ===

impl<'txn> Tables<'txn> {
    pub(super) fn open(transaction: &'txn WriteTransaction) -> Result<Self, redb::Error> {
        Ok(Self {
            logs: transaction.open_table(LOGS)?,
            segments: transaction.open_table(SEGMENTS)?,
            parts: transaction.open_table(PARTS)?,
        })
    }

    pub(super) fn append(&mut self, name: &str, segment: &Segment) -> Result<Done, redb::Error> {
        let row = self.row(name)?;
        let seq = segment.seq.0;
        if seq == row.last && self.segments.get((name, seq))?.is_some_and(|last| last.value() == segment.bytes) {
            return Ok(Done::All);
        }
        if seq != row.last + 1 {
            return Ok(Done::Superseded(SegmentSeq(seq.min(row.last))));
        }
        self.segments.insert((name, seq), &*segment.bytes)?;
        self.set_row(name, LogRow { last: seq, ..row })?;
        Ok(Done::All)
    }

    /// Writes parts of the next generation, from place `first` on.
    pub(super) fn stage(&mut self, name: &str, first: u32, parts: &[Bytes]) -> Result<Done, redb::Error> {
        let generation = self.row(name)?.generation + 1;
        for (place, part) in (first..).zip(parts) {
            self.parts.insert((name, generation, place), &**part)?;
        }
        Ok(Done::All)
    }

    /// Makes the next generation, staged before, the log's checkpoint; an older checkpoint than the log's changes nothing.
    pub(super) fn switch(&mut self, name: &str, upto: SegmentSeq, parts: u32) -> Result<Done, redb::Error> {
        let row = self.row(name)?;
        if upto.0 > row.last {
            return Ok(Done::Superseded(SegmentSeq(row.last)));
        }
        if upto.0 > row.folded {
            let generation = row.generation + 1;
            self.set_row(name, LogRow { folded: upto.0, generation, parts, ..row })?;
        }
        Ok(Done::All)
    }

    /// Removes rows that are not read any more, at most [`SWEPT_MAX`] of each table.
    pub(super) fn sweep(&mut self, name: &str) -> Result<Done, redb::Error> {
        let row = self.row(name)?;
        let (old, staged) = ((name, row.generation, 0), (name, row.generation + 1, 0));
        let end = (name, u64::MAX, u32::MAX);
        let unread = self.parts.range((name, 0, 0)..old)?.chain(self.parts.range(staged..=end)?);
        let unread =
            unread.take(SWEPT_MAX).map(|part| Ok(part?.0.value()).map(|(_, generation, place)| (generation, place)));
        let unread: Vec<_> = unread.collect::<Result<_, redb::StorageError>>()?;
        for &(generation, place) in &unread {
            self.parts.remove((name, generation, place))?;
        }
        let folded = self.segments.range((name, 0)..(name, row.last.min(row.folded + 1)))?;
        let folded: Vec<u64> = folded
            .take(SWEPT_MAX)
            .map(|segment| Ok(segment?.0.value().1))
            .collect::<Result<_, redb::StorageError>>()?;
        for &seq in &folded {
            self.segments.remove((name, seq))?;
        }
        Ok(if unread.len().max(folded.len()) == SWEPT_MAX { Done::InPart } else { Done::All })
    }

    fn row(&self, name: &str) -> Result<LogRow, redb::Error> {
        Ok(self.logs.get(name)?.map(|row| LogRow::of(row.value())).unwrap_or_default())
    }

    fn set_row(&mut self, name: &str, row: LogRow) -> Result<(), redb::Error> {
        self.logs.insert(name, (row.last, row.folded, row.generation, row.parts))?;
        Ok(())
    }
}

// === impl LogRow ===

impl LogRow {
    fn of((last, folded, generation, parts): (u64, u64, u64, u32)) -> Self {
        Self { last, folded, generation, parts }
    }
}
