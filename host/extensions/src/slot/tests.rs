use orrery_api::placement::Score;
use orrery_api::status::ExtensionState;

use super::*;
use crate::tests::guests::{Question, TAKES, revision, scorer, scoring};

const FUEL: u64 = 50_000_000;

fn slot() -> Arc<Slot> {
    let runtime = Arc::new(Runtime::start(None).unwrap());
    Slot::new(ExtensionName::plugin("p"), runtime, Metrics::default())
}

async fn offer(slot: &Slot, wasm: &[u8]) -> Result<u64, String> {
    slot.offer(revision("p", wasm, FUEL)).await.map_err(|refusal| refusal.to_string())
}

/// The scores of three clusters.
async fn scores(slot: &Slot) -> Result<Vec<u8>, CallError> {
    let question = Question::of(3);
    let verdicts = slot.judge(PlacementQuestion::Score, &question.request()).await?;
    let score = |verdict: &Verdict| match verdict {
        Verdict::Stays(score) => score.value(),
        Verdict::Dropped(reason) => panic!("{reason:?}"),
    };
    Ok(verdicts.iter().map(score).collect())
}

fn trapping() -> Vec<u8> {
    scorer(TAKES, "unreachable", "")
}

#[tokio::test]
async fn a_revision_serves_once_it_is_loaded_and_the_next_one_replaces_it() {
    let slot = slot();
    assert_eq!(offer(&slot, &scoring(10)).await, Ok(1));
    assert_eq!(scores(&slot).await.unwrap(), [10, 11, 12]);
    assert_eq!(offer(&slot, &scoring(20)).await, Ok(2));
    assert_eq!(scores(&slot).await.unwrap(), [20, 21, 22]);
    assert_eq!(offer(&slot, &scoring(20)).await, Ok(2), "the same again is the same generation");
    let status = slot.status();
    assert_eq!((status.state, status.previous), (ExtensionState::Serving, vec![1]));
    assert_eq!(status.generation.unwrap().exports, ["lifecycle", "placement-score"]);
}

#[tokio::test]
async fn one_that_fails_a_step_leaves_what_serves_and_says_why() {
    let slot = slot();
    offer(&slot, &scoring(10)).await.unwrap();
    let refused = [
        (scorer("(call $failure)", "(call $failure)", ""), "check-params: it is odd"),
        (scorer("unreachable", "unreachable", ""), "check-params: it broke off"),
        (
            scorer(TAKES, "(call $failure)", "(func $start (loop (br 0))) (start $start)"),
            "check-params: it used up its fuel",
        ),
    ];
    for (wasm, wanted) in refused {
        let error = offer(&slot, &wasm).await.unwrap_err();
        assert!(error.starts_with(wanted), "{error}");
        assert_eq!(scores(&slot).await.unwrap(), [10, 11, 12]);
        let status = slot.status();
        assert_eq!(status.state, ExtensionState::Stale);
        assert!(error.ends_with(&status.refusal.unwrap().reason));
    }
    assert!(offer(&slot, &scoring(30)).await.is_ok());
    assert_eq!(slot.status().refusal, None, "what was wrong is forgotten");
}

#[tokio::test]
async fn one_that_keeps_failing_gives_way_to_the_generation_before() {
    let slot = slot();
    offer(&slot, &scoring(10)).await.unwrap();
    offer(&slot, &trapping()).await.unwrap();
    let mut failed = 0;
    let served = loop {
        match scores(&slot).await {
            Ok(scores) => break scores,
            Err(CallError::Paused) => tokio::time::sleep(Duration::from_millis(50)).await,
            Err(CallError::Trap(_)) => failed += 1,
            Err(other) => panic!("{other}"),
        }
    };
    assert_eq!((served, failed), (vec![10, 11, 12], 5));
    let status = slot.status();
    assert_eq!((status.state, status.generation.unwrap().number), (ExtensionState::Stale, 1));
    let refusal = status.refusal.unwrap();
    assert_eq!(refusal.step, "serve");
    assert!(refusal.reason.starts_with("it failed too often, last: it broke off"), "{}", refusal.reason);
}

#[tokio::test]
async fn one_that_keeps_failing_with_nothing_before_it_is_put_out() {
    let slot = slot();
    offer(&slot, &trapping()).await.unwrap();
    let error = loop {
        match scores(&slot).await.unwrap_err() {
            CallError::Paused => tokio::time::sleep(Duration::from_millis(50)).await,
            CallError::Trap(_) => {}
            other => break other,
        }
    };
    assert!(
        matches!(&error, CallError::Refused(reason) if reason.starts_with("serve: it failed too often")),
        "{error}"
    );
    assert_eq!(slot.status().state, ExtensionState::Failed);
    offer(&slot, &scoring(1)).await.unwrap();
    assert_eq!(scores(&slot).await.unwrap(), [1, 2, 3], "another revision serves");
}

#[tokio::test]
async fn it_goes_back_by_hand_as_far_as_there_are_generations() {
    let slot = slot();
    for first in [10, 20, 30] {
        offer(&slot, &scoring(first)).await.unwrap();
    }
    assert_eq!(slot.roll_back("by hand"), Some(2));
    assert_eq!(scores(&slot).await.unwrap(), [20, 21, 22]);
    assert_eq!(slot.roll_back("by hand"), Some(1));
    assert_eq!(slot.roll_back("by hand"), None);
    assert_eq!(scores(&slot).await.unwrap(), [10, 11, 12]);
}

#[tokio::test]
async fn what_was_rolled_back_does_not_serve_again_until_another_one_was_asked_for() {
    let slot = slot();
    for first in [10, 20] {
        offer(&slot, &scoring(first)).await.unwrap();
    }
    slot.roll_back("by hand");
    assert_eq!(offer(&slot, &scoring(20)).await, Err("serve: by hand".to_owned()));
    assert_eq!((scores(&slot).await.unwrap(), slot.status().state), (vec![10, 11, 12], ExtensionState::Stale));
    for first in [30, 20] {
        assert!(offer(&slot, &scoring(first)).await.is_ok());
        assert_eq!(scores(&slot).await.unwrap()[0], u8::try_from(first).unwrap());
    }
    // To ask for what serves by now is to ask for another one too.
    slot.roll_back("by hand");
    assert!(offer(&slot, &scoring(30)).await.is_ok());
    assert!(offer(&slot, &scoring(20)).await.is_ok());
}

#[tokio::test]
async fn a_call_that_outlives_its_generation_is_answered_by_the_next() {
    let slot = slot();
    // About two seconds of computing, which only the drain ends.
    let mut slow = revision("p", &scorer(TAKES, "(loop (br 0)) unreachable", ""), 20_000_000_000);
    slow.limits.deadline = Duration::from_secs(10);
    slot.offer(slow).await.unwrap();
    let asked = tokio::spawn({
        let slot = slot.clone();
        async move { scores(&slot).await }
    });
    tokio::task::yield_now().await;
    offer(&slot, &scoring(40)).await.unwrap();
    assert_eq!(asked.await.unwrap().unwrap(), [40, 41, 42]);
}

#[tokio::test]
async fn what_it_said_last_of_each_cluster_is_known() {
    let slot = slot();
    let question = Question::of(3);
    assert_eq!(slot.last_known(PlacementQuestion::Score, &question.request()), None);
    offer(&slot, &scoring(10)).await.unwrap();
    scores(&slot).await.unwrap();
    let known = slot.last_known(PlacementQuestion::Score, &question.request()).unwrap();
    assert_eq!(known[2], Verdict::Stays(Score::share(12, 100)));
    let larger = Question::of(4);
    assert_eq!(slot.last_known(PlacementQuestion::Score, &larger.request()), None, "of a new cluster nothing is");
}

#[tokio::test]
async fn a_call_waits_for_the_first_generation() {
    let slot = slot();
    let asked = tokio::spawn({
        let slot = slot.clone();
        async move { scores(&slot).await }
    });
    tokio::task::yield_now().await;
    offer(&slot, &scoring(10)).await.unwrap();
    assert_eq!(asked.await.unwrap().unwrap(), [10, 11, 12]);
}

#[tokio::test]
async fn what_a_rule_or_plugin_does_not_answer_is_said() {
    let slot = slot();
    offer(&slot, &scoring(10)).await.unwrap();
    let question = Question::of(1);
    let error = slot.judge(PlacementQuestion::Filter, &question.request()).await.unwrap_err();
    assert_eq!(error.to_string(), "it does not export placement-filter");
}

#[tokio::test]
async fn every_decision_under_many_swaps_is_one_generations_and_none_fails() {
    let slot = slot();
    offer(&slot, &scoring(0)).await.unwrap();
    let swapped = tokio::spawn({
        let slot = slot.clone();
        async move {
            for at in 1..=60 {
                // What is refused at any step changes nothing.
                let odd = [scorer("(call $failure)", "unreachable", ""), scorer("unreachable", "unreachable", "")];
                assert!(offer(&slot, &odd[at % 2]).await.is_err());
                offer(&slot, &scoring(i64::try_from(at).unwrap())).await.unwrap();
            }
        }
    });
    let (mut decisions, mut seen) = (0, std::collections::BTreeSet::new());
    while !swapped.is_finished() || decisions < 1_000 {
        let scores = scores(&slot).await.expect("no decision fails");
        assert_eq!(scores, [scores[0], scores[0] + 1, scores[0] + 2], "a decision is of one generation");
        seen.insert(scores[0]);
        decisions += 1;
        tokio::task::yield_now().await;
    }
    swapped.await.unwrap();
    assert_eq!(scores(&slot).await.unwrap(), [60, 61, 62]);
    assert!(seen.len() > 10, "only {} generations decided", seen.len());
}
