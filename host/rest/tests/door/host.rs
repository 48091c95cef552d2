//! The front with its door, over members that are played.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use orrery_api::ClusterName;
use orrery_auth::{CertificateSettings, Certificates};
use orrery_cache::Budget;
use orrery_extensions::Policies;
use orrery_fleet::{Fleet, FleetSettings, MemberSource};
use orrery_rest::{Check, Front, Metrics, Settings, serve};
use orrery_sequencer::Sequencer;
use orrery_stores::MemoryStore;
use prometheus_client::registry::Registry;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;

/// A host that serves.
pub(crate) struct Door {
    pub(crate) data: tempfile::TempDir,
    pub(crate) address: std::net::SocketAddr,
    pub(crate) stop: CancellationToken,
    pub(crate) served: JoinHandle<()>,
}

/// One HTTP/1.1 connection.
pub(crate) type Sender = http1::SendRequest<Empty<Bytes>>;

// === impl Door ===

impl Door {
    /// A host without members.
    pub(crate) async fn open() -> Self {
        Self::over(&[], Settings::default()).await
    }

    /// A host over these members.
    pub(crate) async fn over(members: &[(&str, Arc<dyn MemberSource>)], settings: Settings) -> Self {
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
        let members = members.iter().map(|(name, source)| (ClusterName::new(name).unwrap(), source.clone())).collect();
        let fleet = Fleet::start_with(members, FleetSettings::default(), orrery_fleet::Metrics::default());
        let sequencer = Sequencer::new(
            fleet.clone(),
            Arc::new(MemoryStore::new()),
            Budget::new(64 << 20),
            orrery_sequencer::Settings { stamp: settings.stamp, namespaces: None, wall_clock: Default::default() },
            orrery_sequencer::Metrics::default(),
            orrery_cache::Metrics::default(),
            stop.clone(),
        );
        let metrics = Metrics::default();
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let check = Check { name: "members", passes: Box::new(|| Ok(())) };
        let settings = Settings { drain: Duration::from_secs(2), ..settings };
        let front = Front {
            fleet,
            sequencer,
            policies: Policies::none(),
            settings,
            metrics,
            registry: Arc::new(registry),
            checks: Arc::new([check]),
        };
        let served = tokio::spawn(serve(listener, certificates.server_config(), front, stop.clone()));
        Self { data, address, stop, served }
    }

    /// An HTTP/1.1 connection, with the administrator's certificate or with none.
    pub(crate) async fn connect(&self, as_somebody: bool) -> Sender {
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(4 << 20)
            .handshake(TokioIo::new(self.tls(as_somebody, b"http/1.1").await))
            .await
            .unwrap();
        tokio::spawn(connection.with_upgrades());
        sender
    }

    /// A connection on which a test writes what it wants, with the administrator's certificate, in `protocol` (ALPN).
    pub(crate) async fn connect_raw(&self, protocol: &[u8]) -> TlsStream<TcpStream> {
        self.tls(true, protocol).await
    }

    async fn tls(&self, as_somebody: bool, protocol: &[u8]) -> TlsStream<TcpStream> {
        let pem = |name: &str| pem_of(self.data.path(), name);
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&pem("ca.pem")).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder =
            rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let builder = builder.with_root_certificates(roots);
        let mut config = if as_somebody {
            let chain = CertificateDer::pem_slice_iter(&pem("admin.pem")).collect::<Result<_, _>>().unwrap();
            builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(&pem("admin.pem")).unwrap()).unwrap()
        } else {
            builder.with_no_client_auth()
        };
        config.alpn_protocols = vec![protocol.to_vec()];
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::from(self.address.ip());
        TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
    }
}

fn pem_of(data: &Path, name: &str) -> Vec<u8> {
    std::fs::read(data.join("pki").join(name)).unwrap()
}

/// One GET, its answer read whole.
pub(crate) async fn get(sender: &mut Sender, path: &str, headers: &[(&str, &str)]) -> (Response<()>, String) {
    ask(sender, "GET", path, headers).await
}

/// One request without a body, its answer read whole.
pub(crate) async fn ask(
    sender: &mut Sender,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> (Response<()>, String) {
    let mut request = Request::builder().method(method).uri(path).header("host", "front");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = timeout(Duration::from_secs(30), sender.send_request(request.body(Empty::new()).unwrap())).await;
    let (head, body) = response.unwrap().unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (Response::from_parts(head, ()), String::from_utf8(body.to_vec()).unwrap())
}
