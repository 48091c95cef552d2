use std::time::Duration;

use orrery_api::ObjectKey;
use orrery_sim::{Mode, Pace, WatchLists};
use orrery_stores::testing::{Fault, Outcome};
use tokio::time::{sleep, timeout};

use super::{Driver, down_time, new_store};
use crate::truth::Subject;

/// What can be done.
#[derive(Clone, Copy, Debug)]
enum Act {
    Put,
    Burst,
    Delete,
    DeleteAll,
    Recreate,
    Terminate,
    Cut,
    CutAfter,
    EndWatches,
    ExpireWatches,
    Bookmark,
    Repeat,
    Compact,
    Restart,
    Snapshot,
    Restore,
    Sicken,
    Heal,
    Slow,
    WatchLists,
    Redefine,
    Undefine,
    BecomeAnother,
    Leave,
    StoreFault,
    Crash,
    CrashInWrite,
    Backup,
    LoseStore,
    StepClock,
}

const ACTS: &[(u64, Act)] = &[
    (50, Act::Put),
    (4, Act::Burst),
    (14, Act::Delete),
    (4, Act::DeleteAll),
    (6, Act::Recreate),
    (3, Act::Terminate),
    (3, Act::Cut),
    (4, Act::CutAfter),
    (3, Act::EndWatches),
    (2, Act::ExpireWatches),
    (5, Act::Bookmark),
    (2, Act::Repeat),
    (2, Act::Compact),
    (2, Act::Restart),
    (2, Act::Snapshot),
    (2, Act::Restore),
    (4, Act::Sicken),
    (5, Act::Heal),
    (3, Act::Slow),
    (1, Act::WatchLists),
    (1, Act::Redefine),
    (2, Act::Undefine),
    (1, Act::BecomeAnother),
    (3, Act::Leave),
    (3, Act::StoreFault),
    (3, Act::Crash),
    (3, Act::CrashInWrite),
    (1, Act::Backup),
    (1, Act::LoseStore),
    (2, Act::StepClock),
];

/// A host that has run so long has begun all its resources.
const BEGINNING: Duration = Duration::from_secs(60);

// === impl Driver ===

impl Driver {
    /// Does one thing.
    pub(super) async fn act(&mut self) {
        let act = self.dice.weighted(ACTS);
        let at = self.dice.within(0..self.sites.len() as u64) as usize;
        let subject = self.dice.pick(&self.subjects).clone();
        let key = subject.key(&mut self.dice);
        let name = self.sites[at].name.clone();
        self.note(format_args!("{act:?} {name} {} {key}", subject.gvr()));
        match act {
            Act::Crash => self.crash().await,
            Act::CrashInWrite => self.crash_in_write(at, &subject, &key).await,
            Act::Leave => self.leave(at).await,
            Act::LoseStore => self.lose_store().await,
            Act::Put | Act::Burst | Act::Delete | Act::DeleteAll | Act::Recreate | Act::Terminate => {
                self.change(act, at, &subject, &key);
            }
            Act::StoreFault => {
                let outcome = *self.dice.pick(&[Outcome::Done, Outcome::NotDone]);
                self.store.add_fault(*self.dice.pick(&[
                    Fault::Fail,
                    Fault::Unknown(outcome),
                    Fault::Delay(Duration::from_secs(2)),
                ]));
            }
            Act::Backup => self.backup = Some(self.store.inner().copy()),
            Act::StepClock => self.step_clock(),
            _ => self.disturb(act, at, &subject),
        }
    }

    fn change(&mut self, act: Act, at: usize, subject: &Subject, key: &ObjectKey) {
        let site = &self.sites[at];
        let (name, cluster, gvr) = (&site.name, &site.cluster, subject.gvr());
        match act {
            Act::Burst => {
                for _ in 0..self.dice.within(2..20) {
                    self.truth.put(name, cluster, gvr, &subject.key(&mut self.dice), false);
                }
            }
            Act::Delete => {
                cluster.delete(gvr, std::slice::from_ref(key));
            }
            Act::DeleteAll => {
                let keys: Vec<_> = cluster.objects(gvr).into_keys().collect();
                cluster.delete(gvr, &keys);
            }
            Act::Recreate => {
                cluster.delete(gvr, std::slice::from_ref(key));
                self.truth.put(name, cluster, gvr, key, false);
            }
            _ => self.truth.put(name, cluster, gvr, key, matches!(act, Act::Terminate)),
        }
    }

    fn disturb(&mut self, act: Act, at: usize, subject: &Subject) {
        let some = self.dice.within(0..6);
        self.sites[at].is_sick |= matches!(act, Act::Sicken | Act::Slow);
        self.sites[at].is_armed |= matches!(act, Act::CutAfter);
        let is_harmless = matches!(act, Act::Bookmark | Act::Snapshot | Act::Heal | Act::Repeat);
        // A version that follows another may begin anew at any time.
        let may_begin = |subject: &Subject| !subject.kind.also.is_empty();
        if !is_harmless && (self.started.elapsed() < BEGINNING || self.subjects.iter().any(may_begin)) {
            self.laws.doubt(&self.sites[at].name);
        }
        let site = &mut self.sites[at];
        let cluster = &site.cluster;
        match act {
            Act::Cut => cluster.cut(),
            Act::CutAfter => cluster.cut_after(some as u32),
            Act::EndWatches => cluster.end_watches(),
            Act::ExpireWatches => cluster.expire_watches(),
            Act::Bookmark => cluster.bookmark(),
            Act::Repeat => cluster.repeat(some as u32),
            Act::Compact => cluster.compact(cluster.revision().saturating_sub(some)),
            Act::Restart => cluster.restart(),
            Act::Snapshot => site.snapshot = Some(cluster.snapshot()),
            Act::Restore => {
                if let Some(snapshot) = &site.snapshot {
                    cluster.restore(snapshot);
                    self.laws.restored();
                    cluster.cut();
                    self.subjects.iter().for_each(|subject| self.truth.restated(cluster, subject.gvr()));
                }
            }
            Act::Sicken => {
                let codes = [401, 403, 429, 500].map(Mode::Failing);
                let modes = [Mode::Silent, Mode::Refusing, codes[(some % 4) as usize]];
                cluster.set_mode(*self.dice.pick(&modes));
            }
            Act::Heal => {
                site.is_sick = false;
                cluster.set_mode(Mode::Serving);
                cluster.set_pace(Pace::default());
            }
            Act::Slow => {
                let slow = |dice: &mut crate::dice::Dice| Duration::from_millis(*dice.pick(&[0, 0, 5, 400, 4_000]));
                let (head, list, watch) = (slow(&mut self.dice), slow(&mut self.dice), slow(&mut self.dice));
                cluster.set_pace(Pace { head, list, watch, chopped: self.dice.once_in(2) });
            }
            Act::WatchLists => cluster.set_watch_lists(*self.dice.pick(&[
                WatchLists::Understood,
                WatchLists::Refused,
                WatchLists::Ignored,
            ])),
            Act::Redefine if subject.kind.custom => cluster.redefine(subject.gvr()),
            Act::Undefine if subject.kind.custom => {
                if cluster.serves(subject.gvr()) {
                    cluster.undefine(subject.gvr());
                } else {
                    cluster.define(subject.kind.clone());
                }
            }
            Act::BecomeAnother => {
                site.incarnation += 1;
                site.snapshot = None;
                cluster.become_another(&format!("{}-{}", site.name, site.incarnation));
                cluster.cut();
            }
            _ => {}
        }
    }

    /// A member leaves, or comes back.
    pub(crate) async fn leave(&mut self, at: usize) {
        self.sites[at].joined ^= true;
        if self.sites.iter().all(|site| !site.joined) {
            self.sites[at].joined = true;
        }
        if let Some(host) = &self.host {
            host.replace(self.members()).await;
        }
    }

    async fn crash(&mut self) {
        self.kill_host();
        let down = down_time(&mut self.dice);
        self.down(down).await;
        self.start_host();
    }

    /// The host dies while it writes to its store, whose outcome nobody knows.
    async fn crash_in_write(&mut self, at: usize, subject: &Subject, key: &ObjectKey) {
        let outcome = *self.dice.pick(&[Outcome::Done, Outcome::NotDone]);
        self.store.crash_after(self.dice.within(0..3) as usize, outcome);
        let crashed = async {
            while !self.store.is_crashed() {
                self.truth.put(&self.sites[at].name, &self.sites[at].cluster, subject.gvr(), key, false);
                sleep(Duration::from_millis(200)).await;
            }
        };
        let crashed = timeout(Duration::from_secs(3), crashed).await;
        self.note(format_args!("  crashed in a write: {}", crashed.is_ok()));
        self.kill_host();
        self.store.restart();
        let down = down_time(&mut self.dice);
        self.down(down).await;
        self.start_host();
    }

    /// While the host is down members go on, and more may happen to them.
    async fn down(&mut self, down: Duration) {
        sleep(down / 2).await;
        for _ in 0..self.dice.within(0..4) {
            let act = self.dice.weighted(&[(4, Act::Put), (2, Act::Delete), (1, Act::DeleteAll), (2, Act::Recreate)]);
            let at = self.dice.within(0..self.sites.len() as u64) as usize;
            let subject = self.dice.pick(&self.subjects).clone();
            let key = subject.key(&mut self.dice);
            let name = self.sites[at].name.clone();
            self.note(format_args!("  down: {act:?} {name} {} {key}", subject.gvr()));
            self.change(act, at, &subject, &key);
        }
        if self.dice.once_in(3) {
            let act = self.dice.weighted(&[
                (1, Act::Restart),
                (1, Act::Compact),
                (2, Act::Restore),
                (2, Act::Sicken),
                (1, Act::BecomeAnother),
                (1, Act::Undefine),
            ]);
            let at = self.dice.within(0..self.sites.len() as u64) as usize;
            let subject = self.dice.pick(&self.subjects).clone();
            let name = self.sites[at].name.clone();
            self.note(format_args!("  down: {act:?} {name}"));
            self.disturb(act, at, &subject);
        }
        sleep(down / 2).await;
    }

    /// The host comes back with an older copy of its store, or with none.
    async fn lose_store(&mut self) {
        if self.clock_goes_back {
            return;
        }
        self.kill_host();
        let older = self.backup.take().filter(|_| self.dice.once_in(2));
        self.note(format_args!("  with an older copy: {}", older.is_some()));
        self.laws.relapse();
        self.store = new_store(older.unwrap_or_default(), self.store_fails, &mut self.dice);
        let down = down_time(&mut self.dice);
        self.down(down).await;
        self.start_host();
    }

    fn step_clock(&mut self) {
        let forward = *self.dice.pick(&[1, 60, 3600]);
        let back = self.clock_goes_back && self.dice.once_in(2);
        self.clock.step(if back { -forward } else { forward });
    }
}
