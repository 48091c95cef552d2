//! The commands of `./dev`.

mod bench;
mod clusters;
mod demo;
mod guests;
mod test;

pub use demo::demo_clusters;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Builds, tests and shows Orrery.
#[derive(Debug, Parser)]
#[command(name = "./dev", bin_name = "./dev", max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Show two real clusters as one: start them and the host, and print commands to try; Ctrl-C ends all
    Demo(demo::Demo),
    /// Run test suites, and close with how many tests passed, failed and were skipped
    Test(test::Test),
    /// Measure the host side by side with a kube-apiserver
    Bench(bench::Bench),
    /// Build the plugins of this repository and write the components that are committed beside them
    Guests(guests::Guests),
    /// Start and stop real clusters for hand work
    Clusters {
        #[command(subcommand)]
        action: clusters::Action,
    },
}

/// Runs what the command line asks for.
pub fn run() -> ExitCode {
    let done = match Arguments::parse().command {
        Task::Demo(demo) => demo.run(),
        Task::Test(test) => test.run(),
        Task::Bench(bench) => bench.run(),
        Task::Guests(guests) => guests.run(),
        Task::Clusters { action } => action.run().map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        eprintln!("dev: {error:#}");
        ExitCode::FAILURE
    })
}

/// Prints a line on standard output; an error if nobody reads it any more.
pub(crate) fn say(line: &str) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}
