//! Who may write below the prefix: taking the right to, keeping it, losing it.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use etcd_client::{Compare, CompareOp, KeyValue, PutOptions, Txn, TxnOp};
use orrery_markers::StoreError;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use super::EtcdOpenError;
use super::keys::{FORMAT, Keys};
use super::requests::{Failure, Renewal, Requests, read_by, revision_of};
use crate::{DirLock, Metrics};

/// This host as the writer, or as the one that was. A task renews the lease as long as this value lives.
#[derive(Debug)]
pub(super) struct Writer {
    seat: Arc<Seat>,
    keeper: JoinHandle<()>,
    /// Not in the seat: the keeper's task may outlive this value by a moment.
    _lock: Arc<DirLock>,
}

/// The revision in which a host became the writer. It stands for the lease too: the key goes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Term(i64);

/// A host that is the writer of a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its machine and process.
    name: String,
    /// What its lease has left; `None` where that is not known.
    left: Option<Duration>,
}

/// The writer's place below the prefix, and this host's claim to it.
#[derive(Debug)]
struct Seat {
    requests: Arc<Requests>,
    key: String,
    last: String,
    format: String,
    prefix: String,
    lease: Duration,
    /// Machine and process of this host.
    name: String,
    /// Leases that this host, or the one before it in this directory, was granted; the last ones.
    own: Mutex<VecDeque<i64>>,
    /// Whether this host has ever been the writer.
    has_written: AtomicBool,
    standing: watch::Sender<Standing>,
    look: Notify,
    metrics: Metrics,
    lease_file: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Standing {
    /// It is the writer, by this lease.
    Writes(Term, i64),
    /// It was, or is about to be.
    Lapsed,
    /// Another host is, or has been since. This is the end.
    TakenOver(Holder),
    /// It gave it up. This is the end.
    Released,
}

/// What an attempt to become the writer has met.
enum Attempt {
    Won(Term, i64),
    /// Nothing in the way but time: try again.
    Again,
    /// Another host's key.
    Held(KeyValue),
    /// A host that came after this one, and is gone again.
    Followed(Holder),
    /// A layout of another version.
    Format(String),
}

/// How much longer than its time a lease is waited for that is not renewed: etcd looks for ended ones twice a second, and
/// a new leader of it gives all of them their whole time again.
const WAIT_EXTRA: Duration = Duration::from_secs(5);
/// Between two attempts to become the writer.
const ATTEMPT_EVERY: Duration = Duration::from_millis(250);
/// How long an etcd that does not answer is asked when the host starts.
const OPEN_LIMIT: Duration = Duration::from_secs(15);
/// Renewals between two looks at the size of the database.
const SIZE_EVERY: u32 = 10;
/// Leases of its own that a host remembers: as many attempts take longer than the first of them lasts.
const OWN_MAX: usize = 64;
/// Name of the file in DIR that says which lease this host has, so that its successor there knows it.
const LEASE_FILE: &str = "etcd.lease";

// === impl Writer ===

impl Writer {
    /// Becomes the writer, and stays it as long as may be. See [`super::EtcdStore::open`].
    pub(super) async fn begin(
        requests: Arc<Requests>,
        keys: &Keys,
        lease: Duration,
        lock: Arc<DirLock>,
        metrics: Metrics,
    ) -> Result<Self, EtcdOpenError> {
        let seat = Arc::new(Seat {
            requests,
            key: keys.writer(),
            last: keys.last_writer(),
            format: keys.format(),
            prefix: keys.prefix().to_owned(),
            lease,
            name: format!("host {}, process {}", machine(), std::process::id()),
            own: Mutex::new(read_lease(&lock).into_iter().collect()),
            has_written: AtomicBool::new(false),
            standing: watch::Sender::new(Standing::Lapsed),
            look: Notify::new(),
            metrics,
            lease_file: lock.dir().join(LEASE_FILE),
        });
        seat.begin().await?;
        let keeper = tokio::spawn(seat.clone().keep());
        Ok(Self { seat, keeper, _lock: lock })
    }

    /// The term in which this host is the writer.
    ///
    /// # Errors
    /// Where it is not, with the reason.
    pub(super) fn term(&self) -> Result<Term, StoreError> {
        match &*self.seat.standing.borrow() {
            Standing::Writes(term, _) => Ok(*term),
            standing => Err(self.seat.lost(standing)),
        }
    }

    /// The key that says who the writer is.
    pub(super) fn key(&self) -> &str {
        &self.seat.key
    }

    /// That this host is the writer in `term`.
    pub(super) fn compare(&self, term: Term) -> Compare {
        Compare::create_revision(self.key(), CompareOp::Equal, term.0)
    }

    /// Judges the writer's key, which a transaction of `term` has read: the reason, if it does not bear that term.
    pub(super) fn lost(&self, term: Term, found: Option<&KeyValue>) -> Option<StoreError> {
        if found.is_some_and(|found| found.create_revision() == term.0) {
            return None;
        }
        self.seat.lapse(term);
        self.seat.look.notify_one();
        Some(self.seat.lost(&self.seat.standing.borrow()))
    }

    pub(super) async fn taken_over(&self) -> Holder {
        let mut standing = self.seat.standing.subscribe();
        loop {
            if let Standing::TakenOver(holder) = &*standing.borrow_and_update() {
                return holder.clone();
            }
            if standing.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    pub(super) async fn release(&self) {
        self.keeper.abort();
        let before = self.seat.standing.send_replace(Standing::Released);
        self.seat.metrics.etcd.lease_held.set(0);
        if let Standing::Writes(_, lease) = before
            && let Err(failure) = self.seat.requests.revoke_lease(lease).await
        {
            tracing::warn!(reason = %failure.into_store_error(), "the lease could not be given up; it ends by itself");
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

// === impl Seat ===

impl Seat {
    async fn begin(&self) -> Result<(), EtcdOpenError> {
        let began = Instant::now();
        let mut before: Option<Holder> = None;
        loop {
            match self.attempt().await {
                Ok(Attempt::Won(term, lease)) => {
                    self.stand(Standing::Writes(term, lease));
                    return Ok(());
                }
                // None follows a host that has not begun.
                Ok(Attempt::Again | Attempt::Followed(_)) => {}
                Ok(Attempt::Format(found)) => return Err(EtcdOpenError::Format { prefix: self.prefix.clone(), found }),
                Ok(Attempt::Held(found)) => {
                    let holder = self.holder(&found).await;
                    if holder.has_renewed_since(before.as_ref()) || began.elapsed() > self.lease + WAIT_EXTRA {
                        return Err(EtcdOpenError::InUse { prefix: self.prefix.clone(), holder });
                    }
                    if before.is_none() {
                        tracing::info!(%holder, "waiting for another host's lease to end, or for a sign that it lives");
                    }
                    before = Some(holder);
                }
                Err(failure) => self.patience(failure, began)?,
            }
            tokio::time::sleep(ATTEMPT_EVERY).await;
        }
    }

    fn patience(&self, failure: Failure, began: Instant) -> Result<(), EtcdOpenError> {
        let is_refused = matches!(failure, Failure::Refused(_));
        let source = failure.into_store_error();
        if is_refused || began.elapsed() > OPEN_LIMIT {
            return Err(EtcdOpenError::Unusable { endpoints: self.requests.endpoints(), source });
        }
        tracing::warn!(reason = %source, "etcd does not answer; asking on");
        Ok(())
    }

    /// Becomes the writer if nobody is. What stands there by a lease of this host's own is a former self: it is put an
    /// end to.
    async fn attempt(&self) -> Result<Attempt, Failure> {
        let reads = [&self.key, &self.last, &self.format].map(|key| TxnOp::get(key.as_str(), None));
        let mut read = self.requests.read(Txn::new().and_then(reads)).await?.op_responses().into_iter();
        let [held, last, format] = [(); 3].map(|()| read_by(read.next()).pop());
        if let Some(found) = held {
            if !self.own().contains(&found.lease()) {
                return Ok(Attempt::Held(found));
            }
            self.requests.revoke_lease(found.lease()).await?;
        }
        if let Some(found) = format.filter(|found| found.value() != FORMAT.as_bytes()) {
            return Ok(Attempt::Format(String::from_utf8_lossy(found.value()).into_owned()));
        }
        if let Some(holder) = self.successor(last.as_ref()) {
            return Ok(Attempt::Followed(holder));
        }
        self.take(last.map_or(0, |last| last.mod_revision())).await
    }

    /// Takes the free place, if it still is, and nobody has had it since `last` was written.
    async fn take(&self, last: i64) -> Result<Attempt, Failure> {
        let lease = self.requests.grant_lease(self.lease).await?;
        self.remember(lease);
        let puts = [
            TxnOp::put(self.key.as_str(), self.name.as_str(), Some(PutOptions::new().with_lease(lease))),
            TxnOp::put(self.last.as_str(), format!("{lease} {}", self.name), None),
            TxnOp::put(self.format.as_str(), FORMAT, None),
        ];
        let is_free = [
            Compare::create_revision(self.key.as_str(), CompareOp::Equal, 0),
            Compare::mod_revision(self.last.as_str(), CompareOp::Equal, last),
        ];
        let answer = self.requests.txn(Txn::new().when(is_free).and_then(puts)).await?;
        if !answer.succeeded() {
            return Ok(Attempt::Again);
        }
        self.has_written.store(true, Ordering::Relaxed);
        Ok(Attempt::Won(Term(revision_of(&answer)), lease))
    }

    /// The host that became the writer after this one, if one did: what it wrote is not in what this one shows.
    fn successor(&self, last: Option<&KeyValue>) -> Option<Holder> {
        let text = String::from_utf8_lossy(last?.value()).into_owned();
        let (lease, name) = text.split_once(' ').unwrap_or(("", &text));
        let is_this = lease.parse().is_ok_and(|lease| self.own().contains(&lease));
        let has_followed = self.has_written.load(Ordering::Relaxed) && !is_this;
        has_followed.then(|| Holder { name: name.to_owned(), left: None })
    }

    /// Renews the lease, or takes a new one where it was lost, until another host has it.
    async fn keep(self: Arc<Self>) {
        let mut renewals: u32 = 0;
        loop {
            let standing = self.standing.borrow().clone();
            let wait = match standing {
                Standing::TakenOver(_) | Standing::Released => return,
                Standing::Lapsed => self.regain().await,
                Standing::Writes(term, lease) => {
                    if renewals.is_multiple_of(SIZE_EVERY) {
                        self.requests.note_size().await;
                    }
                    renewals = renewals.wrapping_add(1);
                    self.renew(term, lease).await
                }
            };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.look.notified() => {}
            }
        }
    }

    /// Renews once, and says after what time to look again.
    async fn renew(&self, term: Term, lease: i64) -> Duration {
        match self.requests.renew_lease(lease, self.lease / 3).await {
            Ok(Renewal::Renewed) => self.lease / 3,
            Ok(Renewal::Ended) => {
                self.lapse(term);
                Duration::ZERO
            }
            Err(failure) => {
                tracing::warn!(reason = %failure.into_store_error(), "failed to renew the lease in etcd; trying on");
                ATTEMPT_EVERY
            }
        }
    }

    /// Tries once to be the writer again, and says after what time to look again.
    async fn regain(&self) -> Duration {
        match self.attempt().await {
            Ok(Attempt::Won(term, lease)) => {
                tracing::info!("the lease in etcd is held again");
                self.stand(Standing::Writes(term, lease));
                self.lease / 3
            }
            Ok(Attempt::Held(found)) => {
                let holder = self.holder(&found).await;
                self.stand(Standing::TakenOver(holder));
                Duration::ZERO
            }
            Ok(Attempt::Followed(holder)) => {
                self.stand(Standing::TakenOver(holder));
                Duration::ZERO
            }
            Ok(Attempt::Again) => ATTEMPT_EVERY,
            Ok(Attempt::Format(found)) => {
                tracing::error!(found, "the prefix in etcd is of another format now");
                self.lease
            }
            Err(failure) => {
                tracing::warn!(reason = %failure.into_store_error(), "failed to take a new lease in etcd; trying on");
                ATTEMPT_EVERY
            }
        }
    }

    /// Ends `term`, unless that was noticed before.
    fn lapse(&self, term: Term) {
        let has_ended = self.standing.send_if_modified(|standing| {
            let is_this = matches!(standing, Standing::Writes(current, _) if *current == term);
            if is_this {
                *standing = Standing::Lapsed;
            }
            is_this
        });
        if has_ended {
            tracing::warn!("the lease in etcd has ended: nothing is appended until it is held again");
            self.metrics.etcd.lease_held.set(0);
            self.metrics.etcd.lease_lapses.inc();
        }
    }

    fn stand(&self, standing: Standing) {
        self.metrics.etcd.lease_held.set(i64::from(matches!(standing, Standing::Writes(..))));
        // One that was released meanwhile stays so.
        self.standing.send_if_modified(|current| {
            let goes_on = *current != Standing::Released;
            if goes_on {
                *current = standing;
            }
            goes_on
        });
    }

    fn lost(&self, standing: &Standing) -> StoreError {
        StoreError::Unavailable(match standing {
            Standing::Writes(..) => "this host is the writer in another term now".to_owned(),
            Standing::Lapsed => "this host's lease in etcd has ended, and it has no new one yet".to_owned(),
            Standing::TakenOver(holder) => format!("another host writes below {} of this etcd: {holder}", self.prefix),
            Standing::Released => "this host has given its lease in etcd up".to_owned(),
        })
    }

    async fn holder(&self, found: &KeyValue) -> Holder {
        let left = self.requests.lease_left(found.lease()).await.ok().flatten();
        Holder { name: String::from_utf8_lossy(found.value()).into_owned(), left }
    }

    fn own(&self) -> MutexGuard<'_, VecDeque<i64>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that `lease` is this host's, here and for its successor in DIR. A full disk there must not end anything: the
    /// successor waits then.
    fn remember(&self, lease: i64) {
        let mut own = self.own();
        if own.len() == OWN_MAX {
            own.pop_front();
        }
        own.push_back(lease);
        if let Err(error) = fs::write(&self.lease_file, format!("{lease} {}\n", machine())) {
            tracing::warn!(%error, "failed to write {LEASE_FILE}: after a crash this host waits for its lease to end");
        }
    }
}

/// The lease of the host that ran in this directory before, on this machine: elsewhere its lock proves nothing.
fn read_lease(lock: &DirLock) -> Option<i64> {
    let text = fs::read_to_string(lock.dir().join(LEASE_FILE)).ok()?;
    let (lease, of) = text.trim().split_once(' ')?;
    if of == machine() { lease.parse().ok() } else { None }
}

fn machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

// === impl Holder ===

impl Holder {
    /// Whether its lease has more left than when it was looked at before.
    fn has_renewed_since(&self, before: Option<&Self>) -> bool {
        before.is_some_and(|before| before.name != self.name || before.left < self.left)
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.name)?;
        match self.left {
            Some(left) => write!(f, ", whose lease ends in {} s unless it is renewed", left.as_secs()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(name: &str, left: Option<u64>) -> Holder {
        Holder { name: name.to_owned(), left: left.map(Duration::from_secs) }
    }

    #[test]
    fn a_lease_with_more_left_than_before_was_renewed_and_one_with_less_was_not() {
        let now = holder("host a, process 1", Some(7));
        for (before, renewed) in [(6, true), (7, false), (8, false)] {
            assert_eq!(now.has_renewed_since(Some(&holder("host a, process 1", Some(before)))), renewed, "{before}");
        }
        assert!(!now.has_renewed_since(None));
        assert!(now.has_renewed_since(Some(&holder("host b, process 1", Some(9)))), "another host came between");
        assert!(!holder("a", None).has_renewed_since(Some(&holder("a", Some(3)))), "it has ended");
    }

    #[test]
    fn only_a_lease_of_this_machine_is_known_again() {
        let dir = tempfile::tempdir().unwrap();
        let lock = DirLock::take(dir.path()).unwrap();
        assert_eq!(read_lease(&lock), None);
        for (text, known) in
            [(format!("42 {}\n", machine()), Some(42)), ("42 elsewhere\n".to_owned(), None), ("x".to_owned(), None)]
        {
            fs::write(dir.path().join(LEASE_FILE), &text).unwrap();
            assert_eq!(read_lease(&lock), known, "{text:?}");
        }
    }
}
