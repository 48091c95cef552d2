//! The benches behind `./dev bench`. Each prints what it measures as it goes, and its figures at the end; ratios and
//! counts are meant to be compared, seconds are those of this machine.

mod client;
mod fleet;
mod markers;
mod plugins;
mod reads;
mod report;
mod streams;
mod writes;

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use report::Outcome;

/// Runs benches.
#[derive(Debug, Parser)]
struct Arguments {
    /// Which; all without one
    names: Vec<Name>,
    /// Write the figures to this file too, as a JSON list
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Few objects and short runs, to see that it works: the figures say nothing
    #[arg(long)]
    quick: bool,
    /// Only this of `reads`; may be given again
    #[arg(long, value_name = "PART")]
    part: Vec<reads::Part>,
    /// With `fleet`: see too that memory does not grow over ten minutes, after six that fill the ring; for each fleet
    #[arg(long)]
    soak: bool,
    /// With `fleet`: only the one of so many members, 100 or 1000
    #[arg(long, value_name = "N")]
    members: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    /// Reads through the host beside an API server with the same pods
    Reads,
    /// Records sequenced, and a log read back
    Markers,
    /// Large fleets of simulated members
    Fleet,
    /// Writes through the host beside an API server
    Writes,
    /// Exec, port-forward and logs through the host beside an API server
    Streams,
    /// Decisions by plugins and rules beside a built-in stage
    Plugins,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let names = if arguments.names.is_empty() { Name::value_variants() } else { &arguments.names };
    let mut outcome = Outcome::default();
    for name in names {
        let Outcome { figures, failed } = run(*name, &arguments).await?;
        outcome.figures.extend(figures);
        outcome.failed.extend(failed);
    }
    say(&report::table(&outcome.figures));
    if let Some(path) = &arguments.json {
        report::write_json(path, &outcome.figures)?;
    }
    anyhow::ensure!(outcome.failed.is_empty(), "failed: {}", outcome.failed.join(", "));
    Ok(())
}

async fn run(name: Name, arguments: &Arguments) -> anyhow::Result<Outcome> {
    match name {
        Name::Reads => reads::run(arguments.quick, &arguments.part).await,
        Name::Fleet => fleet::run(arguments.quick, arguments.soak, arguments.members).await,
        Name::Writes => writes::run(arguments.quick).await,
        Name::Streams => streams::run(arguments.quick).await,
        Name::Plugins => plugins::run(arguments.quick).await,
        Name::Markers => Ok(Outcome { figures: markers::run().await?, failed: Vec::new() }),
    }
}

/// Prints a line.
#[expect(clippy::print_stdout, reason = "a bench is for people at a terminal")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}
