//! From flags, variables and file to settings.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use orrery_api::config::{Config, Password};
use orrery_api::{CLUSTER_KEY, ClusterName, YamlError};
use serde::de::DeserializeOwned;
use serde::de::value::{Error as WordError, StrDeserializer};

use super::etcd::EtcdFlags;
use super::{Contexts, ServeArgs, Settings, clusters};
use crate::Environment;
use crate::data::{NoDataDirectory, default_directory};

/// Why flags, variables and file are no settings.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// The configuration file cannot be read.
    #[error("failed to read configuration file {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The configuration file is none.
    #[error("configuration file {}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        #[source]
        source: YamlError,
    },
    /// A variable's value is none.
    #[error("environment variable {variable} is {value:?}: {reason}")]
    Variable {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No DIR.
    #[error(transparent)]
    NoData(#[from] NoDataDirectory),
    /// One of a pair.
    #[error("a certificate to serve with needs both --tls-cert-file and --tls-private-key-file; {missing} is missing")]
    HalfCertificate {
        /// The flag that is not given.
        missing: &'static str,
    },
    /// One of a pair.
    #[error("a certificate to show etcd needs both --etcd-cert and --etcd-key; {missing} is missing")]
    HalfEtcdCertificate {
        /// The flag that is not given.
        missing: &'static str,
    },
    /// No etcd.
    #[error("--store etcd needs --etcd-endpoints, as https://etcd-1.example.com:2379")]
    NoEtcd,
    /// An etcd that would not be used.
    #[error("--etcd-endpoints is given, but markers would not live there; give --store etcd too")]
    OtherStore,
    /// A user without a password.
    #[error(
        "etcd's user {user:?} needs a password: set ORRERY_ETCD_PASSWORD, or name a file with --etcd-password-file"
    )]
    NoEtcdPassword {
        /// The user.
        user: String,
    },
    /// A password without a user.
    #[error("a password for etcd is given, but no user; name it with --etcd-user")]
    NoEtcdUser,
    /// The label that objects carry.
    #[error("{CLUSTER_KEY} of {cluster} is its name, and cannot be given; leave that label out")]
    ReservedLabel {
        /// The cluster.
        cluster: ClusterName,
    },
    /// Not a namespace's name.
    #[error("--namespaces has {0:?}, which is no namespace's name")]
    Namespace(String),
}

// === impl ServeArgs ===

impl ServeArgs {
    /// The settings that these flags, `environment` and the configuration file that either names come to. Read the file
    /// again for every SIGHUP by calling this again.
    pub fn load(self, environment: &Environment) -> Result<Settings, ResolveError> {
        let named = self.config.clone().or_else(|| environment.get("ORRERY_CONFIG").map(PathBuf::from));
        let config = named.map(read_config).transpose()?.unwrap_or_default();
        self.resolve(environment, config)
    }

    /// The same with the file's content given. Touches nothing.
    pub fn resolve(self, environment: &Environment, file: Config) -> Result<Settings, ResolveError> {
        let from = Variables(environment);
        let contexts = resolve_contexts(self.context, self.all_contexts, from, file.contexts, file.all_contexts)?;
        let certificate = from.one(self.tls_cert_file, "ORRERY_TLS_CERT_FILE", file.tls.cert_file)?;
        let key = from.one(self.tls_private_key_file, "ORRERY_TLS_PRIVATE_KEY_FILE", file.tls.private_key_file)?;
        let level = from.one(self.log_level, "ORRERY_LOG_LEVEL", file.log.level)?;
        let data = from.one(self.data, "ORRERY_DATA", file.data)?;
        let store = from.word(self.store, "ORRERY_STORE", file.store)?.unwrap_or_default();
        let etcd = EtcdFlags {
            endpoints: self.etcd_endpoints,
            prefix: self.etcd_prefix,
            cacert: self.etcd_cacert,
            cert: self.etcd_cert,
            key: self.etcd_key,
            user: self.etcd_user,
            password_file: self.etcd_password_file,
        };
        let (file_labels, file_taints) = clusters::of_file(file.clusters);
        let labels = from.many(self.cluster_label, "ORRERY_CLUSTER_LABEL", file_labels)?;
        let taints = from.many(self.cluster_taint, "ORRERY_CLUSTER_TAINT", file_taints)?;
        Ok(Settings {
            kubeconfigs: from.paths(self.kubeconfig, "ORRERY_KUBECONFIG", file.kubeconfigs),
            contexts,
            members: from.many(self.member, "ORRERY_MEMBER", file.members)?,
            clusters: clusters::joined(labels, taints)?,
            listen: from.one(self.listen, "ORRERY_LISTEN", file.listen)?.unwrap_or(LISTEN),
            data: data.map_or_else(|| default_directory(environment), Ok)?,
            store: etcd.resolve(store, from, file.etcd)?,
            stamp: from.word(self.stamp, "ORRERY_STAMP", file.stamp)?.unwrap_or_default(),
            cache_bytes_max: from.one(self.cache_bytes_max, "ORRERY_CACHE_BYTES_MAX", file.cache_bytes_max)?,
            extensions: from.one(self.extensions, "ORRERY_EXTENSIONS", file.extensions)?,
            namespaces: check_namespaces(from.many(self.namespaces, "ORRERY_NAMESPACES", file.namespaces)?)?,
            serving: pair(certificate, key)?,
            client_ca_file: from.one(self.client_ca_file, "ORRERY_CLIENT_CA_FILE", file.tls.client_ca_file)?,
            tls_sans: from.many(self.tls_san, "ORRERY_TLS_SAN", file.tls.sans)?,
            log_format: from.word(self.log_format, "ORRERY_LOG_FORMAT", file.log.format)?.unwrap_or_default(),
            log_level: level.or_else(|| environment.get("RUST_LOG")).unwrap_or_else(|| "info".to_owned()),
        })
    }
}

const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 6443);

/// The variables, between flag and file.
#[derive(Clone, Copy)]
pub(super) struct Variables<'e>(&'e Environment);

// === impl Variables ===

impl Variables<'_> {
    pub(super) fn one<T>(
        self,
        flag: Option<T>,
        variable: &'static str,
        file: Option<T>,
    ) -> Result<Option<T>, ResolveError>
    where
        T: FromStr<Err: std::fmt::Display>,
    {
        self.parsed(flag, variable, file, |value| value.parse().map_err(|error: T::Err| error.to_string()))
    }

    fn word<T: DeserializeOwned>(
        self,
        flag: Option<T>,
        variable: &'static str,
        file: Option<T>,
    ) -> Result<Option<T>, ResolveError> {
        self.parsed(flag, variable, file, |value| word(value).map_err(|error| error.to_string()))
    }

    /// A list; no flag at all is no list.
    pub(super) fn many<T>(
        self,
        flag: Vec<T>,
        variable: &'static str,
        file: Option<Vec<T>>,
    ) -> Result<Vec<T>, ResolveError>
    where
        T: FromStr<Err: std::fmt::Display>,
    {
        let flag = Some(flag).filter(|list| !list.is_empty());
        let all = |value: &str| value.split(',').map(|part| part.trim().parse()).collect::<Result<Vec<T>, _>>();
        let parsed = self.parsed(flag, variable, file, |value| all(value).map_err(|error| error.to_string()));
        Ok(parsed?.unwrap_or_default())
    }

    fn paths(self, flag: Vec<PathBuf>, variable: &'static str, file: Option<Vec<PathBuf>>) -> Vec<PathBuf> {
        if !flag.is_empty() {
            return flag;
        }
        match self.0.get(variable) {
            Some(value) => std::env::split_paths(&value).collect(),
            None => file.unwrap_or_default(),
        }
    }

    /// A password, which no flag may show to who lists processes.
    pub(super) fn password(self, variable: &'static str, file: Option<Password>) -> Option<Password> {
        self.0.get(variable).map(|value| Password::new(&value)).or(file)
    }

    fn parsed<T>(
        self,
        flag: Option<T>,
        variable: &'static str,
        file: Option<T>,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ResolveError> {
        match (flag, self.0.get(variable)) {
            (Some(flag), _) => Ok(Some(flag)),
            (None, None) => Ok(file),
            (None, Some(value)) => match parse(&value) {
                Ok(parsed) => Ok(Some(parsed)),
                Err(reason) => Err(ResolveError::Variable { variable, value, reason }),
            },
        }
    }
}

/// The `T` that the configuration file spells as `word`.
pub(super) fn word<T: DeserializeOwned>(word: &str) -> Result<T, WordError> {
    T::deserialize(StrDeserializer::new(word))
}

fn read_config(path: PathBuf) -> Result<Config, ResolveError> {
    let text = fs::read_to_string(&path).map_err(|source| ResolveError::Read { path: path.clone(), source })?;
    Config::parse(&text).map_err(|source| ResolveError::Config { path, source })
}

/// Names and all are one choice: who says either at one level is not asked about the other at the next.
fn resolve_contexts(
    named: Vec<String>,
    all: bool,
    from: Variables<'_>,
    file_named: Option<Vec<String>>,
    file_all: Option<bool>,
) -> Result<Contexts, ResolveError> {
    let choice = |named: Vec<String>, all: bool| match (all, named.is_empty()) {
        (true, _) => Some(Contexts::All),
        (false, false) => Some(Contexts::Named(named)),
        (false, true) => None,
    };
    let flags = choice(named, all);
    let variables = choice(
        from.many(Vec::new(), "ORRERY_CONTEXT", None)?,
        from.one(None, "ORRERY_ALL_CONTEXTS", None)?.unwrap_or_default(),
    );
    let file = choice(file_named.unwrap_or_default(), file_all.unwrap_or_default());
    Ok(flags.or(variables).or(file).unwrap_or(Contexts::Unsaid))
}

fn pair(certificate: Option<PathBuf>, key: Option<PathBuf>) -> Result<Option<(PathBuf, PathBuf)>, ResolveError> {
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
        (None, None) => Ok(None),
        (Some(_), None) => Err(ResolveError::HalfCertificate { missing: "--tls-private-key-file" }),
        (None, Some(_)) => Err(ResolveError::HalfCertificate { missing: "--tls-cert-file" }),
    }
}

/// A name goes into request paths, so it must be one (a DNS label, RFC 1123).
fn check_namespaces(names: Vec<String>) -> Result<Option<Vec<String>>, ResolveError> {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_name = |name: &str| {
        (1..=63).contains(&name.len()) && name.chars().all(inner) && !name.starts_with('-') && !name.ends_with('-')
    };
    match names.iter().find(|name| !is_name(name)) {
        Some(wrong) => Err(ResolveError::Namespace(wrong.clone())),
        None => Ok(Some(names).filter(|names| !names.is_empty())),
    }
}

#[cfg(test)]
mod tests;
