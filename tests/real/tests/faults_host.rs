//! The host itself: killed again and again, and two on one folder.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use orrery_harness::{Client, ClusterSpec, HostSpec, eventually, start_all};
use orrery_real::{Bystander, COMETS, Churn, Kind, Recorder, list_version};
use serde_json::json;

const SOON: Duration = Duration::from_secs(20);
const EVENTS: &str = "/api/v1/events";
const EVENT_TTL: Duration = Duration::from_secs(8);

#[test]
fn a_host_that_is_killed_under_churn_goes_on_where_every_client_is() -> Result<()> {
    let members = start_all([ClusterSpec::bare("east"), ClusterSpec::bare("west")])?;
    for member in &members {
        member.kubectl().apply(COMETS)?;
        let wait = ["wait", "--for=condition=Established", "crd/comets.sky.example.com", "--timeout=20s"];
        member.kubectl().ok(&wait)?;
    }
    let mut host = HostSpec::new().member(&members[0]).member(&members[1]).start()?;
    let client = host.client()?;
    let churn = Churn::start(&members.each_ref(), &Kind::ALL, Duration::from_millis(8))?;
    let recorders: Vec<_> =
        Kind::ALL.iter().map(|kind| Recorder::start(&client, kind.everywhere())).collect::<Result<_>>()?;
    for _ in 0..3 {
        thread::sleep(Duration::from_millis(1500));
        host.kill9()?;
        host.restart()?;
    }
    churn.stop()?;
    for (kind, recorder) in Kind::ALL.iter().zip(&recorders) {
        let recording = recorder.settle(&client, &members.each_ref(), *kind, SOON)?;
        ensure!(recording.lists == 1, "{}: {} lists", kind.resource(), recording.lists);
        ensure!(recording.events > 20, "{}: {} events", kind.resource(), recording.events);
    }
    Bystander::start(&mut host, &[Kind::Pods.everywhere()])?.finish(&host).map(drop)
}

fn create_event(client: &Client, name: &str) -> Result<()> {
    let object = json!({"kind": "Pod", "name": "web", "namespace": "default"});
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": name},
        "involvedObject": object, "reason": "Tried", "message": name, "type": "Normal",
    });
    client.create("/api/v1/namespaces/default/events", &event).map(drop)
}

/// Events that are made together share a lease, and when it lapses etcd deletes them in one transaction, so that many
/// deletions have one version.
#[test]
fn a_host_that_is_killed_while_thirty_events_expire_at_once_loses_none_of_the_deletions() -> Result<()> {
    let ttl = format!("--event-ttl={}s", EVENT_TTL.as_secs());
    let east = ClusterSpec::bare("east").apiserver_flag(&ttl).start()?;
    let mut host = HostSpec::new().member(&east).start()?;
    let (client, direct) = (host.client()?, east.client()?);
    list_version(&client, EVENTS)?;
    let recorder = Recorder::start(&client, EVENTS)?;
    let made = Instant::now();
    for number in 0..30 {
        create_event(&direct, &format!("expiring-{number}"))?;
    }
    eventually("the events are shown", SOON, || {
        let shown = recorder.recording().objects.len();
        ensure!(shown >= 30, "{shown} are shown");
        Ok(())
    })?;
    thread::sleep(EVENT_TTL.saturating_sub(made.elapsed() + Duration::from_millis(500)));
    let mut kills = 0;
    while direct.json(EVENTS)?["items"].as_array().is_some_and(|items| !items.is_empty()) {
        ensure!(made.elapsed() < 3 * EVENT_TTL, "the events do not expire");
        host.kill9()?;
        host.restart()?;
        kills += 1;
    }
    ensure!(kills > 0, "they were gone too soon");
    create_event(&direct, "after")?;
    let recording = eventually("all deletions are shown", SOON, || {
        let recording = recorder.recording();
        let names: Vec<&str> = recording.objects.values().map(|object| object.name.as_str()).collect();
        ensure!(names == ["after"], "shown are {names:?}");
        Ok(recording)
    })?;
    ensure!(recording.faults.is_empty() && recording.lists == 1, "{:?}, {} lists", recording.faults, recording.lists);
    ensure!(recording.events >= 61, "{} events", recording.events);
    Bystander::start(&mut host, &[EVENTS])?.finish(&host).map(drop)
}

#[test]
fn a_second_host_on_a_folder_in_use_is_refused_with_the_first_ones_process() -> Result<()> {
    let east = ClusterSpec::bare("east").start()?;
    let mut first = HostSpec::new().member(&east).start()?;
    let bystander = Bystander::start(&mut first, &["/api/v1/namespaces", "/readyz"])?;
    let mut second = HostSpec::new().member(&east).data(first.data()).launch()?;
    eventually("the second host ends", SOON, || {
        ensure!(second.process().check_running().is_err(), "it runs");
        Ok(())
    })?;
    let (log, pid) = (second.log(), first.process().pid());
    ensure!(log.contains("in use by another host") && log.contains(&format!("pid {pid}")), "it says:\n{log}");
    bystander.finish(&first).map(drop)
}
