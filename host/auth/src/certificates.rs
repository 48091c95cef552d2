use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::ServerConfig;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio_util::sync::CancellationToken;

use crate::authority::{Authority, CA_AHEAD, LEAF_AHEAD, Purpose};
use crate::credential::{Credential, CredentialError, Validity, chain_from_pem};
use crate::file::{self, Access, FileError};
use crate::serving::{Current, server_config};
use crate::{CLIENT_USER, Identity, Metrics, kubeconfig};

/// How often certificates are looked at. Reading a few small files each minute costs nothing that can be measured, and
/// a replaced `--tls-cert-file` is served within it.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// What the host's certificates are made from.
#[derive(Clone, Debug)]
pub struct CertificateSettings {
    /// DIR.
    pub data: PathBuf,
    /// The URL that the kubeconfig names; see [`crate::server_url`].
    pub server: String,
    /// The address listened on, where it is one address: a name of the server certificate.
    pub listen: Option<IpAddr>,
    /// Further DNS names and IP addresses of the server certificate (`--tls-san`).
    pub names: Vec<String>,
    /// Served instead of a certificate of the host's own CA.
    pub serving: Option<ServingFiles>,
    /// CAs whose clients are let in besides the host's own (`--client-ca-file`).
    pub client_ca: Option<PathBuf>,
}

/// A server certificate that somebody else makes and renews.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServingFiles {
    /// PEM chain, leaf first (`--tls-cert-file`).
    pub certificate: PathBuf,
    /// PEM key (`--tls-private-key-file`).
    pub key: PathBuf,
}

/// The host's certificates: made where they are missing, renewed before they end.
#[derive(Debug)]
pub struct Certificates {
    settings: CertificateSettings,
    metrics: Metrics,
    current: Arc<Current>,
    config: Arc<ServerConfig>,
    shown: CertificateDer<'static>,
}

/// Why the host has no certificates.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of DIR, or one that a flag names.
    #[error(transparent)]
    File(#[from] FileError),
    /// The CA's file is damaged.
    #[error(
        "{} is not the CA that was written there; put it back from a copy, or remove it to get a new CA \
         (kubeconfigs written before then stop working)", path.display()
    )]
    Authority {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        source: CredentialError,
    },
    /// The files given to serve with cannot be used.
    #[error("cannot serve with --tls-cert-file {} and --tls-private-key-file {}", .files.certificate.display(), .files.key.display())]
    Serving {
        /// The files.
        files: ServingFiles,
        /// What is wrong.
        #[source]
        source: CredentialError,
    },
    /// The file of client CAs cannot be used.
    #[error("cannot verify clients with --client-ca-file {}", path.display())]
    ClientCa {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        source: CredentialError,
    },
    /// A name that cannot stand in a certificate.
    #[error("--tls-san {0:?} is neither a DNS name nor an IP address")]
    Name(String),
    /// A certificate could not be made.
    #[error("failed to make a certificate")]
    Make(#[from] rcgen::Error),
    /// A certificate that was just made does not read back.
    #[error("a certificate that was just made cannot be used")]
    Made(#[source] CredentialError),
    /// TLS refused the settings.
    #[error("failed to set up TLS")]
    Tls(#[from] rustls::Error),
}

/// All that stands in DIR and in the files named, at one time.
struct Loaded {
    authority: Authority,
    server: Credential,
    admin: Validity,
    /// How many files were written.
    made: u64,
}

// === impl Certificates ===

impl Certificates {
    /// The certificates of DIR at `now`; makes, writes and renews what must be. Only one host may do this on one DIR at a
    /// time (the store's lock sees to it), so open the store first.
    pub fn open(settings: CertificateSettings, now: SystemTime, metrics: Metrics) -> Result<Self, Error> {
        let loaded = load(&settings, now)?;
        let mut authorities = vec![loaded.authority.certificate().clone()];
        if let Some(path) = &settings.client_ca {
            let failed = |source| Error::ClientCa { path: path.clone(), source };
            authorities.extend(chain_from_pem(&file::read(path)?).map_err(failed)?);
        }
        let current = Arc::new(Current::new(loaded.server.certified()));
        let config = Arc::new(server_config(current.clone(), authorities)?);
        loaded.show(&metrics);
        let shown = loaded.server.leaf().clone();
        Ok(Self { settings, metrics, current, config, shown })
    }

    /// The TLS settings to serve with; they show the renewed certificate by themselves.
    pub fn server_config(&self) -> Arc<ServerConfig> {
        self.config.clone()
    }

    /// The kubeconfig in DIR.
    pub fn kubeconfig_path(&self) -> PathBuf {
        self.settings.data.join("kubeconfig")
    }

    /// Renews at `now` what ends soon, reads anew the files that a flag names, and serves what changed from the next
    /// handshake on. After an error everything is served as before.
    pub fn renew(&mut self, now: SystemTime) -> Result<(), Error> {
        let loaded = load(&self.settings, now).inspect_err(|_| {
            self.metrics.renewals_failed.inc();
        })?;
        loaded.show(&self.metrics);
        self.metrics.renewals.inc_by(loaded.made);
        if loaded.server.leaf() != &self.shown {
            self.current.swap(loaded.server.certified());
            self.shown = loaded.server.leaf().clone();
            tracing::info!("server certificate replaced");
        }
        Ok(())
    }

    /// Renews for as long as the host runs.
    pub async fn keep_renewed(mut self, shutdown: CancellationToken) {
        let mut tick = tokio::time::interval(LOOK_EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while shutdown.run_until_cancelled(tick.tick()).await.is_some() {
            // A few small files and, twice a year, a key: too little to move off this thread.
            if let Err(error) = self.renew(SystemTime::now()) {
                let reason = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(%error, reason, "certificates not renewed");
            }
        }
    }
}

// === impl Loaded ===

impl Loaded {
    fn show(&self, metrics: &Metrics) {
        metrics.ends("ca", self.authority.validity().not_after);
        metrics.ends("server", self.server.validity().not_after);
        metrics.ends("admin", self.admin.not_after);
    }
}

fn load(settings: &CertificateSettings, now: SystemTime) -> Result<Loaded, Error> {
    let folder = settings.data.join("pki");
    file::make_folder(&folder)?;
    let mut made = 0;
    let authority = load_authority(&folder, now, &mut made)?;
    let server = match &settings.serving {
        Some(files) => load_serving(files)?,
        None => {
            let names = settings.server_names()?;
            let purpose = Purpose::Server { names: &names };
            load_leaf(&folder.join("server.pem"), &authority, purpose, now, &mut made)?.0
        }
    };
    let purpose = Purpose::Client { user: CLIENT_USER, group: Identity::MASTERS };
    let (admin, client) = load_leaf(&folder.join("admin.pem"), &authority, purpose, now, &mut made)?;
    let trusted = match settings.serving {
        Some(_) => server.chain().iter().filter(|certificate| self_issued(certificate)).cloned().collect(),
        None => vec![authority.certificate().clone()],
    };
    let text = kubeconfig::render(&settings.server, &trusted, &client);
    write_if_other(&settings.data.join("kubeconfig"), text.as_bytes(), Access::Owner)?;
    Ok(Loaded { authority, server, admin: admin.validity(), made })
}

fn load_authority(folder: &Path, now: SystemTime, made: &mut u64) -> Result<Authority, Error> {
    let path = folder.join("ca.pem");
    let stored = file::read_if_there(&path)?;
    let stored = stored.map(|pem| Authority::from_pem(&pem)).transpose();
    let stored = stored.map_err(|source| Error::Authority { path: path.clone(), source })?;
    let authority = match stored {
        Some(authority) if authority.validity().holds(now, CA_AHEAD) => authority,
        other => {
            let authority = match other {
                Some(old) => old.renewed(now)?,
                None => Authority::new(now)?,
            };
            file::write(&path, authority.to_pem().as_bytes(), Access::Owner)?;
            *made += 1;
            authority
        }
    };
    write_if_other(&folder.join("ca.crt"), authority.certificate_pem().as_bytes(), Access::All)?;
    Ok(authority)
}

/// The credential in `path` and its PEM text; made anew where it is missing, damaged, of another CA, for other names, or
/// ends soon.
fn load_leaf(
    path: &Path,
    authority: &Authority,
    purpose: Purpose<'_>,
    now: SystemTime,
    made: &mut u64,
) -> Result<(Credential, String), Error> {
    if let Some(pem) = file::read_if_there(path)?
        && let Ok(credential) = Credential::from_pem(&pem, &pem)
        && credential.validity().holds(now, LEAF_AHEAD)
        && authority.signed(credential.leaf())
        && purpose.fits(credential.leaf())
    {
        return Ok((credential, String::from_utf8_lossy(&pem).into_owned()));
    }
    let pem = authority.issue(purpose, now)?;
    file::write(path, pem.as_bytes(), Access::Owner)?;
    *made += 1;
    tracing::info!(path = %path.display(), "certificate made");
    Ok((Credential::from_pem(pem.as_bytes(), pem.as_bytes()).map_err(Error::Made)?, pem))
}

fn load_serving(files: &ServingFiles) -> Result<Credential, Error> {
    let (chain, key) = (file::read(&files.certificate)?, file::read(&files.key)?);
    Credential::from_pem(&chain, &key).map_err(|source| Error::Serving { files: files.clone(), source })
}

fn write_if_other(path: &Path, content: &[u8], access: Access) -> Result<(), FileError> {
    if file::read_if_there(path)?.as_deref() == Some(content) { Ok(()) } else { file::write(path, content, access) }
}

/// Whether a chain's certificate is a root, which clients are to trust.
fn self_issued(certificate: &CertificateDer<'_>) -> bool {
    x509_parser::parse_x509_certificate(certificate).is_ok_and(|(_, parsed)| parsed.subject() == parsed.issuer())
}

// === impl CertificateSettings ===

impl CertificateSettings {
    /// All names of the server certificate, each once.
    fn server_names(&self) -> Result<Vec<String>, Error> {
        let fixed = [
            "localhost",
            "127.0.0.1",
            "::1",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
        ];
        let mut names: Vec<String> = fixed.map(str::to_owned).to_vec();
        let listen = self.listen.filter(|ip| !ip.is_unspecified()).map(|ip| ip.to_string());
        for name in self.names.iter().cloned().chain(listen) {
            let host = name.strip_prefix("*.").unwrap_or(&name);
            if ServerName::try_from(host).is_err() {
                return Err(Error::Name(name));
            }
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Ok(names)
    }
}

#[cfg(test)]
#[path = "certificates/tests.rs"]
mod tests;
