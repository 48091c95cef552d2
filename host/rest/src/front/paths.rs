//! Everything that is no resource: discovery, OpenAPI, version, health, metrics, and the way to a single member.

use std::sync::Arc;

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use orrery_api::is_built_in;
use orrery_fleet::{Health, Member};

use super::Service;
use crate::body::{Body, Encoding, json, text};
use crate::discovery::{Documents, Entry};
use crate::health::Check;
use crate::proxy::{self, Mount};
use crate::request::{RequestInfo, Target};
use crate::status::Status;

/// Paths at `/` beside those of API groups.
const PATHS: [&str; 10] = [
    "/api",
    "/apis",
    "/clusters",
    "/healthz",
    "/livez",
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/readyz",
    "/version",
];

// === impl Service ===

impl Service {
    /// What the fleet serves now.
    pub(super) fn documents(&self) -> Arc<Documents> {
        self.discovered.of(&self.front.fleet)
    }

    /// The checks of readiness, and the one that fails when the host goes.
    pub(super) fn checks(&self) -> Vec<Check> {
        let shutdown = self.shutdown.clone();
        let going = move || if shutdown.is_cancelled() { Err("the host is shutting down".to_owned()) } else { Ok(()) };
        let mut checks = vec![Check { name: "shutdown", passes: Box::new(going) }];
        for at in 0..self.front.checks.len() {
            let all = self.front.checks.clone();
            checks.push(Check { name: all[at].name, passes: Box::new(move || (all[at].passes)()) });
        }
        checks
    }

    /// Answers a path that is no resource.
    pub(super) async fn path(
        &self,
        info: &RequestInfo,
        request: Request<Body>,
        encoding: Encoding,
    ) -> Result<Response<Body>, Status> {
        if !matches!(info.method, Method::GET | Method::HEAD) {
            return Ok(text(StatusCode::METHOD_NOT_ALLOWED, "405 method not allowed\n"));
        }
        let (documents, headers) = (self.documents(), request.headers());
        let unasked = self.unasked();
        let found = match &info.target {
            // Nothing at all is not what the fleet serves, and clients keep it for hours.
            Target::CoreVersions | Target::Groups if documents.catalog.groups.is_empty() && unasked.is_some() => {
                unasked.map(Err)
            }
            Target::CoreVersions => Some(documents.entry(Entry::Core, headers, &self.address, encoding)),
            Target::Groups => Some(documents.entry(Entry::Groups, headers, &self.address, encoding)),
            Target::Group(name) => documents.group(name, headers, encoding),
            Target::GroupVersion(group, version) => documents.group_version(group, version, headers, encoding),
            _ => return self.other(info, request, &documents, encoding).await,
        };
        found.unwrap_or_else(|| match &info.target {
            Target::GroupVersion(group, _) => self.absent(group),
            _ => Ok(not_found()),
        })
    }

    /// `/clusters/NAME/…`.
    pub(super) async fn cluster(
        &self,
        name: &str,
        path: &str,
        info: &RequestInfo,
        request: Request<Body>,
    ) -> Result<Response<Body>, Status> {
        let members = self.front.fleet.members();
        let Some(member) = members.iter().find(|member| member.name().as_str() == name) else {
            return Err(proxy::no_such_member(&self.front.fleet, name));
        };
        let path = info.query.behind(path.to_owned());
        proxy::forward(member, request, &path, &Mount::whole(format!("/clusters/{name}")), &self.shutdown).await
    }

    async fn other(
        &self,
        info: &RequestInfo,
        request: Request<Body>,
        documents: &Documents,
        encoding: Encoding,
    ) -> Result<Response<Body>, Status> {
        match info.path.trim_end_matches('/') {
            "" | "/index.html" => Ok(json(StatusCode::OK, root_paths(documents), encoding)),
            "/version" => self.version(encoding),
            "/metrics" => Ok(self.print_metrics()),
            "/clusters" => Ok(json(StatusCode::OK, self.cluster_paths(), encoding)),
            path if path.starts_with("/openapi/") => self.openapi(info, request.headers()).await,
            _ => Ok(not_found()),
        }
    }

    /// A path in `group` that nobody serves. Before every member has said what it serves, nobody knows that.
    pub(super) fn absent(&self, group: &str) -> Result<Response<Body>, Status> {
        if let Some(status) = self.unasked() {
            return Err(status);
        }
        // Upstream knows the paths of its own groups; what extensions serve is a text to it, as any other path.
        let known = is_built_in(group) && self.documents().catalog.group(group).is_some();
        if known { Err(Status::no_such_resource()) } else { Ok(not_found()) }
    }

    /// What is said while a member has not told yet what it serves, be it that it was not reached yet or that it is just being
    /// asked.
    fn unasked(&self) -> Option<Status> {
        let is_unasked = |member: &Member| {
            let may_tell = match member.health() {
                Health::NeverSeen { reason } => reason.is_empty(),
                Health::Reachable => true,
                Health::Unreachable { .. } => false,
            };
            may_tell && member.discovery().is_none()
        };
        let members = self.front.fleet.members();
        members.iter().any(is_unasked).then(|| Status::too_many_requests("storage is (re)initializing", 1))
    }

    /// The version of the member with the lowest minor: what clients may rely on everywhere.
    fn version(&self, encoding: Encoding) -> Result<Response<Body>, Status> {
        let members = self.front.fleet.members();
        let lowest = members.iter().filter_map(Member::version).min_by_key(|version| version.minor);
        let version = lowest.ok_or_else(|| Status::unavailable("no member has told its version yet", 1))?;
        Ok(json(StatusCode::OK, version.raw.to_vec(), encoding))
    }

    fn print_metrics(&self) -> Response<Body> {
        let mut printed = String::new();
        if let Err(error) = prometheus_client::encoding::text::encode(&mut printed, &self.front.registry) {
            tracing::error!(%error, "metrics cannot be printed");
        }
        let mut response = text(StatusCode::OK, printed);
        let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        response
    }

    fn cluster_paths(&self) -> Vec<u8> {
        let members = self.front.fleet.members();
        paths_json(members.iter().map(|member| format!("/clusters/{}", member.name())).collect())
    }
}

/// What upstream says of a path that is none.
pub(super) fn not_found() -> Response<Body> {
    text(StatusCode::NOT_FOUND, "404 page not found\n")
}

fn root_paths(documents: &Documents) -> Vec<u8> {
    let mut paths: Vec<String> = PATHS.iter().map(ToString::to_string).collect();
    for group in &documents.catalog.groups {
        let root = if group.name.is_empty() { "/api".to_owned() } else { format!("/apis/{}", group.name) };
        paths.extend(group.versions.iter().map(|version| format!("{root}/{}", version.version)));
        paths.push(root);
    }
    paths_json(paths)
}

fn paths_json(mut paths: Vec<String>) -> Vec<u8> {
    paths.sort();
    paths.dedup();
    serde_json::to_vec(&serde_json::json!({ "paths": paths })).expect("a list of texts")
}
