//! The command line: what `orrery serve` is told, and the commands that ask a running host.
//!
//! [`ServeArgs`] become [`Settings`] by one rule: flag before `ORRERY_…` variable before configuration file. All other
//! commands ([`Ask`]) find a host by its data directory DIR, read the kubeconfig there, and ask it over HTTPS at
//! `/orrery/v1/…` as any client would. Nothing here serves, and nothing reads the environment by itself: what a variable
//! says is an argument, [`Environment`].

mod ask;
mod clock;
mod columns;
mod completion;
mod data;
mod environment;
mod error;
mod host;
mod kubeconfig;
mod place;
mod plugin;
mod policy;
mod serve;
mod status;

pub use ask::Ask;
pub use environment::Environment;
pub use error::Error;
pub use serve::{Contexts, EtcdPlace, PasswordSource, ResolveError, ServeArgs, Settings, StorePlace};

/// Many Kubernetes clusters as one Kubernetes API.
#[derive(Debug, clap::Parser)]
#[command(name = "orrery", version, max_term_width = 120)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// A command of `orrery`.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Serve the members as one Kubernetes API
    Serve(Box<ServeArgs>),
    /// Ask a running host.
    #[command(flatten)]
    Ask(Ask),
}
