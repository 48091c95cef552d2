use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use orrery_harness::{cache, repository};

/// The value of each ConfigMap that a client holds, by name.
pub type Held = BTreeMap<String, String>;

/// A client in another language that watches the ConfigMaps of namespace `default` (a program in `clients/`). Dropping it
/// ends it.
#[derive(Debug)]
pub struct ForeignClient {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    log: PathBuf,
}

// === impl ForeignClient ===

impl ForeignClient {
    /// The Python client. What it logs goes to the file `log`.
    pub fn python(kubeconfig: &Path, log: &Path) -> Result<Self> {
        Self::start(python_program("watch.py")?.arg(kubeconfig), log)
    }

    /// The JavaScript client. What it logs goes to the file `log`.
    pub fn javascript(kubeconfig: &Path, log: &Path) -> Result<Self> {
        Self::start(javascript_program("watch.mjs")?.arg(kubeconfig), log)
    }

    /// What it holds now. An error if it has ended.
    pub fn held(&mut self) -> Result<Held> {
        let mut line = String::new();
        let written = self.input.write_all(b"report\n").and_then(|()| self.input.flush());
        if written.is_err() || self.output.read_line(&mut line)? == 0 {
            let status = self.child.wait()?;
            bail!("the client ended with {status}:\n{}", fs::read_to_string(&self.log).unwrap_or_default());
        }
        Ok(serde_json::from_str(&line)?)
    }

    fn start(command: &mut Command, log: &Path) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(log)?);
        let mut child = command.spawn().with_context(|| format!("failed to start {command:?}"))?;
        let input = child.stdin.take().expect("it was asked to be piped");
        let output = BufReader::new(child.stdout.take().expect("it was asked to be piped"));
        Ok(Self { child, input, output, log: log.to_owned() })
    }
}

impl Drop for ForeignClient {
    fn drop(&mut self) {
        // It has ended already, or nobody is left to hear of a failure.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program `file` of `clients/`, to be run with the Python client.
pub fn python_program(file: &str) -> Result<Command> {
    let pinned = clients().join("requirements.txt");
    let python = installed("python", &pinned, |folder| {
        run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
        let mut pip = Command::new(folder.join("bin/python"));
        run(pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]).arg(&pinned))
    })?;
    let mut command = Command::new(python.join("bin/python"));
    command.arg(clients().join(file));
    Ok(command)
}

/// The program `file` of `clients/`, to be run with the JavaScript client.
pub fn javascript_program(file: &str) -> Result<Command> {
    let pinned = clients().join("package-lock.json");
    let node = installed("javascript", &pinned, |folder| {
        for file in ["package.json", "package-lock.json"] {
            fs::copy(clients().join(file), folder.join(file))?;
        }
        run(Command::new("npm").args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(folder))
    })?;
    // It finds its packages above the folder in which it lies.
    let program = node.join(file);
    fs::copy(clients().join(file), &program)?;
    let mut command = Command::new("node");
    command.arg(program);
    Ok(command)
}

fn clients() -> PathBuf {
    repository().join("tests/compat/clients")
}

/// The folder into which `install` has put what the file `pinned` names; it does so again when that file changes.
fn installed(name: &str, pinned: &Path, install: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let folder = cache(&format!("judges/{name}"))?;
    let lock = File::create(folder.with_extension("lock"))?;
    lock.lock().with_context(|| format!("failed to wait for another installation of the {name} client"))?;
    let (stamp, wanted) = (folder.join("installed"), fs::read_to_string(pinned)?);
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(folder);
    }
    eprintln!("dev: installing the {name} client ...");
    install(&folder)?;
    fs::write(stamp, wanted)?;
    Ok(folder)
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| {
        format!("failed to start {command:?}; the judges need python3 with venv, and node with npm, of your system")
    })?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        bail!("{command:?} ended with {}:\n{said}", output.status);
    }
    Ok(())
}
