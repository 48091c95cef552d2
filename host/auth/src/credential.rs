//! A private key with its certificate chain.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::crypto::aws_lc_rs;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// A private key and the certificate chain that names it, leaf first. The two match.
#[derive(Clone, Debug)]
pub(crate) struct Credential {
    certified: Arc<CertifiedKey>,
    validity: Validity,
}

/// When a certificate holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Validity {
    pub(crate) not_before: SystemTime,
    pub(crate) not_after: SystemTime,
}

/// Why a text holds no usable key and certificate.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// No PEM section of a certificate.
    #[error("there is no PEM certificate in it")]
    NoCertificate,
    /// No PEM section of a private key.
    #[error("there is no PEM private key in it (PKCS#8, PKCS#1 or SEC1)")]
    NoKey(#[source] rustls_pki_types::pem::Error),
    /// A PEM section is broken.
    #[error("its PEM text is broken")]
    Pem(#[source] rustls_pki_types::pem::Error),
    /// A certificate that is not X.509.
    #[error("its certificate is no X.509 certificate")]
    X509(#[source] x509_parser::error::X509Error),
    /// A key of a kind that TLS cannot use.
    #[error("its private key cannot be used")]
    Key(#[source] rustls::Error),
    /// The certificate was made for another key.
    #[error("certificate and private key do not belong together")]
    Mismatch,
}

// === impl Credential ===

impl Credential {
    /// The credential in `chain` and `key`, two PEM texts that may be one.
    pub(crate) fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, CredentialError> {
        let chain = chain_from_pem(chain)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(CredentialError::NoKey)?;
        let validity = Validity::of(&chain[0])?;
        let certified = CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider());
        let certified = certified.map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => CredentialError::Mismatch,
            other => CredentialError::Key(other),
        })?;
        Ok(Self { certified: Arc::new(certified), validity })
    }

    /// The chain, leaf first; never empty.
    pub(crate) fn chain(&self) -> &[CertificateDer<'static>] {
        &self.certified.cert
    }

    /// The leaf.
    pub(crate) fn leaf(&self) -> &CertificateDer<'static> {
        &self.certified.cert[0]
    }

    /// Key and chain as rustls takes them.
    pub(crate) fn certified(&self) -> Arc<CertifiedKey> {
        self.certified.clone()
    }

    /// When the leaf holds.
    pub(crate) fn validity(&self) -> Validity {
        self.validity
    }
}

// === impl Validity ===

impl Validity {
    /// The validity that `certificate` states.
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Result<Self, CredentialError> {
        let (_, parsed) = x509_parser::parse_x509_certificate(certificate).map_err(|error| {
            CredentialError::X509(match error {
                x509_parser::nom::Err::Error(error) | x509_parser::nom::Err::Failure(error) => error,
                x509_parser::nom::Err::Incomplete(_) => x509_parser::error::X509Error::InvalidCertificate,
            })
        })?;
        let time = |time: x509_parser::time::ASN1Time| time.to_datetime().into();
        let stated = parsed.validity();
        Ok(Self { not_before: time(stated.not_before), not_after: time(stated.not_after) })
    }

    /// Whether it holds at `now` and for `ahead` after it.
    pub(crate) fn holds(&self, now: SystemTime, ahead: Duration) -> bool {
        self.not_before <= now && now + ahead < self.not_after
    }
}

/// The certificates in a PEM text, in its order; at least one.
pub(crate) fn chain_from_pem(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, CredentialError> {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(CredentialError::Pem)?;
    if chain.is_empty() { Err(CredentialError::NoCertificate) } else { Ok(chain) }
}
