use bytes::Bytes;
use orrery_api::{ClusterName, ObjectKey, Uid};

use super::wire::{ClusterRef, Decoder, Encoder};
use super::{CHECKSUM_BYTES, CorruptSegment, Form, seal};
use crate::{Change, ChangeKind, Marker, Record, SegmentHeader, UnixMicros};

/// Packs records into one segment.
pub struct SegmentWriter {
    encoder: Encoder,
}

/// Reads the records of one segment, in order.
pub struct SegmentReader<'a> {
    decoder: Decoder<'a>,
}

/// Payload: wall-clock time and head (8 bytes each, little endian), then the records.
const AT_BYTES: std::ops::Range<usize> = super::FRAME_HEAD_BYTES..super::FRAME_HEAD_BYTES + 8;
const HEAD_BYTES: std::ops::Range<usize> = AT_BYTES.end..AT_BYTES.end + 8;

/// A record's first byte. Of a change: [`CHANGE`] and the bits below it.
mod tag {
    pub(super) const TERM: u8 = 0;
    pub(super) const PROGRESS: u8 = 1;
    pub(super) const JOINED: u8 = 2;
    pub(super) const LEFT: u8 = 3;
    pub(super) const AWAY: u8 = 4;
    pub(super) const CLAIM: u8 = 5;
    pub(super) const FREED: u8 = 6;

    pub(super) const CHANGE: u8 = 1 << 7;
    pub(super) const KIND: u8 = 0b11;
    pub(super) const TERMINATING: u8 = 1 << 2;
    pub(super) const KNOWN: u8 = 1 << 3;
    pub(super) const UUID: u8 = 1 << 4;
    pub(super) const LAST_SCHEME: u8 = 1 << 5;
}

// === impl SegmentWriter ===

impl SegmentWriter {
    /// An empty segment, packed `at` this wall-clock time.
    pub fn new(at: UnixMicros) -> Self {
        let mut bytes = Form::Segment.open();
        bytes.extend_from_slice(&at.0.to_le_bytes());
        bytes.extend_from_slice(&[0; HEAD_BYTES.end - HEAD_BYTES.start]);
        Self { encoder: Encoder::new(bytes) }
    }

    /// Appends `record`. `known` says of a change that what stands before it in the log gives the object's key, by
    /// cluster and uid, so that the segment need not; its reader is asked for it. Of other records it says nothing.
    pub fn push(&mut self, record: &Record, known: bool) {
        match record {
            Record::Change { marker, cluster, change } => self.push_change(*marker, cluster, change, known),
            Record::Term { marker } => self.push_marked(tag::TERM, *marker),
            Record::Progress { cluster, complete, latest } => {
                self.encoder.byte(tag::PROGRESS);
                let cluster = self.encoder.cluster(cluster);
                self.encoder.version(cluster, *complete);
                self.encoder.version(cluster, *latest);
            }
            Record::Joined { marker, cluster, identity } => {
                self.push_marked(tag::JOINED, *marker);
                self.encoder.cluster(cluster);
                self.encoder.text(identity);
            }
            Record::Left { marker, cluster } => {
                self.push_marked(tag::LEFT, *marker);
                self.encoder.cluster(cluster);
            }
            Record::Away { marker, cluster } => {
                self.push_marked(tag::AWAY, *marker);
                self.encoder.cluster(cluster);
            }
            Record::Claim { marker, served, cluster, key } => {
                self.push_marked(tag::CLAIM, *marker);
                self.encoder.cluster(cluster);
                self.encoder.key(served);
                self.encoder.key(key);
            }
            Record::Freed { served, cluster } => {
                self.encoder.byte(tag::FREED);
                self.encoder.cluster(cluster);
                self.encoder.key(served);
            }
        }
    }

    /// Bytes of the segment if it were finished now.
    pub fn bytes_len(&self) -> usize {
        self.encoder.bytes.len() + CHECKSUM_BYTES
    }

    /// The segment, after whose last record the log's last used marker is `head`.
    pub fn finish(self, head: Marker) -> Bytes {
        let mut bytes = self.encoder.bytes;
        bytes[HEAD_BYTES].copy_from_slice(&head.get().to_le_bytes());
        seal(bytes)
    }

    fn push_marked(&mut self, tag: u8, marker: Marker) {
        self.encoder.byte(tag);
        self.encoder.marker(marker);
    }

    fn push_change(&mut self, marker: Marker, cluster: &ClusterName, change: &Change, known: bool) {
        let at = self.encoder.bytes.len();
        self.push_marked(0, marker);
        let cluster = self.encoder.cluster(cluster);
        self.encoder.bytes[at] = self.change_tag(cluster, change, known);
        self.encoder.version(cluster, change.version);
        self.encoder.digest(cluster, change.digest);
        self.encoder.uid(&change.uid);
        if !known {
            self.encoder.key(&change.key);
        }
    }

    fn change_tag(&self, cluster: ClusterRef, change: &Change, known: bool) -> u8 {
        let flag = |bit, is_set: bool| if is_set { bit } else { 0 };
        tag::CHANGE
            | kind_bits(change.kind)
            | flag(tag::TERMINATING, change.terminating)
            | flag(tag::KNOWN, known)
            | flag(tag::UUID, change.uid.as_uuid().is_some())
            | flag(tag::LAST_SCHEME, self.encoder.is_of_last_scheme(cluster, change.digest))
    }
}

// === impl SegmentReader ===

impl<'a> SegmentReader<'a> {
    /// A reader of the segment `bytes`, and what it says of itself.
    ///
    /// # Errors
    /// Where the bytes are not, all of them, those that a [`SegmentWriter`] of this format made.
    pub fn new(bytes: &'a [u8]) -> Result<(SegmentHeader, Self), CorruptSegment> {
        let payload = Form::Segment.payload(bytes)?;
        let records = payload.get(16..).ok_or(CorruptSegment::Truncated(bytes.len()))?;
        let number = |range: std::ops::Range<usize>| {
            u64::from_le_bytes(bytes[range].try_into().expect("the ranges are of eight bytes"))
        };
        let head = Marker::new(number(HEAD_BYTES)).map_err(|_| CorruptSegment::Content("the head is no marker"))?;
        let header = SegmentHeader { at: UnixMicros(number(AT_BYTES)), head };
        Ok((header, Self { decoder: Decoder::new(records) }))
    }

    /// The next record, `None` after the last. `known` gives the key of an object that the records before this one
    /// made known; it is asked only for changes that were pushed as known.
    ///
    /// # Errors
    /// Where the content makes no sense or `known` has no answer. No further record can be read then.
    pub fn next(
        &mut self,
        known: impl FnOnce(&ClusterName, &Uid) -> Option<ObjectKey>,
    ) -> Result<Option<Record>, CorruptSegment> {
        if self.decoder.is_at_end() {
            return Ok(None);
        }
        let tag = self.decoder.byte()?;
        let record = if tag & tag::CHANGE != 0 { self.change(tag, known)? } else { self.other(tag)? };
        Ok(Some(record))
    }

    fn change(
        &mut self,
        tag: u8,
        known: impl FnOnce(&ClusterName, &Uid) -> Option<ObjectKey>,
    ) -> Result<Record, CorruptSegment> {
        let kind = kind_of(tag)?;
        let marker = self.decoder.marker()?;
        let cluster = self.decoder.cluster()?;
        let version = self.decoder.version(cluster)?;
        let digest = self.decoder.digest(cluster, tag & tag::LAST_SCHEME != 0)?;
        let uid = self.decoder.uid(tag & tag::UUID != 0)?;
        let name = self.decoder.cluster_name(cluster).clone();
        let key = if tag & tag::KNOWN == 0 {
            self.decoder.key()?
        } else {
            known(&name, &uid).ok_or_else(|| CorruptSegment::UnknownObject {
                cluster: name.as_str().to_owned(),
                uid: uid.to_string(),
            })?
        };
        let terminating = tag & tag::TERMINATING != 0;
        Ok(Record::Change { marker, cluster: name, change: Change { key, uid, version, digest, kind, terminating } })
    }

    fn other(&mut self, tag: u8) -> Result<Record, CorruptSegment> {
        Ok(match tag {
            tag::TERM => Record::Term { marker: self.decoder.marker()? },
            tag::PROGRESS => {
                let cluster = self.decoder.cluster()?;
                let (complete, latest) = (self.decoder.version(cluster)?, self.decoder.version(cluster)?);
                Record::Progress { cluster: self.decoder.cluster_name(cluster).clone(), complete, latest }
            }
            tag::JOINED => Record::Joined {
                marker: self.decoder.marker()?,
                cluster: self.cluster()?,
                identity: self.decoder.text()?.into(),
            },
            tag::LEFT => Record::Left { marker: self.decoder.marker()?, cluster: self.cluster()? },
            tag::AWAY => Record::Away { marker: self.decoder.marker()?, cluster: self.cluster()? },
            tag::CLAIM => Record::Claim {
                marker: self.decoder.marker()?,
                cluster: self.cluster()?,
                served: self.decoder.key()?,
                key: self.decoder.key()?,
            },
            tag::FREED => Record::Freed { cluster: self.cluster()?, served: self.decoder.key()? },
            _ => return Err(CorruptSegment::Content("a record is of no known kind")),
        })
    }

    fn cluster(&mut self) -> Result<ClusterName, CorruptSegment> {
        let cluster = self.decoder.cluster()?;
        Ok(self.decoder.cluster_name(cluster).clone())
    }
}

fn kind_bits(kind: ChangeKind) -> u8 {
    match kind {
        ChangeKind::Added => 0,
        ChangeKind::Modified => 1,
        ChangeKind::Deleted => 2,
    }
}

fn kind_of(tag: u8) -> Result<ChangeKind, CorruptSegment> {
    match tag & tag::KIND {
        0 => Ok(ChangeKind::Added),
        1 => Ok(ChangeKind::Modified),
        2 => Ok(ChangeKind::Deleted),
        _ => Err(CorruptSegment::Content("a change is of no known kind")),
    }
}

#[cfg(test)]
mod tests;
