//! Reads through the host, over two real members, beside an API server that holds the same pods. Both are asked in
//! turn, by one process with one client.

mod ceiling;
pub(crate) mod clusters;
mod delay;
mod lists;
mod memory;
pub(crate) mod pod;
mod restart;
pub(crate) mod watching;
pub(crate) mod writes;

use std::time::Duration;

use anyhow::{Context, Result};
use clap::ValueEnum;
use orrery_harness::{Host, HostSpec, Profile};
use tokio::time::timeout;

use crate::client::Endpoint;
use crate::report::Outcome;
use crate::say;
use clusters::Clusters;
use writes::Writes;

/// What of the bench is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Lists beside the direct API server
    Lists,
    /// What the host adds to the delay of a watch
    Delay,
    /// Many watchers
    Watchers,
    /// Memory after five minutes of churn
    Churn,
    /// From a kill to the first list
    Restart,
}

/// How much is measured.
struct Scale {
    pods: usize,
    /// Runs of a long list; short ones have three times as many.
    runs: usize,
    /// How long watches are measured.
    watching: Duration,
    watchers: usize,
    watchers_of_all: usize,
    churn: Duration,
    restarts: usize,
}

/// Where to ask.
struct Servers {
    host: Endpoint,
    direct: Endpoint,
    members: [Endpoint; 2],
}

const LISTS_LIMIT: Duration = Duration::from_secs(300);

/// Measures `parts`, or all of them if there is none.
pub(crate) async fn run(quick: bool, parts: &[Part]) -> Result<Outcome> {
    let scale = if quick { Scale::QUICK } else { Scale::FULL };
    say(&format!("reads: load average {}", load_average()));
    let clusters = Clusters::start(scale.pods).await?;
    let mut host = start_host(&clusters)?;
    let servers = Servers::of(&clusters, &host)?;
    say(&format!(
        "reads: host {}, direct {}, members {} and {}",
        host.url(),
        clusters.direct.url(),
        clusters.members[0].url(),
        clusters.members[1].url()
    ));
    let outcome = measure(&servers, &mut host, &scale, parts).await?;
    if !outcome.failed.is_empty() {
        say(&format!("reads: the end of the host's log:\n{}", tail(&host.log())));
    }
    say(&format!("reads: load average {}", load_average()));
    Ok(outcome)
}

/// A part that fails does not take the others' figures along.
async fn measure(servers: &Servers, host: &mut Host, scale: &Scale, parts: &[Part]) -> Result<Outcome> {
    let wants = |part| parts.is_empty() || parts.contains(&part);
    let mut writes = Writes::new(&servers.members, scale.pods).await?;
    let (idle, at_rest) = bounded(LISTS_LIMIT, memory::at_rest(servers, host, scale)).await?;
    let mut outcome = Outcome::default();
    if wants(Part::Lists) {
        let found = bounded(LISTS_LIMIT, lists::run(&servers.host, &servers.direct, scale)).await;
        outcome.add("lists", found);
    }
    let limit = 2 * scale.watching + delay::SLACK;
    if wants(Part::Delay) {
        outcome.add("delay", bounded(limit, delay::run(servers, &mut writes, scale)).await);
    }
    if wants(Part::Watchers) {
        outcome.add("watchers", bounded(limit, delay::watchers(servers, host, &mut writes, scale)).await);
    }
    outcome.add("memory", Ok(vec![at_rest]));
    if wants(Part::Churn) {
        let found = bounded(scale.churn + LISTS_LIMIT, memory::churn(host, idle, &mut writes, scale)).await;
        outcome.add("churn", found.map(|figure| vec![figure]));
    }
    if wants(Part::Restart) {
        let found = bounded(LISTS_LIMIT, restart::run(servers, host, scale)).await;
        outcome.add("restart", found.map(|figure| vec![figure]));
    }
    Ok(outcome)
}

fn start_host(clusters: &Clusters) -> Result<Host> {
    let [east, west] = &clusters.members;
    HostSpec::new().profile(Profile::Release).member(east).member(west).start()
}

async fn bounded<T>(limit: Duration, measured: impl Future<Output = Result<T>>) -> Result<T> {
    timeout(limit, measured).await.with_context(|| format!("not done within {} s", limit.as_secs()))?
}

/// CPU time that a process has used, its own and the system's for it.
pub(crate) fn cpu_seconds(pid: u32) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).context("the host runs")?;
    // The second field is the program's name in brackets and may hold anything.
    let fields = stat.rsplit_once(')').context("a stat has a name")?.1.split_ascii_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    // USER_HZ is 100 on every architecture that Linux has had for long.
    Ok(ticks as f64 / 100.0)
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

pub(crate) fn load_average() -> String {
    std::fs::read_to_string("/proc/loadavg").map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

// === impl Scale ===

impl Scale {
    const FULL: Self = Self {
        pods: 10_000,
        runs: 7,
        watching: Duration::from_secs(20),
        watchers: 1_000,
        watchers_of_all: 100,
        churn: Duration::from_secs(300),
        restarts: 5,
    };
    const QUICK: Self = Self {
        pods: 500,
        runs: 3,
        watching: Duration::from_secs(3),
        watchers: 50,
        watchers_of_all: 5,
        churn: Duration::from_secs(5),
        restarts: 1,
    };
}

// === impl Servers ===

impl Servers {
    fn of(clusters: &Clusters, host: &Host) -> Result<Self> {
        let [east, west] = &clusters.members;
        Ok(Self {
            host: Endpoint::of(&host.client()?),
            direct: Endpoint::of(&clusters.direct.client()?),
            members: [Endpoint::of(&east.client()?), Endpoint::of(&west.client()?)],
        })
    }
}
