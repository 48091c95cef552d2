//! What every [`MarkerStore`] promises, as one suite of tests that is run on each of them.
//!
//! [`contract_suite!`](crate::contract_suite) makes the tests from an expression that gives a [`Place`]. The tests write
//! as a sequencer does: what failed, or is not known to be done, is repeated. So they hold for a store that fails now
//! and then, too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use orrery_markers::{AppendError, MarkerStore, Segment, SegmentSeq, StoredLog};

/// Where the store under test keeps its logs; empty at first.
#[async_trait::async_trait]
pub trait Place: Send + Sync {
    /// Opens the store. Never called while one that it opened before is still in use.
    async fn open(&self) -> Arc<dyn MarkerStore>;
}

/// Makes the tests of the contract for one store, in a module `$suite`. `$place` is evaluated for each of them.
#[macro_export]
macro_rules! contract_suite {
    ($suite:ident, $place:expr) => {
        $crate::contract_suite!(@tests $suite, $place,
            a_log_that_was_never_written_is_empty_and_not_named,
            segments_come_back_as_they_were_written_and_in_order,
            an_append_at_a_taken_place_or_after_a_gap_is_superseded_and_changes_nothing,
            the_same_bytes_again_at_the_last_place_are_accepted,
            of_many_writers_at_one_place_one_wins,
            logs_do_not_touch_each_other,
            a_fold_stands_for_the_segments_up_to_it,
            a_fold_of_the_whole_log_lets_appends_go_on,
            an_older_fold_changes_nothing_and_one_beyond_the_end_is_refused,
            a_checkpoint_of_several_mebibytes_comes_back_whole,
            a_reader_sees_the_log_before_a_fold_or_after_it_and_nothing_between,
            a_dropped_append_is_done_or_not_and_never_half,
            a_store_opened_again_has_all_that_was_acknowledged,
        );
    };
    (@tests $suite:ident, $place:expr, $($test:ident,)*) => {
        mod $suite {
            #[allow(unused_imports)]
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    $crate::contract::$test(&$place).await;
                }
            )*
        }
    };
}

/// Repetitions after which a store that "fails now and then" has failed.
const REPEATED_MAX: usize = 200;

fn segment(seq: u64, text: &str) -> Segment {
    Segment { seq: SegmentSeq(seq), bytes: Bytes::from(format!("{seq} {text}")) }
}

fn part(place: usize, bytes: usize) -> Bytes {
    Bytes::from(vec![place as u8; bytes])
}

async fn append(store: &dyn MarkerStore, name: &str, segment: &Segment) -> Result<(), SegmentSeq> {
    for _ in 0..REPEATED_MAX {
        match store.append(name, segment).await {
            Ok(()) => return Ok(()),
            Err(AppendError::Superseded(seq)) => return Err(seq),
            Err(AppendError::Failed(_) | AppendError::Unknown(_)) => {}
        }
    }
    panic!("an append to {name} failed {REPEATED_MAX} times");
}

async fn append_range(store: &dyn MarkerStore, name: &str, range: std::ops::RangeInclusive<u64>) {
    for seq in range {
        append(store, name, &segment(seq, name)).await.expect("no other writer is there");
    }
}

async fn load(store: &dyn MarkerStore, name: &str) -> StoredLog {
    for _ in 0..REPEATED_MAX {
        if let Ok(log) = store.load(name).await {
            return log;
        }
    }
    panic!("a load of {name} failed {REPEATED_MAX} times");
}

async fn logs(store: &dyn MarkerStore) -> Vec<String> {
    for _ in 0..REPEATED_MAX {
        if let Ok(mut names) = store.logs().await {
            names.sort();
            return names;
        }
    }
    panic!("the names of logs failed {REPEATED_MAX} times");
}

async fn fold(store: &dyn MarkerStore, name: &str, upto: u64, parts: &[Bytes]) {
    for _ in 0..REPEATED_MAX {
        if store.fold(name, SegmentSeq(upto), parts.to_vec()).await.is_ok() {
            return;
        }
    }
    panic!("a fold of {name} failed {REPEATED_MAX} times");
}

fn seqs(log: &StoredLog) -> Vec<u64> {
    log.segments.iter().map(|segment| segment.seq.0).collect()
}

/// Part of the contract.
pub async fn a_log_that_was_never_written_is_empty_and_not_named(place: &dyn Place) {
    let store = place.open().await;
    assert_eq!(load(&*store, "pods.v1").await, StoredLog::default());
    assert_eq!(logs(&*store).await, Vec::<String>::new());
}

/// Part of the contract.
pub async fn segments_come_back_as_they_were_written_and_in_order(place: &dyn Place) {
    let store = place.open().await;
    let written: Vec<_> = (1..=300).map(|seq| segment(seq, "é\0")).collect();
    for segment in &written {
        append(&*store, "pods.v1", segment).await.expect("no other writer is there");
    }
    assert_eq!(load(&*store, "pods.v1").await, StoredLog { checkpoint: None, segments: written });
}

/// Part of the contract.
pub async fn an_append_at_a_taken_place_or_after_a_gap_is_superseded_and_changes_nothing(place: &dyn Place) {
    let store = place.open().await;
    assert_eq!(append(&*store, "pods.v1", &segment(2, "gap")).await, Err(SegmentSeq(0)));
    append_range(&*store, "pods.v1", 1..=3).await;
    let before = load(&*store, "pods.v1").await;
    for (seq, told) in [(0, 0), (1, 1), (3, 3), (5, 3)] {
        assert_eq!(append(&*store, "pods.v1", &segment(seq, "other")).await, Err(SegmentSeq(told)), "at {seq}");
    }
    assert_eq!(load(&*store, "pods.v1").await, before);
}

/// Part of the contract.
pub async fn the_same_bytes_again_at_the_last_place_are_accepted(place: &dyn Place) {
    let store = place.open().await;
    append_range(&*store, "pods.v1", 1..=2).await;
    assert_eq!(append(&*store, "pods.v1", &segment(2, "pods.v1")).await, Ok(()));
    assert_eq!(append(&*store, "pods.v1", &segment(1, "pods.v1")).await, Err(SegmentSeq(1)));
    assert_eq!(seqs(&load(&*store, "pods.v1").await), [1, 2]);
    fold(&*store, "pods.v1", 2, &[part(0, 10)]).await;
    assert_eq!(append(&*store, "pods.v1", &segment(2, "pods.v1")).await, Ok(()));
    assert_eq!(append(&*store, "pods.v1", &segment(2, "other")).await, Err(SegmentSeq(2)));
}

/// Part of the contract.
pub async fn of_many_writers_at_one_place_one_wins(place: &dyn Place) {
    let store = place.open().await;
    for seq in 1..=20 {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let store = store.clone();
                let segment = segment(seq, &format!("writer {writer}"));
                tokio::spawn(async move { append(&*store, "pods.v1", &segment).await.map(|()| segment) })
            })
            .collect();
        let mut winners = Vec::new();
        for writer in writers {
            winners.extend(writer.await.expect("the writer does not panic").ok());
        }
        assert_eq!(winners.len(), 1, "at {seq}");
        assert_eq!(load(&*store, "pods.v1").await.segments.last(), winners.first());
    }
}

/// Part of the contract.
pub async fn logs_do_not_touch_each_other(place: &dyn Place) {
    let store = place.open().await;
    let mut names: Vec<_> = (0..30).map(|number| format!("kind{number}.v1.example.com")).collect();
    names.extend(["pods.v1", "pods.v", "pods.v1.metrics.k8s.io", "p\u{e9}"].map(String::from));
    let writers: Vec<_> = names
        .iter()
        .map(|name| {
            let (store, name) = (store.clone(), name.clone());
            tokio::spawn(async move {
                append_range(&*store, &name, 1..=10).await;
                fold(&*store, &name, 5, &[Bytes::from(name.clone())]).await;
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("the writer does not panic");
    }
    for name in &names {
        let log = load(&*store, name).await;
        assert_eq!(log.checkpoint, Some((SegmentSeq(5), vec![Bytes::from(name.clone())])));
        assert_eq!(log.segments, (6..=10).map(|seq| segment(seq, name)).collect::<Vec<_>>());
    }
    names.sort();
    assert_eq!(logs(&*store).await, names);
}

/// Part of the contract.
pub async fn a_fold_stands_for_the_segments_up_to_it(place: &dyn Place) {
    let store = place.open().await;
    append_range(&*store, "pods.v1", 1..=10).await;
    for (upto, parts) in [(4, vec![part(1, 10), part(2, 20)]), (7, vec![part(3, 30)])] {
        fold(&*store, "pods.v1", upto, &parts).await;
        let log = load(&*store, "pods.v1").await;
        assert_eq!(log.checkpoint, Some((SegmentSeq(upto), parts)));
        assert_eq!(seqs(&log), (upto + 1..=10).collect::<Vec<_>>());
    }
}

/// Part of the contract.
pub async fn a_fold_of_the_whole_log_lets_appends_go_on(place: &dyn Place) {
    let store = place.open().await;
    append_range(&*store, "pods.v1", 1..=3).await;
    fold(&*store, "pods.v1", 3, &[part(0, 10)]).await;
    assert_eq!(seqs(&load(&*store, "pods.v1").await), [0; 0]);
    assert_eq!(logs(&*store).await, ["pods.v1"]);
    assert_eq!(append(&*store, "pods.v1", &segment(1, "again")).await, Err(SegmentSeq(1)));
    append_range(&*store, "pods.v1", 4..=5).await;
    assert_eq!(seqs(&load(&*store, "pods.v1").await), [4, 5]);
}

/// Part of the contract.
pub async fn an_older_fold_changes_nothing_and_one_beyond_the_end_is_refused(place: &dyn Place) {
    let store = place.open().await;
    append_range(&*store, "pods.v1", 1..=5).await;
    fold(&*store, "pods.v1", 4, &[part(4, 10)]).await;
    let before = load(&*store, "pods.v1").await;
    fold(&*store, "pods.v1", 3, &[part(3, 10)]).await;
    fold(&*store, "pods.v1", 4, &[part(9, 10)]).await;
    for _ in 0..3 {
        assert!(store.fold("pods.v1", SegmentSeq(6), vec![part(6, 10)]).await.is_err());
        assert!(store.fold("nodes.v1", SegmentSeq(1), vec![part(6, 10)]).await.is_err());
    }
    assert_eq!(load(&*store, "pods.v1").await, before);
    assert_eq!(logs(&*store).await, ["pods.v1"]);
}

/// Part of the contract.
pub async fn a_checkpoint_of_several_mebibytes_comes_back_whole(place: &dyn Place) {
    let store = place.open().await;
    append_range(&*store, "pods.v1", 1..=2).await;
    let parts: Vec<_> = (0..9).map(|place| part(place, (1 << 20) - 1 - place * 100_000)).collect();
    fold(&*store, "pods.v1", 1, &parts).await;
    assert_eq!(load(&*store, "pods.v1").await.checkpoint, Some((SegmentSeq(1), parts)));
    fold(&*store, "pods.v1", 2, &[part(1, 1)]).await;
    assert_eq!(load(&*store, "pods.v1").await.checkpoint, Some((SegmentSeq(2), vec![part(1, 1)])));
}

/// Part of the contract.
pub async fn a_reader_sees_the_log_before_a_fold_or_after_it_and_nothing_between(place: &dyn Place) {
    let store = place.open().await;
    append_range(&*store, "pods.v1", 1..=1).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (store, is_over) = (store.clone(), is_over.clone());
            tokio::spawn(async move {
                let mut last = 0;
                while !is_over.load(Ordering::Relaxed) {
                    last = check_whole(&load(&*store, "pods.v1").await).max(last);
                    tokio::task::yield_now().await;
                }
                last
            })
        })
        .collect();
    for seq in 2..=40 {
        append_range(&*store, "pods.v1", seq..=seq).await;
        if seq % 3 == 0 {
            let parts: Vec<_> = (0..seq as usize % 5 + 1).map(|_| part(seq as usize - 1, 400_000)).collect();
            fold(&*store, "pods.v1", seq - 1, &parts).await;
        }
    }
    is_over.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.await.expect("no reader sees a mix");
    }
    assert_eq!(check_whole(&load(&*store, "pods.v1").await), 40);
}

/// That a log written by the test above is one that stood there at some time. Returns its end.
fn check_whole(log: &StoredLog) -> u64 {
    let folded = log.checkpoint.as_ref().map_or(0, |(upto, parts)| {
        assert_eq!(parts.len(), (upto.0 as usize + 1) % 5 + 1, "a checkpoint of all its parts");
        assert!(parts.iter().all(|found| *found == part(upto.0 as usize, 400_000)), "parts of one checkpoint");
        upto.0
    });
    let end = folded + log.segments.len() as u64;
    assert_eq!(seqs(log), (folded + 1..=end).collect::<Vec<_>>(), "segments from there on without a gap");
    end
}

/// Part of the contract.
pub async fn a_dropped_append_is_done_or_not_and_never_half(place: &dyn Place) {
    let store = place.open().await;
    let mut end = 0;
    for round in 0..50 {
        let dropped = segment(end + 1, &format!("round {round}"));
        tokio::select! {
            biased;
            _ = store.append("pods.v1", &dropped) => {}
            () = tokio::task::yield_now() => {}
        }
        // A write that is under way stands before those that come after it.
        end += match append(&*store, "pods.v1", &segment(end + 1, "after")).await {
            Ok(()) => 1,
            Err(seq) => {
                assert_eq!(seq.0, end + 1);
                assert_eq!(load(&*store, "pods.v1").await.segments.last(), Some(&dropped));
                1
            }
        };
    }
    assert_eq!(seqs(&load(&*store, "pods.v1").await), (1..=end).collect::<Vec<_>>());
}

/// Part of the contract.
pub async fn a_store_opened_again_has_all_that_was_acknowledged(place: &dyn Place) {
    let store = place.open().await;
    append_range(&*store, "pods.v1", 1..=20).await;
    append_range(&*store, "nodes.v1", 1..=2).await;
    fold(&*store, "pods.v1", 7, &[part(1, 700_000), part(2, 700_000)]).await;
    let before = load(&*store, "pods.v1").await;
    drop(store);
    let store = place.open().await;
    assert_eq!(load(&*store, "pods.v1").await, before);
    assert_eq!(logs(&*store).await, ["nodes.v1", "pods.v1"]);
    append_range(&*store, "pods.v1", 21..=21).await;
    drop(store);
    assert_eq!(seqs(&load(&*place.open().await, "pods.v1").await), (8..=21).collect::<Vec<_>>());
}
