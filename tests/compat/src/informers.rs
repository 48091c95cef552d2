use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use orrery_harness::{Cluster, eventually, go_program};
use serde::Deserialize;

/// client-go waits ever longer between its tries, half a minute at the end.
const SETTLED_LIMIT: Duration = Duration::from_secs(60);

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
    /// Builds the program if need be, starts it on `kubeconfig` with a label selector, which may be empty, and waits until
    /// all informers have synced. What it logs goes to the file `log`.
    pub fn start(kubeconfig: &Path, selector: &str, log: &Path) -> Result<Self> {
        let mut command = Command::new(program()?);
        command.arg("watch").arg(kubeconfig).arg(selector).env("KUBE_WATCHLIST_INCONSISTENCY_DETECTOR", "true");
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
    pub fn list(kubeconfig: &Path, selector: &str) -> Result<Report> {
        let output = Command::new(program()?).arg("list").arg(kubeconfig).arg(selector).output()?;
        if !output.status.success() {
            bail!("failed to list: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Waits until every store holds what a LIST of the members by `selector` shows, and gives the report that shows it.
    pub fn settle(&mut self, members: &[Cluster], selector: &str) -> Result<Report> {
        eventually("every store is the union of the members", SETTLED_LIMIT, || {
            let report = self.report()?;
            let mut held: BTreeMap<String, (String, Object)> = BTreeMap::new();
            let mut counts = BTreeMap::new();
            for member in members {
                for (resource, objects) in Self::list(&member.kubeconfig(), selector)?.objects {
                    *counts.entry(resource).or_insert(0) += objects.len();
                    held.extend(objects.into_iter().map(|one| (one.uid.clone(), (member.name().to_owned(), one))));
                }
            }
            for (resource, objects) in &report.objects {
                let count = counts.get(resource).copied().unwrap_or(0);
                ensure!(objects.len() == count, "{resource}: {} in the store, {count} in the members", objects.len());
                objects.iter().try_for_each(|object| object.is_one_of(&held))?;
            }
            Ok(report)
        })
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

// === impl Object ===

impl Object {
    fn is_one_of(&self, held: &BTreeMap<String, (String, Self)>) -> Result<()> {
        let Some((cluster, one)) = held.get(&self.uid) else { bail!("no member holds {self:?}") };
        ensure!(self.content == one.content, "held as {one:?}, shown as {self:?}");
        ensure!(self.cluster.is_empty() || self.cluster == *cluster, "{self:?} is {cluster}'s");
        let qualified = format!("{}.{cluster}", one.name);
        ensure!(self.name == one.name || self.name.starts_with(&qualified), "{one:?} is named {}", self.name);
        Ok(())
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
