//! Watchers that stop reading.

use std::time::Duration;

use anyhow::{Result, ensure};
use orrery_harness::{ClusterSpec, HostSpec, Lines};
use orrery_real::{Bystander, Kind, Recorder, change_config_map, create_config_map, list_version, union_is_shown};

const SOON: Duration = Duration::from_secs(20);
const LIST: &str = "/api/v1/configmaps";
const WATCHERS: usize = 30;
/// Each change is an event of this size to each watcher: 60 MB each, far above what sockets hold.
const CHANGES: usize = 300;
const CHANGE_BYTES: usize = 200_000;

/// Reads a watch to its end: true if it ended cleanly, false if with a 410.
fn ends_cleanly(mut watch: Lines) -> Result<bool> {
    while let Some(event) = watch.next_json()? {
        if event["type"] == "ERROR" {
            ensure!(event["object"]["code"] == 410, "a slow watch ends with {event}");
            return Ok(false);
        }
    }
    Ok(true)
}

#[test]
fn watchers_that_stop_reading_are_cut_and_hold_up_nobody() -> Result<()> {
    let east = ClusterSpec::bare("east").start()?;
    let direct = east.client()?;
    create_config_map(&direct, "large")?;
    create_config_map(&direct, "small")?;
    let mut host = HostSpec::new().member(&east).flag("--cache-bytes-max=256Mi").start()?;
    let client = host.client()?;
    let from = list_version(&client, LIST)?;
    let recorder = Recorder::start(&client, LIST)?;
    let small = format!("{}/small", Kind::ConfigMaps.in_default());
    let bystander = Bystander::start(&mut host, &[&small, "/readyz", "/api/v1/namespaces"])?;
    let watch = format!("{LIST}?watch=1&allowWatchBookmarks=true&resourceVersion={from}");
    let slow: Vec<Lines> = (0..WATCHERS).map(|_| client.lines(&watch)).collect::<Result<_>>()?;
    for change in 0..CHANGES {
        change_config_map(&direct, "large", &format!("{change}{}", "x".repeat(CHANGE_BYTES)))?;
    }
    let at = union_is_shown(&client, &[&east], Kind::ConfigMaps, SOON)?;
    recorder.reach(at, SOON)?;
    bystander.finish(&host)?;
    let cut = slow.into_iter().map(ends_cleanly).collect::<Result<Vec<bool>>>()?;
    ensure!(cut.len() == WATCHERS, "each has ended");
    Ok(())
}
