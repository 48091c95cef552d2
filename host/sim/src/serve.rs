//! Answers to requests.

mod list;

use std::borrow::Cow;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH, RETRY_AFTER};
use http::{Method, Request, Response, StatusCode};
use orrery_api::{Gvr, ObjectKey};
use serde_json::{Value, json};

use crate::body::{Body, Broken, full};
use crate::cluster::{Cluster, Mode, World, hash};
use crate::history::Table;

/// A request for objects, taken apart.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) gvr: Gvr,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) query: Query,
    /// Only their metadata is wanted.
    pub(crate) partial: bool,
}

/// The pairs of a query string.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

// === impl Cluster ===

impl Cluster {
    /// Answers one request, as its API server does. Only reads are served: writes come through the handle.
    ///
    /// # Errors
    /// [`Broken`] where nobody listens, or the connection broke while the answer was waited for.
    pub async fn answer<B>(&self, request: Request<B>) -> Result<Response<Body>, Broken> {
        let cuts = self.world().faults.counts.cuts;
        let head = self.world().faults.pace.head;
        if !head.is_zero() {
            tokio::time::sleep(head).await;
        }
        self.until_it_answers(cuts).await?;
        Ok(self.answer_now(&request))
    }

    /// Waits while the cluster is silent.
    async fn until_it_answers(&self, cuts: u64) -> Result<(), Broken> {
        let mut changed = self.changed();
        loop {
            let (mode, now) = {
                let world = self.world();
                (world.faults.mode, world.faults.counts.cuts)
            };
            match mode {
                Mode::Refusing => return Err(Broken::Refused),
                _ if now != cuts => return Err(Broken::Reset),
                Mode::Silent => {}
                Mode::Serving | Mode::Failing(_) => return Ok(()),
            }
            if changed.changed().await.is_err() {
                return Err(Broken::Refused);
            }
        }
    }

    fn answer_now<B>(&self, request: &Request<B>) -> Response<Body> {
        let world = self.world();
        if !world.admits(request.headers()) {
            return status(401, "Unauthorized", "Unauthorized", None);
        }
        if request.method() != Method::GET {
            return status(405, "MethodNotAllowed", "simulated members serve reads only", None);
        }
        match request.uri().path() {
            "/version" => world.version(),
            "/api" => world.discovery(request.headers(), true),
            "/apis" => world.discovery(request.headers(), false),
            "/livez" | "/readyz" | "/healthz" => Response::new(full("ok")),
            path => match (world.faults.mode, path, Asked::read(request)) {
                (_, "/api/v1/namespaces/kube-system", _) => world.kube_system(),
                (Mode::Failing(code), ..) => failing(code),
                (_, _, Some(asked)) => self.objects_of(&world, &asked),
                _ => Response::builder().status(404).body(full("404 page not found")).expect("a code"),
            },
        }
    }

    fn objects_of(&self, world: &World, asked: &Asked) -> Response<Body> {
        let Some(table) = world.served(&asked.gvr) else {
            return status(404, "NotFound", "the server could not find the requested resource", None);
        };
        if ["labelSelector", "fieldSelector"].iter().any(|selector| asked.query.get(selector).is_some()) {
            return status(400, "BadRequest", "simulated members have no selectors", None);
        }
        match &asked.name {
            Some(name) => table.get(asked, name),
            None if asked.query.is_set("watch") => self.watch(world, table, asked),
            None => self.list(world, table, asked),
        }
    }
}

// === impl Table ===

impl Table {
    fn get(&self, asked: &Asked, name: &str) -> Response<Body> {
        let key = ObjectKey::new(asked.namespace.as_deref().unwrap_or_default(), name);
        let Some(state) = self.objects.get(&key) else {
            let message = format!("{} {name:?} not found", self.kind.gvr.group_resource());
            return status(404, "NotFound", &message, None);
        };
        let mut text = String::new();
        self.kind.template.write(&self.kind, true, &key, state, &mut text);
        json_answer(text + "\n")
    }
}

// === impl World ===

impl World {
    fn admits(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        shown == Some(&**token)
    }

    fn version(&self) -> Response<Body> {
        let minor = self.minor;
        let git = format!("v1.{minor}.0");
        json_answer(json!({"major": "1", "minor": minor.to_string(), "gitVersion": git, "platform": "sim"}).to_string())
    }

    fn kube_system(&self) -> Response<Body> {
        let metadata = json!({"name": "kube-system", "uid": &*self.uid, "resourceVersion": "1"});
        json_answer(json!({"kind": "Namespace", "apiVersion": "v1", "metadata": metadata}).to_string())
    }

    /// Aggregated discovery (`apidiscovery.k8s.io/v2`) of the core group, or of the others.
    fn discovery(&self, headers: &HeaderMap, core: bool) -> Response<Body> {
        let mut groups: Vec<Value> = Vec::new();
        for table in self.tables.iter().filter(|table| table.served && table.kind.gvr.group.is_empty() == core) {
            let group = &table.kind.gvr.group;
            let group = entry(
                &mut groups,
                |known| known["metadata"]["name"] == **group,
                || json!({"metadata": {"name": &**group}, "versions": []}),
            );
            let versions = group["versions"].as_array_mut().expect("it was made an array");
            for name in table.kind.versions() {
                let version = entry(
                    versions,
                    |known| known["version"] == **name,
                    || json!({"version": &**name, "resources": [], "freshness": "Current"}),
                );
                version["resources"].as_array_mut().expect("it was made an array").push(table.kind.discovery(name));
            }
        }
        let text = json!({
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "metadata": {},
            "items": groups,
        })
        .to_string();
        let etag = HeaderValue::from_str(&format!("\"{:016x}\"", hash(&text))).expect("hex digits in quotes");
        if headers.get(IF_NONE_MATCH) == Some(&etag) {
            return Response::builder().status(304).header(ETAG, etag).body(full("")).expect("a code and an ETag");
        }
        let mut response = json_answer(text);
        response.headers_mut().insert(ETAG, etag);
        response
    }
}

/// The first that `is_it` says yes to, made where there is none.
fn entry(all: &mut Vec<Value>, is_it: impl Fn(&Value) -> bool, make: impl FnOnce() -> Value) -> &mut Value {
    let at = all.iter().position(is_it).unwrap_or_else(|| {
        all.push(make());
        all.len() - 1
    });
    &mut all[at]
}

// === impl Asked ===

impl Asked {
    /// Reads `/api/v1/[namespaces/NS/]RESOURCE[/NAME]`, or the same under `/apis/GROUP/VERSION`.
    fn read<B>(request: &Request<B>) -> Option<Self> {
        let parts: Vec<&str> = request.uri().path().strip_prefix('/')?.split('/').collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", version, rest),
            ["apis", group, version, rest @ ..] => (*group, version, rest),
            _ => return None,
        };
        let (namespace, resource, name) = match rest {
            ["namespaces", namespace, resource] => (Some(*namespace), *resource, None),
            ["namespaces", namespace, resource, name] => (Some(*namespace), *resource, Some(*name)),
            [resource] => (None, *resource, None),
            [resource, name] => (None, *resource, Some(*name)),
            _ => return None,
        };
        let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
        Some(Self {
            gvr: Gvr::new(group, version, resource),
            namespace: namespace.map(str::to_owned),
            name: name.map(str::to_owned),
            query: Query::parse(request.uri().query().unwrap_or_default()),
            partial: accept.contains("as=PartialObjectMetadata"),
        })
    }

    pub(crate) fn selects(&self, key: &ObjectKey) -> bool {
        self.namespace.as_deref().is_none_or(|namespace| *namespace == *key.namespace)
    }
}

// === impl Query ===

impl Query {
    fn parse(text: &str) -> Self {
        let own = |(name, value): (Cow<'_, str>, Cow<'_, str>)| (name.into_owned(), value.into_owned());
        Self(form_urlencoded::parse(text.as_bytes()).map(own).collect())
    }

    /// The value, where there is one that is not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str());
        found.filter(|value| !value.is_empty())
    }

    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !matches!(value, "false" | "0"))
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }
}

/// An answer of JSON.
pub(crate) fn json_answer(text: String) -> Response<Body> {
    let mut response = Response::new(full(text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An answer that is a `Status`.
pub(crate) fn status(code: u16, reason: &str, message: &str, cause: Option<&str>) -> Response<Body> {
    let mut response = json_answer(status_text(code, reason, message, cause));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

/// A `Status` as JSON.
pub(crate) fn status_text(code: u16, reason: &str, message: &str, cause: Option<&str>) -> String {
    let mut status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {},
        "status": "Failure", "message": message, "reason": reason, "code": code,
    });
    if let Some(cause) = cause {
        status["details"] = json!({"causes": [{"reason": cause, "message": message}]});
    }
    status.to_string()
}

fn failing(code: u16) -> Response<Body> {
    let reason = match code {
        401 => "Unauthorized",
        403 => "Forbidden",
        429 => "TooManyRequests",
        _ => "InternalError",
    };
    let mut response = status(code, reason, "a fault of the simulation", None);
    if code == 429 {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}
