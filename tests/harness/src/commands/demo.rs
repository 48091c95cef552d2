//! `./dev demo`: two real clusters, the host over them, and commands to try.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tempfile::TempDir;

use super::say;
use crate::cluster::{Cluster, ClusterSpec, start_all};
use crate::console::{ConsoleStep, console_steps};
use crate::host::{Host, HostSpec, binary};
use crate::places::repository;
use crate::printed::printed_as_written;
use crate::process::Program;
use crate::toolchain::{Profile, progress};
use crate::wait::eventually;

/// The commands to try, with what they print.
const STEPS: &str = include_str!("demo.md");

/// What says where new objects go, and what else its files name.
const EXTENSIONS: [(&str, &str); 2] =
    [("placement.yaml", include_str!("demo/placement.yaml")), ("prefer.yaml", include_str!("demo/prefer.yaml"))];
const SHIPPED: [(&str, &str); 2] =
    [("policies/maintenance.yaml", "maintenance.yaml"), ("plugins/example-scorer/example-scorer.wasm", "prefer.wasm")];

/// Longest wait for what one command prints.
const STEP_LIMIT: Duration = Duration::from_secs(20);

#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Type the commands instead of waiting for somebody to, compare what they print, and end
    #[arg(long)]
    check: bool,
}

/// What runs during the demo.
struct Stage {
    clusters: [Cluster; 2],
    host: Host,
    /// The folder of its extensions.
    extensions: TempDir,
    /// `PATH` with kubectl and the host's binary first.
    path: std::ffi::OsString,
}

// === impl Demo ===

impl Demo {
    pub(super) fn run(self) -> Result<ExitCode> {
        let stage = Stage::set()?;
        let steps = console_steps(STEPS);
        if self.check {
            return stage.check(&steps);
        }
        say(&format!("\nTry, in another terminal:\n\n  export KUBECONFIG={}", stage.host.kubeconfig().display()))?;
        say(&format!("  export ORRERY_DATA={}", stage.host.data().display()))?;
        say(&format!("  export EXTENSIONS={}", stage.extensions.path().display()))?;
        say(&format!("  export PATH={}:$PATH\n", stage.tools().map(|dir| dir.display().to_string()).join(":")))?;
        steps.iter().try_for_each(|step| say(&format!("  {}", step.command)))?;
        say("\nCtrl-C ends all of it.")?;
        Signals::new([SIGINT, SIGTERM])?.forever().next();
        Ok(ExitCode::SUCCESS)
    }
}

// === impl Stage ===

impl Stage {
    fn set() -> Result<Self> {
        // Both take minutes where nothing is built yet, and neither keeps two cores busy all the time.
        let building = thread::spawn(|| binary(Profile::Dev));
        let clusters = progress("starting clusters east and west", demo_clusters)?;
        building.join().map_err(|_| anyhow!("building the host panicked"))??;
        let extensions = extensions()?;
        let host = HostSpec::new().member(&clusters[0]).member(&clusters[1]);
        let host = host.flag("--cluster-label=east:tier=gold").flag("--cluster-label=west:tier=silver");
        let host = host.flag("--cluster-taint=west:maintenance.orrery.dev/upgrade=true:NoSchedule");
        let host = host.flag(format!("--extensions={}", extensions.path().display()));
        let host = progress("starting the host", || host.start())?;
        let mut stage = Self { clusters, host, extensions, path: env::var_os("PATH").unwrap_or_default() };
        let dirs: Vec<PathBuf> = stage.tools().into_iter().chain(env::split_paths(&stage.path)).collect();
        stage.path = env::join_paths(dirs)?;
        Ok(stage)
    }

    /// Folders of kubectl and of the host's binary.
    fn tools(&self) -> [PathBuf; 2] {
        let folder = |program: &Path| program.parent().unwrap_or(Path::new("/")).to_owned();
        [folder(self.host.kubectl().program()), folder(self.host.binary())]
    }

    /// Types each command and compares what it prints.
    fn check(&self, steps: &[ConsoleStep]) -> Result<ExitCode> {
        let mut differences = 0;
        for step in steps {
            let outcome = if step.meanwhile.is_some() { self.watch(step) } else { self.run_until_right(step) };
            match outcome {
                Ok(()) => say(&format!("as written: {}", step.command))?,
                Err(difference) => {
                    differences += 1;
                    say(&format!("DIFFERENT: {} (line {})\n{difference:#}", step.command, step.line))?;
                }
            }
        }
        say(&format!("{} commands, {differences} with a difference", steps.len()))?;
        Ok(if differences == 0 && !steps.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Runs a command again and again until it prints what it should: pods take a moment to run.
    fn run_until_right(&self, step: &ConsoleStep) -> Result<()> {
        eventually("it prints what is written", STEP_LIMIT, || {
            let output = self.shell(&step.command, &self.host.kubeconfig()).output()?;
            let printed =
                [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
            printed_as_written(&step.printed, &printed)
        })
    }

    /// Runs a command that does not end by itself, does something in a member once it has printed its first lines,
    /// and ends it when it has printed what it should.
    fn watch(&self, step: &ConsoleStep) -> Result<()> {
        let (cluster, action) = step.meanwhile.as_ref().context("a command that is watched has something to see")?;
        let cluster =
            self.clusters.iter().find(|one| one.name() == cluster).context("it names a cluster of the demo")?;
        let scratch = tempfile::tempdir()?;
        let log = scratch.path().join("printed");
        let watching = Program::new("sh", &log).args(["-c", &format!("exec {}", step.command)]).env("PATH", &self.path);
        let watching = watching.env("KUBECONFIG", self.host.kubeconfig()).start()?;
        let printed = || -> Result<String> {
            let text = fs::read_to_string(watching.log())?;
            Ok(text.lines().skip(1).flat_map(|line| [line, "\n"]).collect())
        };
        let before = step.printed.len().saturating_sub(1);
        eventually("it prints what is there", STEP_LIMIT, || match printed()?.lines().count() {
            lines if lines >= before => Ok(()),
            lines => bail!("{lines} of {before} lines"),
        })?;
        let done = self.shell(action, &cluster.kubeconfig()).stdout(Stdio::null()).status()?;
        if !done.success() {
            bail!("{action} ended with {done}");
        }
        eventually("it prints the change", STEP_LIMIT, || printed_as_written(&step.printed, &printed()?))
    }

    fn shell(&self, command: &str, kubeconfig: &Path) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).env("PATH", &self.path).env("KUBECONFIG", kubeconfig).stdin(Stdio::null());
        shell.env("ORRERY_DATA", self.host.data()).env("EXTENSIONS", self.extensions.path());
        shell
    }
}

fn extensions() -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    for (name, content) in EXTENSIONS {
        fs::write(folder.path().join(name), content)?;
    }
    for (from, name) in SHIPPED {
        fs::copy(repository().join(from), folder.path().join(name))?;
    }
    Ok(folder)
}

/// The clusters of the demo: `east` with two nodes and `west` with one, in each a Deployment `web` and a Job `report`,
/// whose pods run or are done.
pub fn demo_clusters() -> Result<[Cluster; 2]> {
    let clusters = start_all([ClusterSpec::full("east").nodes(2), ClusterSpec::full("west").nodes(1)])?;
    for kubectl in clusters.iter().map(Cluster::kubectl) {
        kubectl.ok(&["create", "deployment", "web", "--image=web", "--replicas=2"])?;
        kubectl.ok(&["create", "job", "report", "--image=report"])?;
    }
    for kubectl in clusters.iter().map(Cluster::kubectl) {
        kubectl.ok(&["wait", "--for=condition=Available", "deployment/web", "--timeout=30s"])?;
        kubectl.ok(&["wait", "--for=condition=Complete", "job/report", "--timeout=30s"])?;
    }
    Ok(clusters)
}
