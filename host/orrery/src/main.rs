//! The `orrery` binary. It holds no logic: `serve` wires the host, every other command asks a running one.

mod checks;
mod logs;
mod memory;
mod metrics;
mod serve;
mod signals;

use clap::Parser as _;
use orrery_cli::{Cli, Command, Environment};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Serve(args) => serve::serve(*args).await,
        Command::Ask(ask) => Ok(ask.run(&Environment::of_process(), &mut std::io::stdout()).await?),
    }
}
