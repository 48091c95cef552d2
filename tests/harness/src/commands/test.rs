use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::say;
use crate::suites::{Counts, Outcome, Runs, SUITES, chosen};

#[derive(Debug, Args)]
pub(super) struct Test {
    /// Names of suites; without one unit, contract, sim, real and compat run
    #[arg(value_name = "SUITE")]
    suites: Vec<String>,
    /// Print all suites with the minutes that each takes
    #[arg(long, conflicts_with = "suites")]
    list: bool,
}

// === impl Test ===

impl Test {
    pub(super) fn run(self) -> Result<ExitCode> {
        if self.list {
            return list().map(|()| ExitCode::SUCCESS);
        }
        let mut outcomes = Vec::new();
        for suite in chosen(&self.suites)? {
            eprintln!("dev: suite {} (about {} min) ...", suite.name, suite.minutes);
            outcomes.push(suite.run()?);
        }
        report(&outcomes)
    }
}

/// A line for each suite, and the sum alone on the last line.
fn report(outcomes: &[Outcome]) -> Result<ExitCode> {
    let mut sum = Counts::default();
    say("")?;
    for Outcome { suite, counts, took } in outcomes {
        let verdict = if counts.is_good() { "ok" } else { "FAILED" };
        say(&format!("{suite:<10} {verdict:<7} {counts} in {} s", took.as_secs()))?;
        sum += *counts;
    }
    say(&sum.to_string())?;
    Ok(if sum.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn list() -> Result<()> {
    for suite in SUITES {
        let runs = match suite.runs {
            Runs::Always => "",
            Runs::Named => " (by name only)",
        };
        say(&format!("{:<10} {:>3} min  {}{runs}", suite.name, suite.minutes, suite.about))?;
    }
    Ok(())
}
