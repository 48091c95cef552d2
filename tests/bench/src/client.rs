//! The one client of all measurements: HTTP/2 over rustls with the windows of Go's client, bytes counted, not parsed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_TYPE, HOST, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::upgrade::Upgraded;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Where an API server is, and as whom to ask it.
#[derive(Clone)]
pub(crate) struct Endpoint {
    address: SocketAddr,
    tls: Arc<ClientConfig>,
}

/// One connection; a clone shares it.
#[derive(Clone)]
pub(crate) struct Connection {
    requests: http2::SendRequest<Full<Bytes>>,
    address: SocketAddr,
}

/// What a request is answered with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) accept: Option<&'static str>,
    pub(crate) gzip: bool,
}

/// An answer that was read to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub(crate) bytes: usize,
    /// From before the request was sent to the last byte.
    pub(crate) ms: f64,
}

/// As of Go's HTTP/2 client, which client-go uses.
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 1 << 30;
/// Any key will do: what a server makes of it keeps caches from answering, and there are none here.
const WEBSOCKET_KEY: &str = "b3JyZXJ5IGJlbmNoZXMhIQ==";

// === impl Endpoint ===

impl Endpoint {
    /// The server that the kubeconfig of `client` names.
    pub(crate) fn of(client: &orrery_harness::Client) -> Self {
        let (address, tls) = client.endpoint();
        Self::new(address, (*tls).clone())
    }

    pub(crate) fn new(address: SocketAddr, mut tls: ClientConfig) -> Self {
        tls.alpn_protocols = vec![b"h2".to_vec()];
        Self { address, tls: Arc::new(tls) }
    }

    /// Opens a connection.
    pub(crate) async fn connect(&self) -> Result<Connection> {
        let stream = self.dial(self.tls.clone()).await?;
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(STREAM_WINDOW).initial_connection_window_size(CONNECTION_WINDOW);
        let (requests, connection) = builder.handshake(TokioIo::new(stream)).await?;
        // It ends when the last handle is dropped, and those that wait hear of a failure.
        tokio::spawn(connection);
        Ok(Connection { requests, address: self.address })
    }

    /// Opens a connection of HTTP/1.1, and makes a WebSocket of `protocol` of it. An error if the server does not.
    pub(crate) async fn upgrade(&self, path: &str, protocol: &str) -> Result<TokioIo<Upgraded>> {
        let mut tls = (*self.tls).clone();
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let stream = self.dial(Arc::new(tls)).await?;
        let (mut requests, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection.with_upgrades());
        let request = Request::get(path).header(HOST, self.address.to_string());
        let request = request.header(CONNECTION, "Upgrade").header(UPGRADE, "websocket");
        let request = request.header(SEC_WEBSOCKET_KEY, WEBSOCKET_KEY).header(SEC_WEBSOCKET_VERSION, "13");
        let request = request.header(SEC_WEBSOCKET_PROTOCOL, protocol).body(Full::<Bytes>::default())?;
        let response = requests.send_request(request).await.with_context(|| format!("no answer to {path}"))?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            let status = response.status();
            let body = response.into_body().collect().await?.to_bytes();
            bail!("{path}: {status}: {}", String::from_utf8_lossy(&body));
        }
        Ok(TokioIo::new(hyper::upgrade::on(response).await?))
    }

    async fn dial(&self, tls: Arc<ClientConfig>) -> Result<TlsStream<TcpStream>> {
        let tcp = TcpStream::connect(self.address).await?;
        tcp.set_nodelay(true)?;
        Ok(TlsConnector::from(tls).connect(ServerName::from(self.address.ip()), tcp).await?)
    }
}

// === impl Connection ===

impl std::fmt::Display for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "https://{}", self.address)
    }
}

impl Connection {
    /// `GET path`, its answer read to the end and counted. An error if it is not 200.
    pub(crate) async fn count(&self, path: &str, wanted: Wanted) -> Result<Read> {
        let began = Instant::now();
        let mut response = self.get(path, wanted).await?;
        let mut bytes = 0;
        while let Some(frame) = response.body_mut().frame().await {
            bytes += frame?.data_ref().map_or(0, Bytes::len);
        }
        Ok(Read { bytes, ms: began.elapsed().as_secs_f64() * 1e3 })
    }

    /// `GET path`, its whole answer.
    pub(crate) async fn text(&self, path: &str) -> Result<String> {
        let body = self.get(path, Wanted::default()).await?.into_body().collect().await?.to_bytes();
        Ok(String::from_utf8(body.to_vec())?)
    }

    /// `GET path`, its answer to be read by the caller. An error if it is not 200.
    pub(crate) async fn get(&self, path: &str, wanted: Wanted) -> Result<Response<Incoming>> {
        let encoding = if wanted.gzip { "gzip" } else { "identity" };
        let accept = wanted.accept.unwrap_or("application/json");
        let request = self.request(Method::GET, path).header(ACCEPT, accept).header(ACCEPT_ENCODING, encoding);
        self.send(request.body(Full::default())?).await
    }

    /// Creates or changes something. An error if it is not done; the answer's body is thrown away.
    pub(crate) async fn write(&self, method: Method, path: &str, content_type: &str, body: Bytes) -> Result<()> {
        let request = self.request(method, path).header(CONTENT_TYPE, content_type).body(Full::new(body))?;
        let mut response = self.send(request).await?;
        while let Some(frame) = response.body_mut().frame().await {
            frame?;
        }
        Ok(())
    }

    fn request(&self, method: Method, path: &str) -> http::request::Builder {
        let uri = format!("{self}{path}");
        Request::builder().method(method).uri(uri).header(HOST, self.address.to_string())
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>> {
        let what = format!("{} {}", request.method(), request.uri());
        let mut requests = self.requests.clone();
        requests.ready().await.with_context(|| format!("the connection for {what} has ended"))?;
        let response = requests.send_request(request).await.with_context(|| format!("no answer to {what}"))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = response.into_body().collect().await?.to_bytes();
        bail!("{what}: {status}: {}", String::from_utf8_lossy(&body))
    }
}
