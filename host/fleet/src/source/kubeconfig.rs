use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use orrery_api::placement::ClusterAttributes;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use twox_hash::XxHash3_64;

use crate::transport::transport;
use crate::{ConnectError, Endpoint, FleetSettings, MemberSource, MemberSpec, Traffic};

#[async_trait]
impl MemberSource for MemberSpec {
    async fn connect(&self, settings: &FleetSettings, traffic: &Traffic) -> Result<Endpoint, ConnectError> {
        let (spec, settings, traffic) = (self.clone(), settings.clone(), traffic.clone());
        // Reading files and running exec plugins block.
        let made = spawn_blocking(move || spec.endpoint(&settings, &traffic)).await;
        made.unwrap_or_else(|panic| Err(ConnectError::Other(format!("reading the kubeconfig failed: {panic}"))))
    }

    fn attributes(&self) -> Arc<ClusterAttributes> {
        Arc::clone(&self.attributes)
    }
}

// === impl MemberSpec ===

impl MemberSpec {
    fn endpoint(&self, settings: &FleetSettings, traffic: &Traffic) -> Result<Endpoint, ConnectError> {
        let kubeconfig = read_all(&self.kubeconfig).map_err(|source| self.fail(source))?;
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let config = Handle::current()
            .block_on(Config::from_custom_kubeconfig(kubeconfig, &options))
            .map_err(|source| self.fail(source))?;
        let authority = hash(&config.root_cert);
        let place =
            hash(&(&authority, config.cluster_url.to_string(), config.proxy_url.as_ref().map(ToString::to_string)));
        let transport = transport(&config, settings, traffic)?;
        Ok(Endpoint { transport, server: config.cluster_url.to_string(), place, authority })
    }

    fn fail(&self, source: KubeconfigError) -> ConnectError {
        let files: Vec<_> = self.kubeconfig.iter().map(|path| path.display().to_string()).collect();
        let context = self.context.clone().unwrap_or_else(|| "(current)".to_owned());
        ConnectError::Kubeconfig { file: files.join(", "), context, source: Box::new(source) }
    }
}

/// The kubeconfig that the files are together, as kubectl merges them: what an earlier file says holds.
pub(super) fn read_all(files: &[PathBuf]) -> Result<Kubeconfig, KubeconfigError> {
    let mut merged = Kubeconfig::default();
    for file in files {
        merged = merged.merge(Kubeconfig::read_from(file)?)?;
    }
    Ok(merged)
}

/// A hash for comparing within one process.
pub(super) fn hash(value: &impl std::hash::Hash) -> u64 {
    let mut hasher = XxHash3_64::default();
    value.hash(&mut hasher);
    std::hash::Hasher::finish(&hasher)
}
