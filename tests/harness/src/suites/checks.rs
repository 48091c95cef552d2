//! Checks of the source as a whole.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::cargo;
use crate::places::{cache, repository};
use crate::toolchain::progress;

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
    let mut command = Command::new(cargo_deny()?.join("bin/cargo-deny"));
    command.current_dir(repository()).args(["--locked", "check", "bans", "licenses", "sources"]);
    Ok(command)
}

/// The folder of cargo-deny, which is built once.
fn cargo_deny() -> Result<std::path::PathBuf> {
    let root = cache("bin")?.join(format!("cargo-deny-{CARGO_DENY}"));
    if !Path::new(&root).join("bin/cargo-deny").exists() {
        progress(&format!("building cargo-deny {CARGO_DENY} (about 5 minutes, once)"), || {
            let mut command = Command::new("cargo");
            command.args(["install", "--quiet", "--locked", "cargo-deny", "--version", CARGO_DENY, "--root"]);
            // cargo's own temporary folder: its many dependencies need not fill the shared one.
            let status = command.arg(&root).env_remove("CARGO_TARGET_DIR").status()?;
            if status.success() { Ok(()) } else { anyhow::bail!("cargo install ended with {status}") }
        })?;
    }
    Ok(root)
}
