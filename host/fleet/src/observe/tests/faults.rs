//! What may go wrong with a watch, and what is made of it (design 2.4, 2.5).

use tokio::time::Instant;

use super::*;
use orrery_sim::{Kind, Mode, Template};

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_cleanly_is_resumed_without_a_list_and_loses_nothing() {
    let fake = Fake::new("a");
    for name in ["a", "b", "c"] {
        fake.put("n", name, "x");
    }
    let mut seen = begin(&fake, Start::Fresh);
    seen.next().await;
    // One transaction deletes three objects; the watch ends when only one of the events has been sent.
    fake.cluster.end_after(1);
    fake.delete_all(&[("n", "a"), ("n", "b"), ("n", "c")]);
    seen.until_is(&fake).await;
    assert_eq!(seen.lists, [ListReason::Fresh]);
    assert!(!seen.stale);
    assert!(seen.objects.is_empty());
}

#[tokio::test(start_paused = true)]
async fn versions_that_went_back_are_found_at_a_clean_end() {
    let fake = Fake::new("a");
    fake.put("n", "old", "x");
    let snapshot = fake.cluster.snapshot();
    let mut seen = begin(&fake, Start::Fresh);
    seen.next().await;
    fake.put("n", "lost", "x");
    seen.until_is(&fake).await;
    fake.cluster.restore(&snapshot);
    fake.cluster.end_watches();
    let Observation::Listed { why, version: listed, .. } = seen.next_change().await else { panic!() };
    assert_eq!((why, listed), (ListReason::WentBack, version(11)));
    assert!(seen.is(&fake));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ended_cleanly_is_resumed_at_once_or_not_at_all() {
    let fake = Fake::new("a");
    let mut seen = begin(&fake, Start::Fresh);
    seen.next().await;
    // Nothing refuses and the version is not below: only the time tells that anything may have happened.
    fake.cluster.end_watches();
    fake.cluster.set_mode(Mode::Silent);
    sleep(Duration::from_secs(5)).await;
    fake.cluster.set_mode(Mode::Serving);
    assert!(matches!(seen.next_change().await, Observation::Listed { why: ListReason::Reconnected, .. }));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_is_stale_until_a_list_has_come() {
    let fake = Fake::new("a");
    let mut seen = begin(&fake, Start::Fresh);
    seen.next().await;
    fake.cluster.cut();
    let Observation::Stale { reason } = seen.next().await else { panic!() };
    assert_eq!(reason.class, AwayClass::Refused);
    assert!(matches!(seen.next().await, Observation::Listed { why: ListReason::Reconnected, .. }));
    assert!(matches!(seen.next().await, Observation::Live));
}

#[tokio::test(start_paused = true)]
async fn an_expired_watch_is_a_list_without_being_stale() {
    let fake = Fake::new("a");
    let mut seen = begin(&fake, Start::Fresh);
    seen.next().await;
    fake.cluster.expire_watches();
    assert!(matches!(seen.next().await, Observation::Listed { why: ListReason::Expired, .. }));
}

#[tokio::test(start_paused = true)]
async fn a_member_that_stands_still_is_stale_within_half_a_minute_and_lists_when_it_goes_on() {
    let fake = Fake::new("a");
    let mut seen = begin(&fake, Start::Fresh);
    seen.next().await;
    let froze = Instant::now();
    fake.cluster.set_mode(Mode::Silent);
    let Observation::Stale { reason } = seen.next().await else { panic!() };
    assert_eq!(reason.class, AwayClass::NoAnswer);
    assert!(froze.elapsed() <= Duration::from_secs(30), "{:?}", froze.elapsed());
    assert!(matches!(seen.fleet.members()[0].health(), crate::Health::Unreachable { .. }));
    sleep(Duration::from_secs(60)).await;
    fake.put("n", "meanwhile", "x");
    fake.cluster.set_mode(Mode::Serving);
    let thawed = Instant::now();
    let Observation::Listed { why, .. } = seen.next_change().await else { panic!() };
    assert_eq!(why, ListReason::Reconnected);
    assert!(thawed.elapsed() <= Duration::from_secs(21), "{:?}", thawed.elapsed());
    assert!(seen.is(&fake));
    assert_eq!(seen.fleet.members()[0].health(), crate::Health::Reachable);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_lost_its_bookmarks_is_cut() {
    let fake = Fake::new("a");
    fake.cluster.set_bookmarks(false);
    let mut seen = begin(&fake, Start::Fresh);
    seen.next().await;
    let Observation::Stale { reason } = seen.next().await else { panic!() };
    assert!(reason.text.contains("silent"), "{reason}");
    assert!(matches!(seen.next().await, Observation::Listed { why: ListReason::Reconnected, .. }));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_loaded_is_away_with_its_reason_told_once_until_it_can() {
    let cases = [
        (Mode::Silent, AwayClass::NoAnswer),
        (Mode::Refusing, AwayClass::Refused),
        (Mode::Failing(403), AwayClass::Forbidden),
        (Mode::Failing(404), AwayClass::NotServed),
        (Mode::Failing(500), AwayClass::BadAnswer),
    ];
    for (mode, class) in cases {
        let fake = Fake::new("a");
        fake.cluster.set_mode(mode);
        let began = Instant::now();
        let mut seen = begin(&fake, Start::Resume { from: version(10), or_from: None });
        let Observation::Away { reason } = seen.next().await else { panic!("{mode:?}") };
        assert_eq!(reason.class, class, "{mode:?}");
        assert!(began.elapsed() <= Duration::from_secs(11), "{mode:?} {:?}", began.elapsed());
        assert!(timeout(Duration::from_secs(60), seen.rx.recv()).await.is_err(), "{mode:?} is told twice");
        fake.cluster.set_mode(Mode::Serving);
        assert!(matches!(seen.next().await, Observation::Resumed { .. }), "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_that_asks_to_wait_is_loading_and_not_away_for_a_while() {
    let fake = Fake::new("a");
    fake.cluster.set_mode(Mode::Failing(429));
    let mut seen = begin(&fake, Start::Fresh);
    let began = Instant::now();
    assert!(matches!(seen.next().await, Observation::Away { .. }));
    assert!(began.elapsed() >= Duration::from_secs(9), "{:?}", began.elapsed());
    fake.cluster.set_mode(Mode::Serving);
    assert!(matches!(seen.next().await, Observation::Listed { .. }));
}

#[tokio::test(start_paused = true)]
async fn refused_credentials_are_read_anew() {
    let fake = Fake::new("a");
    let mut seen = begin(&fake, Start::Fresh);
    seen.next().await;
    sleep(Duration::from_secs(5)).await;
    fake.take_token(2);
    fake.configure_token(2);
    fake.cluster.end_watches();
    watched(&fake).await;
    fake.put("n", "after", "x");
    seen.until_is(&fake).await;
    assert_eq!(seen.lists, [ListReason::Fresh]);
    fake.take_token(3);
    fake.cluster.cut();
    loop {
        if let Observation::Stale { reason } = seen.next().await
            && reason.class == AwayClass::Unauthorized
        {
            break;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn another_cluster_at_the_same_place_is_noticed_before_anything_of_it_is_told() {
    let fake = Fake::new("a");
    fake.put("n", "of-a", "x");
    let mut seen = begin(&fake, Start::Fresh);
    seen.next().await;
    fake.cluster.become_another("b");
    fake.put("n", "of-b", "x");
    // It even grew past the old one, and the watch ended cleanly; what is in flight of the old one may still come.
    fake.cluster.end_watches();
    let listed = loop {
        if let Observation::Listed { identity, why, .. } = seen.next_change().await {
            break (identity, why);
        }
    };
    assert_eq!((&*listed.0, listed.1), ("b", ListReason::IdentityChanged));
    assert!(seen.is(&fake));
}

#[tokio::test(start_paused = true)]
async fn streams_are_cut_when_the_configuration_names_another_server() {
    let fake = Fake::new("a");
    let mut seen = begin(&fake, Start::Fresh);
    seen.next().await;
    fake.move_place();
    let name = ClusterName::new("east").unwrap();
    seen.fleet.replace_with(vec![(name, std::sync::Arc::new(fake.clone()))]).await;
    assert!(matches!(seen.next_change().await, Observation::Listed { why: ListReason::Reconnected, .. }));
}

#[tokio::test(start_paused = true)]
async fn a_changed_custom_resource_definition_is_a_list_of_its_kind() {
    let fake = Fake::new("a");
    let [widgets, others] = ["widgets", "others"].map(|resource| Gvr::new("example.com", "v1", resource));
    for gvr in [&widgets, &others] {
        fake.cluster.define(Kind::custom(gvr.clone(), "K", true, Template::new("", "")));
    }
    let mut seen = begin_of(&fake, widgets.clone(), Start::Fresh, None);
    seen.next().await;
    let mut schemas = seen.fleet.members()[0].schemas();
    schemas.wait_for(|schemas| schemas.len() == 2).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    fake.cluster.redefine(&others);
    sleep(Duration::from_secs(1)).await;
    fake.cluster.redefine(&widgets);
    assert!(matches!(seen.next_change().await, Observation::Listed { why: ListReason::SchemaChanged, .. }));
    assert_eq!(seen.lists, [ListReason::Fresh, ListReason::SchemaChanged]);
}

#[tokio::test(start_paused = true)]
async fn namespaces_are_observed_one_by_one_and_told_as_one() {
    let fake = Fake::new("a");
    for namespace in ["a", "b", "c"] {
        fake.put(namespace, "one", "x");
    }
    let mut seen = begin_of(&fake, configmaps(), Start::Resume { from: version(11), or_from: None }, Some(&["a", "b"]));
    let Observation::Listed { objects, why, .. } = seen.next().await else { panic!() };
    assert_eq!((objects.len(), why), (2, ListReason::ResumeRefused));
    fake.put("c", "unseen", "x");
    fake.put("b", "two", "x");
    let Observation::Changed { object, .. } = seen.next().await else { panic!() };
    assert_eq!(object.key.to_string(), "b/two");
    fake.cluster.bookmark();
    let Observation::Progress { version: progress } = seen.next().await else { panic!() };
    assert_eq!(progress, version(15));
    fake.cluster.cut();
    let Observation::Listed { objects, why, .. } = seen.next_change().await else { panic!() };
    assert_eq!((objects.len(), why), (3, ListReason::Reconnected));
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_does_not_read_holds_the_watch_up_and_gets_everything_later() {
    let fake = Fake::new("a");
    let mut seen = begin(&fake, Start::Fresh);
    seen.next().await;
    (0..100).for_each(|at| fake.put("n", &format!("o{at}"), "x"));
    sleep(Duration::from_secs(5)).await;
    assert!(seen.rx.len() <= 16);
    seen.until_is(&fake).await;
    assert_eq!(seen.lists, [ListReason::Fresh]);
}
