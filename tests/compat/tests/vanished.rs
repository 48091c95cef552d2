//! A client whose network is cut in the middle of all kinds of streams: what it held is free soon, at the host and behind it.

use std::fs;
use std::net::Ipv4Addr;
use std::process::{self, Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use orrery_harness::{ClusterSpec, Host, HostSpec, eventually};

const SOON: Duration = Duration::from_secs(30);
const HERE: Ipv4Addr = Ipv4Addr::new(10, 99, 7, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(10, 99, 7, 2);

/// A network namespace with one link to this one. It goes when it is dropped.
struct Apart {
    name: String,
    link: String,
}

/// Processes that end when they are dropped.
struct Running(Vec<Child>);

#[test]
#[ignore = "the suite clients: it needs root, for a network of its own"]
fn what_a_client_held_is_free_within_half_a_minute_after_its_network_is_cut() -> Result<()> {
    let apart = Apart::new()?;
    let east = ClusterSpec::full("east").nodes(1).start()?;
    let host = HostSpec::new().member(&east).address(HERE).start()?;
    host.kubectl().ok(&["run", "web", "--image=web"])?;
    host.kubectl().ok(&["wait", "--for=condition=Ready", "pod/web", "--timeout=30s"])?;
    host.client()?.json("/api/v1/pods")?;
    let at_rest = open_files(&host)?;
    let streams: [&[&str]; 5] = [
        &["exec", "-i", "web", "--", "cat"],
        &["exec", "web", "--", "yes"],
        &["logs", "-f", "web"],
        &["port-forward", "pod/web", ":80"],
        &["get", "pods", "-w"],
    ];
    let started: Result<Vec<Child>> = streams.iter().map(|args| apart.kubectl(&host, args)).collect();
    let _running = Running(started?);
    eventually("all streams are open", SOON, || {
        let open = open_files(&host)?;
        // Each is a connection of the client, and the four that are not from the cache are one to the member too.
        ensure!(open >= at_rest + streams.len() + 3, "{open} files are open, {at_rest} at rest");
        Ok(())
    })?;
    apart.cut()?;
    eventually("everything is free", SOON, || {
        let open = open_files(&host)?;
        // A connection to the member may wait for the next request.
        ensure!(open <= at_rest + 1, "{open} files are open, {at_rest} at rest");
        Ok(())
    })
}

/// How many files and connections the host has open.
fn open_files(host: &Host) -> Result<usize> {
    Ok(fs::read_dir(format!("/proc/{}/fd", host.pid()))?.count())
}

// === impl Apart ===

impl Apart {
    fn new() -> Result<Self> {
        let id = process::id();
        let (name, link) = (format!("orrery-{id}"), format!("or{id}"));
        ip(&format!("netns add {name}")).context("a network of its own needs root, and the program ip")?;
        let apart = Self { name, link };
        let Self { name, link } = &apart;
        ip(&format!("link add {link} type veth peer name eth0 netns {name}"))?;
        ip(&format!("addr add {HERE}/30 dev {link}"))?;
        ip(&format!("link set {link} up"))?;
        ip(&format!("-n {name} addr add {THERE}/30 dev eth0"))?;
        ip(&format!("-n {name} link set eth0 up"))?;
        ip(&format!("-n {name} link set lo up"))?;
        Ok(apart)
    }

    /// Starts kubectl in it. Its input stays open.
    fn kubectl(&self, host: &Host, args: &[&str]) -> Result<Child> {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).arg(host.kubectl().program()).args(args);
        command.env("KUBECONFIG", host.kubeconfig()).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(command.spawn()?)
    }

    /// Nothing comes through any more, and nobody is told.
    fn cut(&self) -> Result<()> {
        ip(&format!("-n {} link set eth0 down", self.name))
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        // The link goes with its other end; nobody is left to hear of a failure.
        let _ = ip(&format!("link del {}", self.link));
        let _ = ip(&format!("netns del {}", self.name));
    }
}

fn ip(args: &str) -> Result<()> {
    let output = Command::new("ip").args(args.split(' ')).output().context("failed to start ip")?;
    ensure!(output.status.success(), "ip {args}: {}", String::from_utf8_lossy(&output.stderr).trim_end());
    Ok(())
}

impl Drop for Running {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It has ended already, or nobody is left to hear of a failure.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
