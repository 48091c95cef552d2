use std::time::{Duration, Instant};

use orrery_api::placement::{PlacementQuestion, Verdict};
use orrery_api::status::ExtensionState;

use super::*;
use crate::tests::guests::{Question, TAKES, revision, scorer, scoring};

const FUEL: u64 = 50_000_000;

fn name() -> ExtensionName {
    ExtensionName::plugin("p")
}

fn wanted(wasm: &[u8]) -> Wanted {
    Wanted::from([(name(), Ok(Wish::Here(Box::new(revision("p", wasm, FUEL)))))])
}

/// Asks for `wasm`, and waits for what is to become of that.
async fn ask(registry: &Registry, wasm: &[u8], state: ExtensionState, number: u64) -> ExtensionStatus {
    registry.know(&wanted(wasm));
    registry.offer(wanted(wasm));
    eventually(|| {
        let status = registry.status(&name())?;
        let serves = status.generation.as_ref().is_some_and(|generation| generation.number == number);
        (status.state == state && serves).then_some(status)
    })
    .await
}

async fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not come");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The score of the first of three clusters.
async fn score(registry: &Registry) -> u8 {
    let question = Question::of(3);
    let slot = registry.slot(&name()).unwrap();
    let verdicts = slot.judge(PlacementQuestion::Score, &question.request()).await.unwrap();
    match verdicts[0] {
        Verdict::Stays(score) => score.value(),
        Verdict::Dropped(_) => panic!("it was dropped"),
    }
}

/// What is kept for the next start.
fn kept(registry: &Registry) -> Option<(Revision, usize)> {
    let (revision, rejected) = registry.0.last_good.as_ref()?.of(&name())?;
    Some((revision, rejected.len()))
}

#[tokio::test]
async fn what_was_rolled_back_stays_so_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let start = || Registry::start(Some(folder.path()), Metrics::default()).unwrap();
    let registry = start();
    ask(&registry, &scoring(10), ExtensionState::Serving, 1).await;
    ask(&registry, &scoring(20), ExtensionState::Serving, 2).await;
    registry.roll_back(&name()).await;
    assert_eq!(kept(&registry).map(|kept| kept.1), Some(1), "it is said before it is kept");

    let registry = start();
    let refusal = ask(&registry, &scoring(20), ExtensionState::Stale, 1).await.refusal.unwrap();
    assert_eq!((refusal.step.as_str(), refusal.reason.as_str()), ("serve", "it was rolled back by hand"));
    assert_eq!(score(&registry).await, 10);
    ask(&registry, &scoring(30), ExtensionState::Serving, 2).await;
    assert_eq!(score(&registry).await, 30);
}

#[tokio::test]
async fn after_a_restart_what_turned_bad_is_not_asked_again_and_what_went_before_serves() {
    let folder = tempfile::tempdir().unwrap();
    let start = || Registry::start(Some(folder.path()), Metrics::default()).unwrap();
    let registry = start();
    let bad = scorer(TAKES, "unreachable", "");
    ask(&registry, &scoring(10), ExtensionState::Serving, 1).await;
    ask(&registry, &bad, ExtensionState::Serving, 2).await;
    let slot = registry.slot(&name()).unwrap();
    while slot.status().state == ExtensionState::Serving {
        let question = Question::of(3);
        // It fails, or is left alone for a moment.
        let _ = slot.judge(PlacementQuestion::Score, &question.request()).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    eventually(|| kept(&registry).filter(|kept| kept.1 == 1)).await;

    let registry = start();
    ask(&registry, &bad, ExtensionState::Stale, 1).await;
    assert_eq!(score(&registry).await, 10);
}

#[tokio::test]
async fn who_asks_while_the_newest_revision_is_refused_after_a_restart_is_answered_by_what_served_last() {
    let folder = tempfile::tempdir().unwrap();
    let start = || Registry::start(Some(folder.path()), Metrics::default()).unwrap();
    let registry = start();
    ask(&registry, &scoring(10), ExtensionState::Serving, 1).await;
    eventually(|| kept(&registry)).await;

    let broken = [
        Wanted::from([(name(), Err(Refusal { step: Step::Fetch, reason: "it is not there".to_owned() }))]),
        wanted(&scorer("(unreachable)", "unreachable", "")),
    ];
    for broken in broken {
        let registry = start();
        registry.know(&broken);
        registry.offer(broken);
        assert_eq!(score(&registry).await, 10);
        assert_eq!(registry.status(&name()).unwrap().state, ExtensionState::Stale, "it serves before it is said why");
    }
}
