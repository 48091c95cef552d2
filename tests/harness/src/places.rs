//! Where the harness reads from and keeps what it builds.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result};

/// Root of the repository that this crate was built in.
pub fn repository() -> PathBuf {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_dir.ancestors().nth(2).expect("this crate lies two folders below the root").to_owned()
}

/// `~/.cache/orrery/part`, made if it is missing. Shared by all clones of one user, so that a second clone is quick.
pub(crate) fn cache(part: &str) -> Result<PathBuf> {
    let home = env::var_os("HOME").context("HOME is not set, so there is no place for what is built; set it")?;
    let dir = Path::new(&home).join(".cache/orrery").join(part);
    fs::create_dir_all(&dir).with_context(|| format!("failed to make {}", dir.display()))?;
    Ok(dir)
}

/// Where cargo puts what it builds: `CARGO_TARGET_DIR`, or the shared cache.
pub(crate) fn cargo_target() -> Result<PathBuf> {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| cache("target"), |dir| Ok(dir.into()))
}
