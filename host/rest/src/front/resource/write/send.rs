use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WARNING};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use orrery_api::ClusterName;
use orrery_fleet::{Health, Member, SendError};
use tokio::time::timeout;

use super::{Call, away};
use crate::body::full;
use crate::front::Service;
use crate::proxy::{no_such_member, own_headers, unanswered};
use crate::request::Verb;
use crate::status::Status;

/// Longest answer to a write: a collection that was deleted.
const ANSWER_BYTES_MAX: usize = 256 << 20;

/// How long a body may take, the client's and the member's answer (AS pkg/endpoints/handlers: a write may take 34 s).
pub(super) const BODY_WAIT: Duration = Duration::from_secs(34);

/// How long a member may think about a write: an API server gives up itself by then. Only a collection may take longer, as
/// long as any request.
const ANSWER_WAIT: Duration = Duration::from_secs(36);

/// What a member answered.
pub(super) struct Sent {
    pub(super) code: StatusCode,
    pub(super) bytes: Bytes,
    pub(super) warnings: Vec<HeaderValue>,
    pub(super) retry_after: Option<HeaderValue>,
}

/// What goes to a member.
pub(super) struct Outgoing {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) body: Vec<u8>,
    /// Where it is another than the client's.
    pub(super) content_type: Option<&'static str>,
}

// === impl Outgoing ===

impl Outgoing {
    /// The client's own method and Content-Type.
    pub(super) fn of(call: &Call<'_>, path: String, body: Vec<u8>) -> Self {
        Self { method: call.info.method.clone(), path, body, content_type: None }
    }
}

// === impl Sent ===

impl Sent {
    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or_default()
    }
}

// === impl Service ===

impl Service {
    /// The member `cluster`; 503 where it is known not to answer.
    pub(super) fn reachable(&self, call: &Call<'_>, cluster: &ClusterName) -> Result<Member, Status> {
        let member = self.front.fleet.member(cluster);
        let member = member.ok_or_else(|| no_such_member(&self.front.fleet, cluster.as_str()))?;
        match member.health() {
            Health::Reachable => Ok(member),
            Health::Unreachable { reason, .. } | Health::NeverSeen { reason } => Err(away(call, cluster, &reason)),
        }
    }

    /// Sends a write once, and reads the whole answer.
    pub(super) async fn send(
        &self,
        call: &Call<'_>,
        member: &Member,
        Outgoing { method, path, body, content_type }: Outgoing,
    ) -> Result<Sent, Status> {
        let mut request = Request::new(full(body));
        *request.method_mut() = method;
        *request.uri_mut() = path.parse().map_err(|error| Status::bad_request(format!("{path}: {error}")))?;
        *request.headers_mut() = own_headers(call.headers.clone(), false);
        let headers = request.headers_mut();
        headers.remove(ACCEPT_ENCODING);
        headers.remove(CONTENT_LENGTH);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(content_type) = content_type {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        let answer = member.send(request);
        let answer = if call.asked.verb == Verb::DeleteCollection {
            answer.await
        } else {
            let silent = |_| SendError::NoAnswer { cluster: member.name().clone(), seconds: ANSWER_WAIT.as_secs() };
            timeout(ANSWER_WAIT, answer).await.map_err(silent).flatten()
        };
        let response = answer.map_err(|error| unanswered(&error, true))?;
        let (parts, body) = response.into_parts();
        let cut = |error: Box<dyn std::error::Error + Send + Sync>| {
            Status::timeout(format!(
                "cluster {} broke off its answer, the outcome is not known: {error}",
                member.name()
            ))
        };
        let whole = timeout(BODY_WAIT, Limited::new(body, ANSWER_BYTES_MAX).collect()).await;
        let bytes = whole.map_err(|late| cut(late.into()))?.map_err(cut)?.to_bytes();
        let warnings = parts.headers.get_all(WARNING).iter().cloned().collect();
        Ok(Sent { code: parts.status, bytes, warnings, retry_after: parts.headers.get(RETRY_AFTER).cloned() })
    }
}
