//! Where members come from, and how one is connected to.

mod kubeconfig;
mod resolve;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use orrery_api::ClusterName;
use orrery_api::placement::ClusterAttributes;
use prometheus_client::metrics::gauge::Gauge;

use crate::{FleetSettings, Transport};

pub use resolve::{MemberFlags, ResolveError};

/// A member given by a context of a kubeconfig.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberSpec {
    /// Its name in the fleet.
    pub name: ClusterName,
    /// The files that together are the kubeconfig; what an earlier one says holds.
    pub kubeconfig: Vec<PathBuf>,
    /// The context; the kubeconfig's current one where none is named.
    pub context: Option<String>,
    /// Its labels and taints.
    pub attributes: Arc<ClusterAttributes>,
}

/// How a member is connected to, and what is configured of it. Implemented by [`MemberSpec`]; simulated members implement it in process.
#[async_trait]
pub trait MemberSource: fmt::Debug + Send + Sync + 'static {
    /// Reads what is configured and makes a connection pool with fresh credentials. Called at the first use, when
    /// credentials are refused, and when the fleet re-reads its configuration.
    async fn connect(&self, settings: &FleetSettings, traffic: &Traffic) -> Result<Endpoint, ConnectError>;

    /// Its labels and taints, for placement.
    fn attributes(&self) -> Arc<ClusterAttributes> {
        Arc::default()
    }
}

/// One server and the way to it.
#[derive(Clone)]
pub struct Endpoint {
    /// Sends requests there.
    pub transport: Transport,
    /// The server's URL, for messages.
    pub server: String,
    /// Hash of URL, CA and proxy: another one means another server, whose streams begin anew.
    pub place: u64,
    /// Hash of the CA that its certificate is checked with.
    pub authority: u64,
}

/// What the connections of one member are counted in.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// Open connections.
    pub connections: Gauge,
}

/// Why a member cannot be connected to before any byte was sent.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be read or names what is not there.
    #[error("kubeconfig {file} cannot be used for context {context}")]
    Kubeconfig {
        /// The file, or files.
        file: String,
        /// The context asked for.
        context: String,
        /// What is wrong.
        #[source]
        source: Box<kube::config::KubeconfigError>,
    },
    /// Its certificates, keys, or exec plugin do not give credentials.
    #[error("credentials cannot be made from the kubeconfig")]
    Credentials(#[source] Box<kube::Error>),
    /// The proxy is of a kind that is not spoken here.
    #[error("proxy {0} is not one of http, https, socks5")]
    Proxy(String),
    /// An exec plugin has not answered yet.
    #[error("credentials are not there after {0} s; an exec plugin of the kubeconfig may be waiting for input")]
    Slow(u64),
    /// Anything else, of a source that is not a kubeconfig.
    #[error("{0}")]
    Other(String),
}

// === impl ConnectError ===

impl From<kube::Error> for ConnectError {
    fn from(error: kube::Error) -> Self {
        Self::Credentials(Box::new(error))
    }
}

// === impl Endpoint ===

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("server", &self.server).field("place", &self.place).finish_non_exhaustive()
    }
}
