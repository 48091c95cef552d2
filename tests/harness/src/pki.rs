//! Keys and certificates of one cluster.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

/// A cluster's authority and everything that it signed, as files of one folder: `ca`, `apiserver`, `admin` (group
/// `system:masters`) and `kubelet`, each `.crt` and `.key`, and the key pair of service accounts, `sa.pub` and `sa.key`.
#[derive(Clone, Debug)]
pub(crate) struct Pki {
    dir: PathBuf,
}

type Authority = CertifiedIssuer<'static, KeyPair>;

// === impl Pki ===

impl Pki {
    /// Makes all of them in `dir`.
    pub(crate) fn create(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir)?;
        let pki = Self { dir: dir.to_owned() };
        let mut params = params(&[], "orrery-test-ca", None)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        pki.write("ca.crt", &authority.pem())?;
        pki.write("ca.key", &authority.key().serialize_pem())?;
        let server = ["localhost", "kubernetes.default.svc", "kubernetes.default", "127.0.0.1", "10.0.0.1"];
        pki.issue(&authority, "apiserver", &server, "kube-apiserver", None)?;
        pki.issue(&authority, "admin", &[], "admin", Some("system:masters"))?;
        pki.issue(&authority, "kubelet", &["127.0.0.1"], "kubelet", None)?;
        let accounts = KeyPair::generate()?;
        pki.write("sa.key", &accounts.serialize_pem())?;
        pki.write("sa.pub", &accounts.public_key_pem())?;
        Ok(pki)
    }

    /// Path of one of its files, as `ca.crt`.
    pub(crate) fn file(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }

    /// A kubeconfig for the server at `url`, as user `admin`, with the context `name`.
    pub(crate) fn kubeconfig(&self, name: &str, url: &str) -> Result<String> {
        let data = |file: &str| -> Result<String> { Ok(STANDARD.encode(fs::read(self.dir.join(file))?)) };
        let config = serde_json::json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": {"server": url, "certificate-authority-data": data("ca.crt")?}}],
            "users": [{"name": name, "user": {
                "client-certificate-data": data("admin.crt")?, "client-key-data": data("admin.key")?}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        });
        Ok(serde_json::to_string_pretty(&config)?)
    }

    fn issue(&self, by: &Authority, name: &str, names: &[&str], common: &str, group: Option<&str>) -> Result<()> {
        let key = KeyPair::generate()?;
        let mut params = params(names, common, group)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.write(&format!("{name}.crt"), &params.signed_by(&key, by)?.pem())?;
        self.write(&format!("{name}.key"), &key.serialize_pem())
    }

    fn write(&self, name: &str, pem: &str) -> Result<()> {
        fs::write(self.dir.join(name), pem).with_context(|| format!("failed to write {name}"))
    }
}

fn params(names: &[&str], common: &str, group: Option<&str>) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common);
    if let Some(group) = group {
        params.distinguished_name.push(DnType::OrganizationName, group);
    }
    // Long before and after any day that a test may pretend.
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2049, 1, 1);
    Ok(params)
}
