use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Args;

use super::say;
use crate::suites::{Counts, DISCOVERY, Outcome, Runs, SUITES, Suite, chosen};

#[derive(Debug, Args)]
pub(super) struct Test {
    /// Names of suites; without one unit, contract, sim, real and compat run
    #[arg(value_name = "SUITE")]
    suites: Vec<String>,
    /// Print all suites with the minutes that each takes
    #[arg(long, conflicts_with = "suites")]
    list: bool,
    /// With `conformance`: find out which specs pass directly against a member, and write the list anew
    #[arg(long, requires = "suites")]
    discover: bool,
}

// === impl Test ===

impl Test {
    pub(super) fn run(self) -> Result<ExitCode> {
        if self.list {
            return list().map(|()| ExitCode::SUCCESS);
        }
        let mut outcomes = Vec::new();
        for suite in self.chosen()? {
            eprintln!("dev: suite {} (about {} min) ...", suite.name, suite.minutes);
            outcomes.push(suite.run()?);
        }
        report(&outcomes)
    }

    fn chosen(&self) -> Result<Vec<&'static Suite>> {
        if self.discover {
            ensure!(self.suites == ["conformance"], "--discover goes with the suite conformance alone");
            return Ok(vec![&DISCOVERY]);
        }
        chosen(&self.suites)
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
