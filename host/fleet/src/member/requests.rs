use std::time::Duration;

use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH,
    PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use http::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::sync::SemaphorePermit;
use tokio::time::timeout;
use tower::ServiceExt as _;

use super::answer::counted;
use crate::fault::Fault;
use crate::metrics::Held;
use crate::transport::{Body, BodyError, SendError, Upgrade, chain, empty};
use crate::{AwayClass, Member};

/// How long the first line of a stream may take.
const STREAM_WAIT: Duration = Duration::from_secs(3600);

/// Headers that speak to the next hop only.
const HOP_BY_HOP: [HeaderName; 5] = [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

// === impl Member ===

impl Member {
    /// Sends a request as it is, with this member's base URL and the host's credentials; the answer is the member's,
    /// whatever its code. Both bodies stream. Headers for the next hop only and a caller's own `Authorization` are
    /// dropped, `Accept-Encoding` is `identity`, and `User-Agent` is ours where the request has none. The URI of the
    /// request is a path with its query. Logs that are followed and watches may take an hour to begin.
    ///
    /// # Errors
    /// No connection, no head of an answer within [`FleetSettings::answer`](crate::FleetSettings), no credentials, too
    /// many requests waiting, or a member that is another's duplicate.
    pub async fn send(&self, mut request: Request<Body>) -> Result<Response<Body>, SendError> {
        self.unless_duplicate()?;
        for name in HOP_BY_HOP {
            request.headers_mut().remove(name);
        }
        // The head of a log or a watch may come with its first line only.
        let wait = if follows(&request) { STREAM_WAIT } else { self.0.settings.answer };
        self.exchange(request, wait).await
    }

    /// Sends a request to upgrade its HTTP/1.1 connection (`Connection` and `Upgrade` as the client sent them).
    ///
    /// # Errors
    /// As [`Self::send`]; also where the member said 101 and the connection then broke.
    pub async fn upgrade(&self, request: Request<Body>) -> Result<Upgrade, SendError> {
        self.unless_duplicate()?;
        let mut response = self.exchange(request, self.0.settings.answer).await?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Ok(Upgrade::Refused(response));
        }
        let switched = hyper::upgrade::on(&mut response).await;
        let io = switched.map_err(|error| self.unreachable(chain(&error), false))?;
        Ok(Upgrade::Switched { response: response.map(drop), io: TokioIo::new(io) })
    }

    /// Asks for `path`, and gives the answer if it is 2xx. Refused credentials are made anew and tried once more.
    pub(crate) async fn get(&self, path: &str, accept: &'static str) -> Result<Response<Body>, Fault> {
        self.get_unless(path, accept, None).await
    }

    /// As [`Self::get`]; 304 where the document still has this ETag.
    pub(crate) async fn get_unless(
        &self,
        path: &str,
        accept: &'static str,
        etag: Option<&HeaderValue>,
    ) -> Result<Response<Body>, Fault> {
        let mut response = self.get_once(path, accept, etag).await?;
        if response.status() == StatusCode::UNAUTHORIZED && self.renew_credentials().await {
            response = self.get_once(path, accept, etag).await?;
        }
        if response.status().is_success() || response.status() == StatusCode::NOT_MODIFIED {
            return Ok(response);
        }
        Err(Fault::of_answer(response).await)
    }

    async fn get_once(
        &self,
        path: &str,
        accept: &'static str,
        etag: Option<&HeaderValue>,
    ) -> Result<Response<Body>, Fault> {
        let request = Request::get(path).header(ACCEPT, accept).body(empty());
        let mut request =
            request.map_err(|error| Fault::away(AwayClass::BadAnswer, format!("{path} is no path: {error}")))?;
        if let Some(etag) = etag {
            request.headers_mut().insert(IF_NONE_MATCH, etag.clone());
        }
        self.exchange(request, self.0.settings.first_byte).await.map_err(|error| Fault::from(&error))
    }

    /// Waits until one of the few lists that may load at a time is ours.
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        let _waiting = Held::one(&self.0.metrics.loads_waiting);
        self.0.loads.acquire().await.ok()
    }

    /// The fault of a member that is used under another name already.
    pub(crate) fn unless_duplicate(&self) -> Result<(), SendError> {
        match &self.0.status.borrow().duplicate {
            None => Ok(()),
            Some((other, uid)) => {
                let (cluster, other) = (self.0.name.clone(), other.clone());
                Err(SendError::Duplicate { cluster, other, uid: uid.to_string() })
            }
        }
    }

    async fn exchange(&self, mut request: Request<Body>, wait: Duration) -> Result<Response<Body>, SendError> {
        let endpoint = self.endpoint().await?;
        let busy = || SendError::Busy { cluster: self.0.name.clone(), limit: self.0.settings.requests };
        let permit = timeout(wait, self.0.requests.acquire()).await.ok().and_then(Result::ok).ok_or_else(busy)?;
        self.own_headers(request.headers_mut());
        let in_flight = Held::one(&self.0.metrics.in_flight);
        let answered = timeout(wait, endpoint.transport.oneshot(request)).await;
        drop(permit);
        match answered {
            Ok(Ok(response)) => {
                self.0.metrics.answered(response.status().as_u16());
                self.note(response.status());
                Ok(response.map(|body| counted(body, self, in_flight)))
            }
            Ok(Err(error)) => Err(self.failed(&error)),
            Err(_) => {
                self.unanswered();
                Err(SendError::NoAnswer { cluster: self.0.name.clone(), seconds: wait.as_secs() })
            }
        }
    }

    fn own_headers(&self, headers: &mut HeaderMap) {
        for name in [AUTHORIZATION, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION] {
            headers.remove(name);
        }
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if !headers.contains_key(USER_AGENT)
            && let Ok(ours) = HeaderValue::from_str(&self.0.settings.user_agent)
        {
            headers.insert(USER_AGENT, ours);
        }
    }

    /// What an answer says about the member's health. Refused credentials are judged by the probe, which tries others.
    fn note(&self, status: StatusCode) {
        self.heard();
        match status {
            StatusCode::UNAUTHORIZED => self.0.probe_now.notify_one(),
            _ if self.0.status.borrow().is_down() => self.0.probe_now.notify_one(),
            _ => {}
        }
    }

    fn failed(&self, error: &BodyError) -> SendError {
        self.unanswered();
        self.unreachable(chain(error), error.is_unconnected())
    }

    fn unreachable(&self, reason: String, refused: bool) -> SendError {
        SendError::Unreachable { cluster: self.0.name.clone(), reason, refused }
    }

    fn unanswered(&self) {
        self.0.metrics.answered(0);
        self.0.probe_now.notify_one();
    }
}

/// Whether the answer is a stream that may begin whenever something happens.
fn follows(request: &Request<Body>) -> bool {
    let is_set = |value: &str| !matches!(value, "false" | "0");
    let asks = |pair: &str| {
        pair.split_once('=').is_some_and(|(key, value)| matches!(key, "follow" | "watch") && is_set(value))
    };
    request.uri().query().is_some_and(|query| query.split('&').any(asks))
}
