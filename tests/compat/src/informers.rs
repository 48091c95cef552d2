use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use orrery_harness::go_program;
use serde::Deserialize;

/// Running informers of client-go (the program in `informers/`), with WatchList and its consistency detector on.
/// Dropping it ends them.
#[derive(Debug)]
pub struct Informers {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    log: PathBuf,
}

/// What the informers know at one moment.
#[derive(Clone, Debug, Deserialize)]
pub struct Report {
    /// The objects in their stores, by resource.
    pub objects: BTreeMap<String, Vec<Object>>,
    /// The resourceVersions that they have reached, by resource.
    #[serde(default)]
    pub versions: BTreeMap<String, String>,
    /// The laws that were broken.
    #[serde(default)]
    pub faults: Vec<String>,
    /// The requests that they have sent.
    #[serde(default)]
    pub requests: Vec<Request>,
}

/// An object in a report.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Object {
    /// Its uid.
    pub uid: String,
    /// Its namespace; empty where there is none.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its resourceVersion.
    pub resource_version: String,
    /// Hash of all but name, resourceVersion and stamp, of what client-go has decoded.
    pub content: String,
    /// The stamp, where there is one.
    #[serde(default)]
    pub cluster: String,
}

/// A request that an informer has sent.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Request {
    /// The resource.
    pub resource: String,
    /// The query as it was sent.
    pub query: String,
    /// The answer's status; 0 if there was none.
    pub status: u16,
    /// Why there was none.
    #[serde(default)]
    pub error: String,
}

// === impl Informers ===

impl Informers {
    /// Builds the program if need be, starts it on `kubeconfig`, and waits until all informers have synced. What it
    /// logs goes to the file `log`.
    pub fn start(kubeconfig: &Path, log: &Path) -> Result<Self> {
        let mut command = Command::new(program()?);
        command.arg("watch").arg(kubeconfig).env("KUBE_WATCHLIST_INCONSISTENCY_DETECTOR", "true");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(fs::File::create(log)?);
        let mut child = command.spawn().context("failed to start the informers")?;
        let input = child.stdin.take().expect("it was asked to be piped");
        let output = BufReader::new(child.stdout.take().expect("it was asked to be piped"));
        let mut informers = Self { child, input, output, log: log.to_owned() };
        informers.read().context("the informers do not sync")?;
        Ok(informers)
    }

    /// What they know now. An error if they have ended, as the consistency detector does when it finds something.
    pub fn report(&mut self) -> Result<Report> {
        self.input.write_all(b"report\n").or_else(|_| self.ended())?;
        self.read()
    }

    /// The same report, with nothing but objects, of one LIST of each resource of the server in `kubeconfig`.
    pub fn list(kubeconfig: &Path) -> Result<Report> {
        let output = Command::new(program()?).arg("list").arg(kubeconfig).output()?;
        if !output.status.success() {
            bail!("failed to list: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    fn read(&mut self) -> Result<Report> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            self.ended()?;
        }
        Ok(serde_json::from_str(&line)?)
    }

    fn ended(&mut self) -> Result<()> {
        let status = self.child.wait()?;
        bail!("the informers ended with {status}:\n{}", fs::read_to_string(&self.log).unwrap_or_default())
    }
}

impl Drop for Informers {
    fn drop(&mut self) {
        // It has ended already, or nobody is left to hear of a failure.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program, built anew where its source has changed.
fn program() -> Result<PathBuf> {
    go_program("tests/compat/informers", ".", "informers")
}
