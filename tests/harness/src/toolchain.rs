//! The programs that real clusters run, built from their Go modules under `tests/clusters` and kept in the cache.
//!
//! One folder per program and version, `~/.cache/orrery/bin/<program>-<version>`. Beside each binary stands a stamp
//! that says how it was built; a program is built only when its stamp is missing or says something else, so that a
//! warm start costs a few reads. Several processes may ask at once: one builds a program, the others wait for its lock.

mod guests;
mod kubernetes;
mod upstream;
mod wasm;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::places::{cache, repository};

pub use guests::{GUESTS, Guest};
pub(crate) use guests::{compare as compare_guest, write_all as write_guests};
pub use kubernetes::Minor;
pub use upstream::{UpstreamSuite, upstream_suite};
pub(crate) use wasm::standard_library;

const ETCD: &str = "3.7.3";
const KWOK: &str = "0.8.0";

/// Stages that kwok's module ships and that make fake nodes and pods behave: they say how fast each becomes ready.
const KWOK_STAGES: [&str; 3] = ["node/fast", "node/heartbeat-with-lease", "pod/fast"];

/// Paths of everything that a cluster runs.
#[derive(Clone, Debug)]
pub struct Programs {
    /// etcd.
    pub etcd: PathBuf,
    /// kwok: fake nodes with a fake kubelet.
    pub kwok: PathBuf,
    /// kwok's stages, one YAML file.
    pub kwok_stages: PathBuf,
    /// kube-apiserver.
    pub apiserver: PathBuf,
    /// kube-controller-manager.
    pub controller_manager: PathBuf,
    /// kube-scheduler.
    pub scheduler: PathBuf,
    /// kubectl, of the newest minor whatever the cluster's.
    pub kubectl: PathBuf,
}

/// With which optimisation programs are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Quick to build, for tests: Go programs without inlining, of the host only some dependencies optimised.
    Dev,
    /// As released; for measurements.
    Release,
}

/// One `go build`.
struct Build<'a> {
    /// Folder of the Go module that pins what is built.
    module: &'a Path,
    package: &'a str,
    ldflags: &'a str,
    makes: Makes,
    profile: Profile,
    output: PathBuf,
}

/// What a build makes of its package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Makes {
    Program,
    /// A program that runs the package's tests.
    Tests,
}

/// How everything is compiled. One way for all, so that packages which several programs have in one version are compiled
/// once; for the same reason kwok and the judges are pinned to the libraries of the newest Kubernetes.
const COMPILE: [&str; 4] = ["-p", "2", "-trimpath", "-buildvcs=false"];

/// etcd, built if it is missing.
pub(crate) fn etcd(profile: Profile) -> Result<PathBuf> {
    of_etcd("go.etcd.io/etcd/server/v3", "etcd", profile)
}

/// etcdctl, built if it is missing: tests look into an etcd with it, clusters do not need it.
pub(crate) fn etcdctl() -> Result<PathBuf> {
    of_etcd("go.etcd.io/etcd/etcdctl/v3", "etcdctl", Profile::Dev)
}

fn of_etcd(package: &str, name: &str, profile: Profile) -> Result<PathBuf> {
    check_prerequisites()?;
    let module = &repository().join("tests/clusters/etcd");
    let output = profile.folder(&format!("etcd-{ETCD}"))?.join(name);
    Build { module, package, ldflags: "-s -w", makes: Makes::Program, profile, output }.run()
}

/// Builds what is missing for clusters of `minor`, with a line on standard error for each program that takes a while.
pub fn programs(minor: Minor, profile: Profile) -> Result<Programs> {
    check_prerequisites()?;
    let module = &repository().join("tests/clusters/kwok");
    let (package, ldflags, makes) = ("sigs.k8s.io/kwok/cmd/kwok", "-s -w", Makes::Program);
    let kwok = profile.folder(&format!("kwok-{KWOK}"))?;
    Ok(Programs {
        etcd: etcd(profile)?,
        apiserver: kubernetes::build(minor, profile, "kube-apiserver")?,
        controller_manager: kubernetes::build(minor, profile, "kube-controller-manager")?,
        scheduler: kubernetes::build(minor, profile, "kube-scheduler")?,
        kubectl: kubernetes::build(Minor::NEWEST, profile, "kubectl")?,
        kwok_stages: kwok_stages(module, kwok.join("stages.yaml"))?,
        kwok: Build { module, package, ldflags, makes, profile, output: kwok.join("kwok") }.run()?,
    })
}

// === impl Profile ===

impl Profile {
    /// The folder of a version's programs.
    fn folder(self, version: &str) -> Result<PathBuf> {
        cache(&match self {
            Self::Dev => format!("bin/{version}"),
            Self::Release => format!("bin/{version}-release"),
        })
    }

    /// Flags of the Go compiler. Nobody debugs these programs: a third of its time goes into what a debugger reads, and of
    /// the rest a fifth into inlining.
    fn gcflags(self) -> &'static str {
        match self {
            Self::Dev => "all=-dwarf=false -l",
            Self::Release => "all=-dwarf=false",
        }
    }
}

// === impl Build ===

impl Build<'_> {
    fn run(&self) -> Result<PathBuf> {
        let name = self.output.file_name().expect("outputs are named files").to_string_lossy();
        let stamp_file = self.output.with_file_name(format!("{name}.stamp"));
        let gcflags = self.profile.gcflags();
        let stamp = format!("{}\n{}\n{gcflags}\n{}", self.package, self.ldflags, self.sources()?);
        let is_built = || self.output.exists() && fs::read_to_string(&stamp_file).is_ok_and(|found| found == stamp);
        if is_built() {
            return Ok(self.output.clone());
        }
        let lock = File::create(self.output.with_file_name(format!("{name}.lock")))?;
        lock.lock().with_context(|| format!("failed to wait for another build of {name}"))?;
        if is_built() {
            return Ok(self.output.clone());
        }
        let version = self.output.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        progress(&format!("building {name} of {version}"), || {
            let mut go = go(self.module)?;
            go.args(match self.makes {
                Makes::Program => ["build"].as_slice(),
                Makes::Tests => &["test", "-c"],
            });
            go.args(COMPILE).args(["-gcflags", gcflags, "-ldflags", self.ldflags]);
            run(go.arg("-o").arg(&self.output).arg(self.package))
        })?;
        fs::write(&stamp_file, stamp)?;
        Ok(self.output.clone())
    }

    /// The module's `go.mod`, and what it has of its own: packages of other modules are pinned by the former.
    fn sources(&self) -> Result<String> {
        let files = fs::read_dir(self.module)?.map(|file| Ok(file?.path())).collect::<Result<Vec<_>>>()?;
        let mut own: Vec<_> =
            files.into_iter().filter(|file| file.extension().is_some_and(|ending| ending == "go")).collect();
        own.sort();
        let files = [self.module.join("go.mod")].into_iter().chain(own);
        Ok(files.map(fs::read_to_string).collect::<std::io::Result<Vec<_>>>()?.concat())
    }
}

/// Builds a Go program of this repository: package `package` of the module in folder `module` (from the root), which
/// goes into the cache as `name`. Go itself knows what is still as it was, so a warm call takes about a second.
pub fn go_program(module: &str, package: &str, name: &str) -> Result<PathBuf> {
    check_prerequisites()?;
    let folder = cache("bin/judges")?;
    let lock = File::create(folder.join(format!("{name}.lock")))?;
    lock.lock().with_context(|| format!("failed to wait for another build of {name}"))?;
    let output = folder.join(name);
    let mut go = go(&repository().join(module))?;
    go.arg("build").args(COMPILE).args(["-gcflags", Profile::Dev.gcflags(), "-o"]).arg(&output).arg(package);
    let said = if output.exists() { run(&mut go) } else { progress(&format!("building {name}"), || run(&mut go)) };
    said?;
    Ok(output)
}

/// `go` in the folder of a module, with the shared build cache and no flags of the user's. What cargo builds beside it goes
/// first: its last crates wait for one another, and this has always something to do.
fn go(module: &Path) -> Result<Command> {
    let mut command = Command::new("nice");
    command
        .args(["-n", "10", "go"])
        .current_dir(module)
        .env("GOCACHE", cache("go-build")?)
        .env("GOFLAGS", "")
        .env("GOWORK", "off");
    // The compiler runs once for each of 2,500 packages, mostly for less time than a first collection pays for.
    command.env("GOGC", "off").env("GOMEMLIMIT", "4GiB");
    // As upstream builds its own; and no C linker reads 100 MB for each program.
    command.env("CGO_ENABLED", "0");
    Ok(command)
}

/// Runs `command` and gives its standard output; an error with both outputs if it fails.
fn run(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("failed to start {}", command.get_program().display()))?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        bail!("{command:?} ended with {}:\n{said}", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Says on standard error that a long step begins, and how long it took.
pub(crate) fn progress<T>(what: &str, step: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("dev: {what} ...");
    let begun = Instant::now();
    let made = step().with_context(|| format!("no {what}"))?;
    eprintln!("dev: {what}: done in {:.0} s", begun.elapsed().as_secs_f32());
    Ok(made)
}

/// The stages of kwok's own module, put into one file. They are read from the module, so that no copy is kept here.
fn kwok_stages(module: &Path, output: PathBuf) -> Result<PathBuf> {
    if output.exists() {
        return Ok(output);
    }
    run(go(module)?.args(["mod", "download", "sigs.k8s.io/kwok"]))?;
    let dir = run(go(module)?.args(["list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok"]))?;
    let stages = Path::new(dir.trim()).join("kustomize/stage");
    let mut documents = Vec::new();
    for part in KWOK_STAGES {
        let mut files: Vec<PathBuf> =
            fs::read_dir(stages.join(part))?.map(|file| Ok(file?.path())).collect::<Result<_>>()?;
        files.retain(|file| {
            file.extension().is_some_and(|ending| ending == "yaml") && !file.ends_with("kustomization.yaml")
        });
        files.sort();
        for file in files {
            documents.push(fs::read_to_string(file)?);
        }
    }
    fs::write(&output, documents.join("\n---\n"))?;
    Ok(output)
}

/// Errors that name each program that is missing, with the command that brings it.
fn check_prerequisites() -> Result<()> {
    let needed = [
        ("go", "go version 1.26 or later; the package golang-1.26 of your system, or the archive of the Go project"),
        ("setpriv", "apt-get install util-linux"),
    ];
    require(&needed)
}

/// An error that names each program of `needed` that is missing, with what brings it.
pub fn require(needed: &[(&str, &str)]) -> Result<()> {
    let missing: Vec<String> = needed
        .iter()
        .filter(|(program, _)| !on_path(program))
        .map(|(program, brought_by)| format!("{program} is missing; it comes with: {brought_by}"))
        .collect();
    if !missing.is_empty() {
        bail!("{}", missing.join("\n"));
    }
    Ok(())
}

fn on_path(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(program).is_file()))
}
