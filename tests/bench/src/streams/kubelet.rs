//! A kubelet that serves logs and nothing else. kwok's follows a file for each stream with an inotify instance of its own,
//! of which Linux gives a user 128.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use futures::stream::{self, Stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// It listens until the process ends.
pub(super) struct Kubelet {
    pub(super) port: u16,
    /// How many lines every log has.
    lines: watch::Sender<usize>,
}

/// A line of a log, as long as many are.
pub(super) const LINE: &[u8] =
    b"2026-11-30T21:00:00Z INFO request served method=GET path=/api/v1/things status=200 bytes=5120 seconds=0.0123 peer=10.1.2.3\n";

// === impl Kubelet ===

impl Kubelet {
    /// Starts it with the certificate that is among a cluster's `keys`.
    pub(super) async fn start(keys: &Path) -> Result<Self> {
        let chain: Vec<_> = CertificateDer::pem_file_iter(keys.join("kubelet.crt"))?.collect::<Result<_, _>>()?;
        let mut tls = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, PrivateKeyDer::from_pem_file(keys.join("kubelet.key"))?)?;
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr().context("it listens")?.port();
        let lines = watch::Sender::new(1);
        let (acceptor, wanted) = (TlsAcceptor::from(Arc::new(tls)), lines.subscribe());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A connection that fails fails its streams.
                tokio::spawn(serve(stream, acceptor.clone(), wanted.clone()));
            }
        });
        Ok(Self { port, lines })
    }

    /// From now on every log has so many lines; who follows it is given those that are new.
    pub(super) fn write(&self, lines: usize) {
        self.lines.send_replace(lines);
    }
}

async fn serve(stream: TcpStream, acceptor: TlsAcceptor, wanted: watch::Receiver<usize>) -> Result<()> {
    stream.set_nodelay(true)?;
    let stream = TokioIo::new(acceptor.accept(stream).await?);
    let answer = service_fn(move |_: Request<Incoming>| {
        let body = StreamBody::new(Box::pin(log(wanted.clone())));
        async move { Ok::<_, Infallible>(Response::new(body)) }
    });
    let served = auto::Builder::new(TokioExecutor::new()).serve_connection(stream, answer).await;
    served.map_err(|error| anyhow::anyhow!(error))
}

/// Each line as soon as the log has it.
fn log(wanted: watch::Receiver<usize>) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> {
    stream::unfold((wanted, 0), |(mut wanted, given)| async move {
        // The sender is there as long as there is something to measure.
        wanted.wait_for(|lines| *lines > given).await.ok()?;
        Some((Ok(Frame::data(Bytes::from_static(LINE))), (wanted, given + 1)))
    })
}
