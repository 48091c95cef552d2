//! The real pool, over loopback, from a kubeconfig file.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use orrery_api::ClusterName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::*;
use crate::{Fleet, FleetSettings, Member, MemberSpec, Metrics};

/// A server that tells of each request to `/echo` its head, and sends its body back as it comes.
#[derive(Clone, Default)]
struct Server {
    heads: Arc<Mutex<Vec<http::request::Parts>>>,
    /// The Authorization that is taken; any where none is set.
    wanted: Arc<Mutex<Option<String>>>,
}

// === impl Server ===

impl Server {
    async fn start(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = self.clone();
        tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let server = server.clone();
                let service = service_fn(move |request| std::future::ready(server.answer(request)));
                tokio::spawn(async move {
                    auto::Builder::new(TokioExecutor::new())
                        .serve_connection_with_upgrades(TokioIo::new(tcp), service)
                        .await
                });
            }
        });
        address
    }

    fn answer(&self, mut request: Request<Incoming>) -> Result<Response<Body>, BodyError> {
        let authorization = request.headers().get("authorization").map(|value| value.to_str().unwrap().to_owned());
        if self.wanted.lock().unwrap().as_ref().is_some_and(|wanted| Some(wanted) != authorization.as_ref()) {
            return Ok(Response::builder().status(401).body(empty()).unwrap());
        }
        if request.headers().contains_key("upgrade") {
            let upgrade = hyper::upgrade::on(&mut request);
            tokio::spawn(async move {
                let mut io = TokioIo::new(upgrade.await.unwrap());
                let mut five = [0; 5];
                io.read_exact(&mut five).await.unwrap();
                io.write_all(&five).await.unwrap();
            });
            let switched = Response::builder().status(101).header("upgrade", "echo").header("connection", "upgrade");
            return Ok(switched.body(empty()).unwrap());
        }
        let (head, body) = request.into_parts();
        if !head.uri.path().ends_with("/echo") {
            return Ok(Response::new(full(r#"{"gitVersion":"v1.37.0","minor":"37","metadata":{"uid":"u"}}"#)));
        }
        self.heads.lock().unwrap().push(head);
        Ok(Response::new(body.map_err(BodyError::new).boxed_unsync()))
    }
}

/// A kubeconfig of the server at a path below its root, with this user.
fn kubeconfig(dir: &Path, address: SocketAddr, user: &str) -> PathBuf {
    let path = dir.join("kubeconfig");
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
         clusters: [{{name: k, cluster: {{server: \"http://{address}/below/\"}}}}]\nusers: [{{name: u, user: {user}}}]\n"
    );
    std::fs::write(&path, text).unwrap();
    path
}

fn fleet(kubeconfig: PathBuf, metrics: Metrics) -> (Fleet, Member) {
    let name = ClusterName::new("east").unwrap();
    let spec =
        MemberSpec { name: name.clone(), kubeconfig: vec![kubeconfig], context: None, attributes: Arc::default() };
    let fleet = Fleet::start(vec![spec], FleetSettings::default(), metrics);
    let member = fleet.member(&name).unwrap();
    (fleet, member)
}

#[tokio::test]
async fn a_request_goes_out_with_our_credentials_and_both_bodies_stream() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::default();
    let metrics = Metrics::default();
    let (_fleet, member) = fleet(kubeconfig(dir.path(), server.start().await, "{token: ours}"), metrics.clone());
    let (tx, rx) = mpsc::channel::<Result<http_body::Frame<Bytes>, BodyError>>(1);
    let chunks = futures::stream::unfold(rx, |mut rx| async { Some((rx.recv().await?, rx)) });
    let request = Request::post("/echo?a=b%20c")
        .header("authorization", "Bearer theirs")
        .header("accept-encoding", "gzip")
        .header("user-agent", "kubectl/1")
        .header("connection", "close")
        .header("x-kept", "1")
        .body(StreamBody::new(chunks).boxed_unsync());
    let mut answer = member.send(request.unwrap()).await.unwrap().into_body();
    for word in ["one", "two"] {
        tx.send(Ok(http_body::Frame::data(word.into()))).await.unwrap();
        let echoed = timeout(Duration::from_secs(10), answer.frame()).await.expect("it streams").unwrap().unwrap();
        assert_eq!(echoed.into_data().unwrap(), word);
    }
    let head = server.heads.lock().unwrap().pop().unwrap();
    assert_eq!(head.uri.to_string(), "/below/echo?a=b%20c");
    for (name, value) in [
        ("authorization", "Bearer ours"),
        ("accept-encoding", "identity"),
        ("user-agent", "kubectl/1"),
        ("x-kept", "1"),
    ] {
        assert_eq!(head.headers[name], value, "{name}");
    }
    assert!(!head.headers.contains_key("connection"));
    let shown = metrics_text(&metrics);
    assert!(shown.contains("orrery_member_connections{cluster=\"east\"}"), "{shown}");
    assert!(!shown.contains("orrery_member_connections{cluster=\"east\"} 0"), "{shown}");
}

#[tokio::test]
async fn an_upgraded_connection_is_given_as_it_is_and_another_answer_is_passed_on() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::default();
    let (_fleet, member) = fleet(kubeconfig(dir.path(), server.start().await, "{token: ours}"), Metrics::default());
    let ask = |upgrade: bool| {
        let request = Request::get("/x").header("connection", "upgrade");
        let request = if upgrade { request.header("upgrade", "echo") } else { request };
        request.body(empty()).unwrap()
    };
    let Upgrade::Switched { response, mut io } = member.upgrade(ask(true)).await.unwrap() else { panic!("refused") };
    assert_eq!(response.headers()["upgrade"], "echo");
    io.write_all(b"hello").await.unwrap();
    let mut five = [0; 5];
    timeout(Duration::from_secs(10), io.read_exact(&mut five)).await.expect("it is spliced").unwrap();
    assert_eq!(&five, b"hello");
    assert!(matches!(member.upgrade(ask(false)).await.unwrap(), Upgrade::Refused(_)));
}

#[tokio::test]
async fn a_plugin_is_asked_again_when_its_token_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let token = dir.path().join("token");
    let plugin = dir.path().join("plugin");
    std::fs::write(&token, "first").unwrap();
    let script = format!(
        "#!/bin/sh\nprintf '{{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{{\"token\":\"%s\"}}}}' \"$(cat '{}')\"\n",
        token.display()
    );
    std::fs::write(&plugin, script).unwrap();
    std::fs::set_permissions(&plugin, std::fs::Permissions::from_mode(0o755)).unwrap();
    let server = Server::default();
    *server.wanted.lock().unwrap() = Some("Bearer first".to_owned());
    let user = format!(
        "{{exec: {{apiVersion: client.authentication.k8s.io/v1, command: {plugin:?}, interactiveMode: Never}}}}"
    );
    let (fleet, member) = fleet(kubeconfig(dir.path(), server.start().await, &user), Metrics::default());
    let mut changed = fleet.changed();
    let reachable = || member.health() == crate::Health::Reachable;
    let up = async {
        while !reachable() {
            changed.changed().await.unwrap();
        }
    };
    timeout(Duration::from_secs(20), up).await.expect("the first token is taken");
    std::fs::write(&token, "second").unwrap();
    *server.wanted.lock().unwrap() = Some("Bearer second".to_owned());
    let again = async {
        while member.send(Request::get("/version").body(empty()).unwrap()).await.unwrap().status() != 200 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(20), again).await.expect("the second token is fetched without being told");
}

#[tokio::test]
async fn a_refused_connection_says_that_nothing_was_sent() {
    let dir = tempfile::tempdir().unwrap();
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let (_fleet, member) = fleet(kubeconfig(dir.path(), nobody, "{token: t}"), Metrics::default());
    let error = member.send(Request::get("/version").body(empty()).unwrap()).await.unwrap_err();
    assert!(error.is_unsent() && matches!(error, SendError::Unreachable { .. }), "{error:?}");
}

fn metrics_text(metrics: &Metrics) -> String {
    let mut registry = prometheus_client::registry::Registry::default();
    metrics.register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    text
}
