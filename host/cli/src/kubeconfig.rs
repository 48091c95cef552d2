//! `orrery kubeconfig`: the way of a host's context into the tools of its users.

mod file;
mod merge;

use std::io::Write;

use orrery_api::ClusterName;
use orrery_api::status::{STATUS_PATH, Status};
use serde_json::{Value, json};

use crate::data::DataArgs;
use crate::host::{Host, kubeconfig_path, read_kubeconfig};
use crate::{Environment, Error};

/// Flags of `orrery kubeconfig`.
#[derive(Clone, Debug, clap::Args)]
pub struct KubeconfigArgs {
    /// Add a context for each member's own API, `orrery-NAME`; asks the running host for its members
    #[arg(long)]
    members: bool,
    /// Merge into the kubeconfig that kubectl uses (KUBECONFIG, else ~/.kube/config) and make it the current context,
    /// instead of printing it
    #[arg(long)]
    merge: bool,
    #[command(flatten)]
    data: DataArgs,
}

// === impl KubeconfigArgs ===

impl KubeconfigArgs {
    pub(crate) async fn run(self, environment: &Environment, out: &mut dyn Write) -> Result<(), Error> {
        let data = self.data.directory(environment)?;
        let path = kubeconfig_path(&data);
        let mut kubeconfig = merge::parse(&read_kubeconfig(&data)?)
            .map_err(|reason| Error::NoKubeconfig { path: path.clone(), reason })?;
        if self.members {
            let host = Host::find(&self.data, environment).await?;
            let status: Status = host.get(STATUS_PATH).await?;
            let names: Vec<_> = status.members.iter().map(|member| &member.name).collect();
            add_members(&mut kubeconfig, host.server(), &names);
        }
        let said = if self.merge {
            let target = file::merge_into(&file::target(environment)?, &kubeconfig)?;
            let context = kubeconfig["current-context"].as_str().unwrap_or_default();
            format!("Set kubectl context to \"{context}\" in {}\n", target.display())
        } else {
            merge::render(&kubeconfig).map_err(|reason| Error::NoKubeconfig { path, reason })?
        };
        out.write_all(said.as_bytes()).map_err(Error::Print)
    }
}

/// Adds a context for the straight way to each member, with the CA and the user of the host's own context.
fn add_members(kubeconfig: &mut Value, server: &str, members: &[&ClusterName]) {
    let host = kubeconfig["clusters"][0].clone();
    let user = kubeconfig["users"][0]["name"].clone();
    let prefix = host["name"].as_str().unwrap_or("orrery").to_owned();
    for member in members {
        let name = format!("{prefix}-{member}");
        let mut cluster = host["cluster"].clone();
        cluster["server"] = json!(format!("{server}/clusters/{member}"));
        merge::put(kubeconfig, "clusters", json!({"name": name, "cluster": cluster}));
        merge::put(kubeconfig, "contexts", json!({"name": name, "context": {"cluster": name, "user": user}}));
    }
}

#[cfg(test)]
mod tests;
