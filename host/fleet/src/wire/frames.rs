use std::borrow::Cow;

use bytes::{Bytes, BytesMut};
use memchr::memchr;
use orrery_markers::{ChangeKind, MemberObject, MemberVersion};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::object::{Scheme, WireError, bookmark, read_object};
use crate::fault::Status;

/// Cuts a watch's body into its events: JSON objects, one a line, over chunks that are cut anywhere.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    buffer: BytesMut,
    /// How far `buffer` is known to have no line end.
    searched: usize,
}

/// One event of a watch.
#[derive(Debug)]
pub(crate) enum Event {
    Changed(MemberObject, ChangeKind),
    Bookmark {
        version: MemberVersion,
        ends_initial: bool,
    },
    /// The server ends the watch and says why.
    Error(Status),
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

// === impl Frames ===

impl Frames {
    /// Longest event. etcd refuses objects of more than 1.5 MiB, but aggregated servers have bounds of their own.
    pub(crate) const LENGTH_MAX: usize = 64 << 20;

    /// Takes a chunk of the body. Cut it with [`Self::next`] before the next one.
    pub(crate) fn push(&mut self, chunk: &Bytes) {
        self.buffer.extend_from_slice(chunk);
    }

    /// The next whole line, without its end; none where the rest is a part of one.
    ///
    /// # Errors
    /// A line that is longer than [`Self::LENGTH_MAX`].
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, WireError> {
        loop {
            let Some(at) = memchr(b'\n', &self.buffer[self.searched..]) else {
                self.searched = self.buffer.len();
                let too_long = self.searched > Self::LENGTH_MAX;
                return if too_long { Err(WireError::TooLong(Self::LENGTH_MAX)) } else { Ok(None) };
            };
            let line = self.buffer.split_to(self.searched + at + 1).freeze();
            self.searched = 0;
            let line = line.slice(..line.len() - 1);
            if !line.trim_ascii().is_empty() {
                return Ok(Some(line));
            }
        }
    }

    /// Whether the body ended between two events.
    pub(crate) fn is_between(&self) -> bool {
        self.buffer.trim_ascii().is_empty()
    }
}

// === impl Event ===

impl Event {
    /// Reads one line.
    pub(crate) fn read(line: &[u8], scheme: Scheme) -> Result<Self, WireError> {
        let frame: Frame<'_> = serde_json::from_slice(line).map_err(WireError::Event)?;
        let json = frame.object.get().as_bytes();
        let changed = |kind| Ok(Self::Changed(read_object(json, scheme)?, kind));
        match &*frame.kind {
            "ADDED" => changed(ChangeKind::Added),
            "MODIFIED" => changed(ChangeKind::Modified),
            "DELETED" => changed(ChangeKind::Deleted),
            "BOOKMARK" => bookmark(json).map(|(version, ends_initial)| Self::Bookmark { version, ends_initial }),
            "ERROR" => Ok(Self::Error(serde_json::from_slice(json).map_err(WireError::Event)?)),
            other => Err(WireError::EventType(other.to_owned())),
        }
    }

    /// Bytes that it holds.
    pub(crate) fn length(&self) -> usize {
        match self {
            Self::Changed(object, _) => object.body.len(),
            Self::Bookmark { .. } | Self::Error(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(chunks: impl IntoIterator<Item = Vec<u8>>) -> Vec<Bytes> {
        let mut frames = Frames::default();
        let mut lines = Vec::new();
        for chunk in chunks {
            frames.push(&chunk.into());
            while let Some(line) = frames.next().unwrap() {
                lines.push(line);
            }
        }
        assert!(frames.is_between());
        lines
    }

    proptest! {
        #[test]
        fn however_a_body_is_cut_its_lines_are_the_same(
            expected in prop::collection::vec("\\{[^\n]{0,40}\\}", 0..8),
            cuts in prop::collection::vec(1usize..17, 1..200),
        ) {
            let body = expected.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes();
            let mut chunks = Vec::new();
            let mut rest = &body[..];
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (chunk, tail) = rest.split_at((*cut).min(rest.len()));
                chunks.push(chunk.to_vec());
                rest = tail;
            }
            prop_assert_eq!(lines(chunks), expected);
        }
    }

    #[test]
    fn an_event_that_never_ends_is_an_error_at_the_bound() {
        let mut frames = Frames::default();
        let chunk = Bytes::from(vec![b'x'; 8 << 20]);
        for _ in 0..8 {
            frames.push(&chunk);
            assert!(frames.next().unwrap().is_none());
        }
        frames.push(&chunk);
        assert!(matches!(frames.next(), Err(WireError::TooLong(_))));
    }

    #[test]
    fn an_event_is_the_object_in_it() {
        let scheme = Scheme::new("v1", "v1.37.2");
        let json = r#"{"kind":"Pod","metadata":{"name":"a","resourceVersion":"5"}}"#;
        let Event::Changed(object, ChangeKind::Deleted) =
            Event::read(format!(r#"{{"type":"DELETED","object":{json}}}"#).as_bytes(), scheme).unwrap()
        else {
            panic!("no deletion");
        };
        assert_eq!((object.version.number(), &object.body[..]), (5, json.as_bytes()));
        let item = r#"{"metadata":{"name":"a","resourceVersion":"5"}}"#;
        assert_eq!(object.digest, read_object(item.as_bytes(), scheme).unwrap().digest);
    }

    #[test]
    fn an_error_is_its_status_and_an_unknown_type_is_refused() {
        let scheme = Scheme::new("v1", "v1.37.2");
        let error = br#"{"type":"ERROR","object":{"kind":"Status","message":"too old","code":410}}"#;
        assert!(matches!(Event::read(error, scheme), Ok(Event::Error(status)) if status.code == 410));
        assert!(matches!(Event::read(br#"{"type":"X","object":{}}"#, scheme), Err(WireError::EventType(_))));
        assert!(matches!(Event::read(br#"{"type":"ADDED"}"#, scheme), Err(WireError::Event(_))));
    }
}
