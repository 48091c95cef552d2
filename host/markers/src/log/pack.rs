//! The log on its way to a store and back.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use orrery_api::{ClusterName, Naming, ObjectKey, Uid};

use super::cluster::{Clock, Entry, Gone, Presence};
use super::names::{Holder, Names, Shared};
use super::{Log, Term};
use crate::codec::{
    CheckpointClaim, CheckpointCluster, CheckpointEntry, CheckpointGone, CheckpointObject, CheckpointReader,
    CheckpointState, CheckpointWriter, CorruptSegment, SegmentReader, SegmentWriter,
};
use crate::{ChangeKind, Marker, MemberVersion, Record, Segment, SegmentSeq, StoredLog, UnixMicros};

/// Where a segment is closed: with what its last record adds it stays below 1 MiB.
const SEGMENT_BYTES_MAX: usize = 900 * 1024;

/// A stored log that cannot be read back.
#[derive(Debug, thiserror::Error)]
pub enum CorruptLog {
    /// A segment is no segment.
    #[error("segment {seq:?} cannot be read")]
    Segment {
        /// Its position.
        seq: SegmentSeq,
        /// What is wrong with it.
        #[source]
        source: CorruptSegment,
    },
    /// The checkpoint is none.
    #[error("the checkpoint cannot be read")]
    Checkpoint(#[source] CorruptSegment),
    /// A segment is missing.
    #[error("segment {0:?} is missing")]
    Gap(SegmentSeq),
    /// A record's marker is not above those before it.
    #[error("a record of segment {0:?} goes back in time")]
    Order(SegmentSeq),
}

/// A log read back: as it stood some time before its last record, and the records from there on.
#[derive(Debug)]
pub struct Recovered {
    /// The log as it stood then.
    pub log: Log,
    /// The records after that, to be given to [`Log::replay`] in order.
    pub tail: Vec<Record>,
}

// === impl Log ===

impl Log {
    /// Whether records wait to be packed.
    pub fn has_staged(&self) -> bool {
        !self.staged.is_empty()
    }

    /// Packs all staged records into segments, to be appended in order.
    pub fn pack(&mut self, now: UnixMicros) -> Vec<Segment> {
        let mut segments = Vec::new();
        let mut writer = SegmentWriter::new(now);
        for staged in std::mem::take(&mut self.staged) {
            // A claim that passes a name on is visible together with the change before it, or not at all.
            if writer.bytes_len() > SEGMENT_BYTES_MAX && !matches!(staged.record, Record::Claim { .. }) {
                segments.push(self.close(std::mem::replace(&mut writer, SegmentWriter::new(now))));
            }
            if let Some(marker) = staged.record.marker() {
                self.packed = Some(marker);
            }
            writer.push(&staged.record, staged.known);
        }
        if writer.bytes_len() > SegmentWriter::new(now).bytes_len() {
            segments.push(self.close(writer));
        }
        segments
    }

    fn close(&mut self, writer: SegmentWriter) -> Segment {
        self.seq = SegmentSeq(self.seq.0 + 1);
        let head = self.packed.expect("a term is the first record of a log");
        Segment { seq: self.seq, bytes: writer.finish(head) }
    }

    /// Reads a stored log back, as it stood `rewind` before its last segment, and what follows.
    pub fn recover(stored: &StoredLog, naming: Naming, rewind: Duration) -> Result<Recovered, CorruptLog> {
        let last = stored.segments.last().map(header_time).transpose()?;
        let from = last.map_or(0, |last| last.0.saturating_sub(u64::try_from(rewind.as_micros()).unwrap_or(u64::MAX)));
        let mut log = Self::from_checkpoint(stored, naming)?;
        let mut segments = stored.segments.iter().peekable();
        while let Some(segment) = segments.peek() {
            if header_time(segment)?.0 > from {
                break;
            }
            log.replay_segment(segment, &mut Vec::new())?;
            segments.next();
        }
        let mut tail = Vec::new();
        let mut keys = HashMap::new();
        for segment in segments {
            log.read_ahead(segment, &mut keys, &mut tail)?;
        }
        Ok(Recovered { log, tail })
    }

    /// The log as it stood at `marker`, read from a store.
    pub fn recover_at(stored: &StoredLog, naming: Naming, marker: Marker) -> Result<Self, CorruptLog> {
        let Recovered { mut log, tail } = Self::recover(stored, naming, Duration::MAX)?;
        for record in tail {
            if record.marker().is_some_and(|at| at > marker) {
                break;
            }
            log.replay(record, &mut Vec::new());
        }
        Ok(log)
    }

    /// Folds the segments packed before `before` into a checkpoint; `None` where there are none.
    pub fn fold(
        stored: &StoredLog,
        naming: Naming,
        before: UnixMicros,
    ) -> Result<Option<(SegmentSeq, Vec<Bytes>)>, CorruptLog> {
        let mut log = Self::from_checkpoint(stored, naming)?;
        let start = log.seq;
        for segment in &stored.segments {
            if header_time(segment)? >= before {
                break;
            }
            log.replay_segment(segment, &mut Vec::new())?;
        }
        Ok((log.seq > start).then(|| (log.seq, log.checkpoint())))
    }

    fn replay_segment(&mut self, segment: &Segment, effects: &mut Vec<super::Effect>) -> Result<(), CorruptLog> {
        self.next_in_order(segment)?;
        let corrupt = |source| CorruptLog::Segment { seq: segment.seq, source };
        let (_, mut reader) = SegmentReader::new(&segment.bytes).map_err(corrupt)?;
        while let Some(record) = reader.next(|cluster, uid| self.key_of(cluster, uid)).map_err(corrupt)? {
            self.check_order(&record, self.head(), segment.seq)?;
            self.replay(record, effects);
            effects.clear();
        }
        Ok(())
    }

    /// Decodes a segment without moving the log by it; `keys` are those of objects that the records read ahead have added.
    fn read_ahead(
        &mut self,
        segment: &Segment,
        keys: &mut HashMap<(ClusterName, Uid), ObjectKey>,
        tail: &mut Vec<Record>,
    ) -> Result<(), CorruptLog> {
        self.next_in_order(segment)?;
        let corrupt = |source| CorruptLog::Segment { seq: segment.seq, source };
        let (_, mut reader) = SegmentReader::new(&segment.bytes).map_err(corrupt)?;
        let mut last = tail.iter().rev().find_map(Record::marker).or(self.head());
        loop {
            let known = |cluster: &ClusterName, uid: &Uid| {
                keys.get(&(cluster.clone(), uid.clone())).cloned().or_else(|| self.key_of(cluster, uid))
            };
            let Some(record) = reader.next(known).map_err(corrupt)? else { return Ok(()) };
            self.check_order(&record, last, segment.seq)?;
            last = record.marker().or(last);
            if let Record::Change { cluster, change, .. } = &record
                && change.kind != ChangeKind::Deleted
            {
                keys.insert((cluster.clone(), change.uid.clone()), change.key.clone());
            }
            tail.push(record);
        }
    }

    fn key_of(&self, cluster: &ClusterName, uid: &Uid) -> Option<ObjectKey> {
        self.clusters.get(cluster)?.objects.get(uid).map(|entry| entry.key.clone())
    }

    fn next_in_order(&mut self, segment: &Segment) -> Result<(), CorruptLog> {
        let expected = SegmentSeq(self.seq.0 + 1);
        if segment.seq != expected {
            return Err(CorruptLog::Gap(expected));
        }
        self.seq = expected;
        Ok(())
    }

    fn check_order(&self, record: &Record, last: Option<Marker>, seq: SegmentSeq) -> Result<(), CorruptLog> {
        let starts = last.is_some() || matches!(record, Record::Term { .. });
        let rises = record.marker().is_none_or(|marker| Some(marker) > last);
        if starts && rises { Ok(()) } else { Err(CorruptLog::Order(seq)) }
    }
}

fn header_time(segment: &Segment) -> Result<UnixMicros, CorruptLog> {
    let (header, _) =
        SegmentReader::new(&segment.bytes).map_err(|source| CorruptLog::Segment { seq: segment.seq, source })?;
    Ok(header.at)
}

// === impl Log: checkpoints ===

impl Log {
    fn checkpoint(&self) -> Vec<Bytes> {
        let head = self.head().expect("a log with segments has a head");
        let mut writer = CheckpointWriter::new(head);
        for term in &self.terms {
            writer.term(term.first, term.last);
        }
        for (name, part) in &self.clusters {
            let state = match (part.presence, part.last) {
                (Presence::Joined, Some(last)) => CheckpointState::Joined(last),
                (Presence::Away, Some(last)) => CheckpointState::Away(last),
                (_, None) => CheckpointState::New,
            };
            let (complete, latest) = (part.clock.map(|clock| clock.complete), part.clock.map(|clock| clock.latest));
            writer.cluster(&CheckpointCluster {
                name: name.clone(),
                identity: part.identity.clone(),
                state,
                complete,
                latest,
            });
            let mut objects: Vec<(&Uid, &Entry)> = part.objects.iter().collect();
            objects.sort_by(|a, b| a.1.key.cmp(&b.1.key));
            for (uid, entry) in objects {
                writer.object(&self.checkpoint_object(name, uid, entry));
            }
            let mut gone: Vec<_> = part.gone.iter().collect();
            gone.sort_by_key(|(_, gone)| gone.marker);
            for (uid, &Gone { version, marker }) in gone {
                writer.gone(&CheckpointGone { uid: uid.clone(), version, marker });
            }
        }
        self.checkpoint_claims(&mut writer);
        writer.finish()
    }

    fn checkpoint_object(&self, cluster: &ClusterName, uid: &Uid, entry: &Entry) -> CheckpointObject {
        let Entry { key, version, digest, marker, terminating } = entry.clone();
        let served = self.served(cluster, &key).filter(|served| *served != key);
        CheckpointObject { key, uid: uid.clone(), version, digest, marker, terminating, served }
    }

    /// Claims that the objects do not tell: names whose object is gone, and who holds a name that is the same object. Of
    /// the latter, rank 0 is the one shown, and the ranks from 1 are the holders in their order.
    fn checkpoint_claims(&self, writer: &mut CheckpointWriter) {
        match &self.names {
            Names::Single(single) => {
                let mut dead: Vec<_> =
                    single.iter().filter_map(|(served, claim)| Some((served, claim, claim.gone?))).collect();
                dead.sort_by_key(|(served, ..)| *served);
                for (served, claim, marker) in dead {
                    let (served, cluster, key) = (served.clone(), claim.cluster.clone(), claim.key.clone());
                    writer.claim(&CheckpointClaim { served, cluster, key, rank: 0, marker });
                }
            }
            Names::Same(same) => {
                for (key, name) in same.iter() {
                    let ranked = name.shown.iter().chain(name.holders.iter().map(|holder| &holder.cluster));
                    for (rank, cluster) in (0..).zip(ranked) {
                        let (served, cluster, key) = (key.clone(), cluster.clone(), key.clone());
                        writer.claim(&CheckpointClaim { served, cluster, key, rank, marker: name.marker });
                    }
                }
            }
        }
    }

    fn from_checkpoint(stored: &StoredLog, naming: Naming) -> Result<Self, CorruptLog> {
        let mut log = Self::new(naming);
        let Some((seq, parts)) = &stored.checkpoint else { return Ok(log) };
        log.seq = *seq;
        let (head, mut reader) = CheckpointReader::new(parts).map_err(CorruptLog::Checkpoint)?;
        let mut cluster = None;
        while let Some(entry) = reader.next().map_err(CorruptLog::Checkpoint)? {
            match entry {
                CheckpointEntry::Term(first, last) => log.terms.push(Term { first, last }),
                CheckpointEntry::Cluster(part) => cluster = Some(log.restore_cluster(part)),
                CheckpointEntry::Object(object) => {
                    if let Some(cluster) = &cluster {
                        log.restore_object(cluster, object);
                    }
                }
                CheckpointEntry::Gone(CheckpointGone { uid, version, marker }) => {
                    if let Some(cluster) = &cluster {
                        log.part(cluster).gone.insert(uid, Gone { version, marker });
                    }
                }
                CheckpointEntry::Claim(claim) => log.restore_claim(claim),
            }
        }
        log.packed = Some(head);
        Ok(log)
    }

    fn restore_cluster(&mut self, cluster: CheckpointCluster) -> ClusterName {
        let part = self.part(&cluster.name);
        part.identity = cluster.identity;
        (part.presence, part.last) = match cluster.state {
            CheckpointState::Joined(last) => (Presence::Joined, Some(last)),
            CheckpointState::Away(last) => (Presence::Away, Some(last)),
            _ => (Presence::Away, None),
        };
        part.clock = clock(cluster.complete, cluster.latest);
        cluster.name
    }

    fn restore_object(&mut self, cluster: &ClusterName, object: CheckpointObject) {
        let CheckpointObject { key, uid, version, digest, marker, terminating, served } = object;
        if let Names::Single(single) = &mut self.names {
            single.take(served.as_ref().unwrap_or(&key), cluster, &key);
        }
        let part = self.part(cluster);
        part.keys.insert(key.clone(), uid.clone());
        part.objects.insert(uid, Entry { key, version, digest, marker, terminating });
    }

    fn restore_claim(&mut self, claim: CheckpointClaim) {
        let CheckpointClaim { served, cluster, key, rank, marker } = claim;
        let terminating =
            self.cluster(&cluster).and_then(|part| part.object_at(&key)).is_some_and(|(_, entry)| entry.terminating);
        match &mut self.names {
            Names::Single(single) => {
                single.take(&served, &cluster, &key);
                single.mark_gone(&served, marker);
            }
            Names::Same(same) if rank == 0 => {
                same.insert(served, Shared { holders: Vec::new(), shown: Some(cluster), marker });
            }
            Names::Same(same) => same.restore_holder(&served, Holder { cluster, terminating }),
        }
    }
}

fn clock(complete: Option<MemberVersion>, latest: Option<MemberVersion>) -> Option<Clock> {
    Some(Clock { complete: complete?, latest: latest? })
}
