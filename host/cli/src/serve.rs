//! What `orrery serve` is told.

mod clusters;
mod etcd;
mod resolve;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use orrery_api::config::{ByteSize, ClusterLabel, ClusterTaint, LogFormat, MemberSource, Password, Store};
use orrery_api::placement::ClusterAttributes;
use orrery_api::{ClusterName, Stamp};

pub use resolve::ResolveError;

/// Flags of `orrery serve`. Each may stand as a variable too, and in the configuration file; a flag goes first, then the
/// variable.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(
    after_help = "Each flag may be given as a variable: --cache-bytes-max as ORRERY_CACHE_BYTES_MAX, and so on; \
    lists are separated by commas, ORRERY_KUBECONFIG as PATH is."
)]
pub struct ServeArgs {
    /// Kubeconfig to take contexts from; more than one are merged as KUBECONFIG is [default: KUBECONFIG, then
    /// ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Vec<PathBuf>,
    /// Context whose cluster is a member; may be given more than once [default: the current context, where no --member
    /// is given]
    #[arg(long, value_name = "NAME", conflicts_with = "all_contexts")]
    pub context: Vec<String>,
    /// Make every context's cluster a member
    #[arg(long)]
    pub all_contexts: bool,
    /// Member under a name of its own; may be given more than once
    #[arg(long, value_name = "NAME=FILE[#CONTEXT]")]
    pub member: Vec<MemberSource>,
    /// Label of a member, for placement; may be given more than once
    #[arg(long, value_name = "CLUSTER:KEY=VALUE")]
    pub cluster_label: Vec<ClusterLabel>,
    /// Taint of a member, which keeps new objects off; may be given more than once
    #[arg(long, value_name = "CLUSTER:KEY[=VALUE]:EFFECT")]
    pub cluster_taint: Vec<ClusterTaint>,
    /// Address and port to serve on; port 0 takes a free one [default: 127.0.0.1:6443]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    /// Directory for markers, certificates and the kubeconfig of clients [default: $XDG_STATE_HOME/orrery or
    /// ~/.local/state/orrery]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Where markers live; with `memory` every client lists anew after a restart [default: embedded]
    #[arg(long, value_parser = words::<Store>(&["embedded", "memory", "etcd"]))]
    pub store: Option<Store>,
    /// URLs of the members of the etcd of --store etcd
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub etcd_endpoints: Vec<String>,
    /// Before the name of every key in etcd; hosts with different ones do not meet [default: /orrery]
    #[arg(long, value_name = "PREFIX")]
    pub etcd_prefix: Option<String>,
    /// PEM certificates of the CAs that sign the etcd members' certificates; needed with https://
    #[arg(long, value_name = "FILE")]
    pub etcd_cacert: Option<PathBuf>,
    /// PEM certificate chain to show etcd
    #[arg(long, value_name = "FILE")]
    pub etcd_cert: Option<PathBuf>,
    /// PEM private key of --etcd-cert
    #[arg(long, value_name = "FILE")]
    pub etcd_key: Option<PathBuf>,
    /// User of etcd, where its authentication is on; the password comes from ORRERY_ETCD_PASSWORD or a file
    #[arg(long, value_name = "NAME")]
    pub etcd_user: Option<String>,
    /// File with the password of --etcd-user
    #[arg(long, value_name = "FILE")]
    pub etcd_password_file: Option<PathBuf>,
    /// How an object says which cluster holds it [default: label]
    #[arg(long, value_parser = words::<Stamp>(&["label", "annotation", "none"]))]
    pub stamp: Option<Stamp>,
    /// Most bytes that the cache may hold, as 2147483648 or 2Gi [default: 60% of memory]
    #[arg(long, value_name = "N")]
    pub cache_bytes_max: Option<ByteSize>,
    /// Directory of placement policies; followed while the host runs
    #[arg(long, value_name = "DIR")]
    pub extensions: Option<PathBuf>,
    /// Namespaces to observe one by one, for credentials that may not list over all
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub namespaces: Vec<String>,
    /// PEM certificate chain to serve with, instead of one by the host's own CA
    #[arg(long, value_name = "FILE")]
    pub tls_cert_file: Option<PathBuf>,
    /// PEM private key of --tls-cert-file
    #[arg(long, value_name = "FILE")]
    pub tls_private_key_file: Option<PathBuf>,
    /// PEM certificates of CAs whose clients are let in, besides the host's own
    #[arg(long, value_name = "FILE")]
    pub client_ca_file: Option<PathBuf>,
    /// Further DNS name or IP address of the host's own certificate; may be given more than once
    #[arg(long, value_name = "NAME")]
    pub tls_san: Vec<String>,
    /// How log lines are written [default: text]
    #[arg(long, value_parser = words::<LogFormat>(&["text", "json"]))]
    pub log_format: Option<LogFormat>,
    /// Least level to log, or a filter as `info,orrery_fleet=debug` [default: RUST_LOG, then info]
    #[arg(long, value_name = "LEVEL")]
    pub log_level: Option<String>,
    /// Configuration file with any of these
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// What a host runs with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Kubeconfig files that together are one; where empty, `KUBECONFIG`'s or `~/.kube/config`.
    pub kubeconfigs: Vec<PathBuf>,
    /// Which contexts of it are members.
    pub contexts: Contexts,
    /// Members under names of their own.
    pub members: Vec<MemberSource>,
    /// Labels and taints of members, by name.
    pub clusters: BTreeMap<ClusterName, ClusterAttributes>,
    /// Address and port to serve on.
    pub listen: SocketAddr,
    /// DIR.
    pub data: PathBuf,
    /// Where markers live.
    pub store: StorePlace,
    /// How an object says which cluster holds it.
    pub stamp: Stamp,
    /// Most bytes that the cache may hold; `None`: [`Settings::CACHE_SHARE`] of memory.
    pub cache_bytes_max: Option<ByteSize>,
    /// Directory of extensions; `None`: there are none.
    pub extensions: Option<PathBuf>,
    /// Namespaces to observe one by one; `None`: all at once.
    pub namespaces: Option<Vec<String>>,
    /// PEM certificate chain and private key to serve with; `None`: by the host's own CA.
    pub serving: Option<(PathBuf, PathBuf)>,
    /// PEM certificates of CAs whose clients are let in.
    pub client_ca_file: Option<PathBuf>,
    /// Further names of the host's own certificate.
    pub tls_sans: Vec<String>,
    /// How log lines are written.
    pub log_format: LogFormat,
    /// Least level or filter.
    pub log_level: String,
}

/// Where markers live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorePlace {
    /// In one file of DIR.
    Embedded,
    /// In memory.
    Memory,
    /// In an etcd.
    Etcd(EtcdPlace),
}

/// An etcd, and how it is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdPlace {
    /// URLs of its members; never empty.
    pub endpoints: Vec<String>,
    /// Before the name of every key, where it is not the default.
    pub prefix: Option<String>,
    /// PEM certificates of the CAs that sign its members' certificates.
    pub ca_file: Option<PathBuf>,
    /// PEM certificate chain and private key to show it.
    pub client_files: Option<(PathBuf, PathBuf)>,
    /// User, where its authentication is on.
    pub user: Option<(String, PasswordSource)>,
}

/// Where a password is taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PasswordSource {
    /// This is it.
    Given(Password),
    /// This file holds it.
    File(PathBuf),
}

/// Which contexts of the kubeconfig are members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contexts {
    /// The current one, where no member has a name of its own; else none.
    Unsaid,
    /// These; never empty.
    Named(Vec<String>),
    /// All.
    All,
}

// === impl Settings ===

impl Settings {
    /// The part of memory that the cache may take where nothing is said (design 2.7).
    pub const CACHE_SHARE: f64 = 0.6;
}

/// Parses one of `words`, each of which is a `T` as the configuration file spells it.
fn words<T>(words: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: serde::de::DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words).try_map(|word| resolve::word::<T>(&word))
}
