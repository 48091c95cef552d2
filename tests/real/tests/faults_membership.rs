//! Members that join and leave while the host runs.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use orrery_harness::{Cluster, ClusterSpec, HostSpec, start_all};
use orrery_real::{Bystander, Kind, Recorder, config_map, create_config_map, union_is_shown};

const SOON: Duration = Duration::from_secs(15);
const LIST: &str = "/api/v1/configmaps";

fn write_config(file: &Path, members: &[&Cluster]) -> Result<()> {
    let mut text = "apiVersion: config.orrery.dev/v1alpha1\nkind: Configuration\nmembers:\n".to_owned();
    for member in members {
        text += &format!("- {{name: {}, kubeconfig: {}}}\n", member.name(), member.kubeconfig().display());
    }
    Ok(fs::write(file, text)?)
}

#[test]
fn a_member_that_leaves_takes_its_objects_along_and_one_that_joins_brings_its_own() -> Result<()> {
    let members = start_all(["east", "west", "north"].map(ClusterSpec::bare))?;
    for member in &members {
        create_config_map(&member.client()?, &format!("of-{}", member.name()))?;
        create_config_map(&member.client()?, "shared")?;
    }
    let [east, west, north] = &members;
    let scratch = tempfile::tempdir()?;
    let config = scratch.path().join("orrery.yaml");
    write_config(&config, &[east, west])?;
    let mut host = HostSpec::new().flag(format!("--config={}", config.display())).start()?;
    let client = host.client()?;
    union_is_shown(&client, &[east, west], Kind::ConfigMaps, SOON)?;
    let recorder = Recorder::start(&client, LIST)?;
    let bystander = Bystander::start(&mut host, &[LIST, &config_map("of-west"), "/readyz", "/api"])?;
    for fleet in [&[east, west, north][..], &[west, north], &[west], &[west, east], &[east, west, north]] {
        write_config(&config, fleet)?;
        host.sighup()?;
        let recording = recorder.settle(&client, fleet, Kind::ConfigMaps, SOON)?;
        ensure!(recording.lists == 1, "a client had to list again: {recording:?}");
    }
    // A file that cannot be read changes nothing.
    fs::write(&config, "members: [")?;
    host.sighup()?;
    create_config_map(&north.client()?, "still-there")?;
    union_is_shown(&client, &[east, west, north], Kind::ConfigMaps, SOON)?;
    bystander.finish(&host)?;
    write_config(&config, &[west, north])?;
    host.kill9()?;
    host.restart()?;
    recorder.settle(&client, &[west, north], Kind::ConfigMaps, SOON)?;
    Bystander::start(&mut host, &[LIST])?.finish(&host).map(drop)
}
