//! A member that is played: configmaps that can be watched, gauges that can only be listed, and what a host asks of a
//! cluster beside that.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::channel::mpsc;
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::{Request, Response, StatusCode};
use orrery_fleet::{Body, BodyError, ConnectError, Endpoint, FleetSettings, MemberSource, Traffic, Transport};
use serde_json::{Value, json};

/// A handle: clones are the same member.
#[derive(Clone, Debug)]
pub(crate) struct Member(Arc<Mutex<World>>);

#[derive(Debug)]
struct World {
    uid: String,
    version: u64,
    /// (namespace, name) → the object.
    objects: BTreeMap<(String, String), Value>,
    history: Vec<(u64, Bytes)>,
    watches: Vec<mpsc::UnboundedSender<Bytes>>,
    silent: bool,
    /// Whether it takes its time to say what it serves.
    hesitates: bool,
    /// Whether configmaps are a kind of its.
    has_configmaps: bool,
    /// What requests said in `Accept-Encoding`.
    encodings: Vec<String>,
    /// Methods and names of the writes that came.
    writes: Vec<String>,
    /// Whether watches tell nothing of what is written.
    is_quiet: bool,
    /// Whether writes are done, and their answers lost.
    loses_answers: bool,
    /// Whether the next write is the last thing that it answers.
    freezes: bool,
}

// === impl Member ===

impl Member {
    pub(crate) fn new(uid: &str) -> Self {
        Self(Arc::new(Mutex::new(World {
            uid: uid.to_owned(),
            version: 10,
            objects: BTreeMap::new(),
            history: Vec::new(),
            watches: Vec::new(),
            silent: false,
            hesitates: false,
            has_configmaps: true,
            encodings: Vec::new(),
            writes: Vec::new(),
            is_quiet: false,
            loses_answers: false,
            freezes: false,
        })))
    }

    /// One that does not know what a configmap is.
    pub(crate) fn without_configmaps(uid: &str) -> Self {
        let member = Self::new(uid);
        member.world().has_configmaps = false;
        member
    }

    /// What requests said in `Accept-Encoding` so far.
    pub(crate) fn accepted_encodings(&self) -> Vec<String> {
        self.world().encodings.clone()
    }

    /// As a source of the fleet.
    pub(crate) fn source(&self) -> Arc<dyn MemberSource> {
        Arc::new(self.clone())
    }

    /// Creates or changes a configmap.
    pub(crate) fn put(&self, namespace: &str, name: &str, text: &str) {
        let mut world = self.world();
        world.version += 1;
        let key = (namespace.to_owned(), name.to_owned());
        let known = world.objects.get(&key).map(|object| object["metadata"]["uid"].clone());
        let kind = if known.is_some() { "MODIFIED" } else { "ADDED" };
        let uid = known.unwrap_or_else(|| format!("{}-{name}-{}", world.uid, world.version).into());
        let object = json!({
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": uid,
                "resourceVersion": world.version.to_string(),
            },
            "data": {"text": text},
        });
        world.objects.insert(key, object.clone());
        world.tell(kind, &object);
    }

    /// Deletes a configmap.
    pub(crate) fn delete(&self, namespace: &str, name: &str) {
        let mut world = self.world();
        world.version += 1;
        let mut object = world.objects.remove(&(namespace.to_owned(), name.to_owned())).expect("it is there");
        object["metadata"]["resourceVersion"] = world.version.to_string().into();
        world.tell("DELETED", &object);
    }

    /// Its watches tell nothing from now on, and are told nothing later either.
    pub(crate) fn fall_quiet(&self) {
        self.world().is_quiet = true;
    }

    /// From now on the connection breaks once a write is done.
    pub(crate) fn lose_answers(&self) {
        self.world().loses_answers = true;
    }

    /// It answers one more write, and then nothing.
    pub(crate) fn freeze_after_a_write(&self) {
        self.world().freezes = true;
    }

    /// Methods and names of the writes that came.
    pub(crate) fn writes(&self) -> Vec<String> {
        self.world().writes.clone()
    }

    /// Does what a write says. Whatever it says, the text of a configmap is then its method.
    fn write(&self, method: &str, path: &str) -> Response<Body> {
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let (namespace, name) = (parts[3], *parts.get(5).unwrap_or(&"made"));
        self.world().writes.push(format!("{method} {name}"));
        let key = (namespace.to_owned(), name.to_owned());
        let before = self.world().objects.get(&key).cloned();
        match (method, before) {
            ("DELETE", Some(before)) => {
                self.delete(namespace, name);
                let details = json!({"name": name, "kind": "configmaps", "uid": before["metadata"]["uid"]});
                whole(
                    &json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}),
                )
            }
            ("DELETE", None) => refused(404),
            _ => {
                self.put(namespace, name, method);
                let mut response = whole(&self.world().objects[&key]);
                if method == "POST" {
                    *response.status_mut() = StatusCode::CREATED;
                }
                response
            }
        }
    }

    /// Answers nothing from now on.
    pub(crate) fn fall_silent(&self) {
        self.world().silent = true;
    }

    /// Whether what it serves is not told yet.
    pub(crate) fn hesitate(&self, hesitates: bool) {
        self.world().hesitates = hesitates;
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap()
    }

    async fn answer(self, request: Request<Body>) -> Result<Response<Body>, BodyError> {
        if self.world().silent {
            std::future::pending::<()>().await;
        }
        let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
        while matches!(path, "/api" | "/apis") && self.world().hesitates {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        if request.method() != "GET" {
            let answer = self.write(request.method().as_str(), path);
            let mut world = self.world();
            world.silent |= world.freezes;
            return if world.loses_answers { Err(BodyError::new("the connection broke")) } else { Ok(answer) };
        }
        let encoding =
            request.headers().get("accept-encoding").map(|value| value.to_str().unwrap_or_default().to_owned());
        let mut world = self.world();
        world.encodings.push(encoding.unwrap_or_default());
        Ok(match path {
            "/version" => whole(&json!({"major": "1", "minor": "37", "gitVersion": "v1.37.0"})),
            "/api/v1/namespaces/kube-system" => whole(&json!({"metadata": {"uid": world.uid}})),
            "/api" if !world.has_configmaps => whole(&discovery("", &[])),
            "/api" => {
                whole(&discovery("", &[("configmaps", "ConfigMap", "get list watch create update patch delete")]))
            }
            "/apis" => whole(&discovery("example.com", &[("gauges", "Gauge", "get list")])),
            _ if path.ends_with("/gauges") => whole(&world.gauges()),
            _ if path.ends_with("/configmaps") && query.contains("sendInitialEvents") => refused(422),
            _ if path.ends_with("/configmaps") && query.contains("watch=") => world.watch(query),
            _ if path.ends_with("/configmaps") => whole(&world.list()),
            _ => world.object(path),
        })
    }
}

#[async_trait::async_trait]
impl MemberSource for Member {
    async fn connect(&self, _: &FleetSettings, _: &Traffic) -> Result<Endpoint, ConnectError> {
        let member = self.clone();
        let service = tower::service_fn(move |request| member.clone().answer(request));
        Ok(Endpoint { transport: Transport::new(service), server: "played".to_owned(), place: 1, authority: 1 })
    }
}

// === impl World ===

impl World {
    fn tell(&mut self, kind: &str, object: &Value) {
        if self.is_quiet {
            return;
        }
        let line = Bytes::from(format!("{}\n", json!({"type": kind, "object": object})));
        self.watches.retain(|watch| watch.unbounded_send(line.clone()).is_ok());
        self.history.push((self.version, line));
    }

    fn list(&self) -> Value {
        let metadata = json!({"resourceVersion": self.version.to_string()});
        json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": self.objects.values().collect::<Vec<_>>()})
    }

    fn gauges(&self) -> Value {
        let item = json!({"metadata": {"name": "pressure", "namespace": "a"}, "value": self.uid});
        json!({"kind": "GaugeList", "apiVersion": "example.com/v1", "metadata": {}, "items": [item]})
    }

    fn watch(&mut self, query: &str) -> Response<Body> {
        let after = query.split('&').find_map(|pair| pair.strip_prefix("resourceVersion="));
        let after: u64 = after.map_or(0, |text| text.parse().expect("a number"));
        let (sender, lines) = mpsc::unbounded();
        for (_, line) in self.history.iter().filter(|(version, _)| *version > after) {
            sender.unbounded_send(line.clone()).expect("it is open");
        }
        self.watches.push(sender);
        Response::new(StreamBody::new(lines.map(|line| Ok(Frame::data(line)))).boxed_unsync())
    }

    fn object(&self, path: &str) -> Response<Body> {
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let found = match parts.as_slice() {
            ["api", "v1", "namespaces", namespace, "configmaps", name] => {
                self.objects.get(&((*namespace).to_owned(), (*name).to_owned()))
            }
            _ => None,
        };
        found.map_or_else(|| refused(404), whole)
    }
}

fn discovery(group: &str, resources: &[(&str, &str, &str)]) -> Value {
    let resource = |(resource, kind, verbs): &(&str, &str, &str)| {
        json!({"resource": resource, "responseKind": {"group": group, "version": "v1", "kind": kind}, "scope": "Namespaced",
            "singularResource": kind.to_lowercase(), "verbs": verbs.split(' ').collect::<Vec<_>>()})
    };
    let resources: Vec<Value> = resources.iter().map(resource).collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": [
        {"metadata": {"name": group}, "versions": [{"version": "v1", "resources": resources, "freshness": "Current"}]}]})
}

fn whole(value: &Value) -> Response<Body> {
    let body = Full::new(Bytes::from(value.to_string())).map_err(|never: std::convert::Infallible| match never {});
    Response::new(body.boxed_unsync())
}

fn refused(code: u16) -> Response<Body> {
    let mut response = whole(&json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}));
    *response.status_mut() = StatusCode::from_u16(code).expect("a code");
    response
}
