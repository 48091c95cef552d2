//! The most that a list can reach here: a server that sends as many bytes from memory over the same TLS and HTTP/2, and
//! does nothing else.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result};
use bytes::Bytes;
use futures::stream;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_pki_types::PrivateKeyDer;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::client::Endpoint;

/// In such pieces, as the host.
const PIECE_BYTES: usize = 192 << 10;

/// Starts it; every request is answered with `bytes` bytes. It ends with the process.
pub(crate) async fn start(bytes: usize) -> Result<Endpoint> {
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()])?.self_signed(&key)?;
    let mut roots = RootCertStore::empty();
    roots.add(certificate.der().clone())?;
    let client = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let private = PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?;
    let mut server = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)?;
    server.alpn_protocols = vec![b"h2".to_vec()];
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr().context("it listens")?;
    tokio::spawn(async move {
        let acceptor = TlsAcceptor::from(Arc::new(server));
        while let Ok((stream, _)) = listener.accept().await {
            // A connection that fails fails its request.
            tokio::spawn(serve(stream, acceptor.clone(), bytes));
        }
    });
    Ok(Endpoint::new(address, client))
}

async fn serve(stream: TcpStream, acceptor: TlsAcceptor, bytes: usize) -> Result<()> {
    stream.set_nodelay(true)?;
    let stream = acceptor.accept(stream).await?;
    let piece = Bytes::from(vec![b' '; PIECE_BYTES]);
    let answer = service_fn(move |_: Request<Incoming>| {
        let piece = piece.clone();
        let pieces = (0..bytes).step_by(PIECE_BYTES).map(move |at| piece.slice(..PIECE_BYTES.min(bytes - at)));
        let body = StreamBody::new(stream::iter(pieces.map(|piece| Ok::<_, anyhow::Error>(Frame::data(piece)))));
        async move { Ok::<_, anyhow::Error>(Response::new(body)) }
    });
    Ok(http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), answer).await?)
}
