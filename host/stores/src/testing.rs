//! A store that fails on demand, for tests.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use orrery_markers::{AppendError, MarkerStore, Segment, SegmentSeq, StoreError, StoredLog};

/// What happens to one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is done and says so.
    None,
    /// It is not done and says so.
    Fail,
    /// It is done or not; the caller is told that nobody knows.
    Unknown(Outcome),
    /// It is done after a while.
    Delay(Duration),
    /// It is done or not; the caller is told that nobody knows, and everything fails until [`Faulty::restart`]. What a
    /// host that dies in a write leaves behind.
    Crash(Outcome),
}

/// Whether a write was done, whatever its caller is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was.
    Done,
    /// It was not.
    NotDone,
}

/// A store that does what `S` does, but for the faults that are asked of it.
///
/// Each write (append or fold) takes the next fault of the script, and where that has ended, one by the seed, if there
/// is one. Reads fail only while crashed and, with a seed, now and then.
#[derive(Debug)]
pub struct Faulty<S> {
    inner: S,
    plan: Mutex<Plan>,
}

#[derive(Debug, Default)]
struct Plan {
    script: VecDeque<Fault>,
    seed: Option<u64>,
    writes: u64,
    is_crashed: bool,
}

// === impl Faulty ===

impl<S> Faulty<S> {
    /// `inner` with the faults of `script`, one a write, and none after them.
    pub fn scripted(inner: S, script: impl IntoIterator<Item = Fault>) -> Self {
        let plan = Plan { script: script.into_iter().collect(), ..Plan::default() };
        Self { inner, plan: Mutex::new(plan) }
    }

    /// `inner` with faults drawn by `seed`: of ten writes about six are done, one is delayed, three fail in some way.
    /// None of them is a crash.
    pub fn seeded(inner: S, seed: u64) -> Self {
        Self { inner, plan: Mutex::new(Plan { seed: Some(seed), ..Plan::default() }) }
    }

    /// Crashes at the write after the next `writes` ones, in place of the script so far.
    pub fn crash_after(&self, writes: usize, outcome: Outcome) {
        let script = std::iter::repeat_n(Fault::None, writes).chain([Fault::Crash(outcome)]);
        self.plan().script = script.collect();
    }

    /// Adds a fault to the end of the script.
    pub fn add_fault(&self, fault: Fault) {
        self.plan().script.push_back(fault);
    }

    /// Ends a crash, and the script.
    pub fn restart(&self) {
        let mut plan = self.plan();
        plan.is_crashed = false;
        plan.script.clear();
    }

    /// Whether a crash has come and not ended.
    pub fn is_crashed(&self) -> bool {
        self.plan().is_crashed
    }

    /// Writes asked of it so far.
    pub fn writes(&self) -> u64 {
        self.plan().writes
    }

    /// The store behind the faults.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_fault(&self) -> Result<(), StoreError> {
        let mut plan = self.plan();
        let fails = plan.is_crashed || plan.draw().is_some_and(|drawn| drawn.is_multiple_of(10));
        if fails { Err(injected()) } else { Ok(()) }
    }
}

/// What stands between a write and its caller.
enum Verdict {
    Pass,
    Fail,
    Unknown(Outcome),
}

impl<S: MarkerStore> Faulty<S> {
    async fn verdict(&self) -> Verdict {
        let fault = self.plan().next_fault();
        match fault {
            None | Some(Fault::Fail) => Verdict::Fail,
            Some(Fault::None) => Verdict::Pass,
            Some(Fault::Unknown(outcome) | Fault::Crash(outcome)) => Verdict::Unknown(outcome),
            Some(Fault::Delay(by)) => {
                tokio::time::sleep(by).await;
                Verdict::Pass
            }
        }
    }
}

#[async_trait::async_trait]
impl<S: MarkerStore> MarkerStore for Faulty<S> {
    async fn logs(&self) -> Result<Vec<String>, StoreError> {
        self.read_fault()?;
        self.inner.logs().await
    }

    async fn load(&self, name: &str) -> Result<StoredLog, StoreError> {
        self.read_fault()?;
        self.inner.load(name).await
    }

    async fn append(&self, name: &str, segment: &Segment) -> Result<(), AppendError> {
        match self.verdict().await {
            Verdict::Pass => self.inner.append(name, segment).await,
            Verdict::Fail => Err(AppendError::Failed(injected())),
            Verdict::Unknown(outcome) => {
                if outcome == Outcome::Done {
                    self.inner.append(name, segment).await?;
                }
                Err(AppendError::Unknown(injected()))
            }
        }
    }

    async fn fold(&self, name: &str, upto: SegmentSeq, parts: Vec<Bytes>) -> Result<(), StoreError> {
        match self.verdict().await {
            Verdict::Pass => self.inner.fold(name, upto, parts).await,
            Verdict::Unknown(Outcome::Done) => {
                self.inner.fold(name, upto, parts).await?;
                Err(injected())
            }
            Verdict::Fail | Verdict::Unknown(Outcome::NotDone) => Err(injected()),
        }
    }
}

// === impl Plan ===

impl Plan {
    /// The fault of the next write, `None` while crashed.
    fn next_fault(&mut self) -> Option<Fault> {
        if self.is_crashed {
            return None;
        }
        self.writes += 1;
        let drawn = self.draw().map_or(Fault::None, |drawn| match drawn % 10 {
            0 => Fault::Fail,
            1 => Fault::Unknown(Outcome::Done),
            2 => Fault::Unknown(Outcome::NotDone),
            3 => Fault::Delay(Duration::from_millis(1)),
            _ => Fault::None,
        });
        let fault = self.script.pop_front().unwrap_or(drawn);
        self.is_crashed = matches!(fault, Fault::Crash(_));
        Some(fault)
    }

    /// The next number of the seed's sequence: SplitMix64 (Steele, Lea, Flood 2014), which needs no crate.
    fn draw(&mut self) -> Option<u64> {
        let state = self.seed.as_mut()?;
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some(mixed ^ mixed >> 31)
    }
}

fn injected() -> StoreError {
    StoreError::Unavailable("injected by a test".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStore;

    fn segment(seq: u64) -> Segment {
        Segment { seq: SegmentSeq(seq), bytes: Bytes::from(seq.to_string()) }
    }

    #[tokio::test]
    async fn each_fault_of_a_script_does_what_its_name_says() {
        let script = [
            Fault::None,
            Fault::Fail,
            Fault::Unknown(Outcome::NotDone),
            Fault::Unknown(Outcome::Done),
            Fault::Crash(Outcome::Done),
        ];
        let store = Faulty::scripted(MemoryStore::new(), script);
        let stored = async || store.inner().load("a").await.unwrap().segments.len();
        store.append("a", &segment(1)).await.unwrap();
        assert!(matches!(store.append("a", &segment(2)).await, Err(AppendError::Failed(_))));
        assert!(matches!(store.append("a", &segment(2)).await, Err(AppendError::Unknown(_))));
        assert_eq!(stored().await, 1);
        assert!(matches!(store.append("a", &segment(2)).await, Err(AppendError::Unknown(_))));
        assert_eq!(stored().await, 2);
        assert!(matches!(store.append("a", &segment(3)).await, Err(AppendError::Unknown(_))));
        assert!(store.is_crashed());
        assert!(store.load("a").await.is_err());
        assert!(matches!(store.append("a", &segment(4)).await, Err(AppendError::Failed(_))));
        store.restart();
        assert_eq!(store.load("a").await.unwrap().segments.len(), 3);
    }
}
