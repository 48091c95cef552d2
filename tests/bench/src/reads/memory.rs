//! What the host's memory grows by for each pod: its resident set, less that before it was first asked for pods.

use std::time::Duration;

use anyhow::Result;
use orrery_harness::Host;

use super::writes::Writes;
use super::{Scale, Servers};
use crate::client::Wanted;
use crate::report::Figure;
use crate::say;

const AT_REST_KB: f64 = 10.0;
const UNDER_CHURN_KB: f64 = 16.0;
const CHURN_PER_S: u32 = 50;
/// How long the host is left alone after it has loaded: its allocator gives back what loading took.
const REST: Duration = Duration::from_secs(30);

/// Loads the pods into a host that was not asked for them before, and measures it at rest. Gives its resident set from
/// before that, too.
pub(crate) async fn at_rest(servers: &Servers, host: &Host, scale: &Scale) -> Result<(u64, Figure)> {
    let idle = host.rss_bytes()?;
    let connection = servers.host.connect().await?;
    let read = connection.count("/api/v1/pods", Wanted::default()).await?;
    say(&format!("reads: first list after {:.0} ms, {} bytes", read.ms, read.bytes));
    tokio::time::sleep(REST).await;
    let figure = per_pod("memory_per_pod", host, idle, AT_REST_KB, scale)?;
    Ok((idle, figure))
}

/// Measures it at the end of the churn.
pub(crate) async fn churn(host: &Host, idle: u64, writes: &mut Writes, scale: &Scale) -> Result<Figure> {
    per_pod("memory_per_pod before the churn", host, idle, UNDER_CHURN_KB, scale)?;
    let written = writes.run(CHURN_PER_S, scale.churn).await?;
    written.check_rate()?;
    say(&format!("reads: churn: {:.0} writes/s for {} s", written.per_s, scale.churn.as_secs()));
    per_pod("memory_per_pod_churn", host, idle, UNDER_CHURN_KB, scale)
}

fn per_pod(name: &'static str, host: &Host, idle: u64, target: f64, scale: &Scale) -> Result<Figure> {
    let now = host.rss_bytes()?;
    let each = now.saturating_sub(idle) as f64 / scale.pods as f64 / 1e3;
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    say(&format!(
        "reads: {name}: {each:.2} KB a pod: resident {:.1} MB, {:.1} MB before the first pod",
        megabytes(now),
        megabytes(idle)
    ));
    Ok(Figure::at_most(name, "KB", each, Some(target)))
}
