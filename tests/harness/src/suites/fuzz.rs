//! Fuzzing, a minute for each target, with cargo-fuzz and a nightly compiler.

use std::fs;
use std::process::Command;

use anyhow::Result;

use super::installed;
use crate::places::{cache, repository};

const CARGO_FUZZ: &str = "0.13.1";
const SECONDS: u32 = 60;

/// Runs `target`. What it finds worth keeping goes into the cache; the corpus of the repository is only read.
pub(super) fn command(target: &str) -> Result<Command> {
    let found = cache(&format!("fuzz/{target}"))?;
    fs::create_dir_all(&found)?;
    let mut command = Command::new(installed("cargo-fuzz", CARGO_FUZZ)?);
    command.current_dir(repository()).env("RUSTUP_TOOLCHAIN", "nightly").env_remove("CARGO_TARGET_DIR");
    // Unsafe code is forbidden here: a sanitizer would watch over dependencies, for twice the time.
    command.args(["run", "--sanitizer", "none"]);
    command.args(["--fuzz-dir", "tests/fuzz/fuzz", "--target-dir"]).arg(cache("fuzz/target")?);
    command.arg(target).arg(found).arg(repository().join("tests/fuzz/corpus").join(target));
    command.args(["--", &format!("-max_total_time={SECONDS}"), "-max_len=16384"]);
    Ok(command)
}
