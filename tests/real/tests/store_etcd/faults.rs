//! What is done to an etcd while a host appends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use orrery_harness::{Etcd, EtcdSpec};
use orrery_markers::{AppendError, MarkerStore, Segment, SegmentSeq, StoreError};
use orrery_stores::{EtcdSettings, EtcdStore};
use tokio::task::JoinHandle;

use crate::{Seat, append, is_full, load, segment, started, until};

/// Appends segment after segment, from 1 on, until it is ended.
struct Appending {
    store: Arc<EtcdStore>,
    done: tokio::sync::watch::Receiver<u64>,
    end: tokio::sync::watch::Sender<bool>,
    task: JoinHandle<Result<()>>,
}

impl Appending {
    fn start(store: EtcdStore) -> Self {
        let store = Arc::new(store);
        let (tell, done) = tokio::sync::watch::channel(0);
        let (end, ended) = tokio::sync::watch::channel(false);
        let appends = store.clone();
        let task = tokio::spawn(async move {
            for seq in 1.. {
                append(&appends, &segment(seq, "appending")).await?;
                tell.send_replace(seq);
                if *ended.borrow() {
                    break;
                }
            }
            Ok(())
        });
        Self { store, done, end, task }
    }

    /// Waits until so many more appends are done than now.
    async fn goes_on(&self, more: u64) -> Result<()> {
        let enough = *self.done.borrow() + more;
        until("appends go on", async || *self.done.borrow() >= enough || self.task.is_finished()).await?;
        ensure!(!self.task.is_finished(), "appending has failed");
        Ok(())
    }

    /// That the log is what was appended, each segment once.
    async fn finish(self) -> Result<()> {
        self.end.send_replace(true);
        self.task.await??;
        let end = *self.done.borrow();
        let found = load(&self.store).await?;
        ensure!(found.len() as u64 == end, "{} segments of {end}", found.len());
        ensure!(found.iter().zip(1..).all(|(found, seq)| *found == segment(seq, "appending")), "in order");
        Ok(())
    }
}

/// etcd's revision, as text.
fn revision(etcd: &Etcd) -> Result<String> {
    let answer: serde_json::Value = serde_json::from_str(&etcd.etcdctl(&["get", "/none", "--write-out=json"])?)?;
    Ok(answer["header"]["revision"].to_string())
}

fn gone(error: &AppendError) -> bool {
    matches!(error, AppendError::Unknown(StoreError::Unavailable(_)) | AppendError::Failed(StoreError::Unavailable(_)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_etcd_that_is_killed_and_comes_back_holds_appends_up_and_loses_none() -> Result<()> {
    let mut etcd = started()?;
    let seat = Seat::at(&etcd)?;
    let appending = Appending::start(seat.open().await?);
    for _ in 0..3 {
        appending.goes_on(20).await?;
        etcd.member(0).kill()?;
        etcd.restart_member(0)?;
    }
    appending.goes_on(20).await?;
    appending.finish().await
}

/// A minute would add waiting to this and nothing else: all that is bound to time is the lease, of two seconds here, and
/// appends are tried anew by who asks for them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_etcd_that_is_gone_for_longer_than_the_lease_is_told_each_time_and_appends_go_on_after_it() -> Result<()> {
    let mut etcd = started()?;
    let lease = Duration::from_secs(2);
    let seat = Seat::of(EtcdSettings { lease, ..EtcdSettings::new(etcd.endpoints()) })?;
    let store = seat.open().await?;
    append(&store, &segment(1, "before")).await?;
    etcd.member(0).kill()?;
    let killed = Instant::now();
    let mut failures = 0;
    while killed.elapsed() < 3 * lease {
        let error = store.append("pods.v1", &segment(2, "while it is gone")).await;
        let error = error.err().filter(gone);
        ensure!(error.is_some_and(|error| !error.to_string().is_empty()), "it is told that etcd is gone");
        ensure!(store.load("pods.v1").await.is_err() && store.logs().await.is_err(), "reads say so too");
        failures += 1;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    ensure!(failures > 1, "{failures} appends in {:?}: each is answered in time", killed.elapsed());
    etcd.restart_member(0)?;
    append(&store, &segment(2, "after")).await?;
    ensure!(load(&store).await? == [segment(1, "before"), segment(2, "after")], "the log is whole");
    ensure!(seat.metric("orrery_store_etcd_unanswered_total") >= 5.0, "it is counted");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_leader_of_three_is_paused_appends_go_on_at_the_others() -> Result<()> {
    let mut etcd = EtcdSpec::new().members(3).start()?;
    let leader = etcd.leader()?;
    // The host talks to the leader first.
    let mut endpoints = etcd.endpoints();
    endpoints.rotate_left(leader);
    let seat = Seat::of(EtcdSettings::new(endpoints))?;
    let appending = Appending::start(seat.open().await?);
    appending.goes_on(20).await?;
    etcd.member(leader).pause()?;
    appending.goes_on(100).await?;
    ensure!(seat.metric("orrery_store_etcd_unanswered_total") >= 1.0, "the paused member was noticed");
    etcd.member(leader).resume()?;
    appending.goes_on(20).await?;
    appending.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_every_member_is_paused_an_append_is_answered_in_time_and_afterwards_settled() -> Result<()> {
    let mut etcd = started()?;
    let seat = Seat::at(&etcd)?;
    let store = seat.open().await?;
    append(&store, &segment(1, "paused")).await?;
    etcd.member(0).pause()?;
    // It does not stop at once.
    let (mut end, mut asked) = (1, Instant::now());
    let error = loop {
        match store.append("pods.v1", &segment(end + 1, "paused")).await {
            Ok(()) => (end, asked) = (end + 1, Instant::now()),
            Err(error) => break error,
        }
    };
    ensure!(matches!(error, AppendError::Unknown(_)), "nobody knows: {error:?}");
    ensure!(asked.elapsed() < Duration::from_secs(20), "it took {:?}", asked.elapsed());
    etcd.member(0).resume()?;
    // What was on its way when etcd was paused arrives now; in whatever order, the log has each segment once.
    append(&store, &segment(end + 1, "paused")).await?;
    append(&store, &segment(end + 2, "paused")).await?;
    let expected: Vec<_> = (1..=end + 2).map(|seq| segment(seq, "paused")).collect();
    ensure!(load(&store).await? == expected, "the log is whole");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_etcd_without_space_is_told_as_full_loses_nothing_and_is_recovered_from_once_its_alarm_is_disarmed()
-> Result<()> {
    let etcd = EtcdSpec::new().flag("--quota-backend-bytes=33554432").start()?;
    let large = |seq: u64| Segment { seq: SegmentSeq(seq), bytes: vec![seq as u8; 400_000].into() };
    // Somebody else uses three quarters of the space: etcd counts what it has written some time ago, so the log goes far
    // beyond what is left, and must fit once the others are gone.
    let others = Seat::of(EtcdSettings { prefix: "/others".to_owned(), ..EtcdSettings::new(etcd.endpoints()) })?;
    let others = others.open().await?;
    for seq in 1..=60 {
        append(&others, &large(seq)).await?;
    }
    others.release().await;
    let seat = Seat::at(&etcd)?;
    let store = seat.open().await?;
    let mut end = 0;
    let full = loop {
        match store.append("pods.v1", &large(end + 1)).await {
            Ok(()) => end += 1,
            Err(error) => break error,
        }
        ensure!(end < 100, "etcd is never full");
    };
    ensure!(is_full(&full), "{full:?}");
    ensure!(etcd.etcdctl(&["alarm", "list"])?.contains("NOSPACE"), "etcd has raised the alarm");
    let before = load(&store).await?;
    ensure!(before.len() as u64 == end, "{} segments of {end}", before.len());
    let folded = store.fold("pods.v1", SegmentSeq(end), vec![vec![1; 100].into()]).await;
    ensure!(matches!(folded, Err(StoreError::Full(_))), "{folded:?}");
    ensure!(load(&store).await? == before, "a fold that failed changes nothing");
    // What an operator does.
    etcd.etcdctl(&["del", "--prefix", "/others/"])?;
    etcd.etcdctl(&["compact", "--physical", &revision(&etcd)?])?;
    etcd.etcdctl(&["defrag"])?;
    until("a fold goes through", async || {
        // etcd raises an alarm some time after the write that found no space, so also after it was disarmed.
        etcd.etcdctl(&["alarm", "disarm"]).is_ok()
            && store.fold("pods.v1", SegmentSeq(end), vec![vec![1; 100].into()]).await.is_ok()
    })
    .await?;
    append(&store, &segment(end + 1, "there is room")).await?;
    let log = store.load("pods.v1").await?;
    ensure!(log.checkpoint.is_some_and(|(upto, _)| upto.0 == end) && log.segments.len() == 1, "the log is whole");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_is_read_whole_while_it_grows_and_etcd_is_compacted_under_the_reader() -> Result<()> {
    let etcd = started()?;
    let seat = Seat::at(&etcd)?;
    let appending = Appending::start(seat.open().await?);
    appending.goes_on(300).await?;
    let reader = appending.store.clone();
    for _ in 0..30 {
        let compact = async { etcd.etcdctl(&["compact", &revision(&etcd)?]) };
        let (found, compacted) = tokio::join!(load(&reader), compact);
        compacted?;
        let found = found?;
        ensure!(found.len() >= 300, "{} segments", found.len());
        ensure!(found.iter().zip(1..).all(|(found, seq)| *found == segment(seq, "appending")), "in order");
    }
    appending.finish().await
}
