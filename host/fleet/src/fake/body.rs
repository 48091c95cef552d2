use bytes::Bytes;
use futures::StreamExt as _;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use tokio::sync::mpsc;

use super::Happening;
use super::serve::{bookmark_event, event};
use crate::transport::{Body, BodyError};

/// The sending end of an open watch.
#[derive(Debug)]
pub(super) struct Stream {
    tx: mpsc::UnboundedSender<Result<Bytes, BodyError>>,
    of: Of,
}

/// What a watch is of.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Of {
    Objects { namespace: Option<String> },
    Crds,
    Nothing,
}

// === impl Stream ===

impl Stream {
    pub(super) fn open(of: Of) -> (Self, Body) {
        let (tx, rx) = mpsc::unbounded_channel();
        let chunks =
            futures::stream::unfold(rx, |mut rx: mpsc::UnboundedReceiver<_>| async { Some((rx.recv().await?, rx)) });
        let frames = chunks.map(|chunk: Result<Bytes, BodyError>| chunk.map(Frame::data));
        (Self { tx, of }, StreamBody::new(frames).boxed_unsync())
    }

    /// Sends bytes in two halves, so that events are cut where no event ends.
    pub(super) fn send(&self, bytes: &[u8]) {
        let (head, tail) = bytes.split_at(bytes.len() / 2);
        for part in [head, tail].into_iter().filter(|part| !part.is_empty()) {
            let _ = self.tx.send(Ok(Bytes::copy_from_slice(part)));
        }
    }

    pub(super) fn offer(&self, happening: &Happening) {
        if let Of::Objects { namespace } = &self.of
            && namespace.as_ref().is_none_or(|namespace| *namespace == happening.key.0)
        {
            self.send(&event(happening.kind, &happening.key, &happening.object));
        }
    }

    pub(super) fn send_crd(&self, line: &[u8]) {
        if self.of == Of::Crds {
            self.send(line);
        }
    }

    pub(super) fn end_initial(&self, version: u64) {
        self.send(&bookmark_event(version, true));
    }

    pub(super) fn end(self, last: &[u8]) {
        self.send(last);
    }

    pub(super) fn cut(self) {
        let _ = self.tx.send(Err(BodyError::new("connection reset by peer")));
    }

    pub(super) fn is_gone(&self) -> bool {
        self.tx.is_closed()
    }

    pub(super) fn is_of_objects(&self) -> bool {
        matches!(self.of, Of::Objects { .. })
    }
}
