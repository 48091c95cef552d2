//! Faults of the host that the simulation found, each with all of its kind.

use std::time::Duration;

use orrery_api::ObjectKey;
use orrery_sim::Mode;
use orrery_simulation::{Stage, config_maps, moons, namespaces};
use tokio::time::sleep;

/// Seed 8: it was asked to resume, and what it then said was taken by nobody.
#[tokio::test(start_paused = true)]
async fn a_member_that_fails_as_the_host_starts_is_back_once_it_answers() {
    for mode in [Mode::Refusing, Mode::Silent, Mode::Failing(403), Mode::Failing(500)] {
        let mut stage = Stage::new(2);
        let key = ObjectKey::new("a", "n0");
        stage.put(0, &config_maps(), &key);
        stage.put(1, &config_maps(), &key);
        stage.start();
        stage.rest().await.unwrap();
        stage.kill();
        stage.member(0).set_mode(mode);
        stage.start();
        sleep(Duration::from_secs(20)).await;
        stage.rest().await.unwrap_or_else(|broken| panic!("{mode:?}: {broken}"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_whose_connections_break_as_the_host_starts_is_back_once_they_hold() {
    for events in 0..6 {
        let mut stage = Stage::new(2);
        for name in ["n0", "n1", "n2"] {
            stage.put(0, &config_maps(), &ObjectKey::new("a", name));
        }
        stage.start();
        stage.rest().await.unwrap();
        stage.put(0, &config_maps(), &ObjectKey::new("a", "n3"));
        sleep(Duration::from_secs(1)).await;
        stage.kill();
        stage.member(0).cut_after(events);
        stage.start();
        stage.rest().await.unwrap_or_else(|broken| panic!("cut after {events} events: {broken}"));
    }
}

/// Found as MODIFIED with another uid: the name passed to the other cluster though its last state was known.
#[tokio::test(start_paused = true)]
async fn a_name_that_shows_its_last_state_is_no_other_object_after_a_restart() {
    let (mut stage, key) = with_a_last_state().await;
    stage.kill();
    stage.start_with_all_there();
    stage.rest().await.unwrap();
    stage.member(1).delete(&namespaces(), &[key]);
    stage.rest().await.unwrap();
}

/// Seeds 1673 and 1877: the list showed it, and GET answered 404.
#[tokio::test(start_paused = true)]
async fn a_name_that_stays_while_another_cluster_deletes_it_is_read_as_it_is_listed() {
    let (mut stage, key) = with_a_last_state().await;
    stage.member(1).delete(&namespaces(), &[key]);
    stage.rest().await.unwrap();
}

/// Seed 6378: what a member brings that was away at the start is new, but what it takes the place of was seen.
#[tokio::test(start_paused = true)]
async fn a_last_state_is_deleted_before_a_member_that_was_away_brings_another_object_of_its_name() {
    let mut stage = Stage::new(3);
    let key = ObjectKey::new("", "n0");
    stage.put(0, &namespaces(), &key);
    stage.put(1, &namespaces(), &key);
    stage.put(2, &namespaces(), &ObjectKey::new("", "n1"));
    stage.start();
    stage.rest().await.unwrap();
    stage.terminate(1, &namespaces(), &key);
    stage.kill();
    stage.member(2).set_mode(Mode::Refusing);
    stage.start();
    sleep(Duration::from_secs(20)).await;
    stage.member(0).delete(&namespaces(), std::slice::from_ref(&key));
    sleep(Duration::from_secs(5)).await;
    stage.put(2, &namespaces(), &key);
    stage.rest().await.unwrap();
}

/// Seeds 3243 and 4941: what the preferred version showed once the store had it was DELETED at the same marker in the
/// other version, because the member had left meanwhile.
#[tokio::test(start_paused = true)]
async fn a_member_that_leaves_before_its_changes_are_durable_is_gone_at_the_same_markers_in_both_versions() {
    let mut stage = Stage::new(2);
    let keys = ["n0", "n1", "n2"].map(|name| ObjectKey::new("a", name));
    stage.put(1, &moons(), &keys[0]);
    stage.put(1, &moons(), &keys[1]);
    stage.start_with_all_there();
    stage.rest().await.unwrap();
    stage.delay_store(Duration::from_secs(1));
    keys.iter().for_each(|key| stage.put(1, &moons(), key));
    sleep(Duration::from_millis(100)).await;
    stage.leave(1).await;
    stage.rest().await.unwrap();
    stage.leave(1).await;
    stage.rest().await.unwrap();
}

/// A stage at which a name shows the last state that the first member had, while the second is deleting its own.
async fn with_a_last_state() -> (Stage, ObjectKey) {
    let mut stage = Stage::new(2);
    let key = ObjectKey::new("", "n0");
    stage.put(0, &namespaces(), &key);
    stage.put(1, &namespaces(), &key);
    stage.start();
    stage.rest().await.unwrap();
    stage.terminate(1, &namespaces(), &key);
    stage.member(0).delete(&namespaces(), std::slice::from_ref(&key));
    stage.rest().await.unwrap();
    (stage, key)
}
