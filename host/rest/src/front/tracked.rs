use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use prometheus_client::metrics::counter::Counter;

use super::admission::Place;
use crate::body::{Body, BodyError};

/// A body that counts what it sends, and holds its request's place until it ends.
struct Tracked {
    body: Body,
    sent: Counter,
    _place: Option<Place>,
}

/// `body`, counted in `sent`, with the `place` that its request takes.
pub(super) fn tracked(body: Body, sent: Counter, place: Option<Place>) -> Body {
    Tracked { body, sent, _place: place }.boxed_unsync()
}

impl http_body::Body for Tracked {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            self.sent.inc_by(data.len() as u64);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
