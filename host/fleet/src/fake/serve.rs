use std::collections::{BTreeMap, HashMap};

use http::{Request, Response, StatusCode};
use serde_json::json;

use super::body::{Of, Stream};
use super::{Fake, Happening, Mode, Object, WatchList, World};
use crate::transport::{Body, BodyError, full};

type Query = HashMap<String, String>;

// === impl Fake ===

impl Fake {
    /// Answers one request of a client with this token.
    pub(super) async fn answer(self, token: u32, request: Request<Body>) -> Result<Response<Body>, BodyError> {
        let mode = self.world().mode;
        match mode {
            Mode::Refusing => return Err(BodyError::new("connection refused")),
            Mode::Frozen => std::future::pending::<()>().await,
            Mode::Serving | Mode::Failing(_) => {}
        }
        let mut world = self.world();
        if token != world.token {
            return Ok(status(401, "Unauthorized", ""));
        }
        let (path, query) = (request.uri().path().to_owned(), query(request.uri().query().unwrap_or("")));
        Ok(match path.as_str() {
            "/version" => {
                let minor = world.minor;
                answer(json!({"minor": minor.to_string(), "gitVersion": format!("v1.{minor}.0")}).to_string())
            }
            "/api/v1/namespaces/kube-system" => answer(json!({"metadata": {"uid": world.uid}}).to_string()),
            "/api" | "/apis" => answer(discovery(&path)),
            _ => world.resource(mode, &path, &query, request.uri().to_string()),
        })
    }
}

// === impl World ===

impl World {
    fn resource(&mut self, mode: Mode, path: &str, query: &Query, uri: String) -> Response<Body> {
        let of = match path.rsplit_once('/').expect("a path").1 {
            "configmaps" | "widgets" => Of::Objects { namespace: namespace(path) },
            "customresourcedefinitions" => Of::Crds,
            _ => Of::Nothing,
        };
        if matches!(of, Of::Objects { .. }) {
            self.requests.push(uri);
            if let Mode::Failing(code) = mode {
                return status(code, "it fails", "");
            }
        }
        if query.contains_key("watch") { self.watch(of, query) } else { self.list(&of, query) }
    }

    fn list(&self, of: &Of, query: &Query) -> Response<Body> {
        let asked = number(query, "resourceVersion");
        if asked.is_some_and(|asked| asked > self.version) {
            return status(504, "Too large resource version", "ResourceVersionTooLarge");
        }
        if asked.is_some_and(|asked| asked < self.floor) {
            return status(410, "too old", "");
        }
        let version = asked.unwrap_or(self.version);
        let items = self.items(of, version);
        let from = number(query, "continue").map_or(0, |from| from as usize);
        let limit = number(query, "limit").map_or(usize::MAX, |limit| limit as usize);
        let page: Vec<_> = items.iter().skip(from).take(limit).cloned().collect();
        let next = if from + page.len() < items.len() { (from + page.len()).to_string() } else { String::new() };
        let metadata = json!({"resourceVersion": version.to_string(), "continue": next});
        answer(format!(r#"{{"kind":"List","metadata":{metadata},"items":[{}]}}"#, page.join(",")))
    }

    fn items(&self, of: &Of, version: u64) -> Vec<String> {
        match of {
            Of::Nothing => Vec::new(),
            Of::Crds => self.crds.iter().map(|(name, generation)| crd(name, *generation, version)).collect(),
            Of::Objects { namespace } => {
                let state = self.state_at(version);
                let wanted = state.iter().filter(|(key, _)| namespace.as_ref().is_none_or(|wanted| *wanted == key.0));
                wanted.map(|(key, object)| text(key, object, false)).collect()
            }
        }
    }

    /// The objects as they were at a version, from history.
    fn state_at(&self, version: u64) -> BTreeMap<(String, String), Object> {
        let mut state = self.objects.clone();
        for key in self.history.iter().filter(|later| later.version > version).map(|later| &later.key) {
            let before = self.history.iter().rfind(|earlier| earlier.key == *key && earlier.version <= version);
            match before.filter(|before| before.kind != "DELETED") {
                Some(before) => state.insert(key.clone(), before.object.clone()),
                None => state.remove(key),
            };
        }
        state
    }

    fn watch(&mut self, of: Of, query: &Query) -> Response<Body> {
        let initial = query.contains_key("sendInitialEvents") && self.watch_list != WatchList::Ignored;
        if initial && self.watch_list == WatchList::Refused {
            return status(422, "sendInitialEvents is forbidden for watch", "");
        }
        let (stream, body) = Stream::open(of);
        match number(query, "resourceVersion") {
            Some(after) if after < self.floor => {
                stream.end(&error_event(410, "too old resource version"));
                return Response::new(body);
            }
            Some(after) => {
                self.history.iter().filter(|event| event.version > after).for_each(|event| stream.offer(event));
            }
            None if initial => self.send_initial(&stream),
            None => {}
        }
        self.streams.push(stream);
        Response::new(body)
    }

    fn send_initial(&self, stream: &Stream) {
        for (key, object) in &self.objects {
            stream.offer(&Happening { version: 0, kind: "ADDED", key: key.clone(), object: object.clone() });
        }
        for (name, generation) in &self.crds {
            stream.send_crd(&crd_event(name, *generation, self.version));
        }
        stream.end_initial(self.version);
    }
}

pub(super) fn event(kind: &str, key: &(String, String), object: &Object) -> Vec<u8> {
    line(kind, &text(key, object, true))
}

pub(super) fn bookmark_event(version: u64, ends_initial: bool) -> Vec<u8> {
    let annotations = if ends_initial { json!({"k8s.io/initial-events-end": "true"}) } else { json!(null) };
    line(
        "BOOKMARK",
        &json!({"metadata": {"resourceVersion": version.to_string(), "annotations": annotations}}).to_string(),
    )
}

pub(super) fn error_event(code: u16, message: &str) -> Vec<u8> {
    line("ERROR", &status_text(code, message, ""))
}

pub(super) fn crd_event(name: &str, generation: u64, version: u64) -> Vec<u8> {
    line("ADDED", &crd(name, generation, version))
}

fn line(kind: &str, object: &str) -> Vec<u8> {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n").into_bytes()
}

fn crd(name: &str, generation: u64, version: u64) -> String {
    let metadata = json!({"name": name, "uid": name, "generation": generation, "resourceVersion": version.to_string()});
    json!({ "metadata": metadata }).to_string()
}

/// An object's JSON; in lists without its kind.
fn text((namespace, name): &(String, String), object: &Object, with_kind: bool) -> String {
    let kind = if with_kind { r#""kind":"ConfigMap","apiVersion":"v1","# } else { "" };
    let Object { version, uid, text } = object;
    format!(
        r#"{{{kind}"metadata":{{"name":"{name}","namespace":"{namespace}","uid":"{uid}","resourceVersion":"{version}"}},"data":{{"text":"{text}"}}}}"#
    )
}

fn namespace(path: &str) -> Option<String> {
    let rest = path.split_once("/namespaces/")?.1;
    Some(rest.split_once('/')?.0.to_owned())
}

fn discovery(path: &str) -> String {
    let (group, resource) = if path == "/api" { ("", "configmaps") } else { ("example.com", "widgets") };
    let entry =
        json!({"resource": resource, "responseKind": {"kind": "K"}, "scope": "Namespaced", "verbs": ["list", "watch"]});
    json!({"items": [{"metadata": {"name": group}, "versions": [{"version": "v1", "resources": [entry]}]}]}).to_string()
}

fn query(text: &str) -> Query {
    let pair = |pair: &str| pair.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    text.split('&').filter_map(pair).collect()
}

fn number(query: &Query, key: &str) -> Option<u64> {
    query.get(key).map(|text| text.parse().expect("a number"))
}

fn answer(text: String) -> Response<Body> {
    Response::new(full(text))
}

fn status(code: u16, message: &str, cause: &str) -> Response<Body> {
    let mut response = Response::new(full(status_text(code, message, cause)));
    *response.status_mut() = StatusCode::from_u16(code).expect("a code");
    response
}

fn status_text(code: u16, message: &str, cause: &str) -> String {
    json!({"kind": "Status", "message": message, "code": code, "details": {"causes": [{"reason": cause}]}}).to_string()
}
