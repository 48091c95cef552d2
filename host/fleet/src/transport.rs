//! The way of one request to a member: a pool of HTTP/1.1 connections with the credentials of its kubeconfig.
//!
//! HTTP/1.1 on purpose: a stream that stalls holds up no other, each watch has its own flow control, and upgrades
//! (exec, attach, port-forward) are possible on every connection.

mod counted;
mod pool;

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use hyper_util::client::legacy;
use hyper_util::rt::TokioIo;
use orrery_api::ClusterName;
use tower::util::BoxCloneSyncService;

pub(crate) use pool::transport;

/// Why a body ended early, or a request got no answer.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct BodyError(#[from] Box<dyn std::error::Error + Send + Sync>);

/// A body of a request or an answer, streamed.
pub type Body = UnsyncBoxBody<Bytes, BodyError>;

/// Sends requests to one member: adds its base URL and credentials, answers with the head as soon as it is there.
pub type Transport = BoxCloneSyncService<Request<Body>, Response<Body>, BodyError>;

/// The answer to a request to upgrade.
#[derive(Debug)]
pub enum Upgrade {
    /// 101: the head, and the connection to splice.
    Switched {
        /// The 101 answer, headers as the member sent them.
        response: Response<()>,
        /// Both directions of the connection from here on.
        io: TokioIo<hyper::upgrade::Upgraded>,
    },
    /// Any other answer.
    Refused(Response<Body>),
}

/// Why a request got no answer.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// No connection could be made, or it broke before the answer.
    #[error("cluster {cluster} cannot be reached: {reason}")]
    Unreachable {
        /// The member.
        cluster: ClusterName,
        /// What was tried and failed, in words.
        reason: String,
        /// Whether no connection could be made at all, so that the member has not seen the request.
        refused: bool,
    },
    /// The connection stands, but the head of the answer did not come in time.
    #[error("cluster {cluster} did not answer within {seconds} s")]
    NoAnswer {
        /// The member.
        cluster: ClusterName,
        /// How long was waited.
        seconds: u64,
    },
    /// The kubeconfig could not be read, or its credentials could not be made.
    #[error("cluster {cluster} has no usable credentials")]
    Credentials {
        /// The member.
        cluster: ClusterName,
        /// What is wrong with them.
        #[source]
        source: Arc<crate::ConnectError>,
    },
    /// As many requests as may be are waiting for this member already.
    #[error("cluster {cluster} has {limit} requests waiting already")]
    Busy {
        /// The member.
        cluster: ClusterName,
        /// How many may wait.
        limit: usize,
    },
    /// The member is another member's cluster under a second name.
    #[error("clusters {cluster} and {other} are one cluster (kube-system uid {uid}); remove one of the two")]
    Duplicate {
        /// The later of the two, which is not used.
        cluster: ClusterName,
        /// The earlier.
        other: ClusterName,
        /// The uid that both have.
        uid: String,
    },
}

// === impl BodyError ===

impl BodyError {
    /// The error that `error` is the cause of.
    pub fn new(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(error.into())
    }

    /// Whether no connection could be made, so that nothing was sent.
    pub(crate) fn is_unconnected(&self) -> bool {
        self.0.downcast_ref::<legacy::Error>().is_some_and(legacy::Error::is_connect)
    }
}

// === impl SendError ===

impl SendError {
    /// Whether the member certainly has not seen the request, so that it may be sent again.
    pub fn is_unsent(&self) -> bool {
        match self {
            Self::Unreachable { refused, .. } => *refused,
            Self::NoAnswer { .. } => false,
            Self::Credentials { .. } | Self::Busy { .. } | Self::Duplicate { .. } => true,
        }
    }
}

/// A body of these bytes.
#[cfg(test)]
pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    use http_body_util::BodyExt as _;
    http_body_util::Full::new(bytes.into()).map_err(|never: std::convert::Infallible| match never {}).boxed_unsync()
}

/// A body without bytes.
pub(crate) fn empty() -> Body {
    use http_body_util::BodyExt as _;
    http_body_util::Empty::new().map_err(|never: std::convert::Infallible| match never {}).boxed_unsync()
}

/// What failed, with all causes, in one line.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let words = inner.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests;
