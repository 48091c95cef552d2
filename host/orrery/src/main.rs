//! The `orrery` binary. It holds no logic: `serve` wires the host, every other command asks a running one.

mod checks;
mod files;
mod logs;
mod memory;
mod metrics;
mod serve;
mod signals;
mod store;

use std::process::ExitCode;

use clap::Parser as _;
use orrery_cli::{Cli, Command, Environment};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Serve(args) => serve::serve(*args).await,
        Command::Ask(ask) => ask.run(&Environment::of_process(), &mut std::io::stdout()).await.map_err(Into::into),
    };
    done.map_or_else(logs::failed, |()| ExitCode::SUCCESS)
}
