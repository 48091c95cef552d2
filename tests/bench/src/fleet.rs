//! A large fleet: simulated members over loopback, and the release host over them. There is nothing to stand beside, so
//! figures are of the host alone. Members, clients and host share the machine's cores.

mod load;
mod members;
mod moves;
mod start;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use orrery_harness::{Host, HostSpec, Profile};

use crate::client::Endpoint;
use crate::report::{Figure, Outcome};
use crate::say;
use members::Members;

/// A fleet and how long it is measured.
pub(crate) struct Scale {
    name: &'static str,
    members: usize,
    pods_each: usize,
    /// Members that leave and join.
    moving: usize,
    updates: Duration,
    rest: Duration,
    /// How long the ring fills before memory must stay, and how long it must stay.
    growth: [Duration; 2],
}

/// What is measured, and where.
struct Fleet {
    scale: Scale,
    members: Members,
    host: Host,
    endpoint: Endpoint,
}

const FLEETS: [Scale; 2] = [
    Scale { name: "fleet_100x1000", members: 100, pods_each: 1_000, ..Scale::FULL },
    Scale { name: "fleet_1000x100", members: 1_000, pods_each: 100, ..Scale::FULL },
];
const QUICK: Scale = Scale {
    name: "fleet_20x20",
    members: 20,
    pods_each: 20,
    moving: 5,
    updates: Duration::from_secs(2),
    rest: Duration::from_secs(2),
    growth: [Duration::from_secs(2), Duration::from_secs(2)],
};
const KB_A_POD: f64 = 10.0;
const MB_A_MEMBER: f64 = 1.0;

// === impl Scale ===

impl Scale {
    const FULL: Self = Self {
        name: "",
        members: 0,
        pods_each: 0,
        moving: 100,
        updates: Duration::from_secs(20),
        rest: Duration::from_secs(30),
        growth: [Duration::from_secs(360), Duration::from_secs(600)],
    };

    fn pods(&self) -> usize {
        self.members * self.pods_each
    }
}

/// Measures both fleets, the one of so many `members`, or a small one. Without `soak` the ten minutes in which memory must
/// not grow are left out.
pub(crate) async fn run(quick: bool, soak: bool, members: Option<usize>) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut scales = if quick { vec![QUICK] } else { Vec::from(FLEETS) };
    scales.retain(|scale| members.is_none_or(|members| scale.members == members));
    ensure!(!scales.is_empty(), "no fleet has {} members; 100 and 1000 are measured", members.unwrap_or_default());
    for scale in scales {
        say(&format!("{}: load average {}", scale.name, crate::reads::load_average()));
        let name = scale.name;
        outcome.add(name, measure(scale, quick || soak).await);
        say(&format!("{name}: load average {}", crate::reads::load_average()));
    }
    Ok(outcome)
}

async fn measure(scale: Scale, soak: bool) -> Result<Vec<Figure>> {
    let members = Members::start(&scale).await?;
    let silent = members.silence_one_in_ten();
    let began = std::time::Instant::now();
    let spec = HostSpec::new().profile(Profile::Release).flag("--all-contexts");
    let spec = spec.flag(format!("--kubeconfig={}", members.kubeconfig().display()));
    let mut host = tokio::task::spawn_blocking(move || spec.launch()).await??;
    host = tokio::task::spawn_blocking(move || host.wait_ready().map(|()| host)).await??;
    let ready = began.elapsed();
    let endpoint = Endpoint::of(&host.client()?);
    let idle = host.rss_bytes()?;
    let mut fleet = Fleet { scale, members, host, endpoint };
    let mut figures = vec![fleet.figure("ready", "s", ready.as_secs_f64(), Some(30.0))];
    figures.extend(fleet.start(silent).await?);
    figures.extend(fleet.lists().await?);
    figures.extend(fleet.memory(idle)?);
    figures.push(fleet.rest().await?);
    figures.extend(fleet.delay().await?);
    figures.extend(fleet.moves().await?);
    if soak {
        figures.push(fleet.growth().await?);
    }
    fleet.host.process().check_running().context("the host ended")?;
    Ok(figures)
}

// === impl Fleet ===

impl Fleet {
    fn figure(&self, what: &str, unit: &'static str, value: f64, target: Option<f64>) -> Figure {
        let name = format!("{}_{what}", self.scale.name);
        say(&format!("{name}: {value:.2} {unit}"));
        // A name for each figure of each fleet, as long as the process: a few.
        Figure::at_most(name.leak(), unit, value, target)
    }

    fn memory(&self, idle: u64) -> Result<Vec<Figure>> {
        let (now, mb) = (self.host.rss_bytes()?, |bytes: f64| bytes / 1e6);
        say(&format!("{}: resident {:.0} MB before the first list", self.scale.name, mb(idle as f64)));
        let target = self.scale.pods() as f64 * KB_A_POD / 1e3 + self.scale.members as f64 * MB_A_MEMBER;
        let sockets = self.sockets()? as f64 / self.scale.members as f64;
        Ok(vec![
            self.figure("rss", "MB", mb(now as f64), Some(target)),
            self.figure("sockets_per_member", "", sockets, None),
        ])
    }

    /// Sockets that the host has open.
    fn sockets(&self) -> Result<usize> {
        let files = std::fs::read_dir(format!("/proc/{}/fd", self.host.pid())).context("the host runs")?;
        let links = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
        Ok(links.filter(|link| link.to_string_lossy().starts_with("socket:")).count())
    }
}
