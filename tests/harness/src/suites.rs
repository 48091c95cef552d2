//! The test suites: what each runs, how long it takes, and how its results are counted.
//!
//! Suites run one after another, and so do the test programs within one, because a real cluster or a compiler keeps
//! both cores of a small machine busy; within a program the tests run side by side, at most [`TESTS_AT_ONCE`] where
//! they start clusters. What a program prints is passed on as it comes and read on the way for its counts.

mod checks;
mod counts;
mod fuzz;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::commands::say;
use crate::host::binary;
use crate::places::{cache, cargo_target, repository};
use crate::toolchain::{
    GUESTS, Guest, Minor, Profile, compare_guest, etcdctl, programs, progress, standard_library, upstream_suite,
};

pub(crate) use counts::Counts;

/// Tests of one program that run side by side, each with clusters of its own (up to 620 MB apiece).
const TESTS_AT_ONCE: &str = "--test-threads=2";

/// A named part of the tests.
#[derive(Debug)]
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Minutes that it takes on two cores once everything is built.
    pub(crate) minutes: u32,
    pub(crate) runs: Runs,
    steps: &'static [Step],
}

/// When a suite runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    /// Whenever no suite is named.
    Always,
    /// Only when it is named.
    Named,
}

/// One program of a suite.
#[derive(Debug)]
enum Step {
    /// The tests within crates, and the test programs of the folders that no other suite runs.
    Units,
    /// The examples in documentation.
    Examples,
    /// The test programs in `FOLDER/tests`, with these arguments.
    Tests(&'static str, &'static [&'static str]),
    /// One test program, with these arguments.
    Program(&'static str, &'static [&'static str]),
    /// Builds what clusters and the host run, where a reader sees it: what tests say while they pass is not shown.
    Programs,
    /// Builds upstream's e2e suite, likewise.
    UpstreamSuite,
    /// A minute of fuzzing of this target.
    Fuzz(&'static str),
    /// The tests within a guest's crate, which is a workspace of its own.
    GuestTests(&'static str),
    /// A guest's committed component against what its sources give.
    GuestBytes(&'static Guest),
    /// A check that passes or fails as a whole, as formatting.
    Check(&'static str, fn() -> Result<Command>),
}

/// How a suite went.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) suite: &'static str,
    pub(crate) counts: Counts,
    pub(crate) took: Duration,
}

/// All suites, in the order in which they run.
pub(crate) const SUITES: &[Suite] = &[
    Suite {
        name: "checks",
        about: "formatting, lints, licences and sources of dependencies",
        minutes: 2,
        runs: Runs::Named,
        steps: &[
            Step::Check("formatting", checks::formatting),
            Step::Check("lints", checks::lints),
            Step::Check("dependencies", checks::dependencies),
        ],
    },
    Suite {
        name: "unit",
        about: "each crate by itself, the crate graph and the tidiness of files",
        minutes: 2,
        runs: Runs::Always,
        steps: &[Step::Units, Step::Examples],
    },
    Suite {
        name: "contract",
        about: "the contract of marker stores, on each of them",
        minutes: 1,
        runs: Runs::Always,
        steps: &[Step::Tests("host/stores", &["--include-ignored"])],
    },
    Suite {
        name: "sim",
        about: "the whole host in one process against simulated members, by 300 seeds",
        minutes: 1,
        runs: Runs::Always,
        steps: &[Step::Tests("tests/sim", &["--nocapture"])],
    },
    Suite {
        name: "real",
        about: "the host over real clusters, and every fault done to them",
        minutes: 6,
        runs: Runs::Always,
        steps: &[Step::Programs, Step::Tests("tests/real", &[TESTS_AT_ONCE])],
    },
    Suite {
        name: "compat",
        about: "real clients as judges: kubectl, client-go informers, a third of upstream's conformance specs",
        minutes: 5,
        runs: Runs::Always,
        steps: &[Step::Programs, Step::UpstreamSuite, Step::Tests("tests/compat", &[TESTS_AT_ONCE])],
    },
    Suite {
        name: "conformance",
        about: "all of upstream's conformance specs that pass directly, with one member and with two",
        minutes: 30,
        runs: Runs::Named,
        steps: &[
            Step::Programs,
            Step::UpstreamSuite,
            Step::Program("conformance", &["--ignored", "--test-threads=1", "--skip=discover"]),
        ],
    },
    Suite {
        name: "kubectl-writes",
        about: "each writing command of two kubectls, against a member and through the host",
        minutes: 4,
        runs: Runs::Named,
        steps: &[Step::Programs, Step::Program("kubectl_writes", &["--ignored"])],
    },
    Suite {
        name: "clients",
        about: "helm, k9s, stern and the clients of Python and JavaScript write, exec and follow logs through the host",
        minutes: 4,
        runs: Runs::Named,
        steps: &[
            Step::Programs,
            Step::Program("helm", &["--ignored"]),
            Step::Program("k9s", &["--ignored"]),
            Step::Program("libraries", &["--ignored"]),
            Step::Program("stern", &["--ignored"]),
            Step::Program("vanished", &["--ignored"]),
        ],
    },
    Suite {
        name: "idle",
        about: "streams that say nothing for ten minutes go on",
        minutes: 11,
        runs: Runs::Named,
        steps: &[Step::Programs, Step::Program("idle", &["--ignored"])],
    },
    Suite {
        name: "sim-long",
        about: "the same by 10,000 seeds",
        minutes: 30,
        runs: Runs::Named,
        steps: &[Step::Tests("tests/sim", &["--ignored", "--nocapture"])],
    },
    Suite {
        name: "fuzz",
        about: "a minute of fuzzing for everything that reads bytes of others; needs a nightly compiler",
        minutes: 10,
        runs: Runs::Named,
        steps: &[
            Step::Fuzz("accept"),
            Step::Fuzz("component"),
            Step::Fuzz("continue_token"),
            Step::Fuzz("document"),
            Step::Fuzz("expression"),
            Step::Fuzz("field_selector"),
            Step::Fuzz("guest_result"),
            Step::Fuzz("label_selector"),
            Step::Fuzz("query"),
            Step::Fuzz("segment"),
            Step::Fuzz("watch_frames"),
        ],
    },
    Suite {
        name: "languages",
        about: "the plugins of this repository: their own tests, and their components against their sources",
        minutes: 5,
        runs: Runs::Named,
        steps: &[
            Step::GuestTests("cel"),
            Step::GuestTests("example-scorer"),
            Step::GuestBytes(&GUESTS[0]),
            Step::GuestBytes(&GUESTS[1]),
        ],
    },
    Suite {
        name: "swaps",
        about: "creates and informers while the rules and plugins that decide are replaced again and again",
        minutes: 3,
        runs: Runs::Named,
        steps: &[Step::Programs, Step::Program("swaps", &["--ignored"]), Step::Program("selected", &["--ignored"])],
    },
    Suite {
        name: "minors",
        about: "members of every minor version that ./dev can start; builds them first, 5 minutes each",
        minutes: 2,
        runs: Runs::Named,
        steps: &[Step::Program("minors", &["--ignored", "--test-threads=1"])],
    },
];

/// What `./dev test conformance --discover` runs instead of the suite.
pub(crate) const DISCOVERY: Suite = Suite {
    name: "discovery",
    about: "which conformance specs pass directly against a member",
    minutes: 40,
    runs: Runs::Named,
    steps: &[
        Step::Programs,
        Step::UpstreamSuite,
        Step::Program("conformance", &["--ignored", "--nocapture", "discover"]),
    ],
};

/// The suites `names`, or those that always run if it is empty.
pub(crate) fn chosen(names: &[String]) -> Result<Vec<&'static Suite>> {
    if names.is_empty() {
        return Ok(SUITES.iter().filter(|suite| suite.runs == Runs::Always).collect());
    }
    let find = |name: &String| {
        let found = SUITES.iter().find(|suite| suite.name == name);
        found.with_context(|| format!("no suite is named {name:?}; `./dev test --list` shows all"))
    };
    names.iter().map(find).collect()
}

// === impl Suite ===

impl Suite {
    /// Runs all its steps, also after one failed.
    pub(crate) fn run(&self) -> Result<Outcome> {
        let begun = Instant::now();
        let mut counts = Counts::default();
        for step in self.steps {
            counts += step.run()?;
        }
        Ok(Outcome { suite: self.name, counts, took: begun.elapsed() })
    }
}

// === impl Step ===

impl Step {
    fn run(&self) -> Result<Counts> {
        match self {
            Self::Units => {
                let mut tests = cargo_test()?;
                counted(tests.args(["--lib", "--bins"]).args(selected(&unsuited()?)))
            }
            Self::Examples => counted(cargo_test()?.arg("--doc")),
            Self::Tests(folder, args) => {
                let mut tests = cargo_test()?;
                counted(tests.args(selected(&test_programs(&repository().join(folder))?)).arg("--").args(*args))
            }
            Self::Program(name, args) => counted(cargo_test()?.arg(format!("--test={name}")).arg("--").args(*args)),
            Self::Programs => {
                let built = programs(Minor::NEWEST, Profile::Dev).and_then(|_| etcdctl());
                let built = built.and_then(|_| progress("building the host", || binary(Profile::Dev)));
                Ok(built_or_failed(built))
            }
            Self::UpstreamSuite => Ok(built_or_failed(upstream_suite())),
            Self::Fuzz(target) => Ok(checked(&format!("the fuzz target {target}"), || fuzz::command(target))),
            Self::GuestTests(name) => counted(&mut guest_test(name)?),
            Self::GuestBytes(guest) => Ok(same_bytes(guest)),
            Self::Check(name, command) => Ok(checked(name, command)),
        }
    }
}

/// One test: the committed component is what its sources give. It is skipped where the standard library had to be built, as
/// that gives other bytes.
fn same_bytes(guest: &Guest) -> Counts {
    let compared = standard_library().and_then(|library| match library.gives_committed_bytes() {
        true => compare_guest(guest).map(|()| Counts::one_passed()),
        false => guest.build().map(|_| Counts::one_skipped()),
    });
    compared.unwrap_or_else(|error| {
        eprintln!("dev: {error:#}");
        Counts::one_failed()
    })
}

/// `cargo test` in the workspace of a guest.
fn guest_test(name: &str) -> Result<Command> {
    let mut command = Command::new("cargo");
    command.current_dir(repository().join("plugins").join(name)).env("CARGO_TARGET_DIR", cache("guests")?);
    command.args(["test", "--locked", "--no-fail-fast"]);
    Ok(command)
}

/// What is built counts for nothing; what is not has failed.
fn built_or_failed<T>(built: Result<T>) -> Counts {
    match built {
        Ok(_) => Counts::default(),
        Err(error) => {
            eprintln!("dev: {error:#}");
            Counts::one_failed()
        }
    }
}

/// Runs what passes or fails as a whole. What cannot even begin (its tool does not build) has failed, and the others still
/// run.
fn checked(name: &str, command: impl FnOnce() -> Result<Command>) -> Counts {
    eprintln!("dev: checking {name} ...");
    let passed = command().and_then(|mut command| Ok(command.status()?.success()));
    let passed = passed.inspect_err(|error| eprintln!("dev: {name}: {error:#}")).unwrap_or(false);
    if passed { Counts::one_passed() } else { Counts::one_failed() }
}

/// A program that cargo installs, built once.
fn installed(program: &str, version: &str) -> Result<PathBuf> {
    let root = cache("bin")?.join(format!("{program}-{version}"));
    let binary = root.join("bin").join(program);
    if !binary.exists() {
        progress(&format!("building {program} {version} (some minutes, once)"), || {
            let mut command = Command::new("cargo");
            command.args(["install", "--quiet", "--locked", program, "--version", version, "--root"]);
            // cargo's own temporary folder: its many dependencies need not fill the shared one.
            let status = command.arg(&root).env_remove("CARGO_TARGET_DIR").status()?;
            if status.success() { Ok(()) } else { anyhow::bail!("cargo install ended with {status}") }
        })?;
    }
    Ok(binary)
}

/// `cargo subcommand` in the repository, with the shared target folder.
fn cargo(subcommand: &str) -> Result<Command> {
    let mut command = Command::new("cargo");
    command.current_dir(repository()).env("CARGO_TARGET_DIR", cargo_target()?).arg(subcommand);
    Ok(command)
}

/// `cargo test` of the whole workspace: of a part of it dependencies would have other features and be built once more.
fn cargo_test() -> Result<Command> {
    let mut command = cargo("test")?;
    command.args(["--workspace", "--no-fail-fast"]);
    Ok(command)
}

/// The test programs in `folder/tests`.
fn test_programs(folder: &Path) -> Result<Vec<String>> {
    let Ok(entries) = fs::read_dir(folder.join("tests")) else { return Ok(Vec::new()) };
    let mut programs = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            programs.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    programs.sort();
    Ok(programs)
}

/// The test programs of all folders that have no suite of their own.
fn unsuited() -> Result<Vec<String>> {
    let of_suite = |folder: &Path| {
        let steps = SUITES.iter().flat_map(|suite| suite.steps);
        steps.clone().any(|step| matches!(step, Step::Tests(of, _) if folder.ends_with(of)))
    };
    let mut programs = Vec::new();
    for parent in ["host", "tests"] {
        for folder in fs::read_dir(repository().join(parent))? {
            let folder = folder?.path();
            if !of_suite(&folder) {
                programs.extend(test_programs(&folder)?);
            }
        }
    }
    Ok(programs)
}

fn selected(programs: &[String]) -> impl Iterator<Item = String> {
    programs.iter().map(|program| format!("--test={program}"))
}

/// Runs a test program, passes on what it prints, and adds up what it says of its tests.
fn counted(command: &mut Command) -> Result<Counts> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("failed to start cargo")?;
    let mut counts = Counts::default();
    for line in BufReader::new(child.stdout.take().expect("it was asked to be piped")).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        say(&line)?;
        counts += Counts::said_by(&line);
    }
    let succeeded = child.wait()?.success();
    Ok(counts.confirmed(succeeded))
}
