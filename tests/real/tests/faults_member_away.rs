//! A member that does not answer: frozen, killed, never there, or away while the host restarts. Its objects stay or are
//! missing with a Warning, and nobody else notices.

use std::time::Duration;

use anyhow::{Result, ensure};
use orrery_harness::{Client, Cluster, ClusterSpec, Host, HostSpec, eventually, start_all};
use orrery_real::{
    Bystander, Kind, Recorder, config_map, create_config_map, delete_config_map, is_shown, union_is_shown, warned_of,
    warnings,
};

const SOON: Duration = Duration::from_secs(15);
/// A frozen member is noticed after 10 s without a byte; one that comes back is tried again each 10 s at most.
const NOTICED: Duration = Duration::from_secs(30);
const LIST: &str = "/api/v1/configmaps";

/// East and west with a ConfigMap each, and a host over both that has loaded them.
fn fleet() -> Result<([Cluster; 2], Host, Client)> {
    let members = start_all([ClusterSpec::bare("east"), ClusterSpec::bare("west")])?;
    for member in &members {
        create_config_map(&member.client()?, &format!("of-{}", member.name()))?;
    }
    let host = HostSpec::new().member(&members[0]).member(&members[1]).start()?;
    let client = host.client()?;
    union_is_shown(&client, &[&members[0], &members[1]], Kind::ConfigMaps, SOON)?;
    Ok((members, host, client))
}

fn both(members: &[Cluster; 2]) -> [&Cluster; 2] {
    members.each_ref()
}

/// What holds while east is away: its objects stay, with a Warning; west's changes come; and afterwards, when
/// `back` has brought it back, everything comes and no client had to list again.
fn is_borne(away: impl Fn(&mut Cluster) -> Result<()>, back: impl Fn(&mut Cluster) -> Result<()>) -> Result<()> {
    let (mut members, mut host, client) = fleet()?;
    let recorder = Recorder::start(&client, LIST)?;
    let bystander = Bystander::start(&mut host, &[LIST, &config_map("of-west"), "/readyz", "/apis"])?;
    away(&mut members[0])?;
    create_config_map(&members[1].client()?, "meanwhile")?;
    is_shown(&client, "meanwhile", SOON)?;
    is_shown(&client, "of-east", SOON)?;
    warned_of(&client, LIST, "east", NOTICED)?;
    let kept = client.get(&config_map("of-east"))?;
    ensure!(kept.status == 200 && !warnings(&kept).is_empty(), "of-east: {} {:?}", kept.status, kept.headers);
    back(&mut members[0])?;
    create_config_map(&members[0].client()?, "after")?;
    let recording = recorder.settle(&client, &both(&members), Kind::ConfigMaps, NOTICED)?;
    ensure!(recording.lists == 1, "a client had to list again: {recording:?}");
    eventually("the Warning ends", NOTICED, || {
        let answer = client.get(LIST)?;
        ensure!(warnings(&answer).is_empty(), "{:?}", warnings(&answer));
        Ok(())
    })?;
    bystander.finish(&host).map(drop)
}

#[test]
fn a_frozen_member_is_borne() -> Result<()> {
    is_borne(|east| east.pause(), |east| east.resume())
}

#[test]
fn a_killed_member_is_borne() -> Result<()> {
    is_borne(Cluster::kill_apiserver, Cluster::start_apiserver)
}

#[test]
fn a_compacted_member_is_borne() -> Result<()> {
    let (mut members, mut host, client) = fleet()?;
    let recorder = Recorder::start(&client, LIST)?;
    // While the host stands still, its place in the member's history is compacted away and its connections are cut.
    host.process().pause()?;
    let east = members[0].client()?;
    for number in 0..20 {
        create_config_map(&east, &format!("unseen-{number}"))?;
    }
    east.send("DELETE", &config_map("of-east"), &[], &[])?.success()?;
    members[0].compact()?;
    members[0].kill_apiserver()?;
    members[0].start_apiserver()?;
    create_config_map(&east, "after")?;
    host.process().resume()?;
    let recording = recorder.settle(&client, &both(&members), Kind::ConfigMaps, NOTICED)?;
    ensure!(recording.lists == 1, "a client had to list again: {recording:?}");
    Bystander::start(&mut host, &[LIST])?.finish(&host).map(drop)
}

#[test]
fn a_member_that_was_never_there_is_missed_with_a_warning_and_joins_when_it_comes() -> Result<()> {
    let mut members = start_all([ClusterSpec::bare("east"), ClusterSpec::bare("west")])?;
    for member in &members {
        create_config_map(&member.client()?, &format!("of-{}", member.name()))?;
    }
    members[0].kill_apiserver()?;
    let mut host = HostSpec::new().member(&members[0]).member(&members[1]).start()?;
    let client = host.client()?;
    warned_of(&client, LIST, "east", SOON)?;
    is_shown(&client, "of-west", SOON)?;
    let recorder = Recorder::start(&client, LIST)?;
    let bystander = Bystander::start(&mut host, &[LIST, &config_map("of-west"), "/readyz", "/apis", "/version"])?;
    members[0].start_apiserver()?;
    let recording = recorder.settle(&client, &both(&members), Kind::ConfigMaps, NOTICED)?;
    ensure!(recording.lists == 1, "a client had to list again: {recording:?}");
    bystander.finish(&host).map(drop)
}

#[test]
fn a_member_that_is_away_while_the_host_restarts_keeps_its_names() -> Result<()> {
    let (mut members, mut host, client) = fleet()?;
    let recorder = Recorder::start(&client, LIST)?;
    members[0].kill_apiserver()?;
    host.kill9()?;
    host.restart()?;
    warned_of(&client, LIST, "east", SOON)?;
    is_shown(&client, "of-west", SOON)?;
    let bystander = Bystander::start(&mut host, &[LIST, &config_map("of-west"), "/readyz"])?;
    let asked = client.get(&config_map("of-east"))?;
    let waits = asked.header("retry-after").is_some();
    ensure!(asked.status == 503 && waits, "of-east is answered {}: {}", asked.status, asked.text());
    ensure!(client.get(&config_map("nosuch"))?.status == 404, "a name that nobody claims is not found");
    members[0].start_apiserver()?;
    recorder.settle_with_repeats(&client, &both(&members), Kind::ConfigMaps, NOTICED)?;
    ensure!(client.get(&config_map("of-east"))?.status == 200, "of-east is there again");
    bystander.finish(&host).map(drop)
}

/// East is away while the host starts and loses an object before it is seen again. Clients that go on from a version in
/// between have that object, though they resume after east was said to be away.
fn is_not_missed(back: impl Fn(&mut Host, &mut Cluster) -> Result<()>) -> Result<()> {
    let (mut members, mut host, client) = fleet()?;
    let recorder = Recorder::start(&client, LIST)?;
    members[0].kill_apiserver()?;
    host.kill9()?;
    host.restart()?;
    create_config_map(&members[1].client()?, "meanwhile")?;
    is_shown(&client, "meanwhile", SOON)?;
    eventually("the recorder goes on without east", SOON, || {
        let recording = recorder.recording();
        ensure!(recording.objects.values().any(|object| object.name == "meanwhile"), "{recording:?}");
        Ok(())
    })?;
    back(&mut host, &mut members[0])?;
    recorder.settle_with_repeats(&client, &both(&members), Kind::ConfigMaps, NOTICED)?;
    Bystander::start(&mut host, &[LIST])?.finish(&host).map(drop)
}

fn come_back_without_its_object(east: &mut Cluster) -> Result<()> {
    east.start_apiserver()?;
    delete_config_map(&east.client()?, "of-east")?;
    create_config_map(&east.client()?, "instead")
}

#[test]
fn what_a_member_lost_is_not_missed_when_it_comes_back_to_a_running_host() -> Result<()> {
    is_not_missed(|host, east| {
        host.process().pause()?;
        come_back_without_its_object(east)?;
        host.process().resume()
    })
}

#[test]
fn what_a_member_lost_is_not_missed_when_it_comes_back_while_the_host_restarts() -> Result<()> {
    is_not_missed(|host, east| {
        host.kill9()?;
        come_back_without_its_object(east)?;
        host.restart()
    })
}
