//! One host at a time writes below a prefix.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use orrery_harness::EtcdSpec;
use orrery_markers::{AppendError, MarkerStore, SegmentSeq};
use orrery_stores::{EtcdOpenError, EtcdSettings};

use crate::{Seat, append, load, segment, started, until};

/// As short as etcd grants it.
const LEASE: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_host_on_a_prefix_in_use_is_refused_with_the_name_of_the_first_and_the_end_of_its_lease() -> Result<()>
{
    let etcd = started()?;
    let (first, second) = (Seat::at(&etcd)?, Seat::at(&etcd)?);
    let holds = first.open().await?;
    let asked = Instant::now();
    let error = second.open().await.err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(error.contains("/orrery") && error.contains(&format!("process {}", std::process::id())), "{error}");
    ensure!(error.contains("whose lease ends in") && error.contains("--etcd-prefix"), "{error}");
    ensure!(asked.elapsed() < Duration::from_secs(20), "it took {:?}", asked.elapsed());
    append(&holds, &segment(1, "first")).await?;
    // Other prefixes are nobody's business.
    let settings = EtcdSettings { prefix: "/orrery2".to_owned(), ..EtcdSettings::new(etcd.endpoints()) };
    let other = Seat::of(settings)?.open().await?;
    ensure!(load(&other).await?.is_empty() && other.logs().await?.is_empty(), "a prefix of its own");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_releases_the_prefix_is_followed_at_once_and_appends_no_more() -> Result<()> {
    let etcd = started()?;
    let (first, second) = (Seat::at(&etcd)?, Seat::at(&etcd)?);
    let before = first.open().await?;
    append(&before, &segment(1, "first")).await?;
    before.release().await;
    let asked = Instant::now();
    let after = second.open().await?;
    ensure!(asked.elapsed() < Duration::from_secs(5), "it took {:?}", asked.elapsed());
    let error = before.append("pods.v1", &segment(2, "too late")).await;
    ensure!(matches!(error, Err(AppendError::Failed(_))), "{error:?}");
    append(&after, &segment(2, "second")).await?;
    ensure!(load(&after).await? == [segment(1, "first"), segment(2, "second")], "the log is whole");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_died_is_followed_at_once_in_its_directory_and_elsewhere_when_its_lease_ends() -> Result<()> {
    let etcd = started()?;
    let lease = Duration::from_secs(6);
    let settings = EtcdSettings { lease, ..EtcdSettings::new(etcd.endpoints()) };
    let (first, elsewhere) = (Seat::of(settings.clone())?, Seat::of(settings)?);
    // Dropped, not released: what etcd sees of a kill.
    drop(first.open().await?);
    let asked = Instant::now();
    let again = first.open().await?;
    ensure!(asked.elapsed() < lease / 2, "in its directory it took {:?}", asked.elapsed());
    append(&again, &segment(1, "again")).await?;
    drop(again);
    let asked = Instant::now();
    let other = elsewhere.open().await?;
    ensure!(asked.elapsed() > lease / 3, "elsewhere the lease was not waited for: {:?}", asked.elapsed());
    append(&other, &segment(2, "elsewhere")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_whose_key_is_another_hosts_cannot_append_or_fold_says_who_it_is_and_ends() -> Result<()> {
    let etcd = started()?;
    let (first, second) = (Seat::at(&etcd)?, Seat::at(&etcd)?);
    let old = first.open().await?;
    append(&old, &segment(1, "old")).await?;
    append(&old, &segment(2, "old")).await?;
    // As if it had been paused past its lease; it does not know yet.
    etcd.etcdctl(&["del", "/orrery/writer"])?;
    let new = second.open().await?;
    for _ in 0..3 {
        let error = old.append("pods.v1", &segment(3, "old")).await;
        ensure!(matches!(error, Err(AppendError::Failed(_))), "{error:?}");
        ensure!(old.fold("pods.v1", SegmentSeq(1), vec![vec![1].into()]).await.is_err(), "nor may it fold");
    }
    let holder = tokio::time::timeout(Duration::from_secs(10), old.taken_over()).await?;
    ensure!(holder.to_string().contains("process"), "{holder}");
    ensure!(first.metric("orrery_store_etcd_lease_held") == 0.0, "it shows that it is not the writer");
    ensure!(first.metric("orrery_store_etcd_lease_lapses_total") == 1.0, "and that it was");
    append(&new, &segment(3, "new")).await?;
    ensure!(load(&new).await? == [segment(1, "old"), segment(2, "old"), segment(3, "new")], "the log is the new one's");
    ensure!(second.metric("orrery_store_etcd_lease_held") == 1.0, "the new one is the writer");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_was_followed_by_one_that_is_gone_again_ends_too_as_what_it_shows_is_old() -> Result<()> {
    let etcd = started()?;
    let (first, second) = (Seat::at(&etcd)?, Seat::at(&etcd)?);
    let old = first.open().await?;
    append(&old, &segment(1, "old")).await?;
    etcd.etcdctl(&["del", "/orrery/writer"])?;
    let between = second.open().await?;
    append(&between, &segment(2, "between")).await?;
    between.release().await;
    let error = old.append("pods.v1", &segment(2, "old")).await;
    ensure!(matches!(error, Err(AppendError::Failed(_))), "{error:?}");
    let holder = tokio::time::timeout(Duration::from_secs(10), old.taken_over()).await?;
    ensure!(holder.to_string().contains("process"), "{holder}");
    ensure!(load(&old).await? == [segment(1, "old"), segment(2, "between")], "the log is the other one's");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_whose_lease_ended_while_nobody_else_came_begins_a_new_term_and_goes_on() -> Result<()> {
    let etcd = started()?;
    let seat = Seat::at(&etcd)?;
    let store = seat.open().await?;
    append(&store, &segment(1, "before")).await?;
    etcd.etcdctl(&["del", "/orrery/writer"])?;
    let failures = append(&store, &segment(2, "after")).await?;
    ensure!(!failures.is_empty(), "the old term was not compared");
    ensure!(seat.metric("orrery_store_etcd_lease_lapses_total") == 1.0, "it shows that its lease has ended");
    ensure!(seat.metric("orrery_store_etcd_lease_held") == 1.0, "and that it has a new one");
    ensure!(load(&store).await? == [segment(1, "before"), segment(2, "after")], "the log is whole");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_renewed_as_long_as_its_host_lives() -> Result<()> {
    let etcd = started()?;
    let seat = Seat::of(EtcdSettings { lease: LEASE, ..EtcdSettings::new(etcd.endpoints()) })?;
    let store = seat.open().await?;
    let key = || etcd.etcdctl(&["get", "/orrery/writer", "--write-out=json"]);
    let began = Instant::now();
    let first: serde_json::Value = serde_json::from_str(&key()?)?;
    until("three times the lease are over", async || began.elapsed() > 3 * LEASE).await?;
    let last: serde_json::Value = serde_json::from_str(&key()?)?;
    ensure!(first["kvs"][0]["create_revision"] == last["kvs"][0]["create_revision"], "{first} then {last}");
    drop(store);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prefix_of_another_format_is_refused_and_left_as_it_is() -> Result<()> {
    let etcd = started()?;
    etcd.etcdctl(&["put", "/orrery/format", "7"])?;
    let error = Seat::at(&etcd)?.open().await;
    ensure!(matches!(&error, Err(EtcdOpenError::Format { found, .. }) if found == "7"), "{error:?}");
    ensure!(etcd.etcdctl(&["get", "--prefix", "/orrery/writer"])?.is_empty(), "nothing was written");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_and_a_user_open_an_etcd_that_asks_for_them_and_tokens_are_made_anew() -> Result<()> {
    let etcd = EtcdSpec::new().secure().flag("--auth-token-ttl=1").start()?;
    let [ca, certificate, key] = etcd.client_files().expect("it is a secure one");
    for args in [
        &["user", "add", "root:top"][..],
        &["user", "grant-role", "root", "root"],
        &["user", "add", "orrery:s3cret"],
        &["role", "add", "orrery"],
        &["role", "grant-permission", "--prefix=true", "orrery", "readwrite", "/orrery/"],
        &["user", "grant-role", "orrery", "orrery"],
        &["auth", "enable"],
    ] {
        etcd.etcdctl(args)?;
    }
    let plain = EtcdSettings::new(etcd.endpoints());
    let refused = Seat::of(plain.clone())?.open().await.err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(refused.contains("--etcd-cacert"), "{refused}");
    let secure = EtcdSettings { ca_file: Some(ca), client_files: Some((certificate, key)), ..plain };
    let user = |password: &str| Some(("orrery".to_owned(), password.to_owned()));
    let wrong = Seat::of(EtcdSettings { user: user("wrong"), ..secure.clone() })?.open().await;
    ensure!(matches!(wrong, Err(EtcdOpenError::Unusable { .. })), "{wrong:?}");
    let seat = Seat::of(EtcdSettings { user: user("s3cret"), lease: LEASE, ..secure })?;
    let store = seat.open().await?;
    append(&store, &segment(1, "before")).await?;
    // Tokens of a second have ended then.
    tokio::time::sleep(Duration::from_secs(3)).await;
    append(&store, &segment(2, "after")).await?;
    ensure!(load(&store).await?.len() == 2, "the log is whole");
    ensure!(seat.metric("orrery_store_etcd_lease_lapses_total") == 0.0, "the lease was renewed all the time");
    Ok(())
}
