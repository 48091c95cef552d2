//! Where the harness reads from and keeps what it builds.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result};

/// Root of the clone that is worked in: what `./dev` says, or else the nearest folder above the working directory that
/// has a `./dev`, as for tests, which cargo starts in their crate's folder.
///
/// It is not the clone that this crate was built in: clones share what cargo builds, and that one may be gone.
pub fn repository() -> PathBuf {
    let here = env::current_dir().unwrap_or_default();
    let above = || here.ancestors().find(|folder| folder.join("dev").is_file()).map(Path::to_owned);
    env::var_os("ORRERY_REPOSITORY").map(PathBuf::from).or_else(above).unwrap_or(here.clone())
}

/// `~/.cache/orrery/part`, made if it is missing. Shared by all clones of one user, so that a second clone is quick.
pub fn cache(part: &str) -> Result<PathBuf> {
    let home = env::var_os("HOME").context("HOME is not set, so there is no place for what is built; set it")?;
    let dir = Path::new(&home).join(".cache/orrery").join(part);
    fs::create_dir_all(&dir).with_context(|| format!("failed to make {}", dir.display()))?;
    Ok(dir)
}

/// Where cargo puts what it builds: `CARGO_TARGET_DIR`, or the shared cache.
pub(crate) fn cargo_target() -> Result<PathBuf> {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| cache("target"), |dir| Ok(dir.into()))
}
