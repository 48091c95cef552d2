use anyhow::Result;
use clap::Subcommand;

use super::say;
use crate::cluster;
use crate::toolchain::Minor;

#[derive(Debug, Subcommand)]
pub(super) enum Action {
    /// Start clusters and print a line `NAME KUBECONFIG` for each; they run until `down`
    Up {
        /// Names of the clusters
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// Minor version of Kubernetes
        #[arg(long, value_enum, default_value = "1.37")]
        version: Minor,
    },
    /// End clusters, all if none is named
    Down {
        /// Names of the clusters
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
    /// Print a line `NAME KUBECONFIG` for each cluster, with `broken` behind if a process of it is gone
    List,
}

// === impl Action ===

impl Action {
    pub(super) fn run(self) -> Result<()> {
        match self {
            Self::Up { names, version } => cluster::up(&names, version)?
                .iter()
                .try_for_each(|(name, kubeconfig)| say(&format!("{name} {}", kubeconfig.display()))),
            Self::Down { names } => cluster::down(&names)?.iter().try_for_each(|name| say(&format!("{name} ended"))),
            Self::List => cluster::kept()?.iter().try_for_each(|(name, kubeconfig, runs)| {
                say(&format!("{name} {}{}", kubeconfig.display(), if *runs { "" } else { " broken" }))
            }),
        }
    }
}
