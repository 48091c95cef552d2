use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use clap::Args;

use crate::places::{cargo_target, repository};

#[derive(Debug, Args)]
pub(super) struct Bench {
    /// Names of benches; all without one
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Also write the figures to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Few objects and short runs, to see that it works: the figures say nothing
    #[arg(long)]
    quick: bool,
}

// === impl Bench ===

impl Bench {
    pub(super) fn run(self) -> Result<ExitCode> {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(repository()).env("CARGO_TARGET_DIR", cargo_target()?);
        cargo.args(["run", "--quiet", "--release", "--package", "orrery-bench", "--"]).args(&self.names);
        if let Some(file) = self.json {
            // The benches run in the repository; the file is meant from here.
            cargo.arg("--json").arg(std::path::absolute(file)?);
        }
        if self.quick {
            cargo.arg("--quick");
        }
        let status = cargo.status().context("failed to start cargo")?;
        Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
