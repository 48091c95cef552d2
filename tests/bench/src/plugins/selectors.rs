//! What a virtual label costs in a LIST and in a watch of all pods, beside the same without it, through one host.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use orrery_harness::{HostSpec, Profile, repository};

use super::LOADED;
use crate::client::{Connection, Endpoint, Wanted};
use crate::reads::clusters::Clusters;
use crate::reads::watching::{Arrival, Watching, version_of};
use crate::reads::writes::Writes;
use crate::report::{Figure, Target, median, percentile};
use crate::say;

const LIST_TARGET: f64 = 1.3;
const WRITES_PER_S: u32 = 50;
const PODS: &str = "/api/v1/pods";
/// Every pod of the bench is of this tier, so that both lists show the same.
const SELECTED: &str = "/api/v1/pods?labelSelector=labels.orrery.dev/tier%3Dstandard";

/// Measures both.
pub(super) async fn run(quick: bool) -> Result<Vec<Figure>> {
    let (pods, runs, lasts) = if quick { (1_000, 3, 2) } else { (10_000, 15, 15) };
    let clusters = Clusters::start(pods).await?;
    let rules = tempfile::tempdir()?;
    fs::copy(repository().join("policies/labels.yaml"), rules.path().join("labels.yaml"))?;
    let [east, west] = &clusters.members;
    let host = HostSpec::new().profile(Profile::Release).member(east).member(west);
    let host = host.flag(format!("--extensions={}", rules.path().display())).start()?;
    let connection = Endpoint::of(&host.client()?).connect().await?;
    served(&connection).await?;

    let mut figures = lists(&connection, runs).await?;
    let members = [Endpoint::of(&east.client()?), Endpoint::of(&west.client()?)];
    let mut writes = Writes::new(&members, pods).await?;
    let version = version_of(&connection, PODS).await?;
    let (plain, selected) =
        (Watching::start(&connection, PODS, &version).await?, Watching::start(&connection, SELECTED, &version).await?);
    let written = writes.run(WRITES_PER_S, Duration::from_secs(lasts)).await?;
    let later = later(&plain.take(written.count()).await?, &selected.take(written.count()).await?);
    let (p50, p99) = (percentile(&later, 50), percentile(&later, 99));
    say(&format!("plugins: a watch by a virtual label is {p50:.2} ms (p99 {p99:.2} ms) behind the one without it"));
    figures.push(Figure::at_most("watch_virtual_label_p50", "ms", p50, None));
    figures.push(Figure::at_most("watch_virtual_label_p99", "ms", p99, None));
    Ok(figures)
}

async fn served(connection: &Connection) -> Result<()> {
    let begun = Instant::now();
    // One namespace, so that most pods are asked about for the first time by the list that is measured.
    let path = "/api/v1/namespaces/default/pods?labelSelector=labels.orrery.dev/tier%3Dstandard";
    while let Err(error) = connection.text(path).await {
        ensure!(begun.elapsed() < LOADED, "the rule does not serve: {error:#}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// The first list by the label, then both in turn.
async fn lists(connection: &Connection, runs: usize) -> Result<Vec<Figure>> {
    let all = connection.count(PODS, Wanted::default()).await?;
    let first = connection.count(SELECTED, Wanted::default()).await?;
    let off = (first.bytes as f64 / all.bytes as f64 - 1.0).abs();
    ensure!(off < 0.01, "{} bytes by the label, {} without: not the same list", first.bytes, all.bytes);
    let (mut by_label, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        plain.push(connection.count(PODS, Wanted::default()).await?.ms);
        by_label.push(connection.count(SELECTED, Wanted::default()).await?.ms);
    }
    let (by_label, plain) = (median(&by_label), median(&plain));
    say(&format!(
        "plugins: a list by a virtual label {by_label:.1} ms, {:.1} ms the first time; {plain:.1} ms without",
        first.ms
    ));
    Ok(vec![
        Figure::beside("list_virtual_label", by_label, plain, Target::Dearer(LIST_TARGET)),
        Figure::at_most("list_virtual_label_first", "ms", first.ms, None),
    ])
}

/// How much later each write arrived on the second watch, in milliseconds.
fn later(plain: &[Arrival], selected: &[Arrival]) -> Vec<f64> {
    let there: HashMap<u64, Instant> = plain.iter().map(|arrival| (arrival.write, arrival.at)).collect();
    let behind = |arrival: &Arrival| {
        let at = there.get(&arrival.write)?;
        let late = arrival.at.saturating_duration_since(*at).as_secs_f64();
        let early = at.saturating_duration_since(arrival.at).as_secs_f64();
        Some((late - early) * 1e3)
    };
    selected.iter().filter_map(behind).collect()
}
