//! The standard library for `wasm32-unknown-unknown`.
//!
//! rustup has it ready made, and that is what the committed guests are built with. Where rustup cannot reach its server, the
//! library's sources are taken from the package rust-src of Debian's backports, in exactly the compiler's version, and cargo
//! builds it along with a guest. Such a guest does the same, with other bytes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail, ensure};

use super::{progress, run};
use crate::places::{cache, repository};

pub(super) const TARGET: &str = "wasm32-unknown-unknown";
/// Behind a closed network rustup waits for ever.
const RUSTUP_SECONDS: &str = "15";
const SUITE: &str = "trixie-backports";

/// Where the library comes from.
#[derive(Clone, Debug)]
pub(crate) enum StandardLibrary {
    /// It is installed.
    Rustup,
    /// Its sources are in this folder.
    Sources(PathBuf),
}

/// Finds the library, once in a process: it is installed, or can be, or its sources can be had.
pub(crate) fn standard_library() -> Result<StandardLibrary> {
    static FOUND: OnceLock<StandardLibrary> = OnceLock::new();
    if let Some(found) = FOUND.get() {
        return Ok(found.clone());
    }
    let found = find()?;
    Ok(FOUND.get_or_init(|| found).clone())
}

fn find() -> Result<StandardLibrary> {
    let installed = sysroot()?.join("lib/rustlib").join(TARGET).join("lib");
    if installed.is_dir() || add_target() {
        return Ok(StandardLibrary::Rustup);
    }
    sources()
        .map(StandardLibrary::Sources)
        .with_context(|| format!("there is no standard library for {TARGET}; install it: rustup target add {TARGET}"))
}

// === impl StandardLibrary ===

impl StandardLibrary {
    /// Whether guests come out as they are committed.
    pub(crate) fn gives_committed_bytes(&self) -> bool {
        matches!(self, Self::Rustup)
    }

    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Rustup => Vec::new(),
            // The first lets a stable compiler build the library, the second says where its sources are.
            Self::Sources(folder) => {
                vec![("RUSTC_BOOTSTRAP", "1".to_owned()), ("__CARGO_TESTS_ONLY_SRC_ROOT", folder.display().to_string())]
            }
        }
    }

    pub(super) fn arguments(&self) -> &'static [&'static str] {
        match self {
            Self::Rustup => &[],
            Self::Sources(_) => &["-Zbuild-std=std,panic_abort"],
        }
    }
}

fn sysroot() -> Result<PathBuf> {
    let printed = run(Command::new("rustc").args(["--print", "sysroot"]).current_dir(repository()))?;
    Ok(PathBuf::from(printed.trim()))
}

fn add_target() -> bool {
    let mut rustup = Command::new("timeout");
    rustup.args([RUSTUP_SECONDS, "rustup", "target", "add", TARGET]).current_dir(repository());
    rustup.output().is_ok_and(|output| output.status.success())
}

/// The library's sources of exactly this compiler, kept in the cache.
fn sources() -> Result<PathBuf> {
    let printed = run(Command::new("rustc").arg("--version").current_dir(repository()))?;
    let version = printed.split(' ').nth(1).context("rustc did not say its version")?.to_owned();
    let folder = cache("rust-src")?;
    let library = folder.join(format!("usr/src/rustc-{version}/library"));
    if !library.is_dir() {
        progress(&format!("fetching the sources of Rust's standard library {version}"), || fetch(&folder, &version))?;
    }
    ensure!(library.is_dir(), "the package rust-src {version} has no library/");
    Ok(library)
}

/// Unpacks the package into `folder`, with lists of packages of its own: those of the system stay as they are.
fn fetch(folder: &Path, version: &str) -> Result<()> {
    let apt = folder.join("apt");
    for part in
        ["state/lists/partial", "cache/archives/partial", "etc/sources.list.d", "etc/preferences.d", "etc/apt.conf.d"]
    {
        fs::create_dir_all(apt.join(part))?;
    }
    let keys = "/usr/share/keyrings/debian-archive-keyring.gpg";
    fs::write(apt.join("etc/sources.list"), format!("deb [signed-by={keys}] {} {SUITE} main\n", mirror()?))?;
    let root = apt.display();
    let settings = format!(
        "Dir::State \"{root}/state\"; Dir::State::status \"/dev/null\"; Dir::Cache \"{root}/cache\"; Dir::Etc \"{root}/etc\";\n\
         APT::Sandbox::User \"root\"; Acquire::Languages \"none\";\n"
    );
    fs::write(apt.join("apt.conf"), settings)?;
    let apt_get = || {
        let mut command = Command::new("apt-get");
        command.env("APT_CONFIG", apt.join("apt.conf")).current_dir(folder).arg("-qq");
        command
    };
    run(apt_get().arg("update"))?;
    run(apt_get().arg("download").arg(format!("rust-src={version}+*")))?;
    let package = fs::read_dir(folder)?.filter_map(|entry| entry.ok().map(|entry| entry.path())).find(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&format!("rust-src_{version}")))
    });
    let Some(package) = package else { bail!("apt-get downloaded no rust-src {version}") };
    let unpacked = "dpkg --fsys-tarfile \"$1\" | tar -x ./usr/src/rustc-\"$2\"/library";
    run(Command::new("sh").current_dir(folder).args(["-c", unpacked, "sh"]).arg(package).arg(version))?;
    Ok(())
}

/// The mirror of the machine's own sources of packages.
fn mirror() -> Result<String> {
    let file = "/etc/apt/sources.list.d/debian.sources";
    let text = fs::read_to_string(file).with_context(|| format!("failed to read {file}"))?;
    let uris = text.lines().find_map(|line| line.strip_prefix("URIs:"));
    let first = uris.and_then(|uris| uris.split_whitespace().next());
    first.map(str::to_owned).with_context(|| format!("{file} names no mirror"))
}
