//! TLS as the host serves it: 1.2 and later, HTTP/2 and HTTP/1.1, client certificates verified.

use std::sync::{Arc, RwLock};

use rustls::crypto::aws_lc_rs;
use rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::CertificateDer;

/// Hands each handshake the certificate of now.
#[derive(Debug)]
pub(crate) struct Current(RwLock<Arc<CertifiedKey>>);

// === impl Current ===

impl Current {
    pub(crate) fn new(certified: Arc<CertifiedKey>) -> Self {
        Self(RwLock::new(certified))
    }

    /// From here on handshakes get `certified`; connections that stand are not touched.
    pub(crate) fn swap(&self, certified: Arc<CertifiedKey>) {
        *self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner) = certified;
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone())
    }
}

/// A server that shows `current` and trusts clients of `authorities`. A client without a certificate gets through; one
/// with a certificate of another CA does not.
pub(crate) fn server_config(
    current: Arc<Current>,
    authorities: impl IntoIterator<Item = CertificateDer<'static>>,
) -> Result<ServerConfig, rustls::Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(authority)?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .allow_unauthenticated()
        .build()
        .map_err(|error| rustls::Error::General(error.to_string()))?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(current);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
