//! Kinds that can be listed and not watched (metrics.k8s.io): asked of the members at each request, within bounds of time
//! and number. A member that does not answer is missing, and a Warning says so.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use futures::stream::{self, StreamExt as _};
use http::header::{HeaderMap, WARNING};
use http::{Response, StatusCode};
use orrery_api::{ClusterName, Gvr, ObjectKey, Stamp};
use orrery_cache::{FieldSelector, FieldTable, LabelSelector};
use orrery_fleet::{Health, Member, ResourceInfo};
use orrery_sequencer::{Owner, Resource};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::time::{Instant, timeout_at};

use super::get::{fetch, path_of};
use super::{accepted, accepted_list, refuse_list};
use crate::body::{Body, Encoding, json};
use crate::front::Service;
use crate::front::resource::extended::refuse_extended;
use crate::query::Query;
use crate::read::live::{LiveObject, LivePart, list_json, merged, show};
use crate::read::{Sight, warnings};
use crate::request::{RequestInfo, ResourceRequest};
use crate::status::Status;

/// How long all members together may take.
const LIVE_WAIT: Duration = Duration::from_secs(10);
/// Members that are asked at a time.
const ASKED_AT_ONCE: usize = 32;
/// Objects of a merged list at most: beyond it a list must be narrowed, and is never cut in silence.
const OBJECTS_MAX: usize = 200_000;

/// What a live list is narrowed to.
struct Narrowed {
    labels: LabelSelector,
    name: Option<String>,
    namespace: Option<String>,
}

/// What the members said.
struct Said {
    parts: Vec<LivePart>,
    missing: BTreeMap<ClusterName, Sight>,
    /// Whether more than one of them serves the kind.
    several: bool,
}

// === impl Service ===

impl Service {
    /// Answers a LIST of a kind that cannot be clocked.
    pub(super) async fn live_list(
        &self,
        info: &RequestInfo,
        asked: &ResourceRequest,
        served: &ResourceInfo,
        headers: &HeaderMap,
        encoding: Encoding,
    ) -> Result<Response<Body>, Status> {
        let accepted = accepted_list(headers)?;
        let rendering = self.rendering(accepted.form, info, asked).await?;
        let narrowed = Narrowed::read(&info.query, served)?;
        let said = self.ask(asked, &narrowed).await?;
        if said.parts.is_empty() && !said.missing.is_empty() {
            return Err(nothing_said(asked, &said.missing));
        }
        let about = self.named_after(asked).await;
        let named = |cluster: &ClusterName, key: &ObjectKey| about.as_ref()?.served(cluster, key);
        let mut objects = merged(said.parts, self.settings().stamp, said.several, named);
        objects.retain(|object| narrowed.selects(object));
        let list = list_json(&rendering, &served.kind, &asked.gvr.api_version(), &objects);
        let mut response = json(StatusCode::OK, list, accepted.encoding(encoding));
        for warning in warnings(&said.missing, &asked.gvr.resource, SystemTime::now()) {
            response.headers_mut().append(WARNING, warning);
        }
        Ok(response)
    }

    /// Answers a GET of an object of a kind that cannot be clocked. Whose it is, the name tells where it is about an
    /// object of another kind; else whoever has it.
    pub(super) async fn live_get(
        &self,
        info: &RequestInfo,
        asked: &ResourceRequest,
        served: &ResourceInfo,
        headers: &HeaderMap,
        encoding: Encoding,
    ) -> Result<Response<Body>, Status> {
        let accepted = accepted(headers)?;
        let rendering = self.rendering(accepted.form, info, asked).await?;
        let object = self.live_object(asked, served).await?;
        refuse_list(accepted.form)?;
        let mut out = Vec::new();
        rendering.write_object(&object, &mut out);
        out.push(b'\n');
        Ok(json(StatusCode::OK, out, accepted.encoding(encoding)))
    }

    async fn live_object(&self, asked: &ResourceRequest, served: &ResourceInfo) -> Result<LiveObject, Status> {
        let name = asked.name.clone().unwrap_or_default();
        let absent = || Status::not_found(&asked.group_resource(), &name);
        if let Some(about) = self.named_after(asked).await {
            return match about.owner_of(&ObjectKey::new(&asked.namespace, &name)) {
                Owner::Nobody => Err(absent()),
                Owner::Away { cluster, reason, .. } => {
                    Err(Status::unavailable(format!("cluster {cluster} is away: {reason}"), 5))
                }
                Owner::Held { cluster, key } => self.live_of(asked, cluster, &key).await,
            };
        }
        let narrowed = Narrowed { labels: LabelSelector::everything(), name: Some(name.clone()), namespace: None };
        let said = self.ask(asked, &narrowed).await?;
        let all = merged(said.parts, self.settings().stamp, said.several, |_, _| None);
        match all.into_iter().find(|object| narrowed.selects(object)) {
            Some(mut object) => {
                // Items of typed lists name no kind.
                object.value["kind"] = (*served.kind).into();
                object.value["apiVersion"] = asked.gvr.api_version().into();
                Ok(object)
            }
            None if said.missing.is_empty() => Err(absent()),
            None => Err(nothing_said(asked, &said.missing)),
        }
    }

    /// One member's object, under the name that it is asked by.
    async fn live_of(
        &self,
        asked: &ResourceRequest,
        cluster: ClusterName,
        key: &ObjectKey,
    ) -> Result<LiveObject, Status> {
        let name = asked.name.as_deref().unwrap_or_default();
        let gone = || Status::unavailable(format!("cluster {cluster} left the fleet"), 1);
        let member = self.front.fleet.member(&cluster).ok_or_else(gone)?;
        let path = path_of(asked, key);
        let answer = timeout_at(Instant::now() + LIVE_WAIT, fetch(&member, &path, "application/json"));
        let late =
            || Status::unavailable(format!("cluster {cluster} did not answer within {} s", LIVE_WAIT.as_secs()), 1);
        let (code, bytes) = answer.await.map_err(|_| late())?.map_err(|reason| Status::unavailable(reason, 1))?;
        if code == StatusCode::NOT_FOUND {
            return Err(Status::not_found(&asked.group_resource(), name));
        }
        let value = serde_json::from_slice::<serde_json::Value>(&bytes).ok().filter(|_| code.is_success());
        let mut value = value.ok_or_else(|| Status::unavailable(format!("cluster {cluster} answered {code}"), 1))?;
        show(&mut value, name, &cluster, self.settings().stamp);
        Ok(LiveObject { served: ObjectKey::new(&asked.namespace, name), cluster, value })
    }

    /// Asks every member that serves the kind, side by side.
    async fn ask(&self, asked: &ResourceRequest, narrowed: &Narrowed) -> Result<Said, Status> {
        let deadline = Instant::now() + LIVE_WAIT;
        let members = self.front.fleet.members();
        let has_labels = self.settings().stamp == Stamp::Label;
        let serves =
            |member: &&Member| member.discovery().is_some_and(|served| served.find(&asked.gvr).is_some_and(lists));
        let serving: Vec<&Member> = members.iter().filter(serves).collect();
        let path = narrowed.path(asked, has_labels);
        let meant = serving.iter().filter(|member| !has_labels || narrowed.labels.admits_cluster(member.name()));
        let asking: Vec<_> = meant.map(|member| ask_one((*member).clone(), path.clone(), deadline)).collect();
        // In fleet order, whoever is first.
        let mut answers = stream::iter(asking).buffered(ASKED_AT_ONCE);
        let mut said = Said { parts: Vec::new(), missing: BTreeMap::new(), several: serving.len() > 1 };
        let mut objects = 0;
        while let Some((cluster, answer)) = answers.next().await {
            match answer {
                Ok(part) => {
                    objects += part.items.len();
                    said.parts.push(part);
                }
                Err(reason) => drop(said.missing.insert(cluster, Sight::Away { reason })),
            }
            if objects > OBJECTS_MAX {
                let words = format!("more than {OBJECTS_MAX} objects; ask for one namespace, or select by labels");
                return Err(Status::too_large_answer(words));
            }
        }
        Ok(said)
    }

    /// The resource whose names the objects have: metrics are about pods and nodes.
    async fn named_after(&self, asked: &ResourceRequest) -> Option<Resource> {
        let about = match (&*asked.gvr.group, &*asked.gvr.resource) {
            ("metrics.k8s.io", resource @ ("nodes" | "pods")) => Gvr::new("", "v1", resource),
            _ => return None,
        };
        self.front.sequencer.resource(&about).await.ok()
    }
}

// === impl Narrowed ===

impl Narrowed {
    fn read(query: &Query, served: &ResourceInfo) -> Result<Self, Status> {
        let bad = |error: orrery_cache::SelectorError| Status::bad_request(error.to_string());
        let labels = LabelSelector::parse(&query.text("labelSelector")).map_err(bad)?;
        refuse_extended(&labels)?;
        let table = FieldTable::custom(served.namespaced, std::iter::empty());
        let fields = FieldSelector::parse(&query.text("fieldSelector"), &table).map_err(bad)?;
        let (name, namespace) = (fields.name().map(str::to_owned), fields.namespace().map(str::to_owned));
        only_names(&fields)?;
        Ok(Self { labels, name, namespace })
    }

    /// The list that a member is asked for. Names are not selected by there: they are the host's.
    fn path(&self, asked: &ResourceRequest, has_labels: bool) -> String {
        let labels = if has_labels { self.labels.without_cluster() } else { self.labels.clone() };
        let path = asked.gvr.path_in(&asked.namespace);
        if labels.is_everything() {
            return path;
        }
        format!("{path}?labelSelector={}", utf8_percent_encode(&labels.to_string(), NON_ALPHANUMERIC))
    }

    fn selects(&self, object: &LiveObject) -> bool {
        self.name.as_deref().is_none_or(|name| *name == *object.served.name)
            && self.namespace.as_deref().is_none_or(|namespace| *namespace == *object.served.namespace)
    }
}

/// Refuses a field selector that says more than which name and namespace are meant: nothing else can be looked at here.
fn only_names(fields: &FieldSelector) -> Result<(), Status> {
    let name = fields.name().map(|name| format!("metadata.name={name}"));
    let namespace = fields.namespace().map(|namespace| format!("metadata.namespace={namespace}"));
    let said: Vec<_> = name.into_iter().chain(namespace).collect();
    if fields.to_string() == said.join(",") {
        return Ok(());
    }
    Err(Status::bad_request("of this kind only metadata.name=NAME and metadata.namespace=NAME can be selected by"))
}

async fn ask_one(member: Member, path: String, deadline: Instant) -> (ClusterName, Result<LivePart, String>) {
    (member.name().clone(), part_of(&member, &path, deadline).await)
}

async fn part_of(member: &Member, path: &str, deadline: Instant) -> Result<LivePart, String> {
    if let Health::Unreachable { reason, .. } | Health::NeverSeen { reason } = member.health() {
        return Err(reason);
    }
    let answer = timeout_at(deadline, fetch(member, path, "application/json")).await;
    let (code, bytes) = answer.map_err(|_| format!("it did not answer within {} s", LIVE_WAIT.as_secs()))??;
    if !code.is_success() {
        return Err(format!("it answered {code}"));
    }
    LivePart::read(member.name().clone(), &bytes)
}

/// Whether a kind can be listed and not watched.
pub(super) fn is_live(served: &ResourceInfo) -> bool {
    !served.is_observable() && lists(served)
}

fn lists(served: &ResourceInfo) -> bool {
    served.has_verb("list")
}

/// The 503 of a question that no member answered.
fn nothing_said(asked: &ResourceRequest, missing: &BTreeMap<ClusterName, Sight>) -> Status {
    let reasons = missing.iter().map(|(cluster, sight)| match sight {
        Sight::Away { reason } | Sight::Stale { reason, .. } => format!("cluster {cluster}: {reason}"),
    });
    let reasons = reasons.collect::<Vec<_>>().join("; ");
    Status::unavailable(format!("no cluster could be asked for {}: {reasons}", asked.group_resource()), 1)
}
