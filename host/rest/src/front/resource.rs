//! Requests on resources: LIST and WATCH from the cache, GET with a look at the member, and what is not served here.

pub(super) mod connect;
mod definitions;
mod extended;
mod get;
mod live;
mod printers;
mod references;
mod subresource;
mod write;

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use futures::StreamExt as _;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, WARNING};
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use orrery_api::ClusterName;
use orrery_fleet::{AwayClass, ResourceInfo};
use orrery_sequencer::{ClusterPhase, NotReady, Resource};

use super::{Place, Service};
use crate::body::{Body, Encoding, text};
use crate::metrics::OfReason;
use crate::negotiate::{Accepted, Form, object_form, watch_form};
use crate::options::ListOptions;
use crate::read::{self, Rendering, Scope, Sight, Wanted, WatchSettings, WatchStream};
use crate::request::{RequestInfo, ResourceRequest, Verb};
use crate::status::Status;
use crate::websocket::{self, Handshake};

use connect::is_stream;
pub(super) use definitions::Selectable;
pub(super) use printers::Printers;
pub(super) use write::{Capacity, Placed, now_ms, said, whole};

// === impl Service ===

impl Service {
    /// Answers a request on a resource.
    pub(super) async fn resource(
        &self,
        info: &RequestInfo,
        asked: &ResourceRequest,
        request: Request<Body>,
        encoding: Encoding,
    ) -> Result<Response<Body>, Status> {
        let documents = self.documents();
        let Some(served) = documents.catalog.find(&asked.gvr).filter(|served| fits(asked, served)) else {
            return self.absent(&asked.gvr.group);
        };
        if let Some(subresource) = asked.subresource.as_ref().filter(|sub| served.is_observable() && is_stream(sub)) {
            return self.connect(info, asked, served, subresource, request).await;
        }
        match (asked.verb, &asked.subresource) {
            (Verb::List, None) if served.is_observable() => self.list(info, asked, request.headers(), encoding).await,
            (Verb::Watch, None) if served.is_observable() => self.watch(info, asked, request).await,
            (Verb::Watch, Some(_)) => self.absent(&asked.gvr.group),
            (Verb::List, None) if live::is_live(served) => {
                self.live_list(info, asked, served, request.headers(), encoding).await
            }
            (Verb::Get, None) if live::is_live(served) => {
                self.live_get(info, asked, served, request.headers(), encoding).await
            }
            (Verb::Get, None) if served.is_observable() => self.get(info, asked, request.headers(), encoding).await,
            (Verb::Get, Some(subresource)) if served.is_observable() => {
                self.get_subresource(info, asked, served, subresource, request, encoding).await
            }
            (Verb::Get | Verb::List | Verb::Watch | Verb::Other, _) => Err(not_here(asked, served)),
            _ => self.write(info, asked, served, request, encoding).await,
        }
    }

    async fn list(
        &self,
        info: &RequestInfo,
        asked: &ResourceRequest,
        headers: &HeaderMap,
        encoding: Encoding,
    ) -> Result<Response<Body>, Status> {
        let accepted = accepted_list(headers)?;
        let (resource, wanted) = self.wanted(info, asked, accepted.form).await?;
        let knows = |marker| resource.knows(marker);
        let mut response = read::list(resource.reader(), &knows, wanted, accepted.encoding(encoding)).await?;
        warn(&mut response, &resource);
        Ok(response)
    }

    async fn watch(
        &self,
        info: &RequestInfo,
        asked: &ResourceRequest,
        request: Request<Body>,
    ) -> Result<Response<Body>, Status> {
        let Accepted { form, .. } = watch_form(accept(request.headers()))?;
        let (resource, wanted) = self.wanted(info, asked, form).await?;
        let knows = |marker| resource.knows(marker);
        let lasts = wanted.options.timeout.unwrap_or_else(|| at_random(self.settings().watch_min));
        let settings = WatchSettings { lasts, shutdown: self.shutdown.clone() };
        let watch = read::watch(resource.reader(), &knows, wanted, settings).await?;
        let mut response = if Handshake::is_asked(request.headers()) {
            self.over_websocket(info, request, watch)
        } else {
            let frames = watch.pieces().map(|piece| Ok(Frame::data(piece)));
            let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        };
        warn(&mut response, &resource);
        Ok(response)
    }

    /// Makes the request's connection a WebSocket that the watch is sent on, beside this answer.
    fn over_websocket(&self, info: &RequestInfo, mut request: Request<Body>, watch: WatchStream) -> Response<Body> {
        let handshake = match Handshake::read(&request) {
            Ok(handshake) => handshake,
            Err(refused) => return refused.answer(),
        };
        let Some(client) = request.extensions_mut().remove::<OnUpgrade>() else {
            return text(StatusCode::BAD_REQUEST, "a WebSocket needs HTTP/1.1\n");
        };
        let place = request.extensions_mut().remove::<Place>();
        let sent = self.metrics().sent.get_or_create(&self.labels(info)).clone();
        let cut = self.metrics().websockets_cut.clone();
        tokio::spawn(async move {
            if let Ok(io) = client.await {
                let end = websocket::serve(TokioIo::new(io), watch.pieces(), &sent).await;
                if let Some(reason) = end.cut() {
                    cut.get_or_create(&OfReason { reason }).inc();
                }
            }
            drop(place);
        });
        handshake.answer()
    }

    /// The first steps of a LIST and a WATCH: what is asked for, checked, and the resource that it is asked of.
    async fn wanted(
        &self,
        info: &RequestInfo,
        asked: &ResourceRequest,
        form: Form,
    ) -> Result<(Resource, Wanted), Status> {
        // The old paths under `watch/` watch whatever the query says, and are held to the rules of lists.
        let watches = asked.verb == Verb::Watch && info.query.flag("watch") == Some(true);
        let options = ListOptions::parse(&info.query, watches)?;
        let options = self.through_claims(asked, options).await;
        let resource = self.begun(asked).await?;
        let shape = resource.reader().shape();
        let scope = Scope::new(asked, shape);
        let selection = self.extended(info, &asked.gvr, scope.selection(&options, shape)?).await?;
        let rendering = self.rendering(form, info, asked).await?;
        Ok((resource, Wanted { scope, options, selection, rendering }))
    }

    /// The resource, begun if this is its first use; 429 while it loads.
    async fn begun(&self, asked: &ResourceRequest) -> Result<Resource, Status> {
        self.selecting(&asked.gvr).await.map_err(|error| not_ready(asked, &error))
    }

    async fn rendering(&self, form: Form, info: &RequestInfo, asked: &ResourceRequest) -> Result<Rendering, Status> {
        let printer = match form {
            Form::Table(_) => Some(self.printer(&asked.gvr).await),
            _ => None,
        };
        Rendering::new(form, &info.query, printer)
    }
}

/// Whether the path has a namespace where the resource wants one, and none where it does not.
fn fits(asked: &ResourceRequest, served: &ResourceInfo) -> bool {
    match (served.namespaced, asked.namespace.is_empty()) {
        (true, true) => asked.name.is_none() && asked.verb != Verb::Create,
        (false, false) => false,
        _ => true,
    }
}

fn accepted(headers: &HeaderMap) -> Result<Accepted, Status> {
    object_form(accept(headers))
}

/// What is accepted of a list.
fn accepted_list(headers: &HeaderMap) -> Result<Accepted, Status> {
    match accepted(headers)? {
        Accepted { form: Form::Partial(_), .. } => Err(not_acceptable("PartialObjectMetadata", "is a list")),
        accepted => Ok(accepted),
    }
}

/// Refuses to show one object as a list.
fn refuse_list(form: Form) -> Result<(), Status> {
    match form {
        Form::PartialList(_) => Err(not_acceptable("PartialObjectMetadataList", "is not a list")),
        _ => Ok(()),
    }
}

fn accept(headers: &HeaderMap) -> Option<&str> {
    headers.get(ACCEPT).and_then(|accept| accept.to_str().ok())
}

fn not_acceptable(form: &str, why_not: &str) -> Status {
    Status::not_acceptable(format!("you requested {form}, but the requested object {why_not}"))
}

/// The 405 of a read that a kind does not have.
fn not_here(asked: &ResourceRequest, served: &ResourceInfo) -> Status {
    let resource = asked.group_resource();
    let verb = asked.verb.as_str();
    let what = match &asked.subresource {
        Some(sub) => format!("{verb} of {resource}/{}", sub.name),
        None => format!("{verb} of {resource}"),
    };
    let why = if served.is_observable() {
        "no member has it"
    } else {
        "it cannot be listed and watched, so it has no common clock"
    };
    Status::method_not_allowed(
        &resource,
        format!("{what} is not served for the whole fleet: {why}; /clusters/NAME/… takes every verb"),
    )
}

fn not_ready(asked: &ResourceRequest, error: &NotReady) -> Status {
    match error {
        NotReady::NotServed(_) => Status::no_such_resource(),
        NotReady::Loading => Status::too_many_requests(error.to_string(), 1),
        NotReady::CacheFull => Status::too_many_requests(error.to_string(), 10),
        NotReady::Failed(reason) => {
            tracing::error!(resource = %asked.gvr, %reason, "resource cannot be served");
            Status::unavailable(error.to_string(), 10)
        }
    }
}

/// Adds a Warning for each cluster that a read does not see as it is.
fn warn(response: &mut Response<Body>, resource: &Resource) {
    let sights = sights(resource);
    for warning in read::warnings(&sights, &resource.gvr().resource, SystemTime::now()) {
        response.headers_mut().append(WARNING, warning);
    }
}

fn sights(resource: &Resource) -> BTreeMap<ClusterName, Sight> {
    let seen = resource.clusters().into_iter().filter_map(|(cluster, state)| {
        let sight = match state.phase {
            ClusterPhase::Stale { since, reason } => {
                Sight::Stale { since, reason: reason.to_string(), objects: state.objects }
            }
            // A cluster that does not serve the kind has nothing of it to miss.
            ClusterPhase::Away { reason } if reason.class == AwayClass::NotServed => return None,
            ClusterPhase::Away { reason } => Sight::Away { reason: reason.to_string() },
            ClusterPhase::Loading | ClusterPhase::Live => return None,
        };
        Some((cluster, sight))
    });
    seen.collect()
}

/// Between `min` and twice that, so that watches that began together do not end together.
fn at_random(min: Duration) -> Duration {
    let random = std::hash::BuildHasher::hash_one(&std::collections::hash_map::RandomState::new(), 0u8);
    let thousandths = u32::try_from(random % 1000).expect("it is below 1000");
    min + min * thousandths / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_without_a_time_lasts_between_once_and_twice_the_least() {
        let lasts: Vec<_> = (0..100).map(|_| at_random(Duration::from_secs(1800)).as_secs()).collect();
        assert!(lasts.iter().all(|seconds| (1800..3600).contains(seconds)), "{lasts:?}");
        assert!(lasts.iter().any(|seconds| *seconds != lasts[0]));
    }
}
