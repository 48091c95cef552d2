use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use orrery_harness::{Client, Response};
use orrery_real::Kind;

/// What was said of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is done.
    Done,
    /// It is certainly not done.
    Refused,
    /// Nobody knows.
    Unknown,
}

/// What a member has in the end.
pub(crate) struct Found {
    /// `data.value` of each ConfigMap, by name.
    values: BTreeMap<String, String>,
    /// How many ConfigMaps have a value of the label `attempt`.
    attempts: BTreeMap<String, usize>,
}

// === impl Outcome ===

impl Outcome {
    /// Reads it from an answer, or from none. An error where the answer is not one that a fault explains.
    pub(crate) fn of(answer: Result<Response>) -> Result<Self> {
        let Ok(answer) = answer else { return Ok(Self::Unknown) };
        let may_be_repeated = answer.header("retry-after").is_some();
        match answer.status {
            200..300 => Ok(Self::Done),
            429 | 503 => {
                ensure!(may_be_repeated, "{} without Retry-After: {}", answer.status, answer.text());
                Ok(Self::Refused)
            }
            504 => {
                // Clients repeat what has one, and this may be done already.
                ensure!(!may_be_repeated, "504 with Retry-After: {}", answer.text());
                Ok(Self::Unknown)
            }
            status => bail!("{status}: {}", answer.text()),
        }
    }
}

// === impl Found ===

impl Found {
    pub(crate) fn in_member(member: &Client) -> Result<Self> {
        let list = member.json(Kind::ConfigMaps.in_default())?;
        let (mut values, mut attempts) = (BTreeMap::new(), BTreeMap::new());
        for item in list["items"].as_array().context("a list has items")? {
            let text = |pointer: &str| item.pointer(pointer).and_then(|value| value.as_str()).map(str::to_owned);
            values.insert(text("/metadata/name").context("no name")?, text("/data/value").unwrap_or_default());
            if let Some(attempt) = text("/metadata/labels/attempt") {
                *attempts.entry(attempt).or_default() += 1;
            }
        }
        Ok(Self { values, attempts })
    }

    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// How many ConfigMaps an attempt has made, or left.
    pub(crate) fn of_attempt(&self, attempt: &str) -> usize {
        self.attempts.get(attempt).copied().unwrap_or_default()
    }
}
