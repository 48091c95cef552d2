//! An object's bytes, and slices of them.

use std::ops::Range;

use bytes::Bytes;

/// Bytes in at most two pieces. General-purpose allocators (jemalloc) round a block up to one of four sizes per doubling,
/// which costs a body of 8.7 KB another 1.5 KB; cut at the size below, it costs next to nothing.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    first: Bytes,
    second: Bytes,
}

/// Writes a body of known length.
pub(super) struct BodyWriter {
    first: Vec<u8>,
    second: Vec<u8>,
    cut: usize,
}

/// Consecutive slices that together are one JSON text.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    head: &'static str,
    pieces: [(&'a Bytes, usize, usize); 2],
    tail: &'static str,
}

/// What rounding up may cost before a body is cut, in bytes: about what a second block costs.
const WASTE_MAX: usize = 128;

// === impl Body ===

impl Body {
    pub(crate) fn len(&self) -> usize {
        self.first.len() + self.second.len()
    }

    /// The bytes in `range`, between `head` and `tail`.
    pub(super) fn parts(&self, head: &'static str, range: Range<usize>, tail: &'static str) -> Parts<'_> {
        let cut = self.first.len();
        let first = (&self.first, range.start.min(cut), range.end.min(cut));
        let second = (&self.second, range.start.max(cut) - cut, range.end.max(cut) - cut);
        Parts { head, pieces: [first, second], tail }
    }

    /// The bytes as a whole: no copy where they are in one piece.
    pub(crate) fn whole(&self) -> Bytes {
        if self.second.is_empty() { self.first.clone() } else { self.parts("", 0..self.len(), "").to_bytes() }
    }

    /// A copy of `bytes`.
    pub(crate) fn copy_of(bytes: &[u8]) -> Self {
        let mut writer = BodyWriter::new(bytes.len());
        writer.push(bytes);
        writer.finish()
    }
}

// === impl BodyWriter ===

impl BodyWriter {
    /// A writer of exactly `length` bytes.
    pub(super) fn new(length: usize) -> Self {
        let cut = cut_of(length);
        Self { first: Vec::with_capacity(cut), second: Vec::with_capacity(length - cut), cut }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let (first, second) = bytes.split_at(bytes.len().min(self.cut - self.first.len()));
        self.first.extend_from_slice(first);
        self.second.extend_from_slice(second);
    }

    pub(super) fn finish(self) -> Body {
        Body { first: self.first.into(), second: self.second.into() }
    }
}

// === impl Parts ===

impl<'a> Parts<'a> {
    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.head.len() + self.tail.len() + self.pieces.iter().map(|(_, start, end)| end - start).sum::<usize>()
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The slices, in order, none empty.
    pub fn slices(self) -> impl Iterator<Item = &'a [u8]> {
        let [first, second] = self.pieces.map(|(bytes, start, end)| &bytes[start..end]);
        [self.head.as_bytes(), first, second, self.tail.as_bytes()].into_iter().filter(|slice| !slice.is_empty())
    }

    /// The slices as reference-counted bytes: no copy.
    pub fn bytes(self) -> impl Iterator<Item = Bytes> {
        let [first, second] = self.pieces.map(|(bytes, start, end)| bytes.slice(start..end));
        let [head, tail] = [self.head, self.tail].map(|text| Bytes::from_static(text.as_bytes()));
        [head, first, second, tail].into_iter().filter(|bytes| !bytes.is_empty())
    }

    /// Appends all of it to `out`.
    pub fn write_to(self, out: &mut Vec<u8>) {
        out.reserve(self.len());
        self.slices().for_each(|slice| out.extend_from_slice(slice));
    }

    /// All of it in one piece: a copy only where it is not already.
    pub fn to_bytes(self) -> Bytes {
        let mut bytes = self.bytes();
        match (bytes.next(), bytes.next()) {
            (None, _) => Bytes::new(),
            (Some(only), None) => only,
            (Some(_), Some(_)) => {
                let mut out = Vec::with_capacity(self.len());
                self.write_to(&mut out);
                out.into()
            }
        }
    }
}

/// Where a block of `length` bytes is cut: at the allocator's next size below, where the one above wastes too much.
fn cut_of(length: usize) -> usize {
    if length < 1024 {
        return length;
    }
    let spacing = 1 << (length.ilog2() - 2);
    let below = length & !(spacing - 1);
    let above = if below == length { length } else { below + spacing };
    if above - length > WASTE_MAX { below } else { length }
}
