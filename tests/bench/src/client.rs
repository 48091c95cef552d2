//! The one client of all measurements: HTTP/2 over rustls with the windows of Go's client, bytes counted, not parsed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HOST};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

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
        let tcp = TcpStream::connect(self.address).await?;
        tcp.set_nodelay(true)?;
        let name = ServerName::from(self.address.ip());
        let stream = TlsConnector::from(self.tls.clone()).connect(name, tcp).await?;
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(STREAM_WINDOW).initial_connection_window_size(CONNECTION_WINDOW);
        let (requests, connection) = builder.handshake(TokioIo::new(stream)).await?;
        // It ends when the last handle is dropped, and those that wait hear of a failure.
        tokio::spawn(connection);
        Ok(Connection { requests, address: self.address })
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
