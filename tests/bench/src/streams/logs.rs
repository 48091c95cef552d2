//! Logs that many clients follow at once, each on a connection of its own: how long it takes until all have shown their
//! first line, and how many lines a second all of them show together.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use futures::future::try_join_all;
use http::Method;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use orrery_harness::{Cluster, ClusterSpec, Host, HostSpec, Profile};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::kubelet::{Kubelet, LINE};
use super::{OF_DIRECT, POD, Scale};
use crate::client::{Connection, Endpoint, Wanted};
use crate::reads::cpu_seconds;
use crate::report::{Figure, Target};
use crate::say;

/// Longest time until all are open, and until all lines have come.
const LIMIT: Duration = Duration::from_secs(120);

/// A log that is followed.
struct Followed {
    body: Incoming,
    bytes: usize,
    _connection: Connection,
}

/// What was seen of one side.
struct Seen {
    /// Until all had shown their first line.
    first_ms: f64,
    lines_per_s: f64,
}

/// Measures both sides in turn.
pub(super) async fn run(scale: &Scale) -> Result<Vec<Figure>> {
    let cluster = ClusterSpec::bare("logs").profile(Profile::Release).start()?;
    let kubelet = Kubelet::start(&cluster.dir().join("pki")).await?;
    create_pod(&cluster, kubelet.port).await?;
    let host = HostSpec::new().profile(Profile::Release).member(&cluster).start()?;
    let sides = [&host.client()?, &cluster.client()?].map(Endpoint::of);
    // The host lists pods when it is asked for one for the first time.
    Followed::open(sides[0].clone()).await?;
    let (mut first, mut lines) = ([f64::MAX; 2], [0.0_f64; 2]);
    for _ in 0..scale.rounds {
        for (side, endpoint) in sides.iter().enumerate() {
            let seen = measure(endpoint, &kubelet, &host, scale, ["host", "direct"][side]).await?;
            first[side] = first[side].min(seen.first_ms);
            lines[side] = lines[side].max(seen.lines_per_s);
        }
    }
    Ok(vec![
        Figure::rates("log_streams_1000", "lines/s", lines[0], lines[1], OF_DIRECT),
        Figure::beside("log_streams_1000_open", first[0], first[1], Target::Faster(None)),
    ])
}

async fn measure(endpoint: &Endpoint, kubelet: &Kubelet, host: &Host, scale: &Scale, side: &str) -> Result<Seen> {
    kubelet.write(1);
    let (cpu, began) = (cpu_seconds(host.pid())?, Instant::now());
    let opening = (0..scale.logs).map(|_| Followed::open(endpoint.clone()));
    let open = all(opening).await?;
    let first_ms = began.elapsed().as_secs_f64() * 1e3;
    let (cpu_open, rss, began) = (cpu_seconds(host.pid())?, host.rss_bytes()?, Instant::now());
    kubelet.write(1 + scale.lines);
    let read = all(open.into_iter().map(|followed| followed.until(1 + scale.lines))).await?;
    let lines_per_s = (scale.logs * scale.lines) as f64 / began.elapsed().as_secs_f64();
    say(&format!(
        "streams: {} logs: {side}: all show a line after {first_ms:.0} ms, and {lines_per_s:.0} lines/s; the host: {:.2} s and \
         {:.2} s of CPU, resident {} MB once all are open and {} MB at the end",
        read.len(),
        cpu_open - cpu,
        cpu_seconds(host.pid())? - cpu_open,
        rss / 1_000_000,
        host.rss_bytes()? / 1_000_000,
    ));
    Ok(Seen { first_ms, lines_per_s })
}

/// Each in a task of its own, as each client is.
async fn all<F>(each: impl Iterator<Item = F>) -> Result<Vec<Followed>>
where
    F: Future<Output = Result<Followed>> + Send + 'static,
{
    let done = timeout(LIMIT, try_join_all(each.map(tokio::spawn))).await;
    done.with_context(|| format!("not all within {} s", LIMIT.as_secs()))??.into_iter().collect()
}

async fn create_pod(cluster: &Cluster, kubelet: u16) -> Result<()> {
    let connection = Endpoint::of(&cluster.client()?).connect().await?;
    let create = async |path: &str, object: Value| {
        connection.write(Method::POST, path, "application/json", object.to_string().into()).await
    };
    let status = json!({
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet}},
    });
    create("/api/v1/nodes", json!({"metadata": {"name": "bench"}, "status": status})).await?;
    let spec = json!({"nodeName": "bench", "containers": [{"name": "web", "image": "web"}]});
    create("/api/v1/namespaces/default/pods", json!({"metadata": {"name": "web"}, "spec": spec})).await
}

// === impl Followed ===

impl Followed {
    /// Follows the log of the pod; its first line has come.
    async fn open(endpoint: Endpoint) -> Result<Self> {
        let connection = endpoint.connect().await?;
        let response = connection.get(&format!("{POD}/log?follow=true"), Wanted::default()).await?;
        Self { body: response.into_body(), bytes: 0, _connection: connection }.until(1).await
    }

    /// Reads until so many lines have come.
    async fn until(mut self, lines: usize) -> Result<Self> {
        while self.bytes < lines * LINE.len() {
            let frame = self.body.frame().await.context("a log ended")??;
            self.bytes += frame.data_ref().map_or(0, Bytes::len);
        }
        Ok(self)
    }
}
