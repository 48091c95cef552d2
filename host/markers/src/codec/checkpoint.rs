use std::sync::Arc;

use bytes::Bytes;
use orrery_api::{ClusterName, ObjectKey, Uid};

use super::wire::{ClusterRef, Decoder, Encoder};
use super::{CorruptSegment, Form, seal};
use crate::{Digest, Marker, MemberVersion};

/// Packs entries into the parts of one checkpoint. Each part starts with its place, whether it is the last, and the
/// checkpoint's head, so that a lost, doubled or foreign part shows.
pub struct CheckpointWriter {
    encoder: Encoder,
    head: Marker,
    parts: Vec<Bytes>,
    cluster: Option<ClusterRef>,
}

/// Reads the entries of a checkpoint's parts, in the order in which they were pushed.
pub struct CheckpointReader<'a> {
    decoder: Decoder<'a>,
    parts: std::vec::IntoIter<&'a [u8]>,
    cluster: Option<ClusterRef>,
}

/// One entry of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointEntry {
    /// A term, by its first marker and the last one that was used in it.
    Term(Marker, Marker),
    /// A cluster; the objects up to the next one are its.
    Cluster(CheckpointCluster),
    /// A live object of the cluster before it.
    Object(CheckpointObject),
    /// A deletion, in the cluster before it, that may still come again.
    Gone(CheckpointGone),
    /// A claim that the objects do not tell.
    Claim(CheckpointClaim),
}

/// A cluster of a checkpoint, without its objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointCluster {
    /// Its name.
    pub name: ClusterName,
    /// The uid of its kube-system namespace, once known.
    pub identity: Option<Arc<str>>,
    /// Whether its objects are all here.
    pub state: CheckpointState,
    /// Up to here (inclusive) all is in the log.
    pub complete: Option<MemberVersion>,
    /// The last version seen.
    pub latest: Option<MemberVersion>,
}

/// What the log last said of a cluster's membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointState {
    /// Nothing yet.
    New,
    /// It has joined, at this marker.
    Joined(Marker),
    /// It was not loaded when serving began, at this marker.
    Away(Marker),
    /// It has left, at this marker.
    Left(Marker),
}

/// A live object as the log knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointObject {
    /// Namespace and name in the cluster.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: Uid,
    /// The member version of its current state.
    pub version: MemberVersion,
    /// The digest of its current state.
    pub digest: Digest,
    /// Its current marker.
    pub marker: Marker,
    /// Whether it carries a deletionTimestamp.
    pub terminating: bool,
    /// The name it is served under, where that is not its key.
    pub served: Option<ObjectKey>,
}

/// An object that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointGone {
    /// Its uid.
    pub uid: Uid,
    /// The member version of its deletion.
    pub version: MemberVersion,
    /// The marker of its deletion.
    pub marker: Marker,
}

/// A claim to a served name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointClaim {
    /// The served name.
    pub served: ObjectKey,
    /// The cluster that has it.
    pub cluster: ClusterName,
    /// The object's key there.
    pub key: ObjectKey,
    /// Its place among several claimants of the name.
    pub rank: u32,
    /// When its object went; of a name that is the same object in several clusters, the marker of what is shown.
    pub marker: Marker,
}

/// A whole checkpoint as plain values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointData {
    /// The log's head: the last marker used in what the checkpoint stands for.
    pub head: Marker,
    /// The terms, each by its first marker and the last one that was used in it.
    pub terms: Vec<(Marker, Marker)>,
    /// The clusters with their live objects and those that are gone.
    pub clusters: Vec<(CheckpointCluster, Vec<CheckpointObject>, Vec<CheckpointGone>)>,
    /// Claims that the objects do not tell.
    pub claims: Vec<CheckpointClaim>,
}

/// A part is closed by the entry that brings it here, so it stays below 1 MiB: no entry comes near the other half.
const PART_BYTES: usize = 512 << 10;

/// An entry's first byte. Of an object: [`OBJECT`] and the bits below it; of a cluster the low bits say what is there.
mod tag {
    pub(super) const TERM: u8 = 0x10;
    pub(super) const CLAIM: u8 = 0x11;
    pub(super) const GONE: u8 = 0x12;
    /// Of an object that is gone whose uid is no UUID.
    pub(super) const GONE_TEXT: u8 = 0x13;
    pub(super) const CLUSTER: u8 = 1 << 6;
    pub(super) const STATE: u8 = 0b11;
    pub(super) const IDENTITY: u8 = 1 << 2;
    pub(super) const COMPLETE: u8 = 1 << 3;
    pub(super) const LATEST: u8 = 1 << 4;

    pub(super) const OBJECT: u8 = 1 << 7;
    pub(super) const TERMINATING: u8 = 1 << 2;
    pub(super) const SERVED: u8 = 1 << 3;
    pub(super) const UUID: u8 = 1 << 4;
    pub(super) const LAST_SCHEME: u8 = 1 << 5;
}

/// Encodes a checkpoint into its parts, each below 1 MiB.
pub fn encode_checkpoint(data: &CheckpointData) -> Vec<Bytes> {
    let mut writer = CheckpointWriter::new(data.head);
    for &(first, last) in &data.terms {
        writer.term(first, last);
    }
    for (cluster, objects, gone) in &data.clusters {
        writer.cluster(cluster);
        objects.iter().for_each(|object| writer.object(object));
        gone.iter().for_each(|gone| writer.gone(gone));
    }
    for claim in &data.claims {
        writer.claim(claim);
    }
    writer.finish()
}

/// Decodes the parts of a checkpoint.
///
/// # Errors
/// Where they are not, whole and in order, the parts that one [`CheckpointWriter`] made.
pub fn decode_checkpoint(parts: &[Bytes]) -> Result<CheckpointData, CorruptSegment> {
    let (head, mut reader) = CheckpointReader::new(parts)?;
    let mut data = CheckpointData { head, terms: Vec::new(), clusters: Vec::new(), claims: Vec::new() };
    while let Some(entry) = reader.next()? {
        match entry {
            CheckpointEntry::Term(first, last) => data.terms.push((first, last)),
            CheckpointEntry::Cluster(cluster) => data.clusters.push((cluster, Vec::new(), Vec::new())),
            CheckpointEntry::Claim(claim) => data.claims.push(claim),
            CheckpointEntry::Object(object) => data.clusters.last_mut().ok_or(NO_CLUSTER)?.1.push(object),
            CheckpointEntry::Gone(gone) => data.clusters.last_mut().ok_or(NO_CLUSTER)?.2.push(gone),
        }
    }
    Ok(data)
}

// === impl CheckpointWriter ===

impl CheckpointWriter {
    /// An empty checkpoint of a log whose last used marker is `head`.
    pub fn new(head: Marker) -> Self {
        let mut writer =
            Self { encoder: Encoder::new(Form::Checkpoint.open()), head, parts: Vec::new(), cluster: None };
        writer.open_part();
        writer
    }

    /// Appends a term, by its first marker and the last one that was used in it.
    pub fn term(&mut self, first: Marker, last: Marker) {
        self.encoder.byte(tag::TERM);
        self.encoder.marker(first);
        self.encoder.marker(last);
        self.close_full_part();
    }

    /// Appends a cluster. The objects that follow are its.
    pub fn cluster(&mut self, cluster: &CheckpointCluster) {
        let (state, since) = state_bits(cluster.state);
        let flags = flag(tag::IDENTITY, cluster.identity.is_some())
            | flag(tag::COMPLETE, cluster.complete.is_some())
            | flag(tag::LATEST, cluster.latest.is_some());
        self.encoder.byte(tag::CLUSTER | state | flags);
        let place = self.encoder.cluster(&cluster.name);
        self.cluster = Some(place);
        if let Some(marker) = since {
            self.encoder.marker(marker);
        }
        if let Some(identity) = &cluster.identity {
            self.encoder.text(identity);
        }
        for version in [cluster.complete, cluster.latest].into_iter().flatten() {
            self.encoder.version(place, version);
        }
        self.close_full_part();
    }

    /// Appends an object of the last cluster. Smallest where objects come in the order of their keys.
    ///
    /// # Panics
    /// Before the first cluster.
    pub fn object(&mut self, object: &CheckpointObject) {
        let cluster = self.cluster.expect("the caller pushes the cluster before its objects");
        self.encoder.byte(
            tag::OBJECT
                | flag(tag::TERMINATING, object.terminating)
                | flag(tag::SERVED, object.served.is_some())
                | flag(tag::UUID, object.uid.as_uuid().is_some())
                | flag(tag::LAST_SCHEME, self.encoder.is_of_last_scheme(cluster, object.digest)),
        );
        self.encoder.marker(object.marker);
        self.encoder.version(cluster, object.version);
        self.encoder.digest(cluster, object.digest);
        self.encoder.uid(&object.uid);
        if let Some(served) = &object.served {
            self.encoder.key(served);
        }
        self.encoder.key(&object.key);
        self.close_full_part();
    }

    /// Appends an object of the last cluster that is gone.
    ///
    /// # Panics
    /// Before the first cluster.
    pub fn gone(&mut self, gone: &CheckpointGone) {
        let cluster = self.cluster.expect("the caller pushes the cluster before its objects");
        self.encoder.byte(if gone.uid.as_uuid().is_some() { tag::GONE } else { tag::GONE_TEXT });
        self.encoder.marker(gone.marker);
        self.encoder.version(cluster, gone.version);
        self.encoder.uid(&gone.uid);
        self.close_full_part();
    }

    /// Appends a claim that the objects do not tell.
    pub fn claim(&mut self, claim: &CheckpointClaim) {
        self.encoder.byte(tag::CLAIM);
        self.encoder.cluster(&claim.cluster);
        self.encoder.key(&claim.served);
        self.encoder.key(&claim.key);
        self.encoder.number(claim.rank.into());
        self.encoder.marker(claim.marker);
        self.close_full_part();
    }

    /// The parts; at least one.
    pub fn finish(mut self) -> Vec<Bytes> {
        self.close_part(Place::Last);
        self.parts
    }

    fn close_full_part(&mut self) {
        if self.encoder.bytes.len() >= PART_BYTES {
            self.close_part(Place::Inner);
            self.open_part();
        }
    }

    fn open_part(&mut self) {
        self.encoder.bytes = Form::Checkpoint.open();
        self.encoder.bytes.extend_from_slice(&part_head(self.parts.len(), Place::Inner, self.head));
    }

    fn close_part(&mut self, place: Place) {
        let mut bytes = std::mem::take(&mut self.encoder.bytes);
        bytes[super::FRAME_HEAD_BYTES..][..PART_HEAD_BYTES].copy_from_slice(&part_head(
            self.parts.len(),
            place,
            self.head,
        ));
        self.parts.push(seal(bytes));
    }
}

// === impl CheckpointReader ===

impl<'a> CheckpointReader<'a> {
    /// A reader of the checkpoint in `parts`, and the log's head that it stands for. All parts are verified first.
    ///
    /// # Errors
    /// Where they are not, whole and in order, the parts that one [`CheckpointWriter`] made.
    pub fn new(parts: &'a [Bytes]) -> Result<(Marker, Self), CorruptSegment> {
        let payloads: Vec<&[u8]> = parts.iter().map(|part| Form::Checkpoint.payload(part)).collect::<Result<_, _>>()?;
        let first = payloads.first().ok_or(CorruptSegment::Truncated(0))?;
        let head = first.get(PART_HEAD_BYTES - 8..PART_HEAD_BYTES).ok_or(CorruptSegment::Truncated(first.len()))?;
        let head = u64::from_le_bytes(head.try_into().expect("the range is of eight bytes"));
        let head = Marker::new(head).map_err(|_| CorruptSegment::Content("the head is no marker"))?;
        let last = payloads.len() - 1;
        let mut entries = Vec::with_capacity(payloads.len());
        for (index, payload) in payloads.into_iter().enumerate() {
            let place = if index == last { Place::Last } else { Place::Inner };
            let rest = payload.strip_prefix(part_head(index, place, head).as_slice());
            entries.push(rest.ok_or(CorruptSegment::Content("a checkpoint's part is missing or of another one"))?);
        }
        Ok((head, Self { decoder: Decoder::new(&[]), parts: entries.into_iter(), cluster: None }))
    }

    /// The next entry, `None` after the last.
    ///
    /// # Errors
    /// Where the content makes no sense. No further entry can be read then.
    #[expect(clippy::should_implement_trait, reason = "an iterator of results invites reading on after an error")]
    pub fn next(&mut self) -> Result<Option<CheckpointEntry>, CorruptSegment> {
        while self.decoder.is_at_end() {
            let Some(part) = self.parts.next() else { return Ok(None) };
            self.decoder.go_on(part);
        }
        let tag = self.decoder.byte()?;
        let entry = match tag {
            tag::TERM => CheckpointEntry::Term(self.decoder.marker()?, self.decoder.marker()?),
            tag::CLAIM => CheckpointEntry::Claim(self.claim()?),
            tag::GONE | tag::GONE_TEXT => CheckpointEntry::Gone(self.gone(tag)?),
            tag if tag & tag::OBJECT != 0 => CheckpointEntry::Object(self.object(tag)?),
            tag if tag & tag::CLUSTER != 0 => CheckpointEntry::Cluster(self.cluster(tag)?),
            _ => return Err(CorruptSegment::Content("an entry is of no known kind")),
        };
        Ok(Some(entry))
    }

    fn cluster(&mut self, tag: u8) -> Result<CheckpointCluster, CorruptSegment> {
        let place = self.decoder.cluster()?;
        self.cluster = Some(place);
        let state = match tag & tag::STATE {
            0 => CheckpointState::New,
            1 => CheckpointState::Joined(self.decoder.marker()?),
            2 => CheckpointState::Away(self.decoder.marker()?),
            _ => CheckpointState::Left(self.decoder.marker()?),
        };
        let identity = if tag & tag::IDENTITY != 0 { Some(self.decoder.text()?.into()) } else { None };
        let complete = if tag & tag::COMPLETE != 0 { Some(self.decoder.version(place)?) } else { None };
        let latest = if tag & tag::LATEST != 0 { Some(self.decoder.version(place)?) } else { None };
        let name = self.decoder.cluster_name(place).clone();
        Ok(CheckpointCluster { name, identity, state, complete, latest })
    }

    fn object(&mut self, tag: u8) -> Result<CheckpointObject, CorruptSegment> {
        let cluster = self.cluster.ok_or(NO_CLUSTER)?;
        Ok(CheckpointObject {
            terminating: tag & tag::TERMINATING != 0,
            marker: self.decoder.marker()?,
            version: self.decoder.version(cluster)?,
            digest: self.decoder.digest(cluster, tag & tag::LAST_SCHEME != 0)?,
            uid: self.decoder.uid(tag & tag::UUID != 0)?,
            served: if tag & tag::SERVED != 0 { Some(self.decoder.key()?) } else { None },
            key: self.decoder.key()?,
        })
    }

    fn gone(&mut self, tag: u8) -> Result<CheckpointGone, CorruptSegment> {
        let cluster = self.cluster.ok_or(NO_CLUSTER)?;
        Ok(CheckpointGone {
            marker: self.decoder.marker()?,
            version: self.decoder.version(cluster)?,
            uid: self.decoder.uid(tag == tag::GONE)?,
        })
    }

    fn claim(&mut self) -> Result<CheckpointClaim, CorruptSegment> {
        let cluster = self.decoder.cluster()?;
        Ok(CheckpointClaim {
            cluster: self.decoder.cluster_name(cluster).clone(),
            served: self.decoder.key()?,
            key: self.decoder.key()?,
            rank: self.decoder.number()?.try_into().map_err(|_| CorruptSegment::Content("a rank is above 32 bits"))?,
            marker: self.decoder.marker()?,
        })
    }
}

/// Where a part stands among its checkpoint's.
#[derive(Clone, Copy)]
enum Place {
    Inner,
    Last,
}

const PART_HEAD_BYTES: usize = 4 + 1 + 8;
const NO_CLUSTER: CorruptSegment = CorruptSegment::Content("an object stands before the first cluster");

fn part_head(index: usize, place: Place, head: Marker) -> [u8; PART_HEAD_BYTES] {
    let mut bytes = [0; PART_HEAD_BYTES];
    bytes[..4].copy_from_slice(&(index as u32).to_le_bytes());
    bytes[4] = matches!(place, Place::Last).into();
    bytes[5..].copy_from_slice(&head.get().to_le_bytes());
    bytes
}

fn flag(bit: u8, is_set: bool) -> u8 {
    if is_set { bit } else { 0 }
}

fn state_bits(state: CheckpointState) -> (u8, Option<Marker>) {
    match state {
        CheckpointState::New => (0, None),
        CheckpointState::Joined(since) => (1, Some(since)),
        CheckpointState::Away(since) => (2, Some(since)),
        CheckpointState::Left(since) => (3, Some(since)),
    }
}

#[cfg(test)]
mod tests;
