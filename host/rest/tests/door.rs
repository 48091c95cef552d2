//! The front with its door: TLS, who is let in, bounds, and the end. The fleet has no members.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use orrery_auth::{CertificateSettings, Certificates};
use orrery_cache::Budget;
use orrery_fleet::{Fleet, FleetSettings};
use orrery_markers::{AppendError, MarkerStore, Segment, SegmentSeq, StoreError, StoredLog};
use orrery_rest::{Check, Front, Metrics, Settings, serve};
use orrery_sequencer::Sequencer;
use prometheus_client::registry::Registry;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;

struct Door {
    data: tempfile::TempDir,
    address: std::net::SocketAddr,
    stop: CancellationToken,
    served: JoinHandle<()>,
}

type Sender = http1::SendRequest<Empty<Bytes>>;

/// A store that is never used: nothing is begun in these tests.
struct NoStore;

#[async_trait::async_trait]
impl MarkerStore for NoStore {
    async fn logs(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    async fn load(&self, _name: &str) -> Result<StoredLog, StoreError> {
        Ok(StoredLog::default())
    }

    async fn append(&self, _name: &str, _segment: &Segment) -> Result<(), AppendError> {
        Err(AppendError::Failed(StoreError::Unavailable("no store".to_owned())))
    }

    async fn fold(&self, _name: &str, _upto: SegmentSeq, _parts: Vec<Bytes>) -> Result<(), StoreError> {
        Err(StoreError::Unavailable("no store".to_owned()))
    }
}

// === impl Door ===

impl Door {
    async fn open() -> Self {
        let data = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let certificates = Certificates::open(
            CertificateSettings {
                data: data.path().to_owned(),
                server: orrery_auth::server_url(address),
                listen: Some(address.ip()),
                names: Vec::new(),
                serving: None,
                client_ca: None,
            },
            SystemTime::now(),
            orrery_auth::Metrics::default(),
        )
        .unwrap();
        let stop = CancellationToken::new();
        let fleet = Fleet::start(Vec::new(), FleetSettings::default(), orrery_fleet::Metrics::default());
        let sequencer = Sequencer::new(
            fleet.clone(),
            Arc::new(NoStore),
            Budget::new(1 << 20),
            orrery_sequencer::Settings {
                stamp: orrery_api::Stamp::Label,
                namespaces: None,
                wall_clock: Default::default(),
            },
            orrery_sequencer::Metrics::default(),
            orrery_cache::Metrics::default(),
            stop.clone(),
        );
        let metrics = Metrics::default();
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let check = Check { name: "members", passes: Box::new(|| Ok(())) };
        let settings = Settings { drain: Duration::from_secs(2), ..Settings::default() };
        let front =
            Front { fleet, sequencer, settings, metrics, registry: Arc::new(registry), checks: Arc::new([check]) };
        let served = tokio::spawn(serve(listener, certificates.server_config(), front, stop.clone()));
        Self { data, address, stop, served }
    }

    /// A connection, with the administrator's certificate or with none.
    async fn connect(&self, as_somebody: bool) -> Sender {
        let pem = |name: &str| pem_of(self.data.path(), name);
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&pem("ca.pem")).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder =
            rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let builder = builder.with_root_certificates(roots);
        let config = if as_somebody {
            let chain = CertificateDer::pem_slice_iter(&pem("admin.pem")).collect::<Result<_, _>>().unwrap();
            builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(&pem("admin.pem")).unwrap()).unwrap()
        } else {
            builder.with_no_client_auth()
        };
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::from(self.address.ip());
        let tls = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
        let (sender, connection) = http1::handshake(TokioIo::new(tls)).await.unwrap();
        tokio::spawn(connection);
        sender
    }
}

fn pem_of(data: &Path, name: &str) -> Vec<u8> {
    std::fs::read(data.join("pki").join(name)).unwrap()
}

async fn get(sender: &mut Sender, path: &str, headers: &[(&str, &str)]) -> (Response<()>, String) {
    let mut request = Request::get(path).header("host", "front");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = timeout(Duration::from_secs(10), sender.send_request(request.body(Empty::new()).unwrap())).await;
    let (head, body) = response.unwrap().unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (Response::from_parts(head, ()), String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn who_shows_no_certificate_sees_health_and_nothing_else() {
    let door = Door::open().await;
    let mut nobody = door.connect(false).await;
    for path in ["/healthz", "/livez", "/readyz"] {
        let (response, body) = get(&mut nobody, path, &[]).await;
        assert_eq!((response.status().as_u16(), body.as_str()), (200, "ok"), "{path}");
    }
    for path in ["/api", "/version", "/metrics", "/api/v1/pods?watch=1", "/clusters/a/api", "/orrery/v1/status"] {
        let (response, body) = get(&mut nobody, path, &[]).await;
        assert_eq!(response.status(), 401, "{path}");
        assert_eq!(
            body,
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"Unauthorized\",\
             \"reason\":\"Unauthorized\",\"code\":401}\n"
        );
    }
}

#[tokio::test]
async fn every_answer_has_the_headers_that_clients_look_for() {
    let door = Door::open().await;
    let mut somebody = door.connect(true).await;
    let (response, body) = get(&mut somebody, "/apis", &[("audit-id", "mine")]).await;
    assert_eq!(response.headers()["audit-id"], "mine");
    assert_eq!(response.headers()["cache-control"], "no-cache, private");
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(body, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[]}\n");
    let (response, _) = get(&mut somebody, "/apis", &[]).await;
    assert_eq!(response.headers()["audit-id"].len(), 36);
}

#[tokio::test]
async fn what_is_not_there_is_said_in_the_form_that_its_place_has() {
    let door = Door::open().await;
    let mut somebody = door.connect(true).await;
    for (path, code, expected) in [
        ("/nope", 404, "404 page not found"),
        ("/apis/nope/v1/foos", 404, "404 page not found"),
        ("/clusters/east/api", 404, "cluster \\\"east\\\" is no member of this fleet; members are: "),
        ("/version", 503, "no member has told its version yet"),
        ("/orrery/v1/clock?resource=pods", 404, "no member serves a resource \\\"pods\\\""),
        ("/orrery/v1/clock", 400, "the query names no resource"),
    ] {
        let (response, body) = get(&mut somebody, path, &[]).await;
        assert_eq!(response.status(), code, "{path}");
        assert!(body.contains(expected), "{path}: {body}");
        assert_eq!(response.headers().contains_key("retry-after"), code == 503, "{path}");
    }
    let (_, status) = get(&mut somebody, "/orrery/v1/status", &[]).await;
    assert_eq!(status, "{\"members\":[],\"resources\":[]}\n");
}

#[tokio::test]
async fn long_headers_are_taken_as_kube_apiserver_takes_them() {
    let door = Door::open().await;
    let mut somebody = door.connect(true).await;
    let long = "x".repeat(900 << 10);
    let (response, _) = get(&mut somebody, "/api", &[("x-long", &long)]).await;
    assert_eq!(response.status(), 200);
    let path = format!("/api?labelSelector={}", "x".repeat(60 << 10));
    assert_eq!(get(&mut somebody, &path, &[]).await.0.status(), 200);
}

#[tokio::test]
async fn requests_are_counted() {
    let door = Door::open().await;
    let mut somebody = door.connect(true).await;
    get(&mut somebody, "/apis", &[]).await;
    let (_, printed) = get(&mut somebody, "/metrics", &[]).await;
    assert!(printed.contains("orrery_http_requests_total{verb=\"get\",resource=\"\",code=\"200\"} 1"), "{printed}");
    assert!(printed.contains("orrery_http_connections 1"), "{printed}");
    assert!(printed.ends_with("# EOF\n"));
}

#[tokio::test]
async fn at_the_end_all_connections_are_closed_and_serve_returns() {
    let door = Door::open().await;
    let mut idle = door.connect(true).await;
    assert_eq!(get(&mut idle, "/readyz", &[]).await.0.status(), 200);
    door.stop.cancel();
    timeout(Duration::from_secs(10), door.served).await.expect("it should return").unwrap();
    let gone = idle.ready().await.is_err()
        || idle.send_request(Request::get("/api").body(Empty::new()).unwrap()).await.is_err();
    assert!(gone, "the connection should be closed");
    assert!(TcpStream::connect(door.address).await.is_err(), "nobody should listen");
}
