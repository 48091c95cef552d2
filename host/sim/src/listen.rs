//! The cluster's door: a listener on loopback, and the kubeconfig that leads there.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::cluster::{Cluster, Mode};

/// Signs the certificates of simulated clusters.
pub struct Authority {
    pem: String,
    server: Arc<ServerConfig>,
}

/// Why an authority cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// Keys or certificates.
    #[error("failed to make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// TLS refuses them.
    #[error("failed to set up TLS")]
    Tls(#[from] rustls::Error),
}

/// A connection must have shaken hands by then.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Serves `cluster` to whoever connects, over TLS where `tls` is given, until `stop`.
pub async fn listen(listener: TcpListener, cluster: Cluster, tls: Option<&Authority>, stop: CancellationToken) {
    let acceptor = tls.map(|authority| TlsAcceptor::from(authority.server.clone()));
    let accepting = async {
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                // Out of file descriptors, mostly.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            if cluster.mode() == Mode::Refusing {
                continue;
            }
            let _ = stream.set_nodelay(true);
            let (cluster, acceptor, stop) = (cluster.clone(), acceptor.clone(), stop.clone());
            tokio::spawn(async move {
                let Some(acceptor) = acceptor else { return converse(stream, cluster, stop).await };
                if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                    converse(stream, cluster, stop).await;
                }
            });
        }
    };
    let _: Option<std::convert::Infallible> = stop.run_until_cancelled(accepting).await;
}

/// A kubeconfig with one context for each server, named as it is, and the last as the current one. Without an authority
/// the servers are asked over plain HTTP.
pub fn kubeconfig(servers: &[(String, SocketAddr)], tls: Option<&Authority>, token: &str) -> String {
    let scheme = if tls.is_some() { "https" } else { "http" };
    let ca = tls.map(|authority| format!("    certificate-authority-data: {}\n", STANDARD.encode(&authority.pem)));
    let (mut clusters, mut contexts) = (String::new(), String::new());
    for (name, address) in servers {
        let _ = writeln!(clusters, "- name: {name}\n  cluster:\n    server: {scheme}://{address}");
        clusters.push_str(ca.as_deref().unwrap_or_default());
        let _ = writeln!(contexts, "- name: {name}\n  context:\n    cluster: {name}\n    user: admin");
    }
    let current = servers.last().map_or("", |(name, _)| name);
    format!(
        "apiVersion: v1\nkind: Config\npreferences: {{}}\nclusters:\n{clusters}contexts:\n{contexts}users:\n- name: admin\n  \
         user:\n    token: {token}\ncurrent-context: \"{current}\"\n"
    )
}

async fn converse<S>(stream: S, cluster: Cluster, stop: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let service = service_fn(move |request| {
        let cluster = cluster.clone();
        async move { cluster.answer(request).await }
    });
    let builder = auto::Builder::new(TokioExecutor::new());
    // How it ends is the client's to judge: an answer that broke is part of the simulation.
    let _ = stop.run_until_cancelled(builder.serve_connection(TokioIo::new(stream), service)).await;
}

// === impl Authority ===

impl Authority {
    /// A new one, with one server certificate for 127.0.0.1 that all clusters show.
    ///
    /// # Errors
    /// Where no key can be made.
    pub fn new() -> Result<Self, AuthorityError> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let key = KeyPair::generate()?;
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let certificate = CertificateParams::new(names)?.signed_by(&key, &authority)?;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)?;
        server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { pem: authority.pem(), server: Arc::new(server) })
    }
}
