//! Members that join and leave while the host runs.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use orrery_harness::{Client, Cluster, ClusterSpec, HostSpec, eventually, start_all};
use orrery_real::{Bystander, Kind, Recorder, config_map, create_config_map, shown, union_is_shown};

const SOON: Duration = Duration::from_secs(15);
const LIST: &str = "/api/v1/configmaps";

fn write_config(file: &Path, members: &[&Cluster]) -> Result<()> {
    write_named(file, &members.iter().map(|member| (member.name(), *member)).collect::<Vec<_>>())
}

fn write_named(file: &Path, members: &[(&str, &Cluster)]) -> Result<()> {
    let mut text = "apiVersion: config.orrery.dev/v1alpha1\nkind: Configuration\nmembers:\n".to_owned();
    for (name, member) in members {
        text += &format!("- {{name: {name}, kubeconfig: {}}}\n", member.kubeconfig().display());
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

/// Waits until `of-<name>` is shown as east's, and gives the resourceVersion of the list; no other `of-` is in it.
fn is_shown_as_easts(client: &Client, name: &str) -> Result<u64> {
    eventually(&format!("of-{name} is east's"), SOON, || {
        let (version, objects) = shown(client, LIST)?;
        let found: Vec<_> = objects.values().filter(|object| object.name.starts_with("of-")).collect();
        let names: Vec<_> = found.iter().map(|object| (object.name.as_str(), object.cluster.as_deref())).collect();
        ensure!(names == [(format!("of-{name}").as_str(), Some("east"))], "shown are {names:?}");
        Ok(version)
    })
}

#[test]
fn a_name_that_means_another_cluster_now_shows_that_ones_objects() -> Result<()> {
    let members = start_all(["first", "second"].map(ClusterSpec::bare))?;
    for member in &members {
        create_config_map(&member.client()?, &format!("of-{}", member.name()))?;
    }
    let [first, second] = &members;
    let scratch = tempfile::tempdir()?;
    let config = scratch.path().join("orrery.yaml");
    write_named(&config, &[("east", first)])?;
    let mut host = HostSpec::new().flag(format!("--config={}", config.display())).start()?;
    let client = host.client()?;
    is_shown_as_easts(&client, "first")?;
    let recorder = Recorder::start(&client, LIST)?;
    let bystander = Bystander::start(&mut host, &[LIST, "/readyz", "/version"])?;
    write_named(&config, &[("east", second)])?;
    host.sighup()?;
    is_shown_as_easts(&client, "second")?;
    bystander.finish(&host)?;
    host.kill9()?;
    write_named(&config, &[("east", first)])?;
    host.restart()?;
    let at = is_shown_as_easts(&client, "first")?;
    eventually("the recorder follows", SOON, || {
        let recording = recorder.recording();
        ensure!(recording.faults.is_empty(), "{:#?}", recording.faults);
        let follows = recording.at >= at && recording.objects.values().any(|object| object.name == "of-first");
        ensure!(follows && recording.objects.values().all(|object| object.name != "of-second"), "{recording:?}");
        Ok(())
    })
}
