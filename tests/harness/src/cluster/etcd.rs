//! What is done to a cluster's etcd.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::{Cluster, wait_port};
use crate::places::cache;
use crate::process::Process;
use crate::toolchain::etcdctl;

/// A copy of a cluster's etcd, as it was when it was taken. It lies in the cluster's folder and goes with it, unless it
/// was kept by name.
#[derive(Clone, Debug)]
pub struct EtcdSnapshot {
    dir: PathBuf,
}

// === impl EtcdSnapshot ===

impl EtcdSnapshot {
    /// The one that [`Cluster::keep`] kept under `name`, by whichever process.
    pub fn kept(name: &str) -> Result<Option<Self>> {
        let dir = cache("snapshots")?.join(name);
        Ok(dir.exists().then_some(Self { dir }))
    }
}

// === impl Cluster ===

impl Cluster {
    /// Runs etcdctl on its etcd and gives what it printed.
    pub fn etcdctl(&self, args: &[&str]) -> Result<String> {
        let endpoint = format!("--endpoints=http://127.0.0.1:{}", self.ports.etcd);
        let output = Command::new(etcdctl()?).arg(endpoint).args(args).output()?;
        if !output.status.success() {
            bail!("etcdctl {} failed: {}", args.join(" "), String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Its etcd's revision: the resourceVersion of the last write.
    pub fn revision(&self) -> Result<u64> {
        let status: Value = serde_json::from_str(&self.etcdctl(&["endpoint", "status", "--write-out=json"])?)?;
        status.pointer("/0/Status/header/revision").and_then(Value::as_u64).context("etcd's status has a revision")
    }

    /// Compacts its etcd up to its newest revision: a LIST or WATCH from below is 410 unless a cache still has it.
    pub fn compact(&self) -> Result<u64> {
        let revision = self.revision()?;
        self.etcdctl(&["compact", &revision.to_string()])?;
        Ok(revision)
    }

    /// Copies its etcd's data while etcd is frozen, which is what a power cut would leave.
    pub fn snapshot(&self) -> Result<EtcdSnapshot> {
        let snapshots = self.dir.join("snapshots");
        fs::create_dir_all(&snapshots)?;
        let dir = snapshots.join(fs::read_dir(&snapshots)?.count().to_string());
        self.copy_data(&dir)?;
        Ok(EtcdSnapshot { dir })
    }

    /// Keeps a snapshot in the cache under `name`, for clusters of later processes that need the same objects. Versions
    /// before now are compacted away first.
    pub fn keep(&self, name: &str) -> Result<EtcdSnapshot> {
        self.compact()?;
        self.etcdctl(&["defrag"])?;
        let snapshots = cache("snapshots")?;
        let (dir, partial) = (snapshots.join(name), snapshots.join(format!("{name}.partial")));
        if partial.exists() {
            fs::remove_dir_all(&partial)?;
        }
        self.copy_data(&partial)?;
        fs::rename(&partial, &dir).with_context(|| format!("failed to keep {}", dir.display()))?;
        Ok(EtcdSnapshot { dir })
    }

    /// Puts its etcd back to `snapshot`: versions go back. Every process is killed and started again, and the API
    /// server is ready when this returns.
    pub fn restore(&mut self, snapshot: &EtcdSnapshot) -> Result<()> {
        self.exchange_data(|data| copy_folder(&snapshot.dir, data))
    }

    /// Empties its etcd: the same address and credentials, another cluster. Fake nodes are not made again.
    pub fn wipe(&mut self) -> Result<()> {
        self.exchange_data(|_| Ok(()))
    }

    fn copy_data(&self, to: &Path) -> Result<()> {
        self.etcd.pause()?;
        let copied = copy_folder(&self.dir.join("etcd"), to);
        self.etcd.resume()?;
        copied
    }

    fn exchange_data(&mut self, put: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        self.stop()?;
        let data = self.dir.join("etcd");
        fs::remove_dir_all(&data)?;
        put(&data)?;
        self.etcd.restart()?;
        wait_port(&mut self.etcd, self.ports.etcd)?;
        self.start_apiserver()?;
        self.controllers.iter_mut().try_for_each(Process::restart)
    }
}

/// Longest time that a copy may take: it holds up the cluster.
const COPY_LIMIT: Duration = Duration::from_secs(20);

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    let limit = COPY_LIMIT.as_secs().to_string();
    let status = Command::new("timeout").arg(limit).args(["cp", "-a"]).arg(from).arg(to).status()?;
    if !status.success() {
        bail!("failed to copy {} to {}", from.display(), to.display());
    }
    Ok(())
}
