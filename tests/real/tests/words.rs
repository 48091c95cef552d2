//! Every command block of the README, of CONTRIBUTING.md and of docs/ is typed here, document by document, as one user's
//! session on a machine whose kubeconfig has the contexts `east` and `west`.
//!
//! A command must succeed, and where the document says what it prints, print that (ages and generated names apart).
//! `orrery serve` goes on while the rest of the document is typed; what a document shows before it has one finds a host
//! running, and kubectl set to it. What does not end by itself is cut after some seconds. Of commands that build or test the repository itself, only
//! that they exist is checked: the suites run them.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use anyhow::{Context, Result, bail, ensure};
use orrery_harness::{
    Cluster, ConsoleStep, Printed, Process, Profile, Program, binary, cache, demo_clusters, eventually, free_port,
    printed_as_written, repository, shell_commands,
};
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_secs(30);

/// One user's terminal.
struct Session {
    home: TempDir,
    variables: Vec<(&'static str, String)>,
    /// `export` lines and the like that were typed, for the commands after them.
    typed: String,
    host: Option<Process>,
}

/// How a command of a document is typed.
enum Kind {
    /// Runs and ends.
    Plain,
    /// Sets something for the commands after it.
    Setting,
    /// Goes on: the host.
    Serve,
    /// Goes on: a watch.
    Watch,
    /// Builds or tests this repository.
    Repository,
}

fn kind(command: &str) -> Kind {
    match command.split_whitespace().next().unwrap_or_default() {
        "export" | "cd" => Kind::Setting,
        "cargo" | "alias" | "./dev" | ".ci/run" | "git" => Kind::Repository,
        "orrery" if command.contains(" serve") => Kind::Serve,
        _ if command.ends_with(" -w") || command.contains(" -w ") || command.contains("--watch") => Kind::Watch,
        _ => Kind::Plain,
    }
}

// === impl Session ===

impl Session {
    fn begin(clusters: &[Cluster; 2], orrery: &Path) -> Result<Self> {
        let home = tempfile::tempdir()?;
        let kube = home.path().join(".kube");
        fs::create_dir(&kube)?;
        let [east, west] = clusters;
        let both = env::join_paths([east.kubeconfig(), west.kubeconfig()])?;
        let merged = east.kubectl().command(&["config", "view", "--flatten"]).env("KUBECONFIG", both).output()?;
        ensure!(merged.status.success(), "{}", String::from_utf8_lossy(&merged.stderr));
        fs::write(kube.join("config"), merged.stdout)?;
        for folder in ["policies", "plugins"] {
            symlink(repository().join(folder), home.path().join(folder))?;
        }
        let extensions = home.path().join(".local/state/orrery/extensions");
        fs::create_dir_all(&extensions)?;
        symlink(cache("compiled")?, extensions.join("compiled"))?;
        let kubectl = east.kubectl().program().parent().context("kubectl lies in a folder")?;
        let orrery = orrery.parent().context("orrery lies in a folder")?;
        let path = env::var_os("PATH").context("PATH is set")?;
        let path = env::join_paths([orrery.to_owned(), kubectl.to_owned()].into_iter().chain(env::split_paths(&path)))?;
        let inside = |part: &str| home.path().join(part).display().to_string();
        let variables = vec![
            ("HOME", inside("")),
            ("XDG_STATE_HOME", inside(".local/state")),
            ("KUBECONFIG", inside(".kube/config")),
            ("PATH", path.to_string_lossy().into_owned()),
            // Documents name the default port, which somebody may use.
            ("ORRERY_LISTEN", format!("127.0.0.1:{}", free_port()?)),
        ];
        Ok(Self { home, variables, typed: String::new(), host: None })
    }

    fn type_in(&mut self, step: &ConsoleStep) -> Result<()> {
        let command = step.command.as_str();
        match kind(command) {
            Kind::Setting => {
                self.typed += &format!("{command}\n");
                Ok(())
            }
            Kind::Serve => {
                self.use_kubeconfig(".kube/config");
                self.serve(command)
            }
            Kind::Repository => check_exists(command),
            Kind::Watch => {
                let printed = self.run(&format!("timeout 5 {command}"))?;
                ensure!(printed.code == 124, "it ended by itself: {printed:?}");
                ensure!(!printed.stdout.is_empty(), "it printed nothing: {printed:?}");
                Ok(())
            }
            Kind::Plain if step.printed.is_empty() => self.succeed(command).map(drop),
            Kind::Plain => eventually("it prints what is written", LIMIT, || {
                let printed = self.succeed(command)?;
                printed_as_written(&step.printed, &printed)
            }),
        }
    }

    /// A host that the document did not start.
    fn find_a_host_running(&mut self) -> Result<()> {
        self.serve("orrery serve --context east --context west")?;
        self.use_kubeconfig(".local/state/orrery/kubeconfig");
        Ok(())
    }

    fn use_kubeconfig(&mut self, file: &str) {
        let path = self.home.path().join(file).display().to_string();
        self.variables.retain(|(name, _)| *name != "KUBECONFIG");
        self.variables.push(("KUBECONFIG", path));
    }

    fn serve(&mut self, command: &str) -> Result<()> {
        // The host before it, if any, is taken down as by Ctrl-C.
        self.host = None;
        let script = format!("cd && {}exec {command}", self.typed);
        let mut program = Program::new("sh", self.home.path().join("host.log")).args(["-c", &script]);
        for (key, value) in &self.variables {
            program = program.env(key, value);
        }
        self.host = Some(program.start()?);
        let ready = eventually("the host answers", LIMIT, || self.succeed("orrery status").map(drop));
        ready.with_context(|| fs::read_to_string(self.home.path().join("host.log")).unwrap_or_default())
    }

    fn succeed(&self, command: &str) -> Result<String> {
        let printed = self.run(command)?;
        ensure!(printed.code == 0, "it ended with {}: {}{}", printed.code, printed.stdout, printed.stderr);
        Ok(printed.stdout)
    }

    fn run(&self, command: &str) -> Result<Printed> {
        let mut shell = Command::new("timeout");
        shell.args(["60", "sh", "-c", &format!("{}{command}", self.typed)]).current_dir(self.home.path());
        shell.envs(self.variables.iter().map(|(key, value)| (key, value))).env_remove("RUST_BACKTRACE");
        let output = shell.stdin(Stdio::null()).output()?;
        Ok(Printed {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code().unwrap_or(-1),
        })
    }
}

/// Whether a command that builds or tests the repository is one that there is.
fn check_exists(command: &str) -> Result<()> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let succeeds = |program: &str, args: &[&str]| -> Result<()> {
        let output = Command::new(program).args(args).current_dir(repository()).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    };
    match words.as_slice() {
        ["./dev", task, ..] => succeeds("./dev", &[task, "--help"]),
        // What it stands for is built by a line before it, and here on the path already.
        ["alias", ..] => Ok(()),
        [".ci/run"] => succeeds("test", &["-x", ".ci/run"]),
        ["cargo", .., "-p", package] => succeeds("cargo", &["pkgid", "--package", package]),
        ["cargo", task, ..] => succeeds("cargo", &[task, "--help"]),
        _ => bail!("nobody knows how to check {command:?}; teach it to tests/words.rs"),
    }
}

fn documents() -> Result<Vec<PathBuf>> {
    let root = repository();
    let mut found = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    for entry in fs::read_dir(root.join("docs"))? {
        found.push(entry?.path());
    }
    found.retain(|path| path.extension().is_some_and(|ending| ending == "md") && path.exists());
    found.sort();
    Ok(found)
}

#[test]
fn every_command_that_a_document_shows_works_and_prints_what_it_says() -> Result<()> {
    let clusters = demo_clusters()?;
    let orrery = binary(Profile::Dev)?;
    let (mut typed, mut wrong) = (0, Vec::new());
    for document in documents()? {
        let steps = shell_commands(&fs::read_to_string(&document)?);
        let mut session = Session::begin(&clusters, &orrery)?;
        let asks = |step: &&ConsoleStep| !matches!(kind(&step.command), Kind::Repository | Kind::Setting);
        if steps.iter().find(asks).is_some_and(|step| !matches!(kind(&step.command), Kind::Serve)) {
            session.find_a_host_running()?;
        }
        for step in &steps {
            typed += 1;
            if let Err(error) = session.type_in(step) {
                wrong.push(format!("{}:{}: {}\n{error:#}", document.display(), step.line, step.command));
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    ensure!(typed > 0, "no document shows a command");
    Ok(())
}
