use bytes::Bytes;
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};

/// The body of an answer, streamed.
pub type Body = UnsyncBoxBody<Bytes, Broken>;

/// The connection broke, or there was none.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// Nobody listens.
    #[error("connection refused")]
    Refused,
    /// The connection broke.
    #[error("connection reset by peer")]
    Reset,
}

/// A body of these bytes.
pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never: std::convert::Infallible| match never {}).boxed_unsync()
}

/// A body of the pieces that `next` gives until it gives none.
pub(crate) fn pieces<S, F>(state: S, next: impl FnMut(S) -> F + Send + 'static) -> Body
where
    S: Send + 'static,
    F: Future<Output = Option<(Result<Bytes, Broken>, S)>> + Send + 'static,
{
    let pieces = futures::stream::unfold(state, next);
    StreamBody::new(futures::StreamExt::map(pieces, |piece| piece.map(Frame::data))).boxed_unsync()
}
