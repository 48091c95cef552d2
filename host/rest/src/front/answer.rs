use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt as _;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONNECTION, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT,
};
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use orrery_auth::Identity;

use super::Service;
use super::admission::Class;
use super::resource::connect::is_stream;
use super::tracked::tracked;
use crate::body::{Body, BodyError, Encoding, refusal, text};
use crate::health::Probe;
use crate::metrics::{OfAnswer, OfReason, OfRequest};
use crate::negotiate;
use crate::request::{RequestInfo, Target, Verb};
use crate::status::Status;

/// What identifies one request in logs here and in members' audit logs.
const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");
/// Upstream's words to who comes while the server goes.
const SHUTTING_DOWN: &str = "The apiserver is shutting down, please try again later.\n";

// === impl Service ===

impl Service {
    /// Answers one request. Whatever happens, there is an answer.
    pub(crate) async fn answer(&self, request: Request<Incoming>, identity: Option<Arc<Identity>>) -> Response<Body> {
        let begun = Instant::now();
        let mut info = RequestInfo::new(request.method(), request.uri());
        info.identity.clone_from(&identity);
        let mut request = request.map(|body| body.map_err(BodyError::new).boxed_unsync());
        let audit_id = audit_id(request.headers_mut());
        let agent =
            request.headers().get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default().to_owned();
        let mut response = self.admitted(&info, request, identity.as_deref()).await;
        let headers = response.headers_mut();
        headers.entry(AUDIT_ID).or_insert(audit_id);
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache, private"));
        self.record(&info, response.status(), begun, identity.as_deref(), &agent);
        response
    }

    async fn admitted(
        &self,
        info: &RequestInfo,
        mut request: Request<Body>,
        identity: Option<&Identity>,
    ) -> Response<Body> {
        let encoding = encoding(info, request.headers());
        let refused = refusal_encoding(info, request.headers(), encoding);
        if let Some((probe, only)) = Probe::of_path(&info.path) {
            return crate::health::answer(probe, only, &info.query, &self.checks());
        }
        if self.shutdown.is_cancelled() && info.path != "/metrics" {
            return shutting_down();
        }
        let Some(identity) = identity else {
            self.metrics().refused.get_or_create(&OfReason { reason: "unauthenticated" }).inc();
            return refusal(&Status::unauthorized(), refused);
        };
        if let Some(status) = impersonates(request.headers(), &identity.user) {
            self.metrics().refused.get_or_create(&OfReason { reason: "impersonation" }).inc();
            return refusal(&status, refused);
        }
        let place = match self.admission.admit(class(info), &identity.user) {
            Ok(place) => place,
            Err(status) => return refusal(&status, refused),
        };
        // Who makes another protocol of the connection holds the place as long as that lasts.
        request.extensions_mut().insert(place.clone());
        let routed = AssertUnwindSafe(self.route(info, request, encoding)).catch_unwind().await;
        let response = match routed {
            Ok(Ok(response)) => response,
            Ok(Err(status)) => refusal(&status, refused),
            Err(_) => {
                self.metrics().panics.inc();
                tracing::error!(path = info.path, "a request's handler panicked");
                refusal(&Status::internal("the handler of this request panicked"), refused)
            }
        };
        let sent = self.metrics().sent.get_or_create(&self.labels(info)).clone();
        response.map(|body| tracked(body, sent, Some(place)))
    }

    async fn route(
        &self,
        info: &RequestInfo,
        request: Request<Body>,
        encoding: Encoding,
    ) -> Result<Response<Body>, Status> {
        if class(info) != Class::Long {
            info.query.check_timeout("timeout")?;
        }
        match &info.target {
            Target::Resource(asked) => self.resource(info, asked, request, encoding).await,
            Target::Cluster(name, path) => self.cluster(name, path, info, request).await,
            Target::Own(path) => self.own(path, info, request, encoding).await,
            _ => self.path(info, request, encoding).await,
        }
    }

    /// One line for each request, when the head of its answer is known.
    fn record(&self, info: &RequestInfo, code: StatusCode, begun: Instant, identity: Option<&Identity>, agent: &str) {
        let OfRequest { verb, resource } = self.labels(info);
        let seconds = begun.elapsed().as_secs_f64();
        self.metrics().seconds.get_or_create(&OfRequest { verb, resource: resource.clone() }).observe(seconds);
        let reads = matches!(verb, "list" | "watch");
        tracing::debug!(
            target: "orrery::request",
            verb,
            resource,
            path = info.path,
            query = if reads { info.query.raw() } else { "" },
            code = code.as_u16(),
            seconds,
            user = identity.map_or("", |identity| &identity.user),
            agent,
            "request"
        );
        self.metrics().requests.get_or_create(&OfAnswer { verb, resource, code: code.as_u16() }).inc();
    }

    /// Only resources that are served are labels: a client's imagination is not a bound.
    pub(super) fn labels(&self, info: &RequestInfo) -> OfRequest {
        let resource = match &info.target {
            Target::Resource(asked) if self.documents().catalog.find(&asked.gvr).is_some() => {
                let resource = asked.gvr.group_resource();
                match &asked.subresource {
                    Some(sub) if sub.rest.is_empty() && sub.name.len() <= 32 && verb_is_known(asked.verb) => {
                        format!("{resource}/{}", self.known_subresource(asked, &sub.name))
                    }
                    _ => resource.to_string(),
                }
            }
            _ => String::new(),
        };
        OfRequest { verb: info.verb(), resource }
    }

    fn known_subresource<'a>(&self, asked: &crate::request::ResourceRequest, name: &'a str) -> &'a str {
        let documents = self.documents();
        let known = documents
            .catalog
            .find(&asked.gvr)
            .is_some_and(|info| info.subresources.iter().any(|sub| &*sub.name == name));
        if known { name } else { "" }
    }
}

fn verb_is_known(verb: Verb) -> bool {
    verb != Verb::Other
}

fn is_watch(info: &RequestInfo) -> bool {
    matches!(&info.target, Target::Resource(asked) if asked.verb == Verb::Watch)
}

/// Watches, logs that are followed, and all that goes straight to a member may last.
fn class(info: &RequestInfo) -> Class {
    match &info.target {
        Target::Resource(asked) if asked.verb == Verb::Watch => Class::Long,
        Target::Resource(asked) if asked.subresource.as_ref().is_some_and(is_stream) => Class::Long,
        Target::Cluster(..) => Class::Long,
        _ if matches!(info.method, Method::GET | Method::HEAD | Method::OPTIONS) => Class::Read,
        _ => Class::Write,
    }
}

fn encoding(info: &RequestInfo, headers: &HeaderMap) -> Encoding {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let gzip = text(ACCEPT_ENCODING).is_some_and(|accepted| {
        accepted.split(',').any(|one| one.split(';').next().is_some_and(|coding| coding.trim() == "gzip"))
    });
    let pretty = negotiate::pretty(info.query.get("pretty"), text(USER_AGENT));
    Encoding { gzip, pretty, ..Encoding::default() }
}

/// How a refusal of this request is written. On a watch it is one line, as all that comes there.
fn refusal_encoding(info: &RequestInfo, headers: &HeaderMap, encoding: Encoding) -> Encoding {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    match negotiate::refusal_syntax(accept) {
        Some(syntax) => Encoding { syntax, pretty: encoding.pretty && !is_watch(info), ..encoding },
        None => Encoding { pretty: true, ..encoding },
    }
}

/// The client's audit id, or a new one, which then goes on to members too.
fn audit_id(headers: &mut HeaderMap) -> HeaderValue {
    if let Some(id) = headers.get(AUDIT_ID).filter(|id| !id.is_empty() && id.len() <= 64) {
        return id.clone();
    }
    let random = std::hash::BuildHasher::hash_one(&std::collections::hash_map::RandomState::new(), 0u8);
    let more = std::hash::BuildHasher::hash_one(&std::collections::hash_map::RandomState::new(), random);
    let hex = format!("{random:016x}{more:016x}");
    let id = format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    let id = HeaderValue::from_str(&id).expect("hex digits and dashes");
    headers.insert(AUDIT_ID, id.clone());
    id
}

/// The 403 of who asks to be somebody else: the host would answer from its cache what that one may not see.
fn impersonates(headers: &HeaderMap, user: &str) -> Option<Status> {
    let asks = headers.keys().any(|name| name.as_str().starts_with("impersonate-"));
    asks.then(|| {
        Status::forbidden(format!("{user:?} asks to act as somebody else, and this host does not impersonate"))
    })
}

fn shutting_down() -> Response<Body> {
    let mut response = text(StatusCode::TOO_MANY_REQUESTS, SHUTTING_DOWN);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}
