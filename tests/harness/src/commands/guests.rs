use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::say;
use crate::toolchain::write_guests;

#[derive(Debug, Args)]
pub(super) struct Guests {}

// === impl Guests ===

impl Guests {
    pub(super) fn run(&self) -> Result<ExitCode> {
        for line in write_guests()? {
            say(&line)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
