use std::time::{Duration, SystemTime};

use http::header::{ACCEPT, HeaderMap, HeaderValue, WARNING};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use orrery_api::{ClusterName, Gvr, ObjectKey, Uid};
use orrery_cache::Object;
use orrery_fleet::{Health, Member};
use orrery_markers::MemberVersion;
use orrery_sequencer::{Owner, Resource};
use std::sync::Arc;
use tokio::time::{Instant, timeout};

use super::{accepted, refuse_list, sights};
use crate::body::{Body, Encoding, full, json};
use crate::front::Service;
use crate::options::ListOptions;
use crate::read::{Rendering, Sight, fresh, warning};
use crate::request::{RequestInfo, ResourceRequest};
use crate::status::Status;

/// How long a GET waits until the cache has the version that the member told.
const VERSION_WAIT: Duration = Duration::from_secs(2);
/// How long a member is waited for before the cache answers in its place.
const LOOK_WAIT: Duration = Duration::from_secs(5);
/// How long the rest of an answer may take that is read whole.
const BODY_WAIT: Duration = Duration::from_secs(30);
/// Longest answer that is read whole. An object is at most 1.5 MiB in etcd; the metrics of 100,000 pods are about this.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// Asks for an object's metadata, or for all of it where the member knows no other form.
const METADATA_ONLY: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";

/// What a look at the member told about an object.
pub(super) enum Look {
    /// It is there, in this version.
    There { uid: Uid, version: MemberVersion },
    /// It is not there.
    Gone,
    /// Nothing: this is why.
    Nothing(String),
}

#[derive(serde::Deserialize)]
struct Seen {
    metadata: SeenMetadata,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct SeenMetadata {
    uid: String,
    resource_version: String,
}

/// An object to answer with, and what the client must know about its age.
pub(super) struct Found {
    /// It, in the state that the client gets.
    pub(super) object: Arc<Object>,
    /// The member that holds it.
    pub(super) member: ClusterName,
    /// Its key there.
    pub(super) key: ObjectKey,
    /// Why it may be older than what the member has.
    pub(super) warning: Option<String>,
}

// === impl Service ===

impl Service {
    /// Answers a GET of one object.
    pub(super) async fn get(
        &self,
        info: &RequestInfo,
        asked: &ResourceRequest,
        headers: &HeaderMap,
        encoding: Encoding,
    ) -> Result<Response<Body>, Status> {
        let accepted = accepted(headers)?;
        let rendering = self.rendering(accepted.form, info, asked).await?;
        let resource = self.begun(asked).await?;
        let found = self.find(info, asked, &resource).await?;
        refuse_list(accepted.form)?;
        let mut response = object_answer(&found, &rendering, accepted.encoding(encoding));
        add_warning(&mut response, found.warning.as_deref());
        Ok(response)
    }

    /// Finds an object by the name that clients know it by: its member is asked, so that the answer is never older than
    /// what the member says, and the cache answers once it is there too.
    pub(super) async fn find(
        &self,
        info: &RequestInfo,
        asked: &ResourceRequest,
        resource: &Resource,
    ) -> Result<Found, Status> {
        let name = asked.name.as_deref().unwrap_or_default();
        let served = ObjectKey::new(&asked.namespace, name);
        let version = ListOptions::get_version(&info.query)?;
        if version > 0 {
            fresh(resource.reader(), version).await?;
        }
        let absent = || Status::not_found(&asked.group_resource(), name);
        let (member, key) = held(asked, resource, &served)?;
        let cached = resource.reader().get(&served);
        let any = info.query.get("resourceVersion") == Some("0");
        if let (true, Some(object)) = (any, &cached) {
            return Ok(Found { object: object.clone(), member, key, warning: None });
        }
        let stale = |reason: String| {
            let object = resource.reader().get(&served).ok_or_else(absent)?;
            let warning = Some(age(resource, &member, &reason));
            Ok(Found { object, member: member.clone(), key: key.clone(), warning })
        };
        match self.look(asked, &member, &key).await {
            Look::Gone => match resource.reader().get(&served).filter(|_| resource.shows_last_state(&served)) {
                Some(object) => Ok(Found { object, member, key, warning: None }),
                None => Err(absent()),
            },
            Look::Nothing(reason) => stale(reason),
            Look::There { uid, version } => {
                let deadline = Instant::now() + VERSION_WAIT;
                match resource.at_least(&served, &uid, version, deadline).await {
                    Some(object) => Ok(Found { object, member, key, warning: None }),
                    None => stale("its newest state has not come on the watch".to_owned()),
                }
            }
        }
    }

    /// Asks the member for the object's metadata.
    pub(super) async fn look(&self, asked: &ResourceRequest, cluster: &ClusterName, key: &ObjectKey) -> Look {
        let Some(member) = self.front.fleet.member(cluster) else {
            return Look::Nothing("it left the fleet".to_owned());
        };
        if let Health::Unreachable { reason, .. } | Health::NeverSeen { reason } = member.health() {
            return Look::Nothing(reason);
        }
        match tokio::time::timeout(LOOK_WAIT, look_at(&member, &path_of(asked, key))).await {
            Ok(look) => look,
            Err(_) => Look::Nothing(format!("it did not answer within {} s", LOOK_WAIT.as_secs())),
        }
    }
}

/// The cluster that holds what is served as `served`, and its key there; 404 where nobody does, 503 where nobody knows now.
pub(super) fn held(
    asked: &ResourceRequest,
    resource: &Resource,
    served: &ObjectKey,
) -> Result<(ClusterName, ObjectKey), Status> {
    match resource.owner_of(served) {
        Owner::Held { cluster, key } => Ok((cluster, key)),
        Owner::Nobody => Err(Status::not_found(&asked.group_resource(), &served.name)),
        Owner::Away { cluster, reason, .. } => Err(away(asked, &served.name, &cluster, &reason.to_string())),
    }
}

/// The 503 of an object in a cluster that is away.
pub(super) fn away(asked: &ResourceRequest, name: &str, cluster: &ClusterName, reason: &str) -> Status {
    let resource = asked.group_resource();
    Status::unavailable(format!("{resource} {name:?} is in cluster {cluster}, which is away: {reason}"), 5)
}

async fn look_at(member: &Member, path: &str) -> Look {
    match fetch(member, path, METADATA_ONLY).await {
        Ok((StatusCode::OK, bytes)) => match serde_json::from_slice::<Seen>(&bytes) {
            Ok(Seen { metadata }) => match MemberVersion::parse(&metadata.resource_version) {
                Some(version) => Look::There { uid: Uid::new(&metadata.uid), version },
                None => Look::Nothing(format!("its version {:?} is no number", metadata.resource_version)),
            },
            Err(error) => Look::Nothing(format!("its answer is no object: {error}")),
        },
        Ok((StatusCode::NOT_FOUND, _)) => Look::Gone,
        Ok((code, _)) => Look::Nothing(format!("it answered {code}")),
        Err(reason) => Look::Nothing(reason),
    }
}

/// One GET whose answer is read whole.
pub(super) async fn fetch(
    member: &Member,
    path: &str,
    accept: &'static str,
) -> Result<(StatusCode, bytes::Bytes), String> {
    let mut request = Request::new(full(""));
    *request.uri_mut() = path.parse().map_err(|error| format!("{path} is no path: {error}"))?;
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static(accept));
    let response = member.send(request).await.map_err(|error| error.to_string())?;
    let code = response.status();
    let body = timeout(BODY_WAIT, Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect()).await;
    let body = body.map_err(|_| format!("it did not end its answer within {} s", BODY_WAIT.as_secs()))?;
    Ok((code, body.map_err(|error| error.to_string())?.to_bytes()))
}

pub(super) fn path_of(asked: &ResourceRequest, key: &ObjectKey) -> String {
    path_in(&asked.gvr, key)
}

pub(super) fn path_in(gvr: &Gvr, key: &ObjectKey) -> String {
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    // Names may hold what a path may not, as those of RBAC objects (`system:node`).
    let name = utf8_percent_encode(&key.name, NON_ALPHANUMERIC);
    format!("{}/{name}", gvr.path_in(&key.namespace))
}

fn object_answer(found: &Found, rendering: &Rendering, encoding: Encoding) -> Response<Body> {
    let mut out = Vec::new();
    rendering.write_object(&*found.object, &mut out);
    out.push(b'\n');
    json(StatusCode::OK, out, encoding)
}

/// What a client must know of an object that its member did not confirm.
fn age(resource: &Resource, cluster: &ClusterName, reason: &str) -> String {
    match sights(resource).get(cluster) {
        Some(Sight::Stale { since, reason, .. }) => {
            let seconds = SystemTime::now().duration_since(*since).unwrap_or_default().as_secs();
            format!("cluster {cluster} not seen for {seconds}s, this object may be stale: {reason}")
        }
        _ => format!("cluster {cluster} did not confirm this object, it may be stale: {reason}"),
    }
}

pub(super) fn add_warning(response: &mut Response<Body>, text: Option<&str>) {
    if let Some(header) = text.and_then(warning) {
        response.headers_mut().append(WARNING, header);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Verb;

    #[test]
    fn a_name_with_colons_is_one_segment_of_the_members_path() {
        let gvr = Gvr::new("rbac.authorization.k8s.io", "v1", "clusterroles");
        let asked = ResourceRequest { verb: Verb::Get, gvr, namespace: String::new(), name: None, subresource: None };
        assert_eq!(
            path_of(&asked, &ObjectKey::new("", "system:node/x")),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode%2Fx"
        );
    }
}
