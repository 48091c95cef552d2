//! How an observation begins.

use super::*;
use orrery_sim::WatchLists;

#[tokio::test(start_paused = true)]
async fn a_member_with_watch_list_is_listed_by_one_request_and_its_changes_follow() {
    let fake = Fake::new("a");
    fake.put("n", "one", "1");
    let mut seen = begin(&fake, Start::Fresh);
    let Observation::Listed { version: listed, identity, objects, why } = seen.next().await else { panic!() };
    assert_eq!((listed, &*identity, objects.len(), why), (version(11), "a", 1, ListReason::Fresh));
    let listed_digest = objects[0].digest;
    fake.put("n", "two", "2");
    fake.cluster.bookmark();
    let Observation::Changed { object, kind: ChangeKind::Added } = seen.next().await else { panic!() };
    assert_eq!(object.version, version(12));
    assert_ne!(object.digest, listed_digest);
    let Observation::Progress { version: progress } = seen.next().await else { panic!() };
    assert_eq!(progress, version(12));
    fake.delete("n", "one");
    let Observation::Changed { object, kind: ChangeKind::Deleted } = seen.next().await else { panic!() };
    assert_eq!(object.version, version(13));
    let requests = fake.requests();
    assert!(requests.len() == 1 && requests[0].contains("sendInitialEvents=true"), "{requests:?}");
}

#[tokio::test(start_paused = true)]
async fn an_older_member_is_listed_page_by_page() {
    let fake = Fake::new("a");
    fake.cluster.set_minor(31);
    (0..5).for_each(|at| fake.put("n", &format!("o{at}"), "x"));
    let mut seen = begin(&fake, Start::Fresh);
    let Observation::Listed { objects, .. } = seen.next().await else { panic!() };
    assert_eq!(objects.len(), 5);
    fake.put("n", "late", "x");
    seen.until_is(&fake).await;
    let kinds: Vec<_> = fake.requests().iter().map(|uri| uri.contains("watch=true")).collect();
    assert_eq!(kinds, [false, false, false, true]);
}

#[tokio::test(start_paused = true)]
async fn a_member_that_refuses_or_never_ends_a_watch_list_is_listed_plainly() {
    for watch_list in [WatchLists::Refused, WatchLists::Ignored] {
        let fake = Fake::new("a");
        fake.put("n", "one", "1");
        fake.cluster.set_watch_lists(watch_list);
        let mut seen = begin(&fake, Start::Fresh);
        assert!(matches!(seen.next().await, Observation::Listed { why: ListReason::Fresh, .. }), "{watch_list:?}");
        watched(&fake).await;
        fake.put("n", "two", "2");
        seen.until_is(&fake).await;
        fake.cluster.cut();
        fake.put("n", "three", "3");
        seen.until_is(&fake).await;
        let asked = fake.requests().iter().filter(|uri| uri.contains("sendInitialEvents")).count();
        assert_eq!(asked, 1, "it is asked once only");
    }
}

#[tokio::test(start_paused = true)]
async fn a_resume_gives_the_exact_state_and_every_change_since() {
    let fake = Fake::new("a");
    for at in 0..4 {
        fake.put("n", &format!("o{at}"), "before");
    }
    fake.put("n", "o0", "after");
    fake.delete("n", "o1");
    let mut seen = begin(&fake, Start::Resume { from: version(14), or_from: None });
    let Observation::Resumed { at, identity, objects } = seen.next().await else { panic!() };
    assert_eq!((at, &*identity, objects.len()), (version(14), "a", 4));
    assert!(matches!(seen.next().await, Observation::Changed { kind: ChangeKind::Modified, .. }));
    assert!(matches!(seen.next().await, Observation::Changed { kind: ChangeKind::Deleted, .. }));
    assert!(seen.is(&fake));
}

#[tokio::test(start_paused = true)]
async fn a_resume_falls_back_to_the_second_version_and_then_to_the_latest() {
    let fake = Fake::new("a");
    (0..4).for_each(|at| fake.put("n", &format!("o{at}"), "x"));
    fake.cluster.compact(13);
    let mut seen = begin(&fake, Start::Resume { from: version(12), or_from: Some(version(13)) });
    let Observation::Resumed { at, .. } = seen.next().await else { panic!() };
    assert_eq!(at, version(13));
    seen.until_is(&fake).await;
    for (from, or_from) in [(11, Some(12)), (12, None), (99, Some(100)), (0, None)] {
        let mut seen = begin(&fake, Start::Resume { from: version(from), or_from: or_from.map(version) });
        let Observation::Listed { why, .. } = seen.next_change().await else { panic!("from {from}") };
        assert_eq!(why, ListReason::ResumeRefused, "from {from}");
        assert!(seen.is(&fake));
    }
}
