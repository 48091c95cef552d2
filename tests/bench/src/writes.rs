//! Writes through the host beside the same writes at an API server, by one process, in turn.

use std::time::{Duration, Instant};

use anyhow::Result;
use bytes::Bytes;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use http::Method;
use orrery_harness::{ClusterSpec, HostSpec, Profile, start_all};
use serde_json::json;

use crate::client::{Connection, Endpoint};
use crate::reads::load_average;
use crate::report::{Figure, Outcome, Target, percentile};
use crate::say;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const MERGE: &str = "application/merge-patch+json";
/// Of each object, in bytes.
const TEXT: usize = 2_000;
const CLIENTS: usize = 64;
const ADDED_MS: f64 = 2.0;
const OF_DIRECT: f64 = 0.85;

/// How much is measured.
struct Scale {
    /// Writes one after another, of each kind.
    alone: usize,
    /// Writes by many clients, of each kind.
    together: usize,
    /// How often each is measured, on both sides in turn; the best counts.
    rounds: usize,
}

/// One side, and where its object numbers go on.
struct Side {
    connections: Vec<Connection>,
    next: usize,
}

/// What a run of writes took.
struct Run {
    ms: Vec<f64>,
    lasted: Duration,
}

/// Measures creates and updates, by one client and by many.
pub(crate) async fn run(quick: bool) -> Result<Outcome> {
    let scale = if quick {
        Scale { alone: 20, together: 200, rounds: 1 }
    } else {
        Scale { alone: 500, together: 5_000, rounds: 3 }
    };
    say(&format!("writes: load average {}", load_average()));
    let clusters = start_all(["direct", "east"].map(|name| ClusterSpec::bare(name).profile(Profile::Release)))?;
    let host = HostSpec::new().profile(Profile::Release).member(&clusters[1]).start()?;
    let mut direct = Side::connect(&Endpoint::of(&clusters[0].client()?)).await?;
    let mut through = Side::connect(&Endpoint::of(&host.client()?)).await?;
    for side in [&mut direct, &mut through] {
        side.create(20, 1).await?;
    }
    let mut figures = Vec::new();
    for (kind, p50, p99, rate) in [
        (Kind::Create, "write_create_added_p50", "write_create_added_p99", "write_create_64"),
        (Kind::Update, "write_update_added_p50", "write_update_added_p99", "write_update_64"),
    ] {
        let (mut alone, mut together) = ([f64::MAX; 4], [f64::MAX; 2]);
        for _ in 0..scale.rounds {
            for (at, side) in [&mut through, &mut direct].into_iter().enumerate() {
                let run = side.run(kind, scale.alone, 1).await?;
                alone[2 * at] = alone[2 * at].min(percentile(&run.ms, 50));
                alone[2 * at + 1] = alone[2 * at + 1].min(percentile(&run.ms, 99));
                let run = side.run(kind, scale.together, CLIENTS).await?;
                let each = run.lasted.as_secs_f64() * 1e3 / scale.together as f64;
                together[at] = together[at].min(each);
                say(&format!(
                    "writes: {kind:?} {}: {CLIENTS} clients {:.0}/s, p50 {:.2} ms, p99 {:.2} ms",
                    if at == 0 { "host" } else { "direct" },
                    1e3 / each,
                    percentile(&run.ms, 50),
                    percentile(&run.ms, 99)
                ));
            }
        }
        let [host_p50, host_p99, direct_p50, direct_p99] = alone;
        say(&format!(
            "writes: {kind:?}, one client: host p50 {host_p50:.2} p99 {host_p99:.2} ms, direct p50 {direct_p50:.2} p99 {direct_p99:.2} ms"
        ));
        figures.push(Figure::at_most(p50, "ms", host_p50 - direct_p50, Some(ADDED_MS)));
        figures.push(Figure::at_most(p99, "ms", host_p99 - direct_p99, None));
        figures.push(Figure::beside(rate, together[0], together[1], Target::Faster(Some(OF_DIRECT))));
    }
    say(&format!("writes: load average {}", load_average()));
    Ok(Outcome { figures, failed: Vec::new() })
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Create,
    Update,
}

// === impl Side ===

impl Side {
    async fn connect(endpoint: &Endpoint) -> Result<Self> {
        let connections = stream::iter(0..CLIENTS).then(|_| endpoint.connect()).try_collect().await?;
        Ok(Self { connections, next: 0 })
    }

    async fn run(&mut self, kind: Kind, count: usize, clients: usize) -> Result<Run> {
        match kind {
            Kind::Create => self.create(count, clients).await,
            Kind::Update => self.update(count, clients).await,
        }
    }

    async fn create(&mut self, count: usize, clients: usize) -> Result<Run> {
        let first = self.next;
        self.next += count;
        self.each(first, count, clients, |number| {
            let body = json!({"metadata": {"name": format!("m{number}")}, "data": {"text": "x".repeat(TEXT)}});
            (Method::POST, MAPS.to_owned(), "application/json", body.to_string().into())
        })
        .await
    }

    /// Each object in turn, so that no two writes are to the same one at a time.
    async fn update(&mut self, count: usize, clients: usize) -> Result<Run> {
        let known = self.next;
        self.each(0, count, clients, |number| {
            let body = json!({"data": {"number": format!("{number}-{:?}", Instant::now())}});
            (Method::PATCH, format!("{MAPS}/m{}", number % known), MERGE, body.to_string().into())
        })
        .await
    }

    async fn each(
        &self,
        first: usize,
        count: usize,
        clients: usize,
        write: impl Fn(usize) -> (Method, String, &'static str, Bytes),
    ) -> Result<Run> {
        let began = Instant::now();
        let one = async |number: usize| -> Result<f64> {
            let (method, path, content_type, body) = write(number);
            let asked = Instant::now();
            self.connections[number % clients].write(method, &path, content_type, body).await?;
            Ok(asked.elapsed().as_secs_f64() * 1e3)
        };
        let ms = stream::iter(first..first + count).map(one).buffer_unordered(clients).try_collect().await?;
        Ok(Run { ms, lasted: began.elapsed() })
    }
}
