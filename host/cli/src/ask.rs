use std::io::Write;

use crate::clock::ClockArgs;
use crate::completion::CompletionArgs;
use crate::kubeconfig::KubeconfigArgs;
use crate::status::StatusArgs;
use crate::{Environment, Error};

/// A command that asks a running host.
#[derive(Debug, clap::Subcommand)]
pub enum Ask {
    /// Print the host's kubeconfig, or merge it into yours
    Kubeconfig(KubeconfigArgs),
    /// Show the members and the resources that are served
    Status(StatusArgs),
    /// Show which version of each member a marker stands for
    Clock(ClockArgs),
    /// Print a completion script for a shell
    Completion(CompletionArgs),
}

// === impl Ask ===

impl Ask {
    /// Runs the command; what it prints goes to `out`.
    pub async fn run(self, environment: &Environment, out: &mut dyn Write) -> Result<(), Error> {
        match self {
            Self::Kubeconfig(args) => args.run(environment, out).await,
            Self::Status(args) => args.run(environment, out).await,
            Self::Clock(args) => args.run(environment, out).await,
            Self::Completion(args) => args.run(out),
        }
    }
}
