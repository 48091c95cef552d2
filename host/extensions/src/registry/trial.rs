//! Trying what does not serve: a component or rules as they would be loaded, and another component on past decisions.

use std::time::SystemTime;

use orrery_api::extension::{Document, ExtensionName, Plugin};
use orrery_api::placement::{Candidate, Unit, Verdict};
use orrery_api::status::{Moved, Replay, Trial};
use serde_json::{Value, json};

use super::Registry;
use crate::FileError;
use crate::generation::Generation;
use crate::inputs::{self, Paths};
use crate::load::{Refusal, Step};
use crate::revision::Revision;
use crate::runtime::{CallError, Code};

/// Decisions that a replay names; the others are counted.
const MOVED_MAX: usize = 100;

// === impl Registry ===

impl Registry {
    /// How the component `bytes` would be loaded as a Plugin without a document.
    pub async fn try_component(&self, bytes: &[u8]) -> Trial {
        match self.load_component("tried", bytes).await {
            Ok(generation) => trial(&generation.revision, Ok(&generation)),
            Err((revision, refusal)) => match revision {
                Some(revision) => trial(&revision, Err(&refusal)),
                None => refused("", &refusal),
            },
        }
    }

    /// How each rule in CEL of `text` would be loaded.
    ///
    /// # Errors
    /// `text` is no file of extensions.
    pub async fn try_rules(&self, text: &str) -> Result<Vec<Trial>, FileError> {
        let mut trials = Vec::new();
        for document in Document::parse(text)? {
            if let Document::Cel(policy) = document {
                let revision = Revision::of_cel(&policy, self.0.evaluator.clone());
                trials.push(match self.0.runtime.load(revision.clone(), 0).await {
                    Ok(generation) => trial(&revision, Ok(&generation)),
                    Err(refusal) => trial(&revision, Err(&refusal)),
                });
            }
        }
        Ok(trials)
    }

    /// What the component `bytes` says to what `name` was asked since `since`; `None` where there is no such extension.
    pub async fn replay(
        &self,
        name: &ExtensionName,
        bytes: &[u8],
        since: SystemTime,
    ) -> Option<Result<Replay, Refusal>> {
        let slot = self.slot(name)?;
        let generation = match self.load_component(&name.name, bytes).await {
            Ok(generation) => generation,
            Err((_, refusal)) => return Some(Err(refusal)),
        };
        let mut replay = Replay::default();
        for recorded in slot.decisions.since(since) {
            let now = generation.judge(&generation.caller(), &recorded.asked).await.map_err(|error| error.to_string());
            replay.decisions += 1;
            if now == recorded.judged {
                continue;
            }
            replay.changed += 1;
            if replay.moved.len() < MOVED_MAX {
                replay.moved.push(Moved {
                    time: Some(recorded.at),
                    generation: recorded.generation,
                    unit: recorded.asked.unit_name(),
                    before: told(&recorded.asked.names(), &recorded.judged),
                    after: told(&recorded.asked.names(), &now),
                });
            }
        }
        Some(Ok(replay))
    }

    /// What each part of the rule `name` gives, for `unit` in each of `candidates`, or for `unit` itself as an object; `None`
    /// where there is no such rule.
    ///
    /// # Errors
    /// It cannot be asked.
    pub async fn explain(
        &self,
        name: &ExtensionName,
        unit: &Unit,
        candidates: &[Candidate],
        now_ms: u64,
    ) -> Option<Result<Value, CallError>> {
        let slot = self.slot(name)?;
        let generation = match slot.serving().await {
            Ok(generation) => generation,
            Err(error) => return Some(Err(error)),
        };
        let request = json!({
            "settings": generation.revision.params,
            "nowMs": now_ms,
            "unit": inputs::unit(unit, &Paths::default()),
            "candidates": candidates.iter().map(inputs::candidate).collect::<Vec<_>>(),
            "objects": [unit.object],
        });
        let explained = generation.guest().explain(&generation.caller(), &request.to_string()).await;
        let parsed = |text: String| {
            serde_json::from_str(&text).map_err(|error| CallError::Result(format!("it explains in no JSON: {error}")))
        };
        Some(explained.and_then(parsed))
    }

    async fn load_component(&self, name: &str, bytes: &[u8]) -> Result<Generation, (Option<Revision>, Refusal)> {
        let code =
            Code::read(bytes).map_err(|error| (None, Refusal { step: Step::Verify, reason: error.to_string() }))?;
        let mut plugin = Plugin::of_file(name, "");
        plugin.capabilities.clone_from(&code.manifest.capabilities);
        // Params that its author wrote are ones that it takes.
        if let Some(params) = code.cases.iter().find_map(|case| case.params.clone()) {
            plugin.params = params;
        }
        let revision = Revision::of_plugin(&plugin, code);
        self.0.runtime.load(revision.clone(), 0).await.map_err(|refusal| (Some(revision), refusal))
    }
}

fn trial(revision: &Revision, loaded: Result<&Generation, &Refusal>) -> Trial {
    let manifest = &revision.code.manifest.name;
    let name = if revision.target.is_none() && !manifest.is_empty() { manifest } else { &revision.name.name };
    let mut trial = match loaded {
        Ok(_) => Trial { name: name.clone(), ..Trial::default() },
        Err(refusal) => refused(name, refusal),
    };
    trial.cases = revision.cases.len();
    if let Ok(generation) = loaded {
        trial.exports = generation.guest().exports().into_iter().map(str::to_owned).collect();
    }
    trial
}

fn refused(name: &str, refusal: &Refusal) -> Trial {
    let (step, reason) = (refusal.step.as_str().to_owned(), refusal.reason.clone());
    Trial { name: name.to_owned(), step: Some(step), reason: Some(reason), ..Trial::default() }
}

/// An answer in a line.
fn told(names: &[&str], judged: &Result<Vec<Verdict>, String>) -> String {
    let verdict = |(name, verdict): (&&str, &Verdict)| match verdict {
        Verdict::Stays(score) => format!("{name}={}", score.value()),
        Verdict::Dropped(reason) => format!("{name} out ({})", reason.code),
    };
    match judged {
        Ok(verdicts) => names.iter().zip(verdicts).map(verdict).collect::<Vec<_>>().join(", "),
        Err(error) => format!("failed: {error}"),
    }
}
