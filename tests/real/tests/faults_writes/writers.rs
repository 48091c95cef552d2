use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use orrery_harness::{Client, Response};
use orrery_real::{Kind, config_map};
use serde_json::{Value, json};

use super::outcome::{Found, Outcome};

const PER_VERB: usize = 2;
/// Between two attempts of a writer: so the member has some thousands of objects in the end, not more.
const PAUSE: Duration = Duration::from_millis(20);
/// Objects of a collection that is deleted.
const COLLECTED: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

/// Writes ConfigMaps of one cluster with every verb, two threads for each.
pub(crate) struct Writers {
    stopping: Arc<AtomicBool>,
    writing: Vec<(Arc<Counts>, JoinHandle<Result<Writer>>)>,
}

/// How many attempts were done and not done, and what ended the writer.
#[derive(Default)]
struct Counts {
    done: AtomicU64,
    failed: AtomicU64,
    fault: Mutex<Option<String>>,
}

struct Writer {
    client: Client,
    cluster: String,
    verb: Verb,
    /// Begins the names of what it writes.
    name: String,
    attempts: Vec<Outcome>,
}

// === impl Writers ===

impl Writers {
    /// Begins to write through the host `client`, to `cluster`.
    pub(crate) fn start(client: &Client, cluster: &str) -> Result<Self> {
        let stopping = Arc::new(AtomicBool::new(false));
        let mut writing = Vec::new();
        // Collections last: see `all_failed_since`.
        for verb in [Verb::Create, Verb::Update, Verb::Patch, Verb::Delete, Verb::DeleteCollection] {
            for number in 0..PER_VERB {
                let name = format!("{verb:?}-{number}").to_lowercase();
                let mut writer =
                    Writer { client: client.clone(), cluster: cluster.to_owned(), verb, name, attempts: Vec::new() };
                writer.begin()?;
                let (stop, counts) = (Arc::clone(&stopping), Arc::new(Counts::default()));
                let counted = Arc::clone(&counts);
                let write = move || {
                    let written = writer.write(&stop, &counted);
                    let told = written.as_ref().err().map(|fault| format!("{fault:#}"));
                    *counted.fault.lock().unwrap_or_else(PoisonError::into_inner) = told;
                    written.map(|()| writer)
                };
                writing.push((counts, thread::spawn(write)));
            }
        }
        Ok(Self { stopping, writing })
    }

    /// What each writer has done, and not done, so far.
    pub(crate) fn counts(&self) -> Vec<(u64, u64)> {
        self.writing.iter().map(|(counts, _)| (counts.done.load(Relaxed), counts.failed.load(Relaxed))).collect()
    }

    /// An error unless every writer has done something since `before`. A writer that found a fault has ended.
    pub(crate) fn all_done_since(&self, before: &[(u64, u64)]) -> Result<()> {
        self.compare(before, |(was_done, _), (done, _)| done > was_done + 2)
    }

    /// An error unless every writer has failed to do something since `before`. A collection may take as long as any request, so
    /// those that delete some are not waited for.
    pub(crate) fn all_failed_since(&self, before: &[(u64, u64)]) -> Result<()> {
        let waited_for = before.len() - PER_VERB;
        self.compare(&before[..waited_for], |(_, had_failed), (_, failed)| failed > had_failed)
    }

    /// Ends them, and holds what they were told against what `member` has.
    pub(crate) fn finish(self, member: &Client) -> Result<()> {
        self.stopping.store(true, Relaxed);
        let joined: Vec<_> = self.writing.into_iter().map(|(_, writing)| writing.join()).collect();
        let found = Found::in_member(member)?;
        for writer in joined {
            writer.unwrap_or_else(|_| bail!("a writer panicked"))?.judge(&found)?;
        }
        Ok(())
    }

    fn compare(&self, before: &[(u64, u64)], is_met: impl Fn((u64, u64), (u64, u64)) -> bool) -> Result<()> {
        for (counts, _) in &self.writing {
            let fault = counts.fault.lock().unwrap_or_else(PoisonError::into_inner);
            ensure!(fault.is_none(), "a writer has ended: {}", fault.as_deref().unwrap_or_default());
        }
        let now = self.counts();
        let unmet = before.iter().zip(&now).position(|(before, now)| !is_met(*before, *now));
        ensure!(unmet.is_none(), "{before:?} was before, {now:?} is now");
        Ok(())
    }
}

// === impl Writer ===

impl Writer {
    /// Makes the one object that it changes, if it does.
    fn begin(&self) -> Result<()> {
        if matches!(self.verb, Verb::Update | Verb::Patch) {
            self.client
                .create(Kind::ConfigMaps.in_default(), &self.object(&json!({"name": self.name}), ""))
                .map(drop)?;
        }
        Ok(())
    }

    fn write(&mut self, stopping: &AtomicBool, counts: &Counts) -> Result<()> {
        while !stopping.load(Relaxed) {
            let attempt = format!("{}-{}", self.name, self.attempts.len());
            let outcome = match self.prepared(&attempt)? {
                true => {
                    let outcome = Outcome::of(self.attempt(&attempt)).with_context(|| attempt.clone())?;
                    self.attempts.push(outcome);
                    outcome
                }
                // What is to be deleted is not there for certain: that is no attempt, but its name is used up.
                false => {
                    self.attempts.push(Outcome::Unknown);
                    Outcome::Unknown
                }
            };
            let count = if outcome == Outcome::Done { &counts.done } else { &counts.failed };
            count.fetch_add(1, Relaxed);
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Makes what an attempt is to delete.
    fn prepared(&self, attempt: &str) -> Result<bool> {
        let wanted = match self.verb {
            Verb::Delete => 1,
            Verb::DeleteCollection => COLLECTED,
            Verb::Create | Verb::Update | Verb::Patch => 0,
        };
        for number in 0..wanted {
            let metadata = json!({"name": format!("{attempt}-{number}")});
            let made = self.send("POST", Kind::ConfigMaps.in_default(), &self.object(&metadata, attempt));
            if Outcome::of(made).with_context(|| format!("preparing {attempt}"))? != Outcome::Done {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn attempt(&self, attempt: &str) -> Result<Response> {
        let maps = Kind::ConfigMaps.in_default();
        let value = json!({"data": {"value": self.attempts.len().to_string()}});
        match self.verb {
            // Whatever is made twice has two names.
            Verb::Create => {
                self.send("POST", maps, &self.object(&json!({"generateName": format!("{attempt}-")}), attempt))
            }
            Verb::Update => {
                let mut object = self.object(&json!({"name": self.name}), "");
                object["data"] = value["data"].clone();
                self.send("PUT", &config_map(&self.name), &object)
            }
            Verb::Patch => self.send("PATCH", &config_map(&self.name), &value),
            Verb::Delete => self.send("DELETE", &config_map(&format!("{attempt}-0")), &json!({})),
            Verb::DeleteCollection => {
                let selector = format!("attempt%3D{attempt},orrery.dev%2Fcluster%3D{}", self.cluster);
                self.send("DELETE", &format!("{maps}?labelSelector={selector}"), &json!({}))
            }
        }
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Result<Response> {
        let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        self.client.send(method, path, &[("content-type", kind)], body.to_string().as_bytes())
    }

    fn object(&self, metadata: &Value, attempt: &str) -> Value {
        let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        object["metadata"]["labels"] = json!({"orrery.dev/cluster": self.cluster, "attempt": attempt});
        object
    }

    /// Holds what it was told against what the member has.
    fn judge(&self, found: &Found) -> Result<()> {
        if matches!(self.verb, Verb::Update | Verb::Patch) {
            return self.judge_value(found.value(&self.name).context("it is gone")?);
        }
        let (done, refused) = match self.verb {
            Verb::Create => (1, 0),
            Verb::Delete => (0, 1),
            _ => (0, COLLECTED),
        };
        for (number, outcome) in self.attempts.iter().enumerate() {
            let attempt = format!("{}-{number}", self.name);
            let count = found.of_attempt(&attempt);
            let is_true = match outcome {
                Outcome::Done => count == done,
                Outcome::Refused => count == refused,
                Outcome::Unknown => count <= done.max(refused),
            };
            ensure!(is_true, "{attempt} was told to be {outcome:?}, and there are {count} of it");
        }
        Ok(())
    }

    /// The value is of the last write that was done, or of one of which nobody knows: a frozen member may do that later.
    fn judge_value(&self, value: &str) -> Result<()> {
        let last = self.attempts.iter().rposition(|outcome| *outcome == Outcome::Done).context("nothing was done")?;
        let number: usize = value.parse().with_context(|| format!("{} has the value {value:?}", self.name))?;
        let of = self.attempts.get(number);
        let is_true = number == last || of == Some(&Outcome::Unknown);
        ensure!(is_true, "{} has the value of {number}, told to be {of:?}; {last} was the last one done", self.name);
        Ok(())
    }
}
