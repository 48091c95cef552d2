//! A member whose versions go back, and one that is another cluster now.

use std::time::Duration;

use anyhow::{Result, ensure};
use orrery_harness::{Client, Cluster, ClusterSpec, Host, HostSpec, start_all};
use orrery_real::{
    Bystander, Kind, Recorder, change_config_map, config_map, create_config_map, delete_config_map, union_is_shown,
};

const SOON: Duration = Duration::from_secs(15);
const BACK: Duration = Duration::from_secs(30);
const LIST: &str = "/api/v1/configmaps";

/// East, whose etcd is put back, and west, to which nothing happens; a host over both; and what was recorded so far.
struct Scene {
    members: [Cluster; 2],
    host: Host,
    client: Client,
    recorder: Recorder,
}

/// When in the life of the host east is put back to an older state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    WhileItRuns,
    BetweenRuns,
    BetweenRunsAndGrows,
}

// === impl Scene ===

impl Scene {
    fn new() -> Result<Self> {
        let members = start_all([ClusterSpec::bare("east"), ClusterSpec::bare("west")])?;
        for member in &members {
            let client = member.client()?;
            create_config_map(&client, &format!("of-{}", member.name()))?;
            create_config_map(&client, "shared")?;
        }
        let host = HostSpec::new().member(&members[0]).member(&members[1]).start()?;
        let client = host.client()?;
        union_is_shown(&client, &members.each_ref(), Kind::ConfigMaps, SOON)?;
        let recorder = Recorder::start(&client, LIST)?;
        Ok(Self { members, host, client, recorder })
    }

    /// Waits until the union is shown again and the recorder has followed, and gives how often that had to list.
    fn settles(&mut self) -> Result<u64> {
        create_config_map(&self.members[1].client()?, "after")?;
        let recording = self.recorder.settle(&self.client, &self.members.each_ref(), Kind::ConfigMaps, BACK)?;
        Bystander::start(&mut self.host, &[LIST])?.finish(&self.host)?;
        Ok(recording.lists)
    }
}

/// Puts east back to before it lost `of-east`, got `lost`, and changed `shared`.
fn put_back(when: When) -> Result<u64> {
    let mut scene = Scene::new()?;
    let east = scene.members[0].client()?;
    let snapshot = scene.members[0].snapshot()?;
    delete_config_map(&east, "of-east")?;
    create_config_map(&east, "lost")?;
    for value in 0..10 {
        change_config_map(&east, "shared", &value.to_string())?;
    }
    union_is_shown(&scene.client, &scene.members.each_ref(), Kind::ConfigMaps, SOON)?;
    if when == When::WhileItRuns {
        let bystander = Bystander::start(&mut scene.host, &[LIST, &config_map("of-west"), "/readyz"])?;
        scene.members[0].restore(&snapshot)?;
        union_is_shown(&scene.client, &scene.members.each_ref(), Kind::ConfigMaps, BACK)?;
        bystander.finish(&scene.host)?;
        return scene.settles();
    }
    scene.host.kill9()?;
    scene.members[0].restore(&snapshot)?;
    if when == When::BetweenRunsAndGrows {
        // Past the position that the host knows, and with another history at the versions that it knows.
        for value in 0..40 {
            change_config_map(&east, "shared", &format!("again {value}"))?;
        }
    }
    scene.host.restart()?;
    scene.settles()
}

#[test]
fn a_member_that_is_put_back_is_followed_and_no_client_lists_again() -> Result<()> {
    let lists = put_back(When::WhileItRuns)?;
    ensure!(lists == 1, "{lists} lists");
    Ok(())
}

#[test]
fn a_member_that_is_put_back_while_the_host_is_down_is_followed() -> Result<()> {
    let lists = put_back(When::BetweenRuns)?;
    ensure!(lists <= 2, "{lists} lists");
    Ok(())
}

#[test]
fn a_member_that_is_put_back_and_grows_past_the_known_position_is_followed() -> Result<()> {
    let lists = put_back(When::BetweenRunsAndGrows)?;
    ensure!(lists <= 2, "{lists} lists");
    Ok(())
}

#[test]
fn another_cluster_under_a_members_name_replaces_it() -> Result<()> {
    let mut scene = Scene::new()?;
    let bystander = Bystander::start(&mut scene.host, &[LIST, &config_map("of-west"), "/readyz"])?;
    scene.members[0].wipe()?;
    create_config_map(&scene.members[0].client()?, "of-the-other")?;
    union_is_shown(&scene.client, &scene.members.each_ref(), Kind::ConfigMaps, BACK)?;
    bystander.finish(&scene.host)?;
    scene.settles()?;
    // And once more while the host is down.
    scene.host.kill9()?;
    scene.members[0].wipe()?;
    create_config_map(&scene.members[0].client()?, "of-a-third")?;
    scene.host.restart()?;
    change_config_map(&scene.members[1].client()?, "shared", "west's")?;
    delete_config_map(&scene.members[1].client()?, "after")?;
    scene.settles().map(drop)
}
