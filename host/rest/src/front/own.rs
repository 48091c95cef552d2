//! The host's own documents under `/orrery/v1`, which the commands print that ask a running host.

mod extensions;

use http::{Method, Request, Response, StatusCode};
use orrery_api::status as document;
use orrery_fleet::{Health, Member};
use orrery_markers::Marker;
use orrery_sequencer::{ClusterPhase, ClusterState, Resource};

use super::Service;
use super::paths::not_found;
use crate::body::{Body, Encoding, json, text};
use crate::query::Query;
use crate::request::RequestInfo;
use crate::status::Status;

// === impl Service ===

impl Service {
    /// Answers `/orrery/v1/PATH`.
    pub(super) async fn own(
        &self,
        path: &str,
        info: &RequestInfo,
        request: Request<Body>,
        encoding: Encoding,
    ) -> Result<Response<Body>, Status> {
        let parts: Vec<&str> = path.trim_end_matches('/').split('/').collect();
        if let Some(answer) = self.own_extensions(&parts, info, request, encoding).await? {
            return Ok(answer);
        }
        if !matches!(info.method, Method::GET | Method::HEAD) {
            return Ok(text(StatusCode::METHOD_NOT_ALLOWED, "405 method not allowed\n"));
        }
        match path.trim_end_matches('/') {
            "status" => Ok(line(&self.status(), encoding)),
            "clock" => Ok(line(&self.clock(&info.query).await?, encoding)),
            _ => Ok(not_found()),
        }
    }

    fn status(&self) -> document::Status {
        let members = self.front.fleet.members();
        document::Status {
            members: members.iter().map(member_status).collect(),
            resources: self.front.sequencer.resources().iter().map(|resource| self.resource_status(resource)).collect(),
        }
    }

    fn resource_status(&self, resource: &Resource) -> document::ResourceStatus {
        let (stats, gvr) = (resource.reader().stats(), resource.gvr());
        let mut states = resource.clusters();
        let members = self.front.fleet.members();
        let in_order = members.iter().filter_map(|member| states.remove_entry(member.name())).collect::<Vec<_>>();
        let clusters = in_order.into_iter().chain(states);
        document::ResourceStatus {
            resource: gvr.group_resource().to_string(),
            version: gvr.version.to_string(),
            head: stats.head.get(),
            floor: stats.floor.get(),
            objects: stats.objects as u64,
            watchers: stats.watchers as u64,
            clusters: clusters.map(|(name, state)| cluster_status(name, state)).collect(),
        }
    }

    async fn clock(&self, query: &Query) -> Result<document::Clock, Status> {
        let text = query.get("resource").filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| Status::bad_request("the query names no resource; add ?resource=pods"))?;
        let marker = query.get("marker").filter(|text| !text.is_empty()).map(marker_of).transpose()?;
        let documents = self.documents();
        let served = documents.catalog.resolve(text);
        let gvr = served
            .map(|info| info.gvr.clone())
            .ok_or_else(|| Status::nothing_here(format!("no member serves a resource {text:?}")))?;
        let not_ready = |error: orrery_sequencer::NotReady| Status::too_many_requests(error.to_string(), 1);
        let resource = self.front.sequencer.resource(&gvr).await.map_err(not_ready)?;
        let stats = resource.reader().stats();
        let expired = |marker: Marker| Status::expired(format!("marker {marker} is not in the log of {gvr}"));
        if let Some(marker) = marker.filter(|marker| *marker > stats.head || !resource.knows(*marker)) {
            return Err(expired(marker));
        }
        let log = resource.log_at(marker).await.map_err(|error| {
            tracing::warn!(%gvr, error = &error as &dyn std::error::Error, "cannot read the log of the past");
            marker.map_or_else(|| Status::internal(&error.to_string()), expired)
        })?;
        let members = self.front.fleet.members();
        let hand = |member: &Member| document::ClockHand {
            name: member.name().clone(),
            resource_version: log
                .cluster(member.name())
                .and_then(|part| part.clock())
                .map(|clock| clock.complete.to_string()),
        };
        let serving = members.iter().filter(|member| log.cluster(member.name()).is_some());
        Ok(document::Clock {
            resource: gvr.group_resource().to_string(),
            version: gvr.version.to_string(),
            marker: marker.unwrap_or(stats.head).get(),
            head: stats.head.get(),
            floor: stats.floor.get(),
            clusters: serving.map(hand).collect(),
        })
    }
}

fn member_status(member: &Member) -> document::MemberStatus {
    let reason = match member.health() {
        Health::Reachable => None,
        Health::Unreachable { reason, .. } | Health::NeverSeen { reason } => Some(reason),
    };
    document::MemberStatus {
        name: member.name().clone(),
        reachable: reason.is_none(),
        version: member.version().map(|version| version.git_version.to_string()),
        lag_s: member.lag_seconds(),
        last_seen: member.last_seen(),
        reason: reason.filter(|reason| !reason.is_empty()),
    }
}

fn cluster_status(
    name: orrery_api::ClusterName,
    ClusterState { phase, objects, .. }: ClusterState,
) -> document::ResourceClusterStatus {
    use document::ClusterState::{Away, Loaded, Loading, Stale};
    let (state, reason, since) = match phase {
        ClusterPhase::Loading => (Loading, None, None),
        ClusterPhase::Live => (Loaded, None, None),
        ClusterPhase::Stale { since, reason } => (Stale, Some(reason.to_string()), Some(since)),
        ClusterPhase::Away { reason } => (Away, Some(reason.to_string()), None),
    };
    document::ResourceClusterStatus { name, state, objects: objects as u64, reason, since }
}

fn marker_of(text: &str) -> Result<Marker, Status> {
    let number =
        text.parse().map_err(|_| Status::bad_request(format!("{text:?} is no marker: markers are decimal numbers")))?;
    Marker::new(number).map_err(|error| Status::bad_request(error.to_string()))
}

fn line(document: &impl serde::Serialize, encoding: Encoding) -> Response<Body> {
    let mut bytes = serde_json::to_vec(document).expect("texts, numbers and lists");
    bytes.push(b'\n');
    json(StatusCode::OK, bytes, encoding)
}
