//! Writes: each goes to the cluster that holds the object, translated both ways, and its answer waits for the marker of what
//! was written (design 2.8). The host itself never repeats a write.

mod answer;
mod capacity;
mod collection;
mod content;
mod create;
mod everywhere;
mod mentions;
mod owners;
mod place;
mod review;
mod route;
mod selected;
mod send;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Limited};
use orrery_api::{ClusterName, Naming, ObjectKey};
use orrery_cache::Object;
use orrery_fleet::ResourceInfo;
use orrery_markers::Marker;
use orrery_sequencer::{Owner, Resource};
use tokio::time::timeout;

use super::get::path_of;
use super::{accept, accepted, not_acceptable, refuse_list};
use crate::body::{Body, Encoding};
use crate::front::Service;
use crate::read::Rendering;
use crate::request::{RequestInfo, ResourceRequest, Verb};
use crate::status::Status;
use crate::translate::{Border, JsonPatch, Members, Own, Pairs, Refused, Versions};
pub(in crate::front) use capacity::Capacity;
use content::Content;
pub(in crate::front) use place::{Placed, now_ms, said};
use send::{BODY_WAIT, Outgoing, Sent};

/// Longest body of a write (AS pkg/server/config.go: MaxRequestBodyBytes).
const BODY_BYTES_MAX: usize = 3 << 20;

/// A write taken apart.
pub(super) struct Call<'a> {
    info: &'a RequestInfo,
    asked: &'a ResourceRequest,
    served: &'a ResourceInfo,
    headers: HeaderMap,
    body: Bytes,
    content: Content,
    rendering: Rendering,
    encoding: Encoding,
}

/// The object that a write is about, in one cluster.
#[derive(Clone)]
struct Target {
    cluster: ClusterName,
    /// Its key there.
    key: ObjectKey,
    /// The key under which clients know it.
    served: ObjectKey,
    /// Its current state, where it exists.
    object: Option<Arc<Object>>,
    /// The head from before the write.
    since: Marker,
    role: Role,
}

/// What a cluster is to a write that may go to several.
#[derive(Clone, PartialEq, Eq)]
enum Role {
    /// The one whose object the client sees.
    First,
    /// One more that holds the name, beside the `first`, whose stamp clients see. That has made the object under the name
    /// `made`, if it was to be made, and answered so.
    Other { first: ClusterName, made: String, answer: Bytes },
}

/// All of `body`; 413 where it is longer than `bytes_max`, 504 where it takes longer than `wait`.
pub(in crate::front) async fn whole(body: Body, bytes_max: usize, wait: Duration) -> Result<Bytes, Status> {
    match timeout(wait, Limited::new(body, bytes_max).collect()).await {
        Err(_) => Err(Status::timeout(format!("the body did not come within {} s", wait.as_secs()))),
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            Err(Status::too_large_body(format!("Request body too large: limit is {bytes_max}")))
        }
        Ok(Err(error)) => Err(Status::bad_request(format!("the body broke off: {error}"))),
    }
}

// === impl Call ===

impl Call<'_> {
    fn is_dry_run(&self) -> bool {
        self.info.query.all("dryRun").any(|value| !value.is_empty())
    }

    fn name(&self) -> &str {
        self.asked.name.as_deref().unwrap_or_default()
    }

    fn not_found(&self) -> Status {
        Status::not_found(&self.asked.group_resource(), self.name())
    }

    /// Its path at the member that knows the object as `key`.
    fn path(&self, key: &ObjectKey) -> String {
        let mut path =
            if key.name.is_empty() { self.asked.gvr.path_in(&key.namespace) } else { path_of(self.asked, key) };
        if let Some(subresource) = &self.asked.subresource {
            path.push('/');
            path.push_str(&subresource.name);
        }
        self.info.query.behind(path)
    }

    /// Whether it is about an object whose `spec.selector` chooses pods.
    fn selects(&self) -> bool {
        matches!((&*self.asked.gvr.group, &*self.asked.gvr.resource), ("", "services"))
    }

    fn refusal(&self, refused: &Refused) -> Status {
        let resource = self.asked.group_resource();
        match refused {
            Refused::Conflict => Status::conflict(&resource, self.name(), &refused.to_string()),
            Refused::OtherCluster { .. } | Refused::OnlyCluster | Refused::TestFailed(_) => {
                Status::invalid(&self.asked.gvr.group, &self.served.kind, self.name(), &refused.to_string())
            }
            Refused::Malformed(_) => Status::bad_request(refused.to_string()),
        }
    }
}

// === impl Service ===

impl Service {
    /// Answers a request that changes something.
    pub(super) async fn write(
        &self,
        info: &RequestInfo,
        asked: &ResourceRequest,
        served: &ResourceInfo,
        request: Request<Body>,
        encoding: Encoding,
    ) -> Result<Response<Body>, Status> {
        check_verb(asked, served)?;
        let call = self.call(info, asked, served, request, encoding).await?;
        if !served.is_observable() {
            return self.review(&call).await;
        }
        let resource = self.begun(asked).await?;
        match (asked.verb, &asked.name) {
            (Verb::DeleteCollection, _) => self.delete_collection(&call, &resource).await,
            (_, None) => self.create(&call, &resource).await,
            _ => self.write_named(&call, &resource).await,
        }
    }

    async fn call<'a>(
        &self,
        info: &'a RequestInfo,
        asked: &'a ResourceRequest,
        served: &'a ResourceInfo,
        request: Request<Body>,
        encoding: Encoding,
    ) -> Result<Call<'a>, Status> {
        let (parts, body) = request.into_parts();
        let accepted = accepted(&parts.headers)?;
        if asked.verb != Verb::DeleteCollection {
            refuse_list(accepted.form)?;
        }
        let rendering = self.rendering(accepted.form, info, asked).await?;
        let content = Content::of(asked, parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()));
        let body = whole(body, BODY_BYTES_MAX, BODY_WAIT).await?;
        let encoding = accepted.encoding(encoding);
        Ok(Call { info, asked, served, headers: parts.headers, body, content, rendering, encoding })
    }

    async fn write_named(&self, call: &Call<'_>, resource: &Resource) -> Result<Response<Body>, Status> {
        let served = ObjectKey::new(&call.asked.namespace, call.name());
        match resource.owner_of(&served) {
            Owner::Held { .. } if resource.naming() == Naming::Same => {
                self.write_everywhere(call, resource, &served).await
            }
            Owner::Held { cluster, key } => {
                let object = resource.reader().get(&served);
                let since = resource.reader().head();
                let target = Target { cluster, key, served, object, since, role: Role::First };
                let sent = self.send_to(call, resource, &target).await?;
                self.answer_write(call, resource, &target, sent).await
            }
            Owner::Away { cluster, reason, .. } => Err(away(call, &cluster, &reason.to_string())),
            Owner::Nobody if call.creates_absent() => self.create(call, resource).await,
            Owner::Nobody => Err(call.not_found()),
        }
    }

    /// Sends a write on one object, translated.
    async fn send_to(&self, call: &Call<'_>, resource: &Resource, target: &Target) -> Result<Sent, Status> {
        let member = self.reachable(call, &target.cluster)?;
        let (facts, patch) = (call.facts(), call.patch());
        let owners = self.owners(call, &target.cluster, &facts, patch.as_ref()).await?;
        let renamed = self.renamed(call, &target.cluster).await;
        let (cluster, made) = match &target.role {
            Role::Other { first, made, .. } if target.key.name.is_empty() => (first, made.as_str()),
            Role::Other { first, .. } => (first, &*target.key.name),
            Role::First => (&target.cluster, &*target.key.name),
        };
        let border = Border {
            stamp: self.settings().stamp,
            cluster,
            served: &target.served.name,
            name: made,
            versions: match target.role {
                Role::First => Versions::Of(target.object.as_ref().map(|object| (object.marker(), object.version()))),
                Role::Other { .. } => Versions::Dropped,
            },
            own: self.hidden(call, &member, target).await?,
            service: call.selects().then_some(call.extent()),
            owners: &owners,
            renamed: &renamed,
        };
        let path = call.path(&target.key);
        if let Some(patch) = patch {
            let inward = patch.inward(&border).map_err(|refused| call.refusal(&refused))?;
            let sent = self.send(call, &member, Outgoing::of(call, path.clone(), inward.to_bytes())).await?;
            return self.again_with_map(call, resource, &member, path, target, &inward, sent).await;
        }
        let outgoing = match (&target.role, call.asked.verb) {
            (Role::Other { answer, .. }, Verb::Update) => call.replacing_elsewhere(&border, target, answer, path)?,
            _ => call.inward(&border, path)?,
        };
        self.send(call, &member, outgoing).await
    }

    /// A JSON patch that failed into a map which only the stamp makes is sent once more, with the map put in front.
    #[expect(clippy::too_many_arguments, reason = "one step of sending, named for itself")]
    async fn again_with_map(
        &self,
        call: &Call<'_>,
        resource: &Resource,
        member: &orrery_fleet::Member,
        path: String,
        target: &Target,
        patch: &JsonPatch,
        sent: Sent,
    ) -> Result<Sent, Status> {
        if !sent.code.is_client_error() {
            return Ok(sent);
        }
        let object = resource.reader().get(&target.served).map(|object| object.body().to_bytes());
        let is_virtual = |pairs: &Pairs| {
            let stamped = pairs.stamped(self.settings().stamp);
            let object = object.as_deref().and_then(|object| std::str::from_utf8(object).ok());
            let metadata = object.and_then(|object| Members::parse(object).ok()?.object("metadata"));
            let map = metadata.and_then(|metadata| metadata.object(pairs.as_str())).unwrap_or_default();
            map.iter().all(|(key, _)| stamped.contains(&key))
        };
        let mut again = patch.clone();
        let entered = Pairs::BOTH.into_iter().filter(|pairs| patch.enters(*pairs)).filter(is_virtual);
        let entered: Vec<Pairs> = entered.collect();
        if entered.is_empty() {
            return Ok(sent);
        }
        for pairs in entered {
            again = again.with_map(pairs);
        }
        let second = self.send(call, member, Outgoing::of(call, path, again.to_bytes())).await?;
        Ok(if second.code.is_success() { second } else { sent })
    }

    /// What the member's object has under the stamp's keys: hidden ones where a body replaces it whole.
    async fn hidden(&self, call: &Call<'_>, member: &orrery_fleet::Member, target: &Target) -> Result<Own, Status> {
        let own = self.hidden_in_maps(call, member, target).await?;
        let shown = target.object.as_ref().filter(|_| call.selects()).map(|object| object.body().to_bytes());
        Ok(match shown.as_deref().and_then(|shown| std::str::from_utf8(shown).ok()) {
            Some(shown) => own.with_selector_of(shown),
            None => own,
        })
    }

    async fn hidden_in_maps(
        &self,
        call: &Call<'_>,
        member: &orrery_fleet::Member,
        target: &Target,
    ) -> Result<Own, Status> {
        let hides = target.object.as_ref().is_some_and(|object| object.hides_own());
        if call.asked.verb != Verb::Update || !hides {
            return Ok(Own::default());
        }
        let path = path_of(call.asked, &target.key);
        let (code, bytes) = super::get::fetch(member, &path, "application/json")
            .await
            .map_err(|reason| Status::unavailable(reason, 1))?;
        let object = std::str::from_utf8(&bytes).unwrap_or_default();
        Ok(if code.is_success() { Own::of(object, self.settings().stamp) } else { Own::default() })
    }
}

/// 405 where no member has the verb.
fn check_verb(asked: &ResourceRequest, served: &ResourceInfo) -> Result<(), Status> {
    let verb = asked.verb.as_str();
    let has = match &asked.subresource {
        Some(asked) => {
            let known = served.subresources.iter().find(|known| *known.name == *asked.name && asked.rest.is_empty());
            known.ok_or_else(Status::no_such_resource)?.verbs.iter().any(|known| &**known == verb)
        }
        None => served.has_verb(verb),
    };
    let refused = || {
        let message = "the server does not allow this method on the requested resource";
        Status::method_not_allowed(&asked.group_resource(), message)
    };
    if has { Ok(()) } else { Err(refused()) }
}

/// The 503 of a write to a cluster that is away.
fn away(call: &Call<'_>, cluster: &ClusterName, reason: &str) -> Status {
    super::get::away(call.asked, call.name(), cluster, reason)
}

fn accepts_table(headers: &HeaderMap) -> bool {
    accept(headers).is_some_and(|accept| accept.contains("as=Table"))
}
