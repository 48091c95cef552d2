//! `/openapi/…`: the index of version 3, and documents passed on from the members that [`crate::openapi`] picks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, StreamExt as _};
use http::header::{ACCEPT, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use orrery_api::ClusterName;
use orrery_fleet::{Health, Member};
use sha2::{Digest as _, Sha512};
use tokio::time::{Instant, timeout};

use super::Service;
use super::paths::not_found;
use crate::body::{Body, full};
use crate::openapi::{Index, Served, ranked, ranked_whole};
use crate::proxy::{self, Mount};
use crate::request::RequestInfo;
use crate::status::Status;

/// The members' indexes as they last were; as many as there are members.
#[derive(Default)]
pub(super) struct Indexes(Mutex<HashMap<ClusterName, Kept>>);

#[derive(Clone)]
struct Kept {
    index: Arc<Index>,
    etag: Option<HeaderValue>,
    read: Instant,
}

/// How long one member is waited for before the next is asked for a document that any may give.
const DOCUMENT_WAIT: Duration = Duration::from_secs(10);
/// How long one member is waited for when all are asked for their indexes.
const INDEX_WAIT: Duration = Duration::from_secs(5);
/// How old an index may be: kube-apiserver itself takes about a second to show a change.
const INDEX_AGE: Duration = Duration::from_secs(1);
/// Members that are asked for their indexes at a time.
const ASKED_AT_ONCE: usize = 32;
/// An index of a thousand group-versions has 200 KB.
const INDEX_BYTES_MAX: usize = 16 << 20;

// === impl Service ===

impl Service {
    /// Answers a path below `/openapi`.
    pub(super) async fn openapi(&self, info: &RequestInfo, headers: &HeaderMap) -> Result<Response<Body>, Status> {
        match info.path.trim_end_matches('/') {
            "/openapi/v2" => self.openapi_whole(info, headers).await,
            "/openapi/v3" => self.openapi_index(headers).await,
            path => match path.strip_prefix("/openapi/v3/") {
                Some(path) => self.openapi_part(path, info, headers).await,
                None => Ok(not_found()),
            },
        }
    }

    async fn openapi_whole(&self, info: &RequestInfo, headers: &HeaderMap) -> Result<Response<Body>, Status> {
        let members = self.front.fleet.members();
        let served: Vec<_> = members.iter().map(|member| served(member, ())).collect();
        let order = ranked_whole(&served).into_iter().map(|at| &members[at]);
        self.openapi_of(order, info, headers).await
    }

    /// The union of the members' indexes, with an ETag of its own.
    async fn openapi_index(&self, headers: &HeaderMap) -> Result<Response<Body>, Status> {
        let indexed = self.indexed().await;
        if indexed.is_empty() {
            return Err(Status::unavailable("no member has told its OpenAPI documents yet", 1));
        }
        let members: Vec<_> = indexed.iter().map(|(member, index)| served(member, &**index)).collect();
        let json = serde_json::to_vec(&Index::union(&members)).expect("texts only");
        let etag = format!("\"{:X}\"", Bytes::copy_from_slice(&Sha512::digest(&json)));
        let is_known = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == etag.as_bytes());
        let mut response = Response::new(full(if is_known { Vec::new() } else { json }));
        if is_known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response.headers_mut().insert(ETAG, HeaderValue::from_str(&etag).expect("hex digits in quotes"));
        Ok(response)
    }

    async fn openapi_part(
        &self,
        path: &str,
        info: &RequestInfo,
        headers: &HeaderMap,
    ) -> Result<Response<Body>, Status> {
        let indexed = self.indexed().await;
        let members: Vec<_> = indexed.iter().map(|(member, index)| served(member, &**index)).collect();
        let order = ranked(&members, path, info.query.get("hash"));
        if order.is_empty() {
            return Ok(not_found());
        }
        self.openapi_of(order.into_iter().map(|at| &indexed[at].0), info, headers).await
    }

    /// The answer of the first of `members` that gives one.
    async fn openapi_of<'a>(
        &self,
        members: impl Iterator<Item = &'a Member>,
        info: &RequestInfo,
        headers: &HeaderMap,
    ) -> Result<Response<Body>, Status> {
        let path = info.query.behind(info.path.clone());
        let mut refused = Status::unavailable("no member answers now", 1);
        for member in members.filter(|member| member.health() == Health::Reachable) {
            let mut request = Request::new(full(""));
            *request.headers_mut() = headers.clone();
            let here = Mount::whole(String::new());
            let forwarded = proxy::forward(member, request, &path, &here, &self.shutdown);
            let late = || Status::unavailable(format!("cluster {} did not answer in time", member.name()), 1);
            match timeout(DOCUMENT_WAIT, forwarded).await.unwrap_or_else(|_| Err(late())) {
                Ok(response) if !response.status().is_server_error() => return Ok(response),
                Ok(response) => {
                    let words = format!("cluster {} answered {}", member.name(), response.status());
                    refused = Status::unavailable(words, 1);
                }
                Err(status) => refused = status,
            }
        }
        Err(refused)
    }

    /// The members that have ever told their index, in fleet order. Who does not answer keeps the last one.
    async fn indexed(&self) -> Vec<(Member, Arc<Index>)> {
        let members = self.front.fleet.members();
        self.indexes.kept().retain(|name, _| members.iter().any(|member| member.name() == name));
        let asked = members.iter().filter(|member| member.health() == Health::Reachable);
        let refreshed: Vec<_> = asked.map(|member| self.indexes.refresh(member)).collect();
        stream::iter(refreshed).buffer_unordered(ASKED_AT_ONCE).collect::<()>().await;
        let kept = self.indexes.kept();
        let known = members.iter().filter_map(|member| Some((member.clone(), kept.get(member.name())?.index.clone())));
        known.collect()
    }
}

fn served<I>(member: &Member, index: I) -> Served<I> {
    let group_versions =
        member.discovery().map_or(0, |served| served.groups.iter().map(|group| group.versions.len()).sum());
    Served { index, minor: member.version().map_or(0, |version| version.minor), group_versions }
}

// === impl Indexes ===

impl Indexes {
    fn kept(&self) -> MutexGuard<'_, HashMap<ClusterName, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a member's index anew unless it was just read.
    async fn refresh(&self, member: &Member) {
        let before = self.kept().get(member.name()).cloned();
        if before.as_ref().is_some_and(|kept| kept.read.elapsed() < INDEX_AGE) {
            return;
        }
        let etag = before.as_ref().and_then(|kept| kept.etag.clone());
        match timeout(INDEX_WAIT, read_index(member, etag)).await {
            Ok(Ok(Some(kept))) => drop(self.kept().insert(member.name().clone(), kept)),
            Ok(Ok(None)) => {
                if let Some(kept) = self.kept().get_mut(member.name()) {
                    kept.read = Instant::now();
                }
            }
            Ok(Err(reason)) => tracing::debug!(cluster = %member.name(), reason, "no OpenAPI index"),
            Err(_) => tracing::debug!(cluster = %member.name(), "the OpenAPI index did not come in time"),
        }
    }
}

/// A member's index; `None` where it is still the one with this ETag.
async fn read_index(member: &Member, etag: Option<HeaderValue>) -> Result<Option<Kept>, String> {
    let mut request = Request::new(full(""));
    *request.uri_mut() = http::Uri::from_static("/openapi/v3");
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
    if let Some(etag) = etag {
        request.headers_mut().insert(IF_NONE_MATCH, etag);
    }
    let response = member.send(request).await.map_err(|error| error.to_string())?;
    if response.status() == StatusCode::NOT_MODIFIED {
        return Ok(None);
    }
    if response.status() != StatusCode::OK {
        return Err(format!("it answered {}", response.status()));
    }
    let etag = response.headers().get(ETAG).cloned();
    let body =
        Limited::new(response.into_body(), INDEX_BYTES_MAX).collect().await.map_err(|error| error.to_string())?;
    let index = serde_json::from_slice(&body.to_bytes()).map_err(|error| format!("its index is none: {error}"))?;
    Ok(Some(Kept { index: Arc::new(index), etag, read: Instant::now() }))
}
