//! Clusters for hand work: they outlive the command that starts them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

use super::{Cluster, ClusterSpec, PART_LIMIT, start_each};
use crate::places::cache;
use crate::process::{Lifetime, Process};
use crate::toolchain::Minor;
use crate::wait::eventually;

/// A process of a kept cluster. Ids are used again by the kernel, so the start time tells whether it is still the one.
#[derive(Debug, Serialize, Deserialize)]
struct Recorded {
    pid: u32,
    /// Field 22 of `/proc/PID/stat`: clock ticks since boot.
    started: String,
}

/// Starts clusters `names`, each with three fake nodes, and gives each name with its kubeconfig.
pub(crate) fn up(names: &[String], minor: Minor) -> Result<Vec<(String, PathBuf)>> {
    let specs = names.iter().map(|name| {
        let dir = folder(name)?;
        if running(&dir)? {
            bail!("cluster {name} runs already; its kubeconfig is {}", dir.join("kubeconfig").display());
        }
        clear(&dir)?;
        fs::create_dir_all(&dir)?;
        Ok(ClusterSpec { lifetime: Lifetime::Kept, dir: Some(dir), ..ClusterSpec::full(name).version(minor) })
    });
    let started = start_each(specs.collect::<Result<_>>()?)?;
    started.iter().map(|cluster| cluster.record().map(|()| (cluster.name().to_owned(), cluster.kubeconfig()))).collect()
}

/// Names and kubeconfigs of the kept clusters, with whether all their processes run.
pub(crate) fn kept() -> Result<Vec<(String, PathBuf, bool)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(cache("clusters")?)? {
        let dir = entry?.path();
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        found.push((name, dir.join("kubeconfig"), running(&dir)?));
    }
    found.sort();
    Ok(found)
}

/// Ends the kept clusters `names` (all of them if it is empty) and gives the names of those that there were.
pub(crate) fn down(names: &[String]) -> Result<Vec<String>> {
    let kept = kept()?.into_iter().map(|(name, ..)| name);
    let ended: Vec<String> = kept.filter(|name| names.is_empty() || names.contains(name)).collect();
    if let Some(unknown) = names.iter().find(|name| !ended.contains(name)) {
        bail!("no cluster {unknown} was started; `./dev clusters list` shows those that were");
    }
    ended.iter().try_for_each(|name| clear(&folder(name)?))?;
    Ok(ended)
}

// === impl Cluster ===

impl Cluster {
    /// Writes down which processes it has, in the order in which they were started.
    fn record(&self) -> Result<()> {
        let processes = [&self.etcd, &self.apiserver].into_iter().chain(&self.controllers);
        let recorded = processes
            .map(Process::pid)
            .map(|pid| Ok(Recorded { pid, started: start_time(pid).context("a process of the cluster has ended")? }));
        let recorded = recorded.collect::<Result<Vec<_>>>()?;
        Ok(fs::write(self.dir.join("processes.json"), serde_json::to_vec(&recorded)?)?)
    }
}

fn folder(name: &str) -> Result<PathBuf> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > 50 || !name.chars().all(allowed) {
        bail!("{name:?} cannot name a cluster; use at most 50 lower-case letters, digits and '-'");
    }
    Ok(cache("clusters")?.join(name))
}

fn recorded(dir: &Path) -> Result<Vec<Recorded>> {
    match fs::read(dir.join("processes.json")) {
        Ok(text) => Ok(serde_json::from_slice(&text)?),
        Err(_) => Ok(Vec::new()),
    }
}

fn running(dir: &Path) -> Result<bool> {
    let processes = recorded(dir)?;
    Ok(!processes.is_empty() && processes.iter().all(Recorded::runs))
}

/// Ends what still runs of the cluster in `dir`, the last started first, and removes the folder.
fn clear(dir: &Path) -> Result<()> {
    for process in recorded(dir)?.iter().rev().filter(|process| process.runs()) {
        let raw = i32::try_from(process.pid).context("a process id is an i32")?;
        let pid = Pid::from_raw(raw).context("process 0 is not one of ours")?;
        rustix::process::kill_process(pid, Signal::KILL)?;
        eventually("a killed process is gone", PART_LIMIT, || {
            if process.runs() { bail!("process {raw} still runs") } else { Ok(()) }
        })?;
    }
    if dir.exists() {
        fs::remove_dir_all(dir).with_context(|| format!("failed to remove {}", dir.display()))?;
    }
    Ok(())
}

// === impl Recorded ===

impl Recorded {
    fn runs(&self) -> bool {
        start_time(self.pid).is_some_and(|started| started == self.started)
    }
}

/// When process `pid` started, or `None` if there is none (a zombie is none).
fn start_time(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in brackets and may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    if fields.next()? == "Z" { None } else { fields.nth(18).map(str::to_owned) }
}
