//! How records become the bytes that a [`MarkerStore`](crate::MarkerStore) keeps, and back.
//!
//! Two forms, both small because what an earlier value says is not said again:
//! - a *segment* ([`SegmentWriter`], [`SegmentReader`]): records in the order of the log;
//! - a *checkpoint* ([`CheckpointWriter`], [`CheckpointReader`]): what is left of all segments up to one, as entries
//!   spread over parts below 1 MiB.
//!
//! Each segment and each part is framed alike: 4 bytes that say what it is, 1 byte format version, the payload, and
//! 8 bytes XXH3-64 of all before them (little endian). So a byte that was flipped or lost is an error here, and never a
//! wrong record. Nothing in this module panics on bytes, whatever they are, or reserves memory that a number in them
//! asks for.

mod checkpoint;
mod segment;
#[cfg(test)]
mod strategies;
mod wire;

pub use checkpoint::{
    CheckpointClaim, CheckpointCluster, CheckpointData, CheckpointEntry, CheckpointGone, CheckpointObject,
    CheckpointReader, CheckpointState, CheckpointWriter, decode_checkpoint, encode_checkpoint,
};
pub use segment::{SegmentReader, SegmentWriter};

/// Bytes of a store that are no segment or no checkpoint, whole and of a format that this version reads.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CorruptSegment {
    /// Shorter than the smallest of its form.
    #[error("{0} bytes are too few for a segment or checkpoint part")]
    Truncated(usize),
    /// The first bytes are those of something else.
    #[error("this is no {expected}: it begins with {found:02x?}")]
    Foreign {
        /// What was to be read.
        expected: &'static str,
        /// The first four bytes.
        found: [u8; 4],
    },
    /// Written by another version of Orrery.
    #[error("format {found} is not known, only {FORMAT}; use the version of orrery that wrote it")]
    Format {
        /// The format's number.
        found: u8,
    },
    /// The bytes are not those that were written.
    #[error("checksum does not match")]
    Checksum,
    /// The checksum matches, but the content makes no sense.
    #[error("content is not valid: {0}")]
    Content(&'static str),
    /// A change of an object whose key stands neither in it nor in what was read before.
    #[error("object {uid} of cluster {cluster:?} is not known from earlier segments")]
    UnknownObject {
        /// The cluster's name.
        cluster: String,
        /// The object's uid.
        uid: String,
    },
}

/// The format that is written, and the only one that is read.
const FORMAT: u8 = 1;
const FRAME_HEAD_BYTES: usize = 5;
const CHECKSUM_BYTES: usize = 8;

/// What a frame holds.
#[derive(Clone, Copy)]
enum Form {
    Segment,
    Checkpoint,
}

// === impl Form ===

impl Form {
    fn magic(self) -> [u8; 4] {
        match self {
            Self::Segment => *b"ORRs",
            Self::Checkpoint => *b"ORRc",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Segment => "segment",
            Self::Checkpoint => "checkpoint part",
        }
    }

    /// An empty frame, to which the payload is appended.
    fn open(self) -> Vec<u8> {
        let mut bytes = self.magic().to_vec();
        bytes.push(FORMAT);
        bytes
    }

    /// The payload of a frame that [`seal`] closed.
    fn payload(self, bytes: &[u8]) -> Result<&[u8], CorruptSegment> {
        if bytes.len() < FRAME_HEAD_BYTES + CHECKSUM_BYTES {
            return Err(CorruptSegment::Truncated(bytes.len()));
        }
        let (framed, checksum) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
        let (head, payload) = framed.split_at(FRAME_HEAD_BYTES);
        if head[..4] != self.magic() {
            return Err(CorruptSegment::Foreign { expected: self.name(), found: [head[0], head[1], head[2], head[3]] });
        }
        if head[4] != FORMAT {
            return Err(CorruptSegment::Format { found: head[4] });
        }
        if twox_hash::XxHash3_64::oneshot(framed).to_le_bytes() != checksum {
            return Err(CorruptSegment::Checksum);
        }
        Ok(payload)
    }
}

/// Closes a frame with its checksum.
fn seal(mut bytes: Vec<u8>) -> bytes::Bytes {
    let checksum = twox_hash::XxHash3_64::oneshot(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes.into()
}
