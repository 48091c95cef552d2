//! Watchers that stop reading.

use std::time::Duration;

use anyhow::{Result, ensure};
use orrery_harness::{ClusterSpec, HostSpec, Lines};
use orrery_real::{Bystander, Kind, Recorder, change_config_map, create_config_map, list_version};

const SOON: Duration = Duration::from_secs(20);
const LIST: &str = "/api/v1/configmaps";
const WATCHERS: usize = 30;
/// Together 40 MB for each watcher: far above what sockets hold, and what the ring of events may take.
const CHANGES: u64 = 200;
const CHANGE_BYTES: usize = 200_000;

/// Reads a watch until it has reached `at` (false) or until it has ended, cleanly or with a 410 (true).
fn is_cut(mut watch: Lines, at: u64) -> Result<bool> {
    while let Some(event) = watch.next_json()? {
        let object = &event["object"];
        if event["type"] == "ERROR" {
            ensure!(object["code"] == 410, "a slow watch ends with {event}");
            return Ok(true);
        }
        if object["metadata"]["resourceVersion"]
            .as_str()
            .is_some_and(|version| version.parse().is_ok_and(|version: u64| version >= at))
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Text that does not compress well, another one for each `seed`.
fn noise(seed: u64) -> String {
    let mut state = seed | 1 << 40;
    let letters = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'A' + (state >> 59) as u8)
    });
    letters.take(CHANGE_BYTES).collect::<String>().replace('\\', "-")
}

#[test]
fn watchers_that_stop_reading_are_cut_and_hold_up_nobody() -> Result<()> {
    let east = ClusterSpec::bare("east").start()?;
    let direct = east.client()?;
    create_config_map(&direct, "large")?;
    create_config_map(&direct, "small")?;
    let mut host = HostSpec::new().member(&east).flag("--cache-bytes-max=32Mi").start()?;
    let client = host.client()?;
    let from = list_version(&client, LIST)?;
    let recorder = Recorder::start(&client, LIST)?;
    let small = format!("{}/small", Kind::ConfigMaps.in_default());
    let bystander = Bystander::start(&mut host, &[&small, "/readyz", "/api/v1/namespaces"])?;
    let watch = format!("{LIST}?watch=1&allowWatchBookmarks=true&resourceVersion={from}");
    let slow: Vec<Lines> = (0..WATCHERS).map(|_| client.lines(&watch)).collect::<Result<_>>()?;
    for change in 0..CHANGES {
        change_config_map(&direct, "large", &noise(change))?;
    }
    let at = recorder.settle(&client, &[&east], Kind::ConfigMaps, SOON)?.at;
    bystander.finish(&host)?;
    let cut = slow.into_iter().map(|watch| is_cut(watch, at)).collect::<Result<Vec<bool>>>()?;
    ensure!(cut.iter().all(|&cut| cut), "{cut:?} were cut");
    Ok(())
}
