//! Values as bytes: varints, differences to the value before, and dictionaries that both ends build alike.

use std::collections::HashMap;
use std::sync::Arc;

use orrery_api::{ClusterName, ObjectKey, Uid};

use super::CorruptSegment;
use crate::{Digest, Marker, MemberVersion};

/// Longest part of a name that is taken from the name before it. Bounds what a few bytes can unfold to.
const SHARED_BYTES_MAX: usize = 255;
const SCHEME_BITS: u32 = 16;
const CONTENT_BYTES: usize = 6;

/// Appends values to a buffer.
pub(super) struct Encoder {
    pub(super) bytes: Vec<u8>,
    marker: u64,
    name: Arc<str>,
    clusters: HashMap<ClusterName, usize>,
    clocks: Vec<Clock>,
    namespaces: HashMap<Arc<str>, usize>,
}

/// Reads values back in the order in which an [`Encoder`] appended them.
pub(super) struct Decoder<'a> {
    rest: &'a [u8],
    marker: u64,
    name: Arc<str>,
    clusters: Vec<(ClusterName, Clock)>,
    namespaces: Vec<Arc<str>>,
}

/// A cluster's place in the dictionary of clusters.
#[derive(Clone, Copy)]
pub(super) struct ClusterRef(usize);

/// The last values of one cluster.
#[derive(Clone, Copy, Default)]
struct Clock {
    version: u64,
    scheme: u64,
}

// === impl Encoder ===

impl Encoder {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            marker: 0,
            name: "".into(),
            clusters: HashMap::new(),
            clocks: Vec::new(),
            namespaces: HashMap::new(),
        }
    }

    pub(super) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    pub(super) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// As its difference to the successor of the last one: 0 for the next marker.
    pub(super) fn marker(&mut self, marker: Marker) {
        self.number(zigzag(self.marker.wrapping_add(1), marker.get()));
        self.marker = marker.get();
    }

    /// A name seen before as its place, a new one as the next place and the name.
    pub(super) fn cluster(&mut self, cluster: &ClusterName) -> ClusterRef {
        let next = self.clusters.len();
        let place = self.clusters.get(cluster).copied().unwrap_or(next);
        self.number(place as u64);
        if place == next {
            self.text(cluster.as_str());
            self.clusters.insert(cluster.clone(), next);
            self.clocks.push(Clock::default());
        }
        ClusterRef(place)
    }

    pub(super) fn version(&mut self, of: ClusterRef, version: MemberVersion) {
        let last = std::mem::replace(&mut self.clocks[of.0].version, version.number());
        self.number(zigzag(last, version.number()));
    }

    /// Whether `digest` is of the scheme of the cluster's last one; to be told to [`Self::digest`].
    pub(super) fn is_of_last_scheme(&self, of: ClusterRef, digest: Digest) -> bool {
        self.clocks[of.0].scheme == scheme(digest)
    }

    pub(super) fn digest(&mut self, of: ClusterRef, digest: Digest) {
        if !self.is_of_last_scheme(of, digest) {
            self.clocks[of.0].scheme = scheme(digest);
            self.bytes.extend_from_slice(&(scheme(digest) as u16).to_le_bytes());
        }
        self.bytes.extend_from_slice(&digest.bits().to_le_bytes()[..CONTENT_BYTES]);
    }

    pub(super) fn uid(&mut self, uid: &Uid) {
        match uid.as_uuid() {
            Some(bits) => self.bytes.extend_from_slice(&bits.to_le_bytes()),
            None => self.text(&uid.to_string()),
        }
    }

    /// The namespace from a dictionary, the name as what differs from the name before.
    pub(super) fn key(&mut self, key: &ObjectKey) {
        let next = self.namespaces.len();
        let place = self.namespaces.get(&key.namespace).copied().unwrap_or(next);
        self.number(place as u64);
        if place == next {
            self.text(&key.namespace);
            self.namespaces.insert(key.namespace.clone(), next);
        }
        let same = self.name.bytes().zip(key.name.bytes()).take_while(|(last, byte)| last == byte).count();
        let shared = same.min(SHARED_BYTES_MAX);
        self.number(shared as u64);
        self.number((key.name.len() - shared) as u64);
        self.bytes.extend_from_slice(&key.name.as_bytes()[shared..]);
        self.name = key.name.clone();
    }
}

// === impl Decoder ===

impl<'a> Decoder<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, marker: 0, name: "".into(), clusters: Vec::new(), namespaces: Vec::new() }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Goes on in `bytes`, with all that was learnt so far.
    pub(super) fn go_on(&mut self, bytes: &'a [u8]) {
        self.rest = bytes;
    }

    pub(super) fn byte(&mut self) -> Result<u8, CorruptSegment> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn number(&mut self) -> Result<u64, CorruptSegment> {
        let mut number = 0u64;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(CorruptSegment::Content("a number is above 64 bits"))
    }

    pub(super) fn text(&mut self) -> Result<&'a str, CorruptSegment> {
        let length = self.number()?;
        std::str::from_utf8(self.take(length)?).map_err(|_| NOT_UTF8)
    }

    pub(super) fn marker(&mut self) -> Result<Marker, CorruptSegment> {
        let number = unzigzag(self.marker.wrapping_add(1), self.number()?);
        self.marker = number;
        Marker::new(number).map_err(|_| CorruptSegment::Content("a marker is 0 or above 2^53"))
    }

    pub(super) fn cluster(&mut self) -> Result<ClusterRef, CorruptSegment> {
        let place = place(self.number()?, self.clusters.len())?;
        if place == self.clusters.len() {
            let name = ClusterName::new(self.text()?)
                .map_err(|_| CorruptSegment::Content("a cluster's name is not a valid one"))?;
            self.clusters.push((name, Clock::default()));
        }
        Ok(ClusterRef(place))
    }

    pub(super) fn cluster_name(&self, of: ClusterRef) -> &ClusterName {
        &self.clusters[of.0].0
    }

    pub(super) fn version(&mut self, of: ClusterRef) -> Result<MemberVersion, CorruptSegment> {
        let difference = self.number()?;
        let last = &mut self.clusters[of.0].1.version;
        *last = unzigzag(*last, difference);
        Ok(MemberVersion::from_number(*last))
    }

    pub(super) fn digest(&mut self, of: ClusterRef, last_scheme: bool) -> Result<Digest, CorruptSegment> {
        if !last_scheme {
            self.clusters[of.0].1.scheme = u16::from_le_bytes(self.array()?).into();
        }
        let mut content = [0; 8];
        content[..CONTENT_BYTES].copy_from_slice(&self.array::<CONTENT_BYTES>()?);
        Ok(Digest::new(self.clusters[of.0].1.scheme, u64::from_le_bytes(content)))
    }

    pub(super) fn uid(&mut self, is_uuid: bool) -> Result<Uid, CorruptSegment> {
        if is_uuid { Ok(Uid::from_uuid(u128::from_le_bytes(self.array()?))) } else { Ok(Uid::new(self.text()?)) }
    }

    pub(super) fn key(&mut self) -> Result<ObjectKey, CorruptSegment> {
        let place = place(self.number()?, self.namespaces.len())?;
        if place == self.namespaces.len() {
            let namespace = self.text()?.into();
            self.namespaces.push(namespace);
        }
        let shared = self.number()?;
        let length = self.number()?;
        let end = self.take(length)?;
        let start = usize::try_from(shared).ok().filter(|&shared| shared <= SHARED_BYTES_MAX);
        let start = start.and_then(|shared| self.name.as_bytes().get(..shared));
        let start = start.ok_or(CorruptSegment::Content("a name shares more than the name before it has"))?;
        let name = String::from_utf8([start, end].concat()).map_err(|_| NOT_UTF8)?;
        self.name = name.into();
        Ok(ObjectKey { namespace: self.namespaces[place].clone(), name: self.name.clone() })
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], CorruptSegment> {
        let split = usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
        let (taken, rest) = split.ok_or(CorruptSegment::Content("it ends within a value"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], CorruptSegment> {
        let taken = self.take(N as u64)?;
        Ok(taken.try_into().expect("take returns as many bytes as asked for"))
    }
}

const NOT_UTF8: CorruptSegment = CorruptSegment::Content("a text is not UTF-8");

fn scheme(digest: Digest) -> u64 {
    digest.bits() >> (u64::BITS - SCHEME_BITS)
}

/// A place in a dictionary that has `len` names: one of them, or the next one, which follows.
fn place(number: u64, len: usize) -> Result<usize, CorruptSegment> {
    usize::try_from(number)
        .ok()
        .filter(|&place| place <= len)
        .ok_or(CorruptSegment::Content("a name is not in the dictionary"))
}

/// The way from `from` to `to`, short ways in either direction as small numbers.
fn zigzag(from: u64, to: u64) -> u64 {
    let difference = to.wrapping_sub(from).cast_signed();
    (difference << 1 ^ difference >> 63).cast_unsigned()
}

fn unzigzag(from: u64, way: u64) -> u64 {
    from.wrapping_add(way >> 1 ^ (way & 1).wrapping_neg())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_way_between_two_numbers_leads_back(from: u64, to: u64) {
            prop_assert_eq!(unzigzag(from, zigzag(from, to)), to);
        }

        #[test]
        fn any_number_is_read_as_it_was_written(number: u64) {
            let mut encoder = Encoder::new(Vec::new());
            encoder.number(number);
            prop_assert_eq!(Decoder::new(&encoder.bytes).number(), Ok(number));
        }
    }

    #[test]
    fn a_number_above_64_bits_is_refused() {
        assert!(Decoder::new(&[0xff; 10]).number().is_err());
        assert!(Decoder::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]).number().is_err());
        assert_eq!(Decoder::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]).number(), Ok(u64::MAX));
    }

    #[test]
    fn the_next_marker_takes_one_byte() {
        let mut encoder = Encoder::new(Vec::new());
        encoder.marker(Marker::new(1_790_000_000_000_000).unwrap());
        let before = encoder.bytes.len();
        encoder.marker(Marker::new(1_790_000_000_000_001).unwrap());
        assert_eq!(encoder.bytes.len(), before + 1);
    }
}
