//! Real clusters: etcd, kube-apiserver and, where asked for, the controllers and fake nodes of kwok, as processes on the
//! loopback interface. No containers.
//!
//! A cluster is ready in a few seconds, holds all its files in one folder, and is gone without a trace when its handle
//! is dropped, also when the test panics or is killed. Faults are done to it for real: its API server is frozen or
//! killed, its etcd compacted, put back to an older state, or emptied.

mod commands;
mod etcd;
mod kept;
mod nodes;

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use tempfile::TempDir;

use crate::client::Client;
use crate::kubectl::Kubectl;
use crate::pki::Pki;
use crate::ports::free_port;
use crate::process::{Lifetime, Process};
use crate::toolchain::{Minor, Profile, Programs, programs};
use crate::wait::eventually;

pub use etcd::EtcdSnapshot;
pub(crate) use kept::{down, kept, up};

/// Longest wait for one part of a cluster to answer: a few seconds on an idle machine, more beside a build.
const PART_LIMIT: Duration = Duration::from_secs(60);

/// Which programs a cluster runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// etcd and kube-apiserver.
    Bare,
    /// These, kube-controller-manager, kube-scheduler, and kwok with so many fake nodes.
    Full { nodes: usize },
}

/// How to start a cluster.
#[derive(Clone, Debug)]
pub struct ClusterSpec {
    name: String,
    minor: Minor,
    profile: Profile,
    shape: Shape,
    apiserver_flags: Vec<String>,
    lifetime: Lifetime,
    dir: Option<PathBuf>,
}

/// A running cluster. Dropping it ends all its processes; its folder goes too, unless the thread panics: then its path
/// is printed.
#[derive(Debug)]
pub struct Cluster {
    spec: ClusterSpec,
    dir: PathBuf,
    scratch: Option<TempDir>,
    programs: Programs,
    pki: Pki,
    ports: Ports,
    etcd: Process,
    apiserver: Process,
    controllers: Vec<Process>,
    kubectl: Kubectl,
}

/// Ports of 127.0.0.1; they stay the same over restarts.
#[derive(Clone, Copy, Debug)]
struct Ports {
    etcd: u16,
    etcd_peer: u16,
    apiserver: u16,
    kubelet: u16,
}

// === impl ClusterSpec ===

impl ClusterSpec {
    /// etcd and kube-apiserver only: quick and small, but nothing acts on the objects, and Pods need no service account.
    pub fn bare(name: &str) -> Self {
        Self::new(name, Shape::Bare)
    }

    /// A whole cluster, with three fake nodes on which pods become Running and Jobs complete within seconds.
    pub fn full(name: &str) -> Self {
        Self::new(name, Shape::Full { nodes: 3 })
    }

    /// Sets the number of fake nodes of a full cluster: `node-1`, `node-2`, …
    pub fn nodes(mut self, nodes: usize) -> Self {
        self.shape = Shape::Full { nodes };
        self
    }

    /// Sets the minor version of Kubernetes; the newest if this is not called.
    pub fn version(mut self, minor: Minor) -> Self {
        self.minor = minor;
        self
    }

    /// Which build of its programs runs.
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Adds a flag of kube-apiserver, as `--etcd-compaction-interval=10s`.
    pub fn apiserver_flag(mut self, flag: &str) -> Self {
        self.apiserver_flags.push(flag.to_owned());
        self
    }

    /// Builds what is missing, starts the cluster, and waits until it is ready: `/readyz` says yes and, for a full
    /// one, its nodes are Ready and pods can be made in namespace `default`.
    pub fn start(self) -> Result<Cluster> {
        let name = self.name.clone();
        Cluster::start(self).with_context(|| format!("failed to start cluster {name}"))
    }

    fn new(name: &str, shape: Shape) -> Self {
        Self {
            name: name.to_owned(),
            minor: Minor::NEWEST,
            profile: Profile::Dev,
            shape,
            apiserver_flags: Vec::new(),
            lifetime: Lifetime::Tied,
            dir: None,
        }
    }
}

/// Starts several clusters side by side.
pub fn start_all<const N: usize>(specs: [ClusterSpec; N]) -> Result<[Cluster; N]> {
    let started = start_each(Vec::from(specs))?;
    started.try_into().map_err(|_| anyhow!("as many clusters are started as were asked for"))
}

/// All are waited for before the first failure is given, and then none is left running.
fn start_each(specs: Vec<ClusterSpec>) -> Result<Vec<Cluster>> {
    for spec in &specs {
        programs(spec.minor, spec.profile)?;
    }
    let started: Vec<Result<Cluster>> = std::thread::scope(|scope| {
        let starting: Vec<_> = specs.into_iter().map(|spec| scope.spawn(|| spec.start())).collect();
        let joined = starting.into_iter().map(|thread| thread.join());
        joined.map(|started| started.unwrap_or_else(|_| bail!("starting a cluster panicked"))).collect()
    });
    let (mut running, mut failed) = (Vec::new(), Vec::new());
    for result in started {
        match result {
            Ok(cluster) => running.push(cluster),
            Err(error) => failed.push(error),
        }
    }
    if let Some(error) = failed.into_iter().next() {
        running.iter_mut().try_for_each(Cluster::stop)?;
        return Err(error);
    }
    Ok(running)
}

// === impl Cluster ===

impl Cluster {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// Its minor version of Kubernetes.
    pub fn minor(&self) -> Minor {
        self.spec.minor
    }

    /// Path of a kubeconfig with its administrator; its one context has the cluster's name.
    pub fn kubeconfig(&self) -> PathBuf {
        self.dir.join("kubeconfig")
    }

    /// Folder of all its files; logs are `etcd.log`, `kube-apiserver.log` and so on.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Its API server's address, `https://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.ports.apiserver)
    }

    /// kubectl with its kubeconfig.
    pub fn kubectl(&self) -> &Kubectl {
        &self.kubectl
    }

    /// A plain client with its kubeconfig.
    pub fn client(&self) -> Result<Client> {
        Client::from_kubeconfig(&self.kubeconfig())
    }

    /// The uid of its namespace kube-system: what identifies a cluster.
    pub fn kube_system_uid(&self) -> Result<String> {
        let namespace = self.client()?.json("/api/v1/namespaces/kube-system")?;
        let uid = namespace.pointer("/metadata/uid").and_then(|uid| uid.as_str());
        Ok(uid.context("a namespace has a uid")?.to_owned())
    }

    /// The process of its API server.
    pub fn apiserver(&self) -> &Process {
        &self.apiserver
    }

    /// Freezes its API server: connections stay open and nothing is answered.
    pub fn pause(&self) -> Result<()> {
        self.apiserver.pause()
    }

    /// Lets its API server go on.
    pub fn resume(&self) -> Result<()> {
        self.apiserver.resume()
    }

    /// Kills its API server (SIGKILL): connections are reset, new ones refused.
    pub fn kill_apiserver(&mut self) -> Result<()> {
        self.apiserver.kill()
    }

    /// Starts its API server again after [`Cluster::kill_apiserver`] and waits until it is ready.
    pub fn start_apiserver(&mut self) -> Result<()> {
        self.apiserver.restart()?;
        self.wait_apiserver()
    }

    /// Ends all its processes, the last started first. Nothing is asked for politely: its data is thrown away.
    pub fn stop(&mut self) -> Result<()> {
        let controllers = self.controllers.iter_mut().rev();
        let ended: Vec<Result<()>> =
            controllers.chain([&mut self.apiserver, &mut self.etcd]).map(Process::kill).collect();
        ended.into_iter().collect()
    }

    fn start(spec: ClusterSpec) -> Result<Self> {
        let programs = programs(spec.minor, spec.profile)?;
        let (dir, scratch) = place(&spec)?;
        let ports =
            Ports { etcd: free_port()?, etcd_peer: free_port()?, apiserver: free_port()?, kubelet: free_port()? };
        let pki = Pki::create(&dir.join("pki"))?;
        let kubeconfig = dir.join("kubeconfig");
        fs::write(&kubeconfig, pki.kubeconfig(&spec.name, &format!("https://127.0.0.1:{}", ports.apiserver))?)?;
        let kubectl = Kubectl::new(&programs.kubectl, &kubeconfig, &dir.join("kubectl-cache"));
        let mut etcd = commands::etcd(&spec, &programs, &dir, ports).start()?;
        wait_port(&mut etcd, ports.etcd)?;
        let apiserver = commands::apiserver(&spec, &programs, &dir, &pki, ports).start()?;
        let mut cluster =
            Self { spec, dir, scratch, programs, pki, ports, etcd, apiserver, controllers: Vec::new(), kubectl };
        if let Err(error) = cluster.come_up() {
            // A kept cluster would outlive this failure.
            cluster.stop()?;
            return Err(error);
        }
        Ok(cluster)
    }

    fn come_up(&mut self) -> Result<()> {
        self.wait_apiserver()?;
        if let Shape::Full { nodes } = self.spec.shape {
            self.start_controllers()?;
            nodes::create(&self.client()?, nodes)?;
            self.wait_controllers(nodes)?;
        }
        Ok(())
    }

    fn start_controllers(&mut self) -> Result<()> {
        for program in commands::controllers(&self.spec, &self.programs, &self.dir, &self.pki, self.ports)? {
            self.controllers.push(program.start()?);
        }
        Ok(())
    }

    fn wait_apiserver(&mut self) -> Result<()> {
        let client = self.client()?;
        let mut ended = None;
        eventually("kube-apiserver is ready", PART_LIMIT, || {
            if let Err(error) = self.apiserver.check_running() {
                ended = Some(error);
                return Ok(());
            }
            let ready = client.get("/readyz")?;
            if ready.status == 200 { Ok(()) } else { bail!("/readyz: {} {}", ready.status, ready.text()) }
        })?;
        ended.map_or(Ok(()), Err)
    }

    fn wait_controllers(&mut self, nodes: usize) -> Result<()> {
        let client = self.client()?;
        eventually("nodes and service accounts are there", PART_LIMIT, || {
            let ready = nodes::ready(&client)?;
            if ready < nodes {
                bail!("{ready} of {nodes} nodes are Ready");
            }
            client.json("/api/v1/namespaces/default/serviceaccounts/default").map(drop)
        })?;
        self.controllers.iter_mut().try_for_each(Process::check_running)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.spec.lifetime == Lifetime::Kept {
            return;
        }
        if let Err(error) = self.stop() {
            eprintln!("cluster {}: {error:#}", self.spec.name);
        }
        if std::thread::panicking()
            && let Some(scratch) = self.scratch.take()
        {
            eprintln!("the logs of cluster {} are kept in {}", self.spec.name, scratch.keep().display());
        }
    }
}

/// The folder of a new cluster: the one asked for, or a temporary one.
fn place(spec: &ClusterSpec) -> Result<(PathBuf, Option<TempDir>)> {
    match &spec.dir {
        Some(dir) => Ok((dir.clone(), None)),
        None => {
            let scratch = tempfile::Builder::new().prefix(&format!("orrery-{}-", spec.name)).tempdir()?;
            Ok((scratch.path().to_owned(), Some(scratch)))
        }
    }
}

fn wait_port(process: &mut Process, port: u16) -> Result<()> {
    eventually("its port answers", PART_LIMIT, || {
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map(drop).map_err(anyhow::Error::from)
    })
    .or_else(|error| process.check_running().and(Err(error)))
}
