//! A simulated member answers as a kube-apiserver does, as far as the host asks.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Empty};
use orrery_api::{Gvr, ObjectKey};
use orrery_sim::{Authority, Body, Cluster, Kind, Mode, Pace, Template, WatchLists, kubeconfig};
use serde_json::Value;
use tokio::time::timeout;

fn config_maps() -> Gvr {
    Gvr::new("", "v1", "configmaps")
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("a", name)
}

fn cluster(names: &[&str]) -> Cluster {
    let cluster = Cluster::new("uid", [Kind::config_maps()]);
    for name in names {
        cluster.put(&config_maps(), &key(name), name).unwrap();
    }
    cluster
}

async fn ask(cluster: &Cluster, path: &str) -> Response<Body> {
    cluster.answer(Request::get(path).body(Empty::<Bytes>::new()).unwrap()).await.unwrap()
}

async fn get(cluster: &Cluster, path: &str) -> (u16, Value) {
    let response = ask(cluster, path).await;
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap())
}

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

/// The next events of a watch, as type, name and version; none at its clean end.
struct Events {
    body: Body,
    text: String,
}

// === impl Events ===

impl Events {
    async fn of(cluster: &Cluster, query: &str) -> Self {
        let response = ask(cluster, &format!("/api/v1/configmaps?watch=1&{query}")).await;
        assert_eq!(response.status(), 200);
        Self { body: response.into_body(), text: String::new() }
    }

    async fn next(&mut self) -> Option<(String, String, u64)> {
        while !self.text.contains('\n') {
            let frame = timeout(Duration::from_secs(3600), self.body.frame()).await.expect("something in an hour")?;
            self.text.push_str(std::str::from_utf8(frame.ok()?.data_ref()?).unwrap());
        }
        let (line, rest) = self.text.split_once('\n').unwrap();
        let event: Value = serde_json::from_str(line).unwrap();
        self.text = rest.to_owned();
        let metadata = &event["object"]["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let version = metadata["resourceVersion"].as_str().and_then(|version| version.parse().ok()).unwrap_or_default();
        Some((text(&event["type"]), text(&metadata["name"]), version))
    }
}

fn event(kind: &str, name: &str, version: u64) -> Option<(String, String, u64)> {
    Some((kind.to_owned(), name.to_owned(), version))
}

#[tokio::test(start_paused = true)]
async fn pages_of_a_list_are_one_state_whatever_happens_between_them() {
    let cluster = cluster(&["a", "b", "c"]);
    let (_, first) = get(&cluster, "/api/v1/configmaps?limit=2").await;
    assert_eq!((names(&first), &first["metadata"]["remainingItemCount"]), (vec!["a", "b"], &Value::from(1)));
    let version = first["metadata"]["resourceVersion"].as_str().unwrap();
    cluster.put(&config_maps(), &key("bb"), "late");
    cluster.delete(&config_maps(), &[key("c")]);
    let token = first["metadata"]["continue"].as_str().unwrap().replace('|', "%7C");
    let (_, second) = get(&cluster, &format!("/api/v1/configmaps?limit=2&continue={token}")).await;
    assert_eq!((names(&second), second["metadata"]["resourceVersion"].as_str()), (vec!["c"], Some(version)));
    let exact = format!("/api/v1/configmaps?resourceVersion={version}&resourceVersionMatch=Exact");
    assert_eq!(names(&get(&cluster, &exact).await.1), ["a", "b", "c"]);
    assert_eq!(names(&get(&cluster, "/api/v1/namespaces/a/configmaps").await.1), ["a", "b", "bb"]);
    cluster.compact(cluster.revision());
    assert_eq!(get(&cluster, &exact).await.0, 410);
    assert_eq!(get(&cluster, &format!("/api/v1/configmaps?limit=2&continue={token}")).await.0, 410);
    let ahead = format!("/api/v1/configmaps?resourceVersion={}", cluster.revision() + 1);
    let (code, status) = get(&cluster, &ahead).await;
    assert_eq!((code, &status["details"]["causes"][0]["reason"]), (504, &Value::from("ResourceVersionTooLarge")));
}

#[tokio::test(start_paused = true)]
async fn a_watch_brings_what_follows_a_version_and_deletions_of_one_transaction_share_theirs() {
    let cluster = cluster(&["a", "b"]);
    let mut events = Events::of(&cluster, "resourceVersion=2&allowWatchBookmarks=true").await;
    assert_eq!(events.next().await, event("ADDED", "b", 3));
    cluster.put(&config_maps(), &key("a"), "x");
    cluster.delete(&config_maps(), &[key("a"), key("b")]);
    assert_eq!(events.next().await, event("MODIFIED", "a", 4));
    assert_eq!(events.next().await, event("DELETED", "a", 5));
    assert_eq!(events.next().await, event("DELETED", "b", 5));
    cluster.bookmark();
    assert_eq!(events.next().await, event("BOOKMARK", "", 5));
    cluster.end_watches();
    assert_eq!(events.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_watch_list_ends_its_initial_events_with_one_bookmark() {
    let cluster = cluster(&["a", "b"]);
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=90";
    let mut events = Events::of(&cluster, query).await;
    let version = cluster.revision();
    for expected in [event("ADDED", "a", 2), event("ADDED", "b", 3), event("BOOKMARK", "", version)] {
        assert_eq!(events.next().await, expected);
    }
    // A bookmark a minute, and one at the end.
    assert_eq!(events.next().await, event("BOOKMARK", "", version));
    assert_eq!(events.next().await, event("BOOKMARK", "", version));
    assert_eq!(events.next().await, None);
    cluster.set_watch_lists(WatchLists::Refused);
    assert_eq!(get(&cluster, &format!("/api/v1/configmaps?watch=1&{query}")).await.0, 422);
}

#[tokio::test(start_paused = true)]
async fn a_restored_etcd_has_its_old_versions_again_and_a_watch_of_a_later_one_hears_nothing_of_them() {
    let cluster = cluster(&["a"]);
    let snapshot = cluster.snapshot();
    cluster.put(&config_maps(), &key("b"), "lost");
    let mut before = Events::of(&cluster, "resourceVersion=3").await;
    cluster.restore(&snapshot);
    cluster.cut();
    assert_eq!(before.next().await, None);
    assert_eq!((cluster.revision(), names(&get(&cluster, "/api/v1/configmaps").await.1)), (2, vec!["a"]));
    let mut after = Events::of(&cluster, "resourceVersion=3").await;
    cluster.put(&config_maps(), &key("c"), "again 3");
    cluster.put(&config_maps(), &key("d"), "4");
    assert_eq!(after.next().await, event("ADDED", "d", 4));
    let mut expired = Events::of(&cluster, "resourceVersion=1").await;
    assert_eq!(expired.next().await, event("ERROR", "", 0));
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_no_watch_begins_in_the_past_but_lists_do() {
    let cluster = cluster(&["a", "b"]);
    cluster.restart();
    let exact = get(&cluster, "/api/v1/configmaps?resourceVersion=2&resourceVersionMatch=Exact").await.1;
    assert_eq!(names(&exact), ["a"]);
    assert_eq!(Events::of(&cluster, "resourceVersion=2").await.next().await, event("ERROR", "", 0));
}

#[tokio::test(start_paused = true)]
async fn faults_of_a_stream_come_where_they_were_asked_for() {
    let cluster = cluster(&[]);
    cluster.set_pace(Pace { chopped: true, watch: Duration::from_secs(1), ..Pace::default() });
    let mut events = Events::of(&cluster, "resourceVersion=1").await;
    cluster.repeat(1);
    cluster.put(&config_maps(), &key("a"), "x");
    assert_eq!(events.next().await, event("ADDED", "a", 2));
    assert_eq!(events.next().await, event("ADDED", "a", 2));
    cluster.cut_after(1);
    cluster.put(&config_maps(), &key("b"), "x");
    cluster.put(&config_maps(), &key("c"), "x");
    assert_eq!(events.next().await, event("ADDED", "b", 3));
    assert_eq!(events.next().await, None);
    assert!(events.text.len() > 10, "half of an event: {:?}", events.text);
}

#[tokio::test(start_paused = true)]
async fn a_silent_cluster_answers_when_it_serves_again_and_a_refusing_one_not_at_all() {
    let cluster = cluster(&["a"]);
    cluster.set_mode(Mode::Silent);
    let asked = tokio::spawn({
        let cluster = cluster.clone();
        async move { get(&cluster, "/version").await.0 }
    });
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(!asked.is_finished());
    cluster.set_mode(Mode::Serving);
    assert_eq!(asked.await.unwrap(), 200);
    cluster.set_mode(Mode::Refusing);
    assert!(cluster.answer(Request::get("/version").body(()).unwrap()).await.is_err());
    cluster.set_mode(Mode::Failing(403));
    assert_eq!((get(&cluster, "/version").await.0, get(&cluster, "/api/v1/configmaps").await.0), (200, 403));
}

#[tokio::test(start_paused = true)]
async fn discovery_names_what_is_served_and_a_custom_kind_goes_with_its_definition() {
    let widgets = Gvr::new("example.com", "v1", "widgets");
    let cluster = cluster(&[]);
    cluster.define(Kind::custom(widgets.clone(), "Widget", true, Template::new("", "")));
    let groups = |list: &Value| list["items"].as_array().unwrap().len();
    assert_eq!(groups(&get(&cluster, "/apis").await.1), 3);
    cluster.put(&widgets, &key("a"), "");
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(names(&get(&cluster, definitions).await.1), ["widgets.example.com"]);
    cluster.undefine(&widgets);
    assert_eq!(groups(&get(&cluster, "/apis").await.1), 2);
    assert!(names(&get(&cluster, definitions).await.1).is_empty());
    assert_eq!(get(&cluster, "/apis/example.com/v1/widgets").await.0, 404);
    let core = get(&cluster, "/api").await.1;
    assert_eq!(core["items"][0]["versions"][0]["resources"][0]["resource"], "configmaps");
    let tagged = ask(&cluster, "/api").await.headers()["etag"].clone();
    let again = Request::get("/api").header("if-none-match", tagged).body(()).unwrap();
    assert_eq!(cluster.answer(again).await.unwrap().status(), 304);
}

#[tokio::test]
async fn it_is_reached_over_tls_with_the_kubeconfig_that_names_it() {
    let cluster = cluster(&["a"]);
    cluster.set_token(Some("secret"));
    let authority = Authority::new().unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let config = kubeconfig(&[("east".to_owned(), address)], Some(&authority), "secret");
    assert!(config.contains(&format!("server: https://{address}")) && config.contains("token: secret"), "{config}");
    let stop = tokio_util::sync::CancellationToken::new();
    let serving = async { orrery_sim::listen(listener, cluster, Some(&authority), stop.clone()).await };
    let asking = async {
        let provider = std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut roots = rustls::RootCertStore::empty();
        let ca = config.split("certificate-authority-data: ").nth(1).unwrap().lines().next().unwrap();
        let ca = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, ca).unwrap();
        let ca = rustls::pki_types::pem::PemObject::from_pem_slice(&ca).unwrap();
        roots.add(ca).unwrap();
        let tls = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let tls = std::sync::Arc::new(tls.with_root_certificates(roots).with_no_client_auth());
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let stream = tokio_rustls::TlsConnector::from(tls).connect(address.ip().into(), stream).await.unwrap();
        let (mut requests, connection) =
            hyper::client::conn::http1::handshake(hyper_util::rt::TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let mut codes = Vec::new();
        for token in ["Bearer wrong", "Bearer secret"] {
            let request = Request::get("/api/v1/configmaps").header("host", "east").header("authorization", token);
            let response = requests.send_request(request.body(Empty::<Bytes>::new()).unwrap()).await.unwrap();
            codes.push(response.status().as_u16());
            response.into_body().collect().await.unwrap();
        }
        stop.cancel();
        codes
    };
    let (codes, ()) = tokio::join!(asking, serving);
    assert_eq!(codes, [401, 200]);
}
