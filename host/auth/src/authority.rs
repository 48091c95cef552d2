//! The host's own CA.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData,
};
use rustls_pki_types::CertificateDer;
use x509_parser::extensions::GeneralName;

use crate::credential::{Credential, CredentialError, Validity};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a CA certificate holds.
const CA_LIFE: Duration = DAY.saturating_mul(3652);

/// How long before its end a CA certificate is renewed.
pub(crate) const CA_AHEAD: Duration = DAY.saturating_mul(365);

/// How long a server's or client's certificate holds.
const LEAF_LIFE: Duration = DAY.saturating_mul(365);

/// How long before its end a server's or client's certificate is renewed: a third of its life, so that a host that is
/// started a few times a year, or a kubeconfig copied once, has a fresh one.
pub(crate) const LEAF_AHEAD: Duration = DAY.saturating_mul(121);

/// Clocks of clients may be behind by this much.
const CLOCK_SKEW: Duration = Duration::from_secs(5 * 60);

/// A CA: its certificate, and the key that signs.
#[derive(Debug)]
pub(crate) struct Authority {
    certificate: CertificateDer<'static>,
    validity: Validity,
    key: KeyPair,
}

/// What a certificate is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose<'a> {
    /// Serving under these DNS names and IP addresses.
    Server { names: &'a [String] },
    /// Being the client `user` of `group`.
    Client { user: &'a str, group: &'a str },
}

// === impl Authority ===

impl Authority {
    /// A CA with a fresh key.
    pub(crate) fn new(now: SystemTime) -> Result<Self, rcgen::Error> {
        Self::with_key(KeyPair::generate()?, now)
    }

    /// The same CA with a later end: what it signed stays good, and who trusts its older certificate trusts what it
    /// signs from here on, for name and key are the same.
    pub(crate) fn renewed(self, now: SystemTime) -> Result<Self, rcgen::Error> {
        Self::with_key(self.key, now)
    }

    /// The CA in a PEM text of key and certificate.
    pub(crate) fn from_pem(pem: &[u8]) -> Result<Self, CredentialError> {
        let credential = Credential::from_pem(pem, pem)?;
        let text = String::from_utf8_lossy(pem);
        let key = KeyPair::from_pem(&text).map_err(|_| CredentialError::Mismatch)?;
        Ok(Self { certificate: credential.leaf().clone(), validity: credential.validity(), key })
    }

    /// Key and certificate as a PEM text.
    pub(crate) fn to_pem(&self) -> String {
        self.key.serialize_pem() + &self.certificate_pem()
    }

    /// The certificate as a PEM text.
    pub(crate) fn certificate_pem(&self) -> String {
        pem_of(&self.certificate)
    }

    /// The certificate.
    pub(crate) fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// When the certificate holds.
    pub(crate) fn validity(&self) -> Validity {
        self.validity
    }

    /// A fresh key and a certificate for `purpose`, as a PEM text.
    pub(crate) fn issue(&self, purpose: Purpose<'_>, now: SystemTime) -> Result<String, rcgen::Error> {
        let mut params = purpose.params()?;
        params.not_before = (now - CLOCK_SKEW).into();
        // A certificate that outlives its CA would be of no use after the CA's end.
        params.not_after = (now + LEAF_LIFE).min(self.validity.not_after).into();
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &Issuer::from_ca_cert_der(&self.certificate, &self.key)?)?;
        Ok(key.serialize_pem() + &certificate.pem())
    }

    /// Whether `certificate` bears this CA's signature.
    pub(crate) fn signed(&self, certificate: &CertificateDer<'_>) -> bool {
        let Ok((_, parsed)) = x509_parser::parse_x509_certificate(certificate) else { return false };
        let spki = self.key.subject_public_key_info();
        let Ok((_, public)) = x509_parser::prelude::FromDer::from_der(&spki) else { return false };
        parsed.verify_signature(Some(&public)).is_ok()
    }

    fn with_key(key: KeyPair, now: SystemTime) -> Result<Self, rcgen::Error> {
        let mut params = named("orrery-ca", None);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        params.not_before = (now - CLOCK_SKEW).into();
        params.not_after = (now + CA_LIFE).into();
        let certificate = params.self_signed(&key)?.der().clone();
        let validity = Validity { not_before: now - CLOCK_SKEW, not_after: now + CA_LIFE };
        Ok(Self { certificate, validity, key })
    }
}

// === impl Purpose ===

impl Purpose<'_> {
    /// Whether `certificate` is for this: it has exactly these names, or names this user.
    pub(crate) fn fits(self, certificate: &CertificateDer<'_>) -> bool {
        let Ok((_, parsed)) = x509_parser::parse_x509_certificate(certificate) else { return false };
        match self {
            Self::Server { names } => {
                let stated = parsed.subject_alternative_name().ok().flatten();
                let mut stated: Vec<_> =
                    stated.iter().flat_map(|san| &san.value.general_names).map(name_text).collect();
                let mut names = names.to_vec();
                stated.sort();
                names.sort();
                stated == names
            }
            Self::Client { user, .. } => {
                parsed.subject().iter_common_name().any(|name| name.as_str().is_ok_and(|name| name == user))
            }
        }
    }

    fn params(self) -> Result<CertificateParams, rcgen::Error> {
        let mut params = match self {
            Self::Server { names } => {
                let mut params = named("orrery", None);
                params.subject_alt_names = CertificateParams::new(names.to_vec())?.subject_alt_names;
                params
            }
            Self::Client { user, group } => named(user, Some(group)),
        };
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![match self {
            Self::Server { .. } => ExtendedKeyUsagePurpose::ServerAuth,
            Self::Client { .. } => ExtendedKeyUsagePurpose::ClientAuth,
        }];
        Ok(params)
    }
}

/// A subject alternative name as a setting spells it; empty for kinds that no setting makes.
fn name_text(name: &GeneralName<'_>) -> String {
    match name {
        GeneralName::DNSName(name) => (*name).to_owned(),
        GeneralName::IPAddress(bytes) => match (<[u8; 4]>::try_from(*bytes), <[u8; 16]>::try_from(*bytes)) {
            (Ok(v4), _) => IpAddr::from(v4).to_string(),
            (_, Ok(v6)) => IpAddr::from(v6).to_string(),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

/// A PEM text of one certificate.
pub(crate) fn pem_of(certificate: &CertificateDer<'_>) -> String {
    let text = STANDARD.encode(certificate);
    let mut pem = String::from("-----BEGIN CERTIFICATE-----\n");
    for at in (0..text.len()).step_by(64) {
        pem.push_str(&text[at..text.len().min(at + 64)]);
        pem.push('\n');
    }
    pem + "-----END CERTIFICATE-----\n"
}

fn named(common_name: &str, organization: Option<&str>) -> CertificateParams {
    let mut name = DistinguishedName::new();
    if let Some(organization) = organization {
        name.push(DnType::OrganizationName, organization);
    }
    name.push(DnType::CommonName, common_name);
    let mut params = CertificateParams::default();
    params.distinguished_name = name;
    params
}
