//! What the host adds to the delay of a watch: when an event is there through the host, less when the same write of the
//! same pod is there on a watch of its member. Both are read by one process, so one clock tells both.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use orrery_harness::Host;

use super::clusters::Clusters;
use super::pod::{PER_NAMESPACE, Pod};
use super::watching::{Arrival, Watching, version_of};
use super::writes::{Writes, Written};
use super::{Scale, Servers, cpu_seconds};
use crate::client::Connection;
use crate::report::{Figure, percentile};
use crate::say;

const PODS: &str = "/api/v1/pods";
const RATES: [u32; 2] = [50, 500];
const P50_MS: f64 = 1.0;
const P99_MS: f64 = 5.0;

/// A watch of each member.
struct Reference([Watching; 2]);

/// One watcher among many: its own client, so its own connection.
struct Watcher {
    namespace: Option<usize>,
    watching: Watching,
    _connection: Connection,
}

/// Measures one watch of all pods at several rates; of each percentile the worst is the figure. Members that are too slow
/// for a rate fill the machine, which makes the figure worse, not better: the rate that was reached is said, no more.
pub(crate) async fn run(servers: &Servers, writes: &mut Writes, scale: &Scale) -> Result<Vec<Figure>> {
    let (mut p50, mut p99) = (f64::MIN, f64::MIN);
    for rate in RATES {
        let reference = Reference::start(servers).await?;
        let connection = servers.host.connect().await?;
        let version = version_of(&connection, PODS).await?;
        let watching = Watching::start(&connection, PODS, &version).await?;
        let written = writes.run(rate, scale.watching).await?;
        let added = reference.added(&written, writes, watching.take(written.count()).await?).await?;
        say(&format!("reads: watch_delay_added at {:.0}/s: {}", written.per_s, spread(&added)));
        p50 = p50.max(percentile(&added, 50));
        p99 = p99.max(percentile(&added, 99));
    }
    Ok(vec![
        Figure::at_most("watch_delay_added_p50", "ms", p50, Some(P50_MS)),
        Figure::at_most("watch_delay_added_p99", "ms", p99, Some(P99_MS)),
    ])
}

/// Measures many watchers: of one namespace each, and of all pods.
pub(crate) async fn watchers(
    servers: &Servers,
    host: &mut Host,
    writes: &mut Writes,
    scale: &Scale,
) -> Result<Vec<Figure>> {
    let namespaces = scale.pods / PER_NAMESPACE;
    let of_one = (0..scale.watchers).map(|number| Some(number % namespaces)).collect();
    let of_all = vec![None; scale.watchers_of_all];
    Ok(vec![
        fan_out("watchers_1000", of_one, 200, servers, host, writes, scale).await?,
        fan_out("watchers_all_100", of_all, 20, servers, host, writes, scale).await?,
    ])
}

async fn fan_out(
    name: &'static str,
    namespaces: Vec<Option<usize>>,
    rate: u32,
    servers: &Servers,
    host: &mut Host,
    writes: &mut Writes,
    scale: &Scale,
) -> Result<Figure> {
    let mut watchers = Vec::new();
    for namespace in namespaces {
        watchers.push(Watcher::start(servers, namespace).await?);
    }
    let reference = Reference::start(servers).await?;
    let (pid, before) = (host.process().pid(), host.rss_bytes()?);
    let cpu = cpu_seconds(pid)?;
    let written = writes.run(rate, scale.watching).await?;
    written.check_rate()?;
    let mut arrivals = Vec::new();
    for watcher in &watchers {
        let count = watcher.count(&written, writes);
        arrivals.extend(watcher.watching.take(count).await?);
    }
    let cpu = cpu_seconds(pid)? - cpu;
    let delivered = arrivals.len();
    let added = reference.added(&written, writes, arrivals).await?;
    let (per_s, seconds) = (written.per_s, scale.watching.as_secs());
    say(&format!(
        "reads: {name}: {} watchers at {per_s:.0} writes/s for {seconds} s: all {delivered} events delivered, {}; host {cpu:.2} CPU s, RSS {} MB at the start and {} MB at the end",
        watchers.len(),
        spread(&added),
        before / 1_000_000,
        host.rss_bytes()? / 1_000_000,
    ));
    Ok(Figure::at_most(name, "ms", percentile(&added, 99), None))
}

fn spread(added: &[f64]) -> String {
    let [p50, p90, p99, most] = [50, 90, 99, 100].map(|percent| percentile(added, percent));
    format!("added p50 {p50:.2} ms, p90 {p90:.2} ms, p99 {p99:.2} ms, most {most:.2} ms over {} events", added.len())
}

// === impl Reference ===

impl Reference {
    async fn start(servers: &Servers) -> Result<Self> {
        let [east, west] = &servers.members;
        let watch = async |member: &crate::client::Endpoint| {
            let connection = member.connect().await?;
            let version = version_of(&connection, PODS).await?;
            Watching::start(&connection, PODS, &version).await
        };
        Ok(Self([watch(east).await?, watch(west).await?]))
    }

    /// Milliseconds that each arrival came after the member's own.
    async fn added(&self, written: &Written, writes: &Writes, arrivals: Vec<Arrival>) -> Result<Vec<f64>> {
        let mut direct = HashMap::new();
        for (member, watching) in self.0.iter().enumerate() {
            let its_own = |write: &u64| Clusters::member_of(writes.pod(*write)) == member;
            let arrivals = watching.take(written.numbers.clone().filter(its_own).count()).await?;
            direct
                .extend(arrivals.iter().filter(|arrival| !arrival.resumed).map(|arrival| (arrival.write, arrival.at)));
        }
        let added = arrivals.iter().filter_map(|Arrival { write, at, .. }| {
            let member = direct.get(write)?;
            let behind = at.saturating_duration_since(*member).as_secs_f64();
            let ahead = member.saturating_duration_since(*at).as_secs_f64();
            Some((behind - ahead) * 1e3)
        });
        let added: Vec<f64> = added.collect();
        if added.len() < arrivals.len() {
            let left_out = arrivals.len() - added.len();
            say(&format!(
                "reads: {left_out} events left out: a member had ended the watch that they are compared with"
            ));
        }
        Ok(added)
    }
}

// === impl Watcher ===

impl Watcher {
    async fn start(servers: &Servers, namespace: Option<usize>) -> Result<Self> {
        let path = match namespace {
            Some(number) => Pod(number * PER_NAMESPACE).collection(),
            None => PODS.to_owned(),
        };
        let connection = servers.host.connect().await?;
        let version = version_of(&connection, &path).await?;
        let watching = Watching::start(&connection, &path, &version).await?;
        Ok(Self { namespace, watching, _connection: connection })
    }

    /// How many of the writes it should see.
    fn count(&self, written: &Written, writes: &Writes) -> usize {
        let seen = |write: &u64| self.namespace.is_none_or(|number| writes.pod(*write).0 / PER_NAMESPACE == number);
        written.numbers.clone().filter(seen).count()
    }
}

/// The longest that a watching measurement may take beside its writes.
pub(crate) const SLACK: Duration = Duration::from_secs(180);
