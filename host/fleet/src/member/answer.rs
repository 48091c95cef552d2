use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;

use crate::metrics::Held;
use crate::transport::{Body, BodyError};
use crate::{Member, metrics};

/// The body of an answer, counted while it comes.
struct Counted {
    inner: Body,
    member: Member,
    _in_flight: Held,
}

/// `body` as an answer of `member`: its bytes are counted, and say that the member lives.
pub(super) fn counted(body: Body, member: &Member, in_flight: metrics::Held) -> Body {
    Counted { inner: body, member: member.clone(), _in_flight: in_flight }.boxed_unsync()
}

// === impl Counted ===

impl http_body::Body for Counted {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            self.member.heard();
            self.member.metrics().received.inc_by(data.len() as u64);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
