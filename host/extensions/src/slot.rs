//! An extension while the host runs: the generation that serves, those before it, and what became of the newest revision.

mod history;
mod report;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use orrery_api::extension::{CelTarget, ExtensionName};
use orrery_api::placement::{PlacementQuestion, PlacementRequest, Verdict};
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tokio::time::{Instant, timeout};
use tracing::{error, info, warn};

use crate::Metrics;
use crate::generation::{Asked, Generation};
use crate::health::{self, Health};
use crate::inputs;
use crate::load::{Refusal, Runtime, Step};
use crate::record::{Decisions, Recorded};
use crate::revision::Revision;
use crate::runtime::{CallError, Caller};
use crate::selectors::{Labels, Memo};
use history::History;

/// One extension by its name.
pub(crate) struct Slot {
    name: ExtensionName,
    runtime: Arc<Runtime>,
    metrics: Metrics,
    state: Mutex<State>,
    /// Says that something changed, to those that wait for the first generation.
    changed: watch::Sender<()>,
    /// Calls that run.
    running: Semaphore,
    waiting: Semaphore,
    /// How often the files have asked for something.
    turns: AtomicU64,
    pub(crate) decisions: Decisions,
}

#[derive(Default)]
struct State {
    history: History,
    health: Health,
    /// Since when the generation serves that does.
    since: Option<SystemTime>,
    /// What is on its way to serve.
    loading: usize,
    refusal: Option<(Refusal, SystemTime)>,
    rejected: Rejected,
    /// What it said last of each cluster, by question.
    last_known: BTreeMap<(PlacementQuestion, String), Verdict>,
    lines: report::Lines,
    /// Whether it selects objects, as far as is known.
    is_selector: bool,
    /// The labels that a generation gave to objects.
    labels: (u64, Arc<Memo<Labels>>),
}

/// Revisions that have served and are not to serve again until the files have asked for another one: why, by
/// [`Revision::id`].
pub(crate) type Rejected = BTreeMap<String, String>;

/// How long a call waits for the first generation of an extension.
const FIRST_WAIT: Duration = Duration::from_secs(5);

/// How long a generation that was replaced has to finish its calls.
const DRAIN: Duration = Duration::from_secs(1);

/// Calls that run at a time, and those that may wait for them.
const RUNNING: usize = 8;
const WAITING: usize = 64;

/// Clusters that are remembered for `UseLastKnown`, over all questions.
const KNOWN_MAX: usize = 8192;

/// Something is on its way to serve.
pub(crate) struct OnItsWay<'s>(&'s Slot);

// === impl OnItsWay ===

impl Drop for OnItsWay<'_> {
    fn drop(&mut self) {
        self.0.state().loading -= 1;
        self.0.changed.send_replace(());
    }
}

// === impl Slot ===

impl Slot {
    pub(crate) fn new(name: ExtensionName, runtime: Arc<Runtime>, metrics: Metrics) -> Arc<Self> {
        Arc::new(Self {
            name,
            runtime,
            metrics,
            state: Mutex::default(),
            changed: watch::Sender::new(()),
            running: Semaphore::new(RUNNING),
            waiting: Semaphore::new(RUNNING + WAITING),
            turns: AtomicU64::new(0),
            decisions: Decisions::default(),
        })
    }

    pub(crate) fn name(&self) -> &ExtensionName {
        &self.name
    }

    /// The files ask for something anew.
    pub(crate) fn next_turn(&self) -> u64 {
        self.turns.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn turn(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }

    /// Whoever asks for the first generation waits for it until what this gives is dropped.
    pub(crate) fn on_its_way(&self) -> OnItsWay<'_> {
        self.state().loading += 1;
        OnItsWay(self)
    }

    /// Loads `revision`, which serves from then on; what serves now does until then, and for ever if that fails.
    pub(crate) async fn offer(&self, revision: Revision) -> Result<u64, Refusal> {
        let _on_its_way = self.on_its_way();
        {
            let mut state = self.state();
            if let Some(serving) = state.history.serving().filter(|serving| serving.revision == revision) {
                let number = serving.number;
                state.refusal = None;
                state.rejected.clear();
                return Ok(number);
            }
            if let Some(reason) = state.rejected.get(&revision.id()).cloned() {
                drop(state);
                return Err(self.refuse(Refusal { step: Step::Serve, reason }));
            }
        }
        let generation = self.load(revision).await.map_err(|refusal| self.refuse(refusal))?;
        let number = generation.number;
        self.serve(generation, None, Rejected::default());
        Ok(number)
    }

    /// Loads what served before the host started anew. It serves with why the newest revision does not, and where it cannot be
    /// loaded either, that stays the reason.
    pub(crate) async fn resume(&self, revision: Revision, newest: Refusal, rejected: Rejected) {
        match self.load(revision).await {
            Ok(generation) => self.serve(generation, Some(newest), rejected),
            Err(refusal) => warn!(extension = %self.name, %refusal, "what served last does not serve again"),
        }
    }

    async fn load(&self, revision: Revision) -> Result<Arc<Generation>, Refusal> {
        let number = {
            let mut state = self.state();
            state.is_selector |= matches!(revision.target, Some(CelTarget::VirtualLabel | CelTarget::NamedSelector));
            state.history.next_number()
        };
        self.runtime.load(revision, number).await.map(Arc::new)
    }

    /// Whether it selects objects, or may do so once it is loaded.
    pub(crate) fn may_select(&self) -> bool {
        let state = self.state();
        state.is_selector || (state.history.serving().is_none() && (state.refusal.is_none() || state.loading > 0))
    }

    /// What generation `number` said of objects.
    pub(crate) fn memo(&self, number: u64) -> Arc<Memo<Labels>> {
        let mut state = self.state();
        if state.labels.0 != number {
            state.labels = (number, Arc::default());
        }
        state.labels.1.clone()
    }

    /// Waits until another generation than `number` serves, or none.
    pub(crate) async fn replaced(&self, number: u64) {
        let mut changed = self.changed.subscribe();
        loop {
            changed.borrow_and_update();
            if self.state().history.serving().is_none_or(|serving| serving.number != number) {
                return;
            }
            if changed.changed().await.is_err() {
                return;
            }
        }
    }

    pub(crate) fn is_serving(&self) -> bool {
        self.state().history.serving().is_some()
    }

    /// Its newest revision does not serve.
    pub(crate) fn refuse(&self, refusal: Refusal) -> Refusal {
        error!(extension = %self.name, %refusal, "an extension's newest revision is refused: what it was goes on");
        self.metrics.refused(&self.name, refusal.step);
        self.state().refusal = Some((refusal.clone(), SystemTime::now()));
        self.changed.send_replace(());
        refusal
    }

    /// What was rejected before the host started anew.
    pub(crate) fn reject(&self, rejected: Rejected) {
        self.state().rejected = rejected;
    }

    /// What serves, and what is not to serve again: what is kept for the next start.
    pub(crate) fn kept(&self) -> Option<(Revision, Rejected)> {
        let state = self.state();
        Some((state.history.serving()?.revision.clone(), state.rejected.clone()))
    }

    pub(crate) fn changed(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Makes `generation` the one that serves, in one step with why it is not the newest revision, if so. Where a later one
    /// serves already it is dropped.
    fn serve(&self, generation: Arc<Generation>, newest: Option<Refusal>, rejected: Rejected) {
        let number = generation.number;
        let mut state = self.state();
        if state.history.serving().is_some_and(|serving| newest.is_some() || serving.number > number) {
            return;
        }
        info!(extension = %self.name, generation = number, "an extension's generation serves");
        self.metrics.serves(&self.name, number);
        state.is_selector |= generation.is_selector();
        let replaced = state.history.serve(generation);
        let now = SystemTime::now();
        (state.refusal, state.rejected) = (newest.map(|refusal| (refusal, now)), rejected);
        (state.health, state.since) = (Health::default(), Some(now));
        drop(state);
        self.changed.send_replace(());
        if let Some(replaced) = replaced {
            drain(&replaced);
        }
    }

    /// Puts the generation before back. `None` where there is none.
    pub(crate) fn roll_back(&self, why: &str) -> Option<u64> {
        let mut state = self.state();
        let (put_back, replaced) = state.history.roll_back()?;
        state.rejected.insert(replaced.revision.id(), why.to_owned());
        state.refusal = Some((Refusal { step: Step::Serve, reason: why.to_owned() }, SystemTime::now()));
        (state.health, state.since) = (Health::default(), Some(SystemTime::now()));
        drop(state);
        warn!(extension = %self.name, generation = put_back, why, "an extension went back to the generation before");
        self.metrics.serves(&self.name, put_back);
        self.metrics.refused(&self.name, Step::Serve);
        drain(&replaced);
        self.changed.send_replace(());
        Some(put_back)
    }

    /// Verdicts on the candidates of `request`, all by one generation.
    pub(crate) async fn judge(
        &self,
        question: PlacementQuestion,
        request: &PlacementRequest<'_>,
    ) -> Result<Vec<Verdict>, CallError> {
        let _waits = self.waiting.try_acquire().map_err(|_| CallError::Busy)?;
        let _runs = self.place().await?;
        loop {
            let generation = self.serving().await?;
            if !generation.revision.is_for(question) {
                return Err(CallError::Unasked(question.as_str()));
            }
            let asked = generation.asked(question, request);
            let mut caller = generation.caller();
            if !caller.capabilities.is_empty() {
                caller.pinned = inputs::pinned(request);
            }
            let judged = tokio::select! {
                judged = generation.judge(&caller, &asked) => judged,
                // What it was asked depends on nothing but its arguments, so the next one can be asked instead.
                () = generation.drained.cancelled() => continue,
            };
            self.keep(&generation, asked, &caller, &judged);
            return judged;
        }
    }

    /// What it said last of each candidate.
    pub(crate) fn last_known(
        &self,
        question: PlacementQuestion,
        request: &PlacementRequest<'_>,
    ) -> Option<Vec<Verdict>> {
        let state = self.state();
        let known = |name: &str| state.last_known.get(&(question, name.to_owned())).cloned();
        request.candidates.iter().map(|candidate| known(candidate.name.as_str())).collect()
    }

    /// The generation that serves; waits for the first one while that is on its way.
    pub(crate) async fn serving(&self) -> Result<Arc<Generation>, CallError> {
        let mut changed = self.changed.subscribe();
        let first = async {
            loop {
                changed.borrow_and_update();
                if let Some(known) = self.serving_now() {
                    return known;
                }
                if changed.changed().await.is_err() {
                    return Err(CallError::Drained);
                }
            }
        };
        timeout(FIRST_WAIT, first).await.unwrap_or(Err(CallError::Loading))
    }

    /// `None` while the first generation is on its way.
    fn serving_now(&self) -> Option<Result<Arc<Generation>, CallError>> {
        let mut state = self.state();
        if let Some(generation) = state.history.serving().cloned() {
            let may_be_asked = state.health.may_be_asked(Instant::now());
            return Some(if may_be_asked { Ok(generation) } else { Err(CallError::Paused) });
        }
        let (refused, _) = state.refusal.as_ref().filter(|_| state.loading == 0)?;
        Some(Err(CallError::Refused(refused.to_string())))
    }

    /// A place to be asked in, as many at a time as of placement: more instances than the pool has would count as faults.
    pub(crate) async fn place(&self) -> Result<SemaphorePermit<'_>, CallError> {
        self.running.acquire().await.map_err(|_| CallError::Busy)
    }

    /// Remembers what was said to a question of placement.
    fn keep(&self, generation: &Generation, asked: Asked, caller: &Caller, judged: &Result<Vec<Verdict>, CallError>) {
        if let Ok(verdicts) = judged {
            let mut state = self.state();
            for (candidate, verdict) in asked.request.candidates.iter().zip(verdicts) {
                let key = (asked.question, candidate.name.clone());
                if state.last_known.len() < KNOWN_MAX || state.last_known.contains_key(&key) {
                    state.last_known.insert(key, verdict.clone());
                }
            }
        }
        self.note(generation.number, caller, judged.as_ref().err());
        self.decisions.push(Recorded::new(generation.number, asked, judged));
    }

    /// Remembers how a call of generation `number` went, and does what follows from that.
    pub(crate) fn note(&self, number: u64, caller: &Caller, error: Option<&CallError>) {
        self.metrics.called(&self.name, error);
        self.metrics.measured(&self.name, caller.log.take_values());
        let mut state = self.state();
        state.lines.take(number, &caller.log);
        let is_serving = state.history.serving().is_some_and(|serving| serving.number == number);
        let is_fault = error.is_some_and(CallError::is_fault);
        let health = if is_serving { state.health.went(is_fault, Instant::now()) } else { health::Verdict::Serves };
        drop(state);
        if let Some(error) = error {
            warn!(extension = %self.name, generation = number, %error, "a call of an extension failed");
            if health == health::Verdict::Unfit {
                self.put_out(error);
            }
        }
    }

    /// The generation that serves turned bad: the one before serves again, or none.
    fn put_out(&self, error: &CallError) {
        let why = format!("it failed too often, last: {error}");
        if self.roll_back(&why).is_some() {
            return;
        }
        error!(extension = %self.name, why, "an extension is out of use: no generation before it can serve");
        let mut state = self.state();
        let replaced = state.history.put_out();
        state.refusal = Some((Refusal { step: Step::Serve, reason: why }, SystemTime::now()));
        drop(state);
        self.metrics.refused(&self.name, Step::Serve);
        self.metrics.serves(&self.name, 0);
        replaced.iter().for_each(drain);
        self.changed.send_replace(());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives the calls of `replaced` time to finish.
fn drain(replaced: &Arc<Generation>) {
    let drained = replaced.drained.clone();
    tokio::spawn(async move {
        tokio::time::sleep(DRAIN).await;
        drained.cancel();
    });
}

#[cfg(test)]
mod tests;
