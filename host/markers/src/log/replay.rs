//! A restart, for one cluster: its old state and the watch from there, held against the log.
//!
//! The member is asked for the list at a version that the log had reached (`Exact`) and for a watch from there. List and
//! events together must give just what the log says: then every record has its body again, and clients resume as if
//! nothing had happened. If they do not (a restored etcd, say), that is a [`Mismatch`], and the cluster is listed at its
//! latest and the difference is sequenced.

use std::collections::{BTreeMap, HashMap, VecDeque};

use orrery_api::{ClusterName, Uid};

use super::{ClusterLog, Entry};
use crate::{Change, ChangeKind, Digest, MemberVersion, Record};

/// Holds one cluster's replayed list and watch against the log.
#[derive(Debug)]
pub struct Replay {
    /// The cluster's objects at the start, as the log has them.
    objects: HashMap<Uid, Entry>,
    /// Deletions at the start that the list may not know yet.
    gone: HashMap<Uid, MemberVersion>,
    /// What the watch must bring, by object, in order.
    expected: HashMap<Uid, VecDeque<Expected>>,
    /// How many expected events each version has left.
    open: BTreeMap<u64, usize>,
    /// The last version that the log has of this cluster.
    latest: Option<MemberVersion>,
}

#[derive(Clone, Copy, Debug)]
struct Expected {
    version: MemberVersion,
    digest: Digest,
    deleted: bool,
}

/// How one event of the watch relates to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The log has it: its body belongs to the record of this uid and version.
    Recorded,
    /// The log went past it without it (a relist found only the later state).
    Superseded,
    /// It came after the log ended.
    New,
}

/// List or watch is not what the log says: this is not the history that was recorded.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("the member's history is not the one recorded: {0}")]
pub struct Mismatch(String);

// === impl Replay ===

impl Replay {
    /// Prepares for a cluster whose list will be at `from`, which its `part` had completed, and whose later records are those
    /// of `tail` that name it; none of them changes its membership.
    pub fn new(part: &ClusterLog, tail: &[Record], cluster: &ClusterName, from: MemberVersion) -> Self {
        let mut replay = Self {
            objects: part.objects.clone(),
            gone: part
                .gone
                .iter()
                .map(|(uid, gone)| (uid.clone(), gone.version))
                .filter(|(_, version)| version.is_after(from))
                .collect(),
            expected: HashMap::new(),
            open: BTreeMap::new(),
            latest: part.clock.map(|clock| clock.latest),
        };
        // What the log has beyond a complete version comes again as events.
        let beyond: Vec<_> = part
            .objects
            .iter()
            .filter(|(_, entry)| entry.version.is_after(from))
            .map(|(uid, entry)| (uid.clone(), entry.version, entry.digest, false))
            // What a deletion last showed is not compared.
            .chain(replay.gone.iter().map(|(uid, version)| (uid.clone(), *version, Digest::from_bits(0), true)))
            .collect();
        for (uid, version, digest, deleted) in beyond {
            replay.expect(uid, Expected { version, digest, deleted });
        }
        for record in tail.iter().filter(|record| record.cluster() == Some(cluster)) {
            match record {
                Record::Change { change, .. } => {
                    let Change { version, digest, .. } = *change;
                    let deleted = change.kind == ChangeKind::Deleted;
                    replay.expect(change.uid.clone(), Expected { version, digest, deleted });
                }
                Record::Progress { latest, .. } => replay.latest = Some(*latest),
                _ => {}
            }
        }
        replay
    }

    /// Holds the list at `at` against the log. Says, for each object, whether the log has just this state of it; the
    /// others change or go by events to come.
    pub fn list(&self, at: MemberVersion, objects: &[Change]) -> Result<Vec<bool>, Mismatch> {
        let mut settled = 0;
        let mut recorded = Vec::with_capacity(objects.len());
        for object in objects {
            let known = self.objects.get(&object.uid);
            let is_recorded = match known {
                Some(entry) if entry.version == object.version => {
                    if entry.key != object.key || entry.digest.differs_from(object.digest) {
                        return Err(Mismatch(format!(
                            "{} has other content at version {}",
                            object.key, object.version
                        )));
                    }
                    true
                }
                Some(entry) if entry.version.is_after(at) => false,
                None if self.gone.contains_key(&object.uid) => false,
                Some(entry) => {
                    return Err(Mismatch(format!(
                        "{} is at version {}, not {}",
                        object.key, object.version, entry.version
                    )));
                }
                None => return Err(Mismatch(format!("{} is not in the log", object.key))),
            };
            settled += usize::from(is_recorded && !known.is_some_and(|entry| entry.version.is_after(at)));
            recorded.push(is_recorded);
        }
        let expected = self.objects.values().filter(|entry| !entry.version.is_after(at)).count();
        if settled != expected {
            return Err(Mismatch(format!("{} of {expected} recorded objects are missing", expected - settled)));
        }
        Ok(recorded)
    }

    /// Takes one event of the watch.
    pub fn event(&mut self, change: &Change) -> Result<Step, Mismatch> {
        let step = self.judge(change);
        if let Some((&open, _)) = self.open.iter().next()
            && change.version.number() > open
        {
            return Err(Mismatch(format!("the watch passed version {open} without its change")));
        }
        match step {
            Some(step) => Ok(step),
            None => Err(Mismatch(format!(
                "{} changed at version {}, and the log has it otherwise or not at all",
                change.key, change.version
            ))),
        }
    }

    /// A bookmark: nothing else up to `version`.
    pub fn progress(&self, version: MemberVersion) -> Result<(), Mismatch> {
        match self.open.keys().next() {
            Some(&open) if version.number() > open => {
                Err(Mismatch(format!("the watch passed version {open} without its change")))
            }
            _ => Ok(()),
        }
    }

    /// Whether everything that the log has of this cluster has come.
    pub fn is_done(&self) -> bool {
        self.open.is_empty()
    }

    fn expect(&mut self, uid: Uid, expected: Expected) {
        let version = expected.version;
        self.expected.entry(uid).or_default().push_back(expected);
        *self.open.entry(version.number()).or_default() += 1;
        if self.latest.is_none_or(|latest| version.is_after(latest)) {
            self.latest = Some(version);
        }
    }

    fn judge(&mut self, change: &Change) -> Option<Step> {
        let deleted = change.kind == ChangeKind::Deleted;
        if let Some(queue) = self.expected.get_mut(&change.uid)
            && let Some(&next) = queue.front()
        {
            // A deletion found by a relist carries the list's version, which is above the event's.
            let is_next = next.deleted == deleted
                && (next.version == change.version || deleted && next.version.is_after(change.version));
            if is_next && !deleted && next.digest.differs_from(change.digest) {
                return None;
            }
            if is_next {
                queue.pop_front();
                self.close(next.version);
                return Some(Step::Recorded);
            }
            if next.version.is_after(change.version) {
                return Some(Step::Superseded);
            }
        }
        let new = self.latest.is_none_or(|latest| change.version.is_after(latest));
        // Several changes may share the last version, of which the log may have only some.
        let shares_last = self.latest == Some(change.version);
        (new || shares_last).then_some(Step::New)
    }

    fn close(&mut self, version: MemberVersion) {
        if let Some(left) = self.open.get_mut(&version.number()) {
            *left -= 1;
            if *left == 0 {
                self.open.remove(&version.number());
            }
        }
    }
}

#[cfg(test)]
mod tests;
