use std::io::Write;

use crate::clock::ClockArgs;
use crate::completion::CompletionArgs;
use crate::kubeconfig::KubeconfigArgs;
use crate::place::PlaceArgs;
use crate::plugin::PluginCommand;
use crate::policy::PolicyCommand;
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
    /// Show, try and roll back plugins and rules in CEL
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// Try rules in CEL
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Show where an object would go, with the reason of each cluster
    Place(PlaceArgs),
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
            Self::Plugin(command) => command.run(environment, out).await,
            Self::Policy(command) => command.run(environment, out).await,
            Self::Place(args) => args.run(environment, out).await,
            Self::Completion(args) => args.run(out),
        }
    }
}
