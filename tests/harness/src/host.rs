//! The host's binary as a process.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;
use std::{env, fs};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::client::Client;
use crate::cluster::Cluster;
use crate::kubectl::Kubectl;
use crate::places::{cache, cargo_target, repository};
use crate::ports::free_port;
use crate::process::{Lifetime, Process, Program};
use crate::toolchain::{Minor, Profile, programs};
use crate::wait::eventually;

/// Longest wait until a host that was started is ready.
const READY_LIMIT: Duration = Duration::from_secs(30);

/// How to start a host.
#[derive(Clone, Debug)]
pub struct HostSpec {
    profile: Profile,
    address: Ipv4Addr,
    members: Vec<(String, PathBuf)>,
    flags: Vec<String>,
    env: Vec<(String, String)>,
    data: Option<PathBuf>,
}

/// A host. Dropping it kills it; its folder goes too, unless the thread panics: then its path is printed.
#[derive(Debug)]
pub struct Host {
    process: Process,
    url: String,
    data: PathBuf,
    log: PathBuf,
    kubectl: Kubectl,
    scratch: Option<TempDir>,
}

// === impl HostSpec ===

impl HostSpec {
    /// A host without members, in a folder of its own, built for development.
    pub fn new() -> Self {
        Self {
            profile: Profile::Dev,
            address: Ipv4Addr::LOCALHOST,
            members: Vec::new(),
            flags: Vec::new(),
            env: Vec::new(),
            data: None,
        }
    }

    /// Adds a member under the cluster's own name (`--member NAME=KUBECONFIG`).
    pub fn member(self, cluster: &Cluster) -> Self {
        self.member_at(cluster.name(), &cluster.kubeconfig())
    }

    /// Adds a member by name and kubeconfig.
    pub fn member_at(mut self, name: &str, kubeconfig: &Path) -> Self {
        self.members.push((name.to_owned(), kubeconfig.to_owned()));
        self
    }

    /// Adds a flag of `orrery serve`, as `--store=memory`.
    pub fn flag(mut self, flag: impl Into<String>) -> Self {
        self.flags.push(flag.into());
        self
    }

    /// Sets a variable of its environment, as `RUST_LOG`.
    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.env.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Sets how the binary is built.
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Sets where it listens, where that is not to be the loopback interface.
    pub fn address(mut self, address: Ipv4Addr) -> Self {
        self.address = address;
        self
    }

    /// Uses `dir` as its data folder (`--data`), which stays.
    pub fn data(mut self, dir: &Path) -> Self {
        self.data = Some(dir.to_owned());
        self
    }

    /// Builds the binary if need be, starts it and waits until `/readyz` says yes.
    pub fn start(self) -> Result<Host> {
        let mut host = self.launch()?;
        host.wait_ready()?;
        Ok(host)
    }

    /// Starts it without waiting: for hosts that are expected to refuse, or to be slow.
    pub fn launch(self) -> Result<Host> {
        let binary = binary(self.profile)?;
        let scratch = tempfile::Builder::new().prefix("orrery-host-").tempdir()?;
        let data = self.data.unwrap_or_else(|| scratch.path().join("data"));
        let log = scratch.path().join("host.log");
        let address = SocketAddr::from((self.address, free_port()?)).to_string();
        let mut program = Program::new(binary, &log).lifetime(Lifetime::Tied);
        program = program.args(["serve", "--listen", &address, "--data"]).args([&data]);
        for (name, kubeconfig) in &self.members {
            program = program.args(["--member".to_owned(), format!("{name}={}", kubeconfig.display())]);
        }
        program = program.args(&self.flags);
        for (key, value) in &self.env {
            program = program.env(key, value);
        }
        if self.flags.iter().any(|flag| flag.starts_with("--extensions")) {
            share_compiled(&data)?;
        }
        let kubectl = programs(Minor::NEWEST, self.profile)?.kubectl;
        let kubectl = Kubectl::new(&kubectl, &data.join("kubeconfig"), &scratch.path().join("kubectl-cache"));
        let process = program.start()?;
        Ok(Host { process, url: format!("https://{address}"), data, log, kubectl, scratch: Some(scratch) })
    }
}

/// Lets hosts share what they compile of extensions: an unoptimised compiler takes long for the component of CEL.
fn share_compiled(data: &Path) -> Result<()> {
    let compiled = data.join("extensions/compiled");
    if !compiled.exists() {
        fs::create_dir_all(data.join("extensions"))?;
        std::os::unix::fs::symlink(cache("compiled")?, compiled)?;
    }
    Ok(())
}

impl Default for HostSpec {
    fn default() -> Self {
        Self::new()
    }
}

// === impl Host ===

impl Host {
    /// Waits until `/readyz` answers 200; an error with the end of the log if the host ends meanwhile.
    pub fn wait_ready(&mut self) -> Result<()> {
        let kubeconfig = self.kubeconfig();
        let mut ended = None;
        eventually("the host is ready", READY_LIMIT, || {
            if let Err(error) = self.process.check_running() {
                ended = Some(error);
                return Ok(());
            }
            let ready = Client::from_kubeconfig(&kubeconfig)?.get("/readyz")?;
            if ready.status == 200 { Ok(()) } else { bail!("/readyz answers {}: {}", ready.status, ready.text()) }
        })
        .with_context(|| format!("the end of its log:\n{}", self.log_tail()))?;
        ended.map_or(Ok(()), Err)
    }

    /// Path of the kubeconfig that it writes.
    pub fn kubeconfig(&self) -> PathBuf {
        self.data.join("kubeconfig")
    }

    /// Path of the binary that runs.
    pub fn binary(&self) -> &Path {
        self.process.program().path()
    }

    /// Its data folder (`--data`).
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Its address, as `https://127.0.0.1:PORT`; the same after a restart.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// kubectl with its kubeconfig.
    pub fn kubectl(&self) -> &Kubectl {
        &self.kubectl
    }

    /// A plain client with its kubeconfig.
    pub fn client(&self) -> Result<Client> {
        Client::from_kubeconfig(&self.kubeconfig())
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Its process, for signals and memory.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Everything that it has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Its resident set, in bytes.
    pub fn rss_bytes(&self) -> Result<u64> {
        self.process.rss_bytes()
    }

    /// Kills it (SIGKILL).
    pub fn kill9(&mut self) -> Result<()> {
        self.process.kill()
    }

    /// Asks it to end (SIGTERM), waits at most `limit`, and gives its exit status.
    pub fn sigterm(&mut self, limit: Duration) -> Result<ExitStatus> {
        self.process.terminate(limit)
    }

    /// Tells it to read configuration and contexts again (SIGHUP).
    pub fn sighup(&self) -> Result<()> {
        self.process.hang_up()
    }

    /// Starts it again on the same folder and address after it ended, and waits until it is ready.
    pub fn restart(&mut self) -> Result<()> {
        self.process.restart()?;
        self.wait_ready()
    }

    /// Runs another command of the same binary on the same folder, as `["status"]`.
    pub fn command(&self, args: &[&str]) -> Result<Command> {
        let mut command = Command::new(binary(Profile::Dev)?);
        command.args(args).env("KUBECONFIG", self.kubeconfig()).env("ORRERY_DATA", &self.data);
        Ok(command)
    }

    fn log_tail(&self) -> String {
        let log = self.log();
        let skipped = log.lines().count().saturating_sub(20);
        log.lines().skip(skipped).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Some(scratch) = self.scratch.take()
        {
            eprintln!("the host's log and data are kept in {}", scratch.keep().display());
        }
    }
}

/// Path of the host's binary, built once per process and profile. `ORRERY_TEST_BINARY` names one that is built already.
pub fn binary(profile: Profile) -> Result<PathBuf> {
    static BUILT: LazyLock<Mutex<Vec<(Profile, PathBuf)>>> = LazyLock::new(Mutex::default);
    if let Some(given) = env::var_os("ORRERY_TEST_BINARY") {
        return Ok(given.into());
    }
    let mut built = BUILT.lock().expect("a build that panics fails its test, and so do those that wait for it");
    if let Some((_, path)) = built.iter().find(|(of, _)| *of == profile) {
        return Ok(path.clone());
    }
    let path = build(profile)?;
    built.push((profile, path.clone()));
    Ok(path)
}

fn build(profile: Profile) -> Result<PathBuf> {
    let (name, folder) = match profile {
        Profile::Dev => ("dev", "debug"),
        Profile::Release => ("release", "release"),
    };
    let mut cargo = Command::new("cargo");
    // cargo tells tests about themselves by variables; build scripts that look at them would run again for nothing.
    for (key, _) in env::vars_os().filter(|(key, _)| key.to_string_lossy().starts_with("CARGO_")) {
        if key != "CARGO_HOME" {
            cargo.env_remove(key);
        }
    }
    cargo.current_dir(repository()).env("CARGO_TARGET_DIR", cargo_target()?).stdin(Stdio::null());
    cargo.args(["build", "--quiet", "--bin", "orrery", "--profile", name]);
    match profile {
        // A test beside it, so that dependencies have the features of `cargo test --workspace` and are built once.
        Profile::Dev => cargo.args(["--workspace", "--test", "tidy"]),
        Profile::Release => cargo.args(["--package", "orrery"]),
    };
    let output = cargo.output()?;
    if !output.status.success() {
        bail!("the host does not build:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(cargo_target()?.join(folder).join("orrery"))
}
