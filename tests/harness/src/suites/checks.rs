//! Checks of the source as a whole.

use std::process::Command;

use anyhow::Result;

use super::{cargo, installed};
use crate::places::repository;

const CARGO_DENY: &str = "0.20.2";

pub(super) fn formatting() -> Result<Command> {
    let mut command = cargo("fmt")?;
    command.args(["--all", "--check"]);
    Ok(command)
}

pub(super) fn lints() -> Result<Command> {
    let mut command = cargo("clippy")?;
    command.args(["--workspace", "--all-targets", "--", "--deny=warnings"]);
    Ok(command)
}

/// cargo-deny's rules stand in `deny.toml`. Its advisories need a database from the network and are left out.
pub(super) fn dependencies() -> Result<Command> {
    let mut command = Command::new(installed("cargo-deny", CARGO_DENY)?);
    command.current_dir(repository()).args(["--locked", "check", "bans", "licenses", "sources"]);
    Ok(command)
}
