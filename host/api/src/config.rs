//! The configuration file of `orrery serve`: YAML with all that the flags say, under the same names.
//!
//! ```yaml
//! apiVersion: config.orrery.dev/v1alpha1
//! kind: Configuration
//! contexts: [east, west]
//! listen: 127.0.0.1:6443
//! ```
//!
//! Every key may be left out; what a flag or an `ORRERY_…` variable says goes before it. A key that is not known is an
//! error that names the nearest right one.

mod cluster;
mod member;
mod password;
mod quantity;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;

use crate::placement::ClusterAttributes;
use crate::{ClusterName, Place, Stamp, YamlError, yaml};

pub use cluster::{ClusterLabel, ClusterTaint, ParseClusterError};
pub use member::{MemberSource, ParseMemberError};
pub use password::Password;
pub use quantity::{ByteSize, ParseByteSizeError};

/// What stands in `apiVersion`.
pub const API_VERSION: &str = "config.orrery.dev/v1alpha1";

/// What stands in `kind`.
pub const KIND: &str = "Configuration";

/// The file's content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Config {
    api_version: String,
    kind: String,
    /// Kubeconfig files to take contexts from, merged as `KUBECONFIG` is.
    pub kubeconfigs: Option<Vec<PathBuf>>,
    /// Contexts whose clusters are members.
    pub contexts: Option<Vec<String>>,
    /// Whether every context is a member.
    pub all_contexts: Option<bool>,
    /// Members under names of their own.
    pub members: Option<Vec<MemberSource>>,
    /// Labels and taints of members, by name, wherever the member comes from.
    pub clusters: Option<BTreeMap<ClusterName, ClusterAttributes>>,
    /// Address and port to serve on; port 0 takes a free one.
    pub listen: Option<SocketAddr>,
    /// DIR: markers, certificates, kubeconfig.
    pub data: Option<PathBuf>,
    /// Where markers live.
    pub store: Option<Store>,
    /// The etcd of `store: etcd`.
    pub etcd: Etcd,
    /// How an object says which cluster holds it.
    pub stamp: Option<Stamp>,
    /// Most bytes that the cache may hold, over all resources.
    pub cache_bytes_max: Option<ByteSize>,
    /// Directory of extensions.
    pub extensions: Option<PathBuf>,
    /// Namespaces that are observed one by one, for credentials that may not list over all.
    pub namespaces: Option<Vec<String>>,
    /// Certificates.
    pub tls: Tls,
    /// What is logged, and how.
    pub log: Log,
}

/// Certificates to serve with and to trust.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Tls {
    /// PEM certificate chain to serve with, leaf first; the host's own CA makes one, where left out.
    pub cert_file: Option<PathBuf>,
    /// PEM private key of it.
    pub private_key_file: Option<PathBuf>,
    /// PEM certificates of CAs whose clients are let in, besides the host's own.
    #[serde(rename = "clientCAFile")]
    pub client_ca_file: Option<PathBuf>,
    /// Further DNS names and IP addresses of the host's own certificate.
    pub sans: Option<Vec<String>>,
}

/// An etcd for markers, and how it is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Etcd {
    /// URLs of its members.
    pub endpoints: Option<Vec<String>>,
    /// Before the name of every key; hosts with different ones do not meet.
    pub prefix: Option<String>,
    /// PEM certificates of the CAs that sign its members' certificates.
    pub cacert: Option<PathBuf>,
    /// PEM certificate chain to show it.
    pub cert: Option<PathBuf>,
    /// PEM private key of that.
    pub key: Option<PathBuf>,
    /// User, where its authentication is on.
    pub user: Option<String>,
    /// The user's password.
    pub password: Option<Password>,
    /// File with the user's password.
    pub password_file: Option<PathBuf>,
}

/// What is logged, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// Text or JSON.
    pub format: Option<LogFormat>,
    /// The least level, as `info`, or a filter by module, as `info,orrery_fleet=debug`.
    pub level: Option<String>,
}

/// Where markers live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Store {
    /// In one file of DIR.
    #[default]
    Embedded,
    /// In memory: after a restart every client lists anew.
    Memory,
    /// In an etcd.
    Etcd,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

// === impl Config ===

impl Config {
    /// The configuration that `text` spells.
    pub fn parse(text: &str) -> Result<Self, YamlError> {
        let config: Self = yaml::parse(text)?;
        if config.api_version == API_VERSION && config.kind == KIND {
            return Ok(config);
        }
        let (version, kind) = (&config.api_version, &config.kind);
        let problem = format!(
            "this is no configuration that is known: apiVersion is {version:?} and kind {kind:?}; \
             write `apiVersion: {API_VERSION}` and `kind: {KIND}`"
        );
        Err(YamlError { place: Place::START, problem })
    }
}

#[cfg(test)]
mod tests;
