//! An etcd by itself, of one member or several, as processes on the loopback interface.

use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tempfile::TempDir;

use crate::pki::Pki;
use crate::ports::free_port;
use crate::process::{Process, Program};
use crate::toolchain::{Profile, etcd, etcdctl};
use crate::wait::eventually;

/// Longest wait for an etcd to answer.
const READY_LIMIT: Duration = Duration::from_secs(30);

/// How to start an etcd.
#[derive(Clone, Debug)]
pub struct EtcdSpec {
    members: usize,
    profile: Profile,
    is_durable: bool,
    is_secure: bool,
    flags: Vec<String>,
}

/// A running etcd. Dropping it kills it; its folder goes too, unless the thread panics: then its path is printed.
#[derive(Debug)]
pub struct Etcd {
    members: Vec<Member>,
    pki: Option<Pki>,
    dir: PathBuf,
    scratch: Option<TempDir>,
}

#[derive(Debug)]
struct Member {
    process: Process,
    endpoint: String,
    port: u16,
}

// === impl EtcdSpec ===

impl EtcdSpec {
    /// One member that speaks plain HTTP and does not wait for its disk.
    pub fn new() -> Self {
        Self { members: 1, profile: Profile::Dev, is_durable: false, is_secure: false, flags: Vec::new() }
    }

    /// Sets the number of members.
    pub fn members(mut self, members: usize) -> Self {
        self.members = members;
        self
    }

    /// Which build of etcd runs.
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Makes it wait for its disk (fsync), as one that is relied on does.
    pub fn durable(mut self) -> Self {
        self.is_durable = true;
        self
    }

    /// Makes it speak TLS, and only with those who show a certificate of its CA.
    pub fn secure(mut self) -> Self {
        self.is_secure = true;
        self
    }

    /// Adds a flag of etcd, as `--quota-backend-bytes=16777216`.
    pub fn flag(mut self, flag: &str) -> Self {
        self.flags.push(flag.to_owned());
        self
    }

    /// Builds etcd if need be, starts it and waits until all members serve.
    pub fn start(self) -> Result<Etcd> {
        let binary = etcd(self.profile)?;
        let scratch = tempfile::Builder::new().prefix("orrery-etcd-").tempdir()?;
        let dir = scratch.path().to_owned();
        let pki = self.is_secure.then(|| Pki::create(&dir.join("pki"))).transpose()?;
        let ports: Vec<(u16, u16)> =
            (0..self.members).map(|_| Ok((free_port()?, free_port()?))).collect::<Result<_>>()?;
        let names = ports.iter().enumerate().map(|(index, (_, peer))| format!("etcd-{index}=http://127.0.0.1:{peer}"));
        let names = names.collect::<Vec<_>>().join(",");
        let mut members = Vec::new();
        for (index, &(port, peer)) in ports.iter().enumerate() {
            let endpoint = format!("{}://127.0.0.1:{port}", if self.is_secure { "https" } else { "http" });
            let name = format!("etcd-{index}");
            let program = Program::new(&binary, dir.join(format!("{name}.log"))).args([
                format!("--name={name}"),
                format!("--data-dir={}", dir.join(&name).display()),
                format!("--listen-client-urls={endpoint}"),
                format!("--advertise-client-urls={endpoint}"),
                format!("--listen-peer-urls=http://127.0.0.1:{peer}"),
                format!("--initial-advertise-peer-urls=http://127.0.0.1:{peer}"),
                format!("--initial-cluster={names}"),
                "--log-level=warn".to_owned(),
            ]);
            let process = program.args(self.flags_of(pki.as_ref())).start()?;
            members.push(Member { process, endpoint, port });
        }
        let mut etcd = Etcd { members, pki, dir, scratch: Some(scratch) };
        etcd.wait_ready()?;
        Ok(etcd)
    }

    fn flags_of(&self, pki: Option<&Pki>) -> Vec<String> {
        let mut flags = self.flags.clone();
        if !self.is_durable {
            flags.push("--unsafe-no-fsync".to_owned());
        }
        if let Some(pki) = pki {
            flags.extend([
                format!("--cert-file={}", pki.file("apiserver.crt")),
                format!("--key-file={}", pki.file("apiserver.key")),
                format!("--trusted-ca-file={}", pki.file("ca.crt")),
                "--client-cert-auth".to_owned(),
            ]);
        }
        flags
    }
}

impl Default for EtcdSpec {
    fn default() -> Self {
        Self::new()
    }
}

// === impl Etcd ===

impl Etcd {
    /// URLs of its members; they stay over restarts.
    pub fn endpoints(&self) -> Vec<String> {
        self.members.iter().map(|member| member.endpoint.clone()).collect()
    }

    /// Port of the first member on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.members[0].port
    }

    /// Folder of all its files.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Paths of the certificate of its CA, and of a client's certificate and key, where it is a secure one.
    pub fn client_files(&self) -> Option<[PathBuf; 3]> {
        let pki = self.pki.as_ref()?;
        Some(["ca.crt", "admin.crt", "admin.key"].map(|name| pki.file(name).into()))
    }

    /// The process of a member.
    pub fn member(&mut self, index: usize) -> &mut Process {
        &mut self.members[index].process
    }

    /// Starts a member again that was killed, without waiting until it serves.
    pub fn restart_member(&mut self, index: usize) -> Result<()> {
        self.members[index].process.restart()
    }

    /// Waits until every member serves.
    pub fn wait_ready(&mut self) -> Result<()> {
        for member in &mut self.members {
            let dial = || TcpStream::connect((Ipv4Addr::LOCALHOST, member.port)).map(drop).map_err(Into::into);
            let waited = eventually("etcd listens", READY_LIMIT, dial);
            waited.or_else(|error| member.process.check_running().and(Err(error)))?;
        }
        eventually("etcd serves", READY_LIMIT, || self.etcdctl(&["endpoint", "health"]).map(drop))
    }

    /// Runs etcdctl on all its members and gives what it printed.
    pub fn etcdctl(&self, args: &[&str]) -> Result<String> {
        let mut command = Command::new(etcdctl()?);
        command.arg(format!("--endpoints={}", self.endpoints().join(",")));
        if let Some(pki) = &self.pki {
            let files = [("cacert", "ca.crt"), ("cert", "admin.crt"), ("key", "admin.key")];
            command.args(files.map(|(flag, file)| format!("--{flag}={}", pki.file(file))));
        }
        let output = command.args(args).output()?;
        if !output.status.success() {
            bail!("etcdctl {} failed: {}", args.join(" "), String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Index of the member that leads.
    pub fn leader(&self) -> Result<usize> {
        let statuses: Vec<Value> = serde_json::from_str(&self.etcdctl(&["endpoint", "status", "--write-out=json"])?)?;
        let id = |status: &Value, path: &str| status.pointer(path).and_then(Value::as_u64);
        let leads = |status: &&Value| {
            let leader = id(status, "/Status/leader");
            leader.is_some() && leader == id(status, "/Status/header/member_id")
        };
        let endpoint = statuses.iter().find(leads).and_then(|status| status.pointer("/Endpoint")?.as_str());
        let endpoint = endpoint.context("no member leads")?;
        let place = self.members.iter().position(|member| member.endpoint == endpoint);
        place.context("the leader is one of its members")
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Some(scratch) = self.scratch.take()
        {
            eprintln!("the logs of an etcd are kept in {}", scratch.keep().display());
        }
    }
}
