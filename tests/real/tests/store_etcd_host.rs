//! Hosts whose markers live in a real etcd: killed, paused, two of them, and their etcd gone.

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use orrery_harness::{Client, Cluster, ClusterSpec, Etcd, EtcdSpec, Host, HostSpec, eventually};
use orrery_real::{Bystander, Churn, Kind, Recorder, create_config_map, is_shown, list_version, union_is_shown};

const SOON: Duration = Duration::from_secs(30);
/// A host's lease, and what etcd and a waiting host may add to it.
const LEASE_AND_MORE: Duration = Duration::from_secs(20);
const LIST: &str = "/api/v1/configmaps";

fn spec(etcd: &Etcd, member: &Cluster) -> HostSpec {
    let endpoints = etcd.endpoints().join(",");
    HostSpec::new().flag("--store=etcd").flag(format!("--etcd-endpoints={endpoints}")).member(member)
}

fn started() -> Result<(Etcd, Cluster, Host, Client)> {
    let etcd = EtcdSpec::new().start()?;
    let east = ClusterSpec::bare("east").start()?;
    create_config_map(&east.client()?, "first")?;
    let host = spec(&etcd, &east).start()?;
    let client = host.client()?;
    union_is_shown(&client, &[&east], Kind::ConfigMaps, SOON)?;
    Ok((etcd, east, host, client))
}

#[test]
fn clients_of_a_host_with_its_markers_in_etcd_go_on_where_they_are_when_it_is_killed_under_churn() -> Result<()> {
    let (etcd, east, mut host, client) = started()?;
    let recorder = Recorder::start(&client, LIST)?;
    let churn = Churn::start(&[&east], &[Kind::ConfigMaps], Duration::from_millis(10))?;
    for _ in 0..3 {
        thread::sleep(Duration::from_millis(1500));
        host.kill9()?;
        host.restart()?;
    }
    churn.stop()?;
    let recording = recorder.settle(&client, &[&east], Kind::ConfigMaps, SOON)?;
    ensure!(recording.lists == 1, "{} lists", recording.lists);
    ensure!(recording.events > 20, "{} events", recording.events);
    ensure!(!host.data().join("markers.redb").exists(), "the markers are in etcd only");
    ensure!(!etcd.etcdctl(&["get", "--prefix", "/orrery/head/configmaps"])?.is_empty(), "the log is there");
    ensure!(!host.log().contains("waiting for another host's lease"), "it knows its own lease again");
    Bystander::start(&mut host, &[LIST])?.finish(&host).map(drop)
}

#[test]
fn an_etcd_that_is_killed_holds_up_what_is_new_until_it_is_back_and_nothing_else() -> Result<()> {
    let (mut etcd, east, mut host, client) = started()?;
    let recorder = Recorder::start(&client, LIST)?;
    let bystander = Bystander::start(&mut host, &[LIST, "/readyz", "/apis", "/metrics"])?;
    let churn = Churn::start(&[&east], &[Kind::ConfigMaps], Duration::from_millis(10))?;
    etcd.member(0).kill()?;
    eventually("the host says that its store is gone", SOON, || {
        ensure!(host.log().contains("append failed"), "it does not");
        Ok(())
    })?;
    thread::sleep(Duration::from_secs(2));
    etcd.restart_member(0)?;
    etcd.wait_ready()?;
    churn.stop()?;
    bystander.finish(&host)?;
    let recording = recorder.settle(&client, &[&east], Kind::ConfigMaps, SOON)?;
    ensure!(recording.lists == 1, "{} lists", recording.lists);
    Ok(())
}

#[test]
fn a_second_host_on_the_prefix_is_refused_and_names_the_first_which_goes_on() -> Result<()> {
    let (etcd, east, mut host, client) = started()?;
    let mut second = spec(&etcd, &east).launch()?;
    eventually("the second host ends", SOON, || {
        ensure!(second.process().check_running().is_err(), "it runs");
        Ok(())
    })?;
    let pid = host.process().pid();
    let log = second.log();
    ensure!(log.contains("another host is using /orrery") && log.contains(&format!("process {pid}")), "{log}");
    create_config_map(&east.client()?, "after")?;
    is_shown(&client, "after", SOON)?;
    Bystander::start(&mut host, &[LIST])?.finish(&host).map(drop)
}

#[test]
fn a_host_that_ends_gives_the_prefix_to_the_next_one_at_once() -> Result<()> {
    let (etcd, east, mut host, _client) = started()?;
    let status = host.sigterm(SOON)?;
    ensure!(status.success(), "{status}");
    ensure!(etcd.etcdctl(&["get", "/orrery/writer"])?.is_empty(), "it has given its lease up");
    let mut next = spec(&etcd, &east).start()?;
    union_is_shown(&next.client()?, &[&east], Kind::ConfigMaps, SOON)?;
    ensure!(!next.log().contains("waiting for another host's lease"), "there was nothing to wait for");
    Bystander::start(&mut next, &[LIST])?.finish(&next).map(drop)
}

#[test]
fn a_host_paused_past_its_lease_appends_nothing_more_says_who_took_over_and_ends() -> Result<()> {
    let (etcd, east, mut old, _client) = started()?;
    old.process().pause()?;
    // What waits for the paused host, to be appended as soon as it goes on.
    let churn = Churn::start(&[&east], &[Kind::ConfigMaps], Duration::from_millis(20))?;
    let mut new = spec(&etcd, &east).launch()?;
    new.wait_ready()?;
    let client = new.client()?;
    let recorder = Recorder::start(&client, LIST)?;
    let term = etcd.etcdctl(&["get", "/orrery/writer"])?;
    old.process().resume()?;
    eventually("the old host ends", LEASE_AND_MORE, || {
        ensure!(old.process().check_running().is_err(), "it runs");
        Ok(())
    })?;
    let (said, pid) = (old.log(), new.process().pid());
    ensure!(said.contains("another host has taken the store over"), "{said}");
    ensure!(said.contains(&format!("process {pid}")), "it names process {pid}: {said}");
    churn.stop()?;
    let recording = recorder.settle(&client, &[&east], Kind::ConfigMaps, SOON)?;
    ensure!(recording.lists == 1, "{} lists", recording.lists);
    ensure!(!new.log().contains("another writer"), "the new host's log is its own:\n{}", new.log());
    ensure!(etcd.etcdctl(&["get", "/orrery/writer"])? == term, "the new host was the writer all the time");
    Bystander::start(&mut new, &[LIST])?.finish(&new).map(drop)
}

#[test]
fn keys_that_are_deleted_under_a_host_make_clients_list_again_and_versions_still_rise() -> Result<()> {
    let (etcd, east, mut host, client) = started()?;
    let before = list_version(&client, LIST)?;
    etcd.etcdctl(&["del", "--prefix", "/orrery/"])?;
    create_config_map(&east.client()?, "after")?;
    is_shown(&client, "after", SOON)?;
    let after = union_is_shown(&client, &[&east], Kind::ConfigMaps, SOON)?;
    ensure!(after > before, "{after} after {before}");
    Bystander::start(&mut host, &[LIST])?.finish(&host).map(drop)
}
