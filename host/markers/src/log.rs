//! The log of one resource: what it says so far, and how each observation becomes records.
//!
//! ```text
//!   observation ──stage──▶ records ──pack──▶ segment ──(store)──▶ durable
//!                    └───▶ effects ─────────────────────────────▶ applied to the cache, only once durable
//! ```
//! A record moves the log the same way when it is staged and when it is replayed after a restart, so the log read back
//! is the log that was written. One sequencer owns it; it does no I/O and reads no clock.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use orrery_api::{ClusterName, Naming, ObjectKey, Uid};

use crate::{Change, ChangeKind, Marker, MemberVersion, Record, UnixMicros};

mod cluster;
mod names;
mod pack;
mod replay;

use cluster::Verdict;
pub use cluster::{Clock, ClusterLog, Entry, Presence};
pub use names::Taken;
use names::{Names, NeedsClaim, SameStep, Single};
pub use pack::{CorruptLog, Recovered};
pub use replay::{Mismatch, Replay, Step};

/// The log of one resource.
#[derive(Clone, Debug)]
pub struct Log {
    terms: Vec<Term>,
    clusters: BTreeMap<ClusterName, ClusterLog>,
    names: Names,
    staged: Vec<Staged>,
    /// The last marker of what was packed.
    packed: Option<Marker>,
    /// The position of the last segment that was packed.
    seq: crate::SegmentSeq,
}

/// The markers of one sequencer's term: all from `first` to `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// The term's own record.
    pub first: Marker,
    /// The last marker used.
    pub last: Marker,
}

#[derive(Clone, Debug)]
struct Staged {
    record: Record,
    /// Whether the log knew the object before this record, so that its key need not be written.
    known: bool,
}

/// What a record means to readers, at its marker. The bodies are the caller's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The record's marker.
    pub marker: Marker,
    /// What readers see.
    pub what: Sight,
}

/// What readers see of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// An object is shown, with new content or under new holders.
    Show {
        /// Name under which clients see it.
        served: ObjectKey,
        /// The cluster whose object it is.
        cluster: ClusterName,
        /// Its key there.
        key: ObjectKey,
        /// Added or modified.
        kind: ChangeKind,
        /// All clusters that hold the name, where names are the same object.
        holders: Option<Arc<[ClusterName]>>,
        /// Where its content comes from.
        content: Content,
    },
    /// What `served` showed is gone.
    Delete {
        /// The name.
        served: ObjectKey,
    },
    /// The changed object is kept aside: another cluster's is shown.
    Hold {
        /// Its cluster.
        cluster: ClusterName,
        /// Its key there.
        key: ObjectKey,
    },
    /// Nothing: the head moves.
    Nothing,
}

/// Where the content of a shown object comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// It is that of the change itself.
    Changed,
    /// It was seen before, shown or held.
    Kept,
}

/// An object that the log shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Name under which clients see it.
    pub served: ObjectKey,
    /// The cluster whose object is shown.
    pub cluster: ClusterName,
    /// Its key there.
    pub key: ObjectKey,
    /// Its current marker.
    pub marker: Marker,
    /// All clusters that hold the name, where names are the same object.
    pub holders: Option<Arc<[ClusterName]>>,
}

/// Whether staging made records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The log has it already.
    Known,
    /// It has a marker now.
    Sequenced,
}

// === impl Log: reading ===

impl Log {
    /// An empty log.
    pub fn new(naming: Naming) -> Self {
        Self {
            terms: Vec::new(),
            clusters: BTreeMap::new(),
            names: Names::new(naming),
            staged: Vec::new(),
            packed: None,
            seq: crate::SegmentSeq(0),
        }
    }

    /// The last marker used, staged ones included; `None` before the first term.
    pub fn head(&self) -> Option<Marker> {
        self.terms.last().map(|term| term.last)
    }

    /// Whether a retained term contains `marker`. One that none contains was never given out by this log, or so long
    /// ago that nothing is known of it: 410.
    pub fn contains(&self, marker: Marker) -> bool {
        let next = self.terms.partition_point(|term| term.first <= marker);
        next > 0 && marker <= self.terms[next - 1].last
    }

    /// The retained terms, in order.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The clusters that the log knows, by name.
    pub fn clusters(&self) -> impl Iterator<Item = (&ClusterName, &ClusterLog)> {
        self.clusters.iter()
    }

    /// One cluster's part.
    pub fn cluster(&self, cluster: &ClusterName) -> Option<&ClusterLog> {
        self.clusters.get(cluster)
    }

    /// The cluster that a served name belongs to and the object's key there, whether or not the object still exists.
    /// For names that are the same object, the holder that is shown; where that one is gone, the first that is left.
    pub fn owner(&self, served: &ObjectKey) -> Option<(ClusterName, ObjectKey)> {
        match &self.names {
            Names::Single(single) => single.claim(served).map(|claim| (claim.cluster.clone(), claim.key.clone())),
            Names::Same(same) => {
                let name = same.get(served)?;
                name.owner().map(|cluster| (cluster.clone(), served.clone()))
            }
        }
    }

    /// Whether `served` shows the last state of an object that its cluster has lost, because all other holders are deleting
    /// theirs.
    pub fn shows_last_state(&self, served: &ObjectKey) -> bool {
        let Names::Same(same) = &self.names else { return false };
        same.get(served).is_some_and(names::Shared::shows_a_ghost)
    }

    /// The clusters that hold the object shown as `served`, the one that is shown first.
    pub fn holders(&self, served: &ObjectKey) -> Vec<ClusterName> {
        match &self.names {
            Names::Single(_) => self.owner(served).map(|(cluster, _)| cluster).into_iter().collect(),
            Names::Same(same) => same.get(served).map(names::Shared::shown_first).unwrap_or_default(),
        }
    }

    /// The same in the order in which they came, as readers are shown them.
    pub fn holders_in_order(&self, served: &ObjectKey) -> Vec<ClusterName> {
        match &self.names {
            Names::Single(_) => self.holders(served),
            Names::Same(same) => same.get(served).map(|name| name.holder_names().to_vec()).unwrap_or_default(),
        }
    }

    /// The name under which (cluster, key) is served, where it has one.
    pub fn served(&self, cluster: &ClusterName, key: &ObjectKey) -> Option<ObjectKey> {
        match &self.names {
            Names::Single(single) => single.served(cluster, key),
            Names::Same(same) => same.get(key).map(|_| key.clone()),
        }
    }

    /// Objects whose name is the same object elsewhere and that are not the one which is shown, in no order. Where a name
    /// shows a last state, or between a deletion and the claim that follows it, those are all that are left.
    pub fn held(&self) -> Vec<(ClusterName, ObjectKey)> {
        let Names::Same(same) = &self.names else { return Vec::new() };
        let aside = |(key, name): (&ObjectKey, &names::Shared)| -> Vec<(ClusterName, ObjectKey)> {
            let holders = name.holders.iter().map(|holder| holder.cluster.clone());
            let others = holders.filter(|holder| name.shown.as_ref() != Some(holder));
            others.map(|holder| (holder, key.clone())).collect()
        };
        same.iter().flat_map(aside).collect()
    }

    /// Everything shown at the head, in no order.
    pub fn shown(&self) -> Vec<Shown> {
        match &self.names {
            Names::Single(single) => {
                single.iter().filter_map(|(served, claim)| self.shown_single(served, claim)).collect()
            }
            Names::Same(same) => same
                .iter()
                .filter_map(|(key, name)| {
                    let cluster = name.shown.clone()?;
                    let (served, key, marker) = (key.clone(), key.clone(), name.marker);
                    Some(Shown { served, cluster, key, marker, holders: Some(name.holder_names()) })
                })
                .collect(),
        }
    }

    fn shown_single(&self, served: &ObjectKey, claim: &names::Claim) -> Option<Shown> {
        let (_, entry) = self.clusters.get(&claim.cluster)?.object_at(&claim.key)?;
        Some(Shown {
            served: served.clone(),
            cluster: claim.cluster.clone(),
            key: claim.key.clone(),
            marker: entry.marker,
            holders: None,
        })
    }
}

// === impl Log: staging ===

impl Log {
    /// Starts a term: at the next marker, or at the time in microseconds where that is larger, so that a lost or older
    /// store does not give out markers twice.
    pub fn begin_term(&mut self, now: UnixMicros, effects: &mut Vec<Effect>) {
        let after = self.head().map_or(1, |head| head.get() + 1);
        let marker = Marker::new(after.max(now.0).min(Marker::MAX.get())).unwrap_or(Marker::MAX);
        self.stage(Record::Term { marker }, false, effects);
    }

    /// A marker at which nothing changes: it tells what was shown below it from what is shown from it on. Nothing where
    /// no term has begun.
    pub fn mark(&mut self, effects: &mut Vec<Effect>) {
        let Some(head) = self.head() else { return };
        let marker = head.next();
        self.stage(Record::Term { marker }, false, effects);
        effects.push(Effect { marker, what: Sight::Nothing });
    }

    /// A change that a member's stream brought.
    pub fn change(&mut self, cluster: &ClusterName, change: Change, effects: &mut Vec<Effect>) -> Outcome {
        let part = self.part(cluster);
        match part.judge(&change) {
            Verdict::Known => {
                part.saw(change.version);
                return Outcome::Known;
            }
            Verdict::New(kind) => self.sequence(cluster, Change { kind, ..change }, effects),
            Verdict::Replaces(other) => {
                self.delete(cluster, &other, change.version, effects);
                self.sequence(cluster, Change { kind: ChangeKind::Added, ..change }, effects);
            }
        }
        Outcome::Sequenced
    }

    /// All that a cluster holds, as a list at `version` says: what differs from the log is sequenced, deletions first,
    /// each with the second of two fresh markers (design 2.8); where the cluster is away, everything is new. Then the
    /// clock is set to the list's, also back.
    pub fn relisted(
        &mut self,
        cluster: &ClusterName,
        version: MemberVersion,
        objects: &[Change],
        effects: &mut Vec<Effect>,
    ) {
        let listed: HashSet<&Uid> = objects.iter().map(|object| &object.uid).collect();
        let mut lost: Vec<(ObjectKey, Uid)> = self
            .part(cluster)
            .objects
            .iter()
            .filter(|(uid, _)| !listed.contains(uid))
            .map(|(uid, entry)| (entry.key.clone(), uid.clone()))
            .collect();
        lost.sort_by(|a, b| a.0.cmp(&b.0));
        for (_, uid) in lost {
            self.skip_marker(effects);
            self.delete(cluster, &uid, version, effects);
        }
        for object in objects {
            let Some(kind) = self.difference(cluster, object) else { continue };
            self.skip_marker(effects);
            self.sequence(cluster, Change { kind, ..object.clone() }, effects);
        }
        self.set_clock(cluster, Clock::of_list(version), effects);
    }

    /// A state of one object that was read by itself, because the cluster's stream is silent: sequenced as what a list
    /// finds, with the second of two fresh markers. How far the stream was followed stays as it was.
    pub fn looked(&mut self, cluster: &ClusterName, change: Change, effects: &mut Vec<Effect>) {
        let part = self.part(cluster);
        let (Some(clock), Presence::Joined) = (part.clock, part.presence) else { return };
        let change = match part.judge(&change) {
            Verdict::Known => return,
            Verdict::New(kind) => Change { kind, ..change },
            Verdict::Replaces(other) => {
                self.skip_marker(effects);
                self.delete(cluster, &other, change.version, effects);
                Change { kind: ChangeKind::Added, ..change }
            }
        };
        self.skip_marker(effects);
        self.sequence(cluster, change, effects);
        self.set_clock(cluster, clock, effects);
    }

    /// The object with this uid is not in the cluster any more; as [`Self::looked`].
    pub fn lost(&mut self, cluster: &ClusterName, uid: &Uid, effects: &mut Vec<Effect>) {
        let part = self.part(cluster);
        let (Some(clock), Some(entry)) = (part.clock, part.objects.get(uid)) else { return };
        let version = if clock.latest.is_after(entry.version) { clock.latest } else { entry.version };
        self.skip_marker(effects);
        self.delete(cluster, uid, version, effects);
        self.set_clock(cluster, clock, effects);
    }

    /// Nothing else happened in `cluster` up to `version`. Says whether a record was staged.
    pub fn progress(&mut self, cluster: &ClusterName, version: MemberVersion, effects: &mut Vec<Effect>) -> bool {
        let part = self.part(cluster);
        if !part.saw(version) {
            return false;
        }
        let Some(clock) = part.clock else { return false };
        self.set_clock(cluster, clock, effects);
        true
    }

    fn set_clock(&mut self, cluster: &ClusterName, Clock { complete, latest }: Clock, effects: &mut Vec<Effect>) {
        self.stage(Record::Progress { cluster: cluster.clone(), complete, latest }, false, effects);
    }

    /// The cluster with this kube-system uid is wholly in the log from here on.
    pub fn joined(&mut self, cluster: &ClusterName, identity: Arc<str>, effects: &mut Vec<Effect>) {
        let marker = self.next_marker();
        self.stage(Record::Joined { marker, cluster: cluster.clone(), identity }, false, effects);
    }

    /// The cluster could not be loaded when serving began.
    pub fn away(&mut self, cluster: &ClusterName, effects: &mut Vec<Effect>) {
        let marker = self.next_marker();
        self.stage(Record::Away { marker, cluster: cluster.clone() }, false, effects);
    }

    /// When serving begins, after [`Self::away`]: of a name that is the same object in several clusters and was shown from
    /// one that is away, or whose shown object is gone while others were on their way out, nobody may have the body. It
    /// passes to a holder that is there, unless it `is_shown` to readers all the same.
    pub fn pass_on(&mut self, is_shown: impl Fn(&ObjectKey) -> bool, effects: &mut Vec<Effect>) {
        let Names::Same(same) = &self.names else { return };
        let unseen = same.to_pass_on(is_there(&self.clusters)).into_iter().filter(|(key, _)| !is_shown(key));
        for (key, next) in unseen.collect::<Vec<_>>() {
            let record = Record::Claim { marker: self.next_marker(), served: key.clone(), cluster: next, key };
            self.stage(record, false, effects);
        }
    }

    /// One cluster's part right after its last change of membership or list in `tail` (as it is here, where there is none),
    /// and the place in `tail` from which its records are just what its watch brought. A list may have passed over changes
    /// that a watch from before it would bring.
    pub fn settled(&self, cluster: &ClusterName, tail: &[Record]) -> (ClusterLog, usize) {
        let mut part = self.clusters.get(cluster).cloned().unwrap_or_else(ClusterLog::new);
        let is_settling = |record: &Record| record.cluster() == Some(cluster) && record.settles();
        let Some(last) = tail.iter().rposition(is_settling) else { return (part, 0) };
        for record in tail[..=last].iter().filter(|record| record.cluster() == Some(cluster)) {
            part.replay(record);
        }
        (part, last + 1)
    }

    /// The cluster left: a deletion for each of its objects, then the record that ends it and its claims.
    pub fn left(&mut self, cluster: &ClusterName, effects: &mut Vec<Effect>) {
        let Some(part) = self.clusters.get(cluster) else { return };
        let version = part.clock.map_or(MemberVersion::from_number(0), |clock| clock.latest);
        let mut objects: Vec<_> = part.objects.iter().map(|(uid, entry)| (entry.key.clone(), uid.clone())).collect();
        objects.sort_by(|a, b| a.0.cmp(&b.0));
        for (_, uid) in objects {
            self.delete(cluster, &uid, version, effects);
        }
        let marker = self.next_marker();
        self.stage(Record::Left { marker, cluster: cluster.clone() }, false, effects);
    }

    /// Forgets deletions before `before`, and frees the names they held.
    pub fn expire(&mut self, before: Marker, effects: &mut Vec<Effect>) {
        for part in self.clusters.values_mut() {
            part.gone.retain(|_, gone| gone.marker >= before);
        }
        let Names::Single(single) = &self.names else { return };
        for (served, cluster) in single.lapsed(before) {
            self.stage(Record::Freed { served, cluster }, false, effects);
        }
    }

    /// Replays a record that was read back.
    pub fn replay(&mut self, record: Record, effects: &mut Vec<Effect>) {
        self.take(record, effects);
    }

    /// Keeps the plain name `key` for an object that is being created in `cluster`, until [`Self::release`]: whatever else
    /// comes under that name meanwhile is served under another. Not in the log, since what comes of it is. Names that are
    /// one object need no keeping.
    ///
    /// # Errors
    /// Whose the name is.
    pub fn reserve(&mut self, key: &ObjectKey, cluster: &ClusterName) -> Result<(), Taken> {
        match &mut self.names {
            Names::Single(single) => single.reserve(key, cluster),
            Names::Same(_) => Ok(()),
        }
    }

    /// What was to be created under `key` is there, or will not come.
    pub fn release(&mut self, key: &ObjectKey) {
        if let Names::Single(single) = &mut self.names {
            single.release(key);
        }
    }

    fn part(&mut self, cluster: &ClusterName) -> &mut ClusterLog {
        self.clusters.entry(cluster.clone()).or_insert_with(ClusterLog::new)
    }

    /// How a listed object differs from what the log says of it.
    fn difference(&mut self, cluster: &ClusterName, object: &Change) -> Option<ChangeKind> {
        let part = self.part(cluster);
        let Some(entry) = part.objects.get(&object.uid) else { return Some(ChangeKind::Added) };
        if part.presence == Presence::Away {
            return Some(ChangeKind::Added);
        }
        let same = entry.version == object.version && !entry.digest.differs_from(object.digest);
        (!same).then_some(ChangeKind::Modified)
    }

    fn delete(&mut self, cluster: &ClusterName, uid: &Uid, version: MemberVersion, effects: &mut Vec<Effect>) {
        let Some(entry) = self.part(cluster).objects.get(uid).cloned() else { return };
        let Entry { key, digest, terminating, .. } = entry;
        self.sequence(
            cluster,
            Change { key, uid: uid.clone(), version, digest, kind: ChangeKind::Deleted, terminating },
            effects,
        );
    }

    /// Stages one change, and the claim that must stand before or after it.
    fn sequence(&mut self, cluster: &ClusterName, change: Change, effects: &mut Vec<Effect>) {
        if let Names::Single(single) = &self.names
            && let Some(former) = single.superseded(cluster, &change.key)
        {
            self.stage(Record::Freed { served: change.key.clone(), cluster: former }, false, effects);
        }
        if let Names::Single(single) = &self.names
            && change.kind != ChangeKind::Deleted
            && let (served, NeedsClaim::Yes) = single.name_for(cluster, &change.key)
        {
            let record =
                Record::Claim { marker: self.next_marker(), served, cluster: cluster.clone(), key: change.key.clone() };
            self.stage(record, false, effects);
        }
        let known = self.part(cluster).objects.contains_key(&change.uid);
        let key = change.key.clone();
        let record = Record::Change { marker: self.next_marker(), cluster: cluster.clone(), change };
        let passes = self.stage(record, known, effects);
        if let Some(next) = passes {
            let record = Record::Claim { marker: self.next_marker(), served: key.clone(), cluster: next, key };
            self.stage(record, false, effects);
        }
    }

    fn next_marker(&self) -> Marker {
        self.head().expect("a term stands in the log before any other record").next()
    }

    fn skip_marker(&mut self, effects: &mut Vec<Effect>) {
        let marker = self.next_marker();
        self.extend_term(marker);
        effects.push(Effect { marker, what: Sight::Nothing });
    }

    fn extend_term(&mut self, marker: Marker) {
        let term = self.terms.last_mut().expect("a term stands in the log before any other record");
        debug_assert!(marker > term.last, "markers rise strictly");
        term.last = marker;
    }

    /// A term that begins where the last one ends goes on with it.
    fn take_term(&mut self, marker: Marker) {
        match self.terms.last_mut() {
            Some(term) if term.last.next() == marker => term.last = marker,
            _ => self.terms.push(Term { first: marker, last: marker }),
        }
    }

    fn stage(&mut self, record: Record, known: bool, effects: &mut Vec<Effect>) -> Option<ClusterName> {
        self.staged.push(Staged { record: record.clone(), known });
        self.take(record, effects)
    }

    /// Moves the log by one record. Says to whom a `Same` name passes next, where it does.
    fn take(&mut self, record: Record, effects: &mut Vec<Effect>) -> Option<ClusterName> {
        if let Record::Term { marker } = record {
            self.take_term(marker);
        } else if let Some(marker) = record.marker() {
            self.extend_term(marker);
        }
        match &record {
            Record::Term { .. } => {}
            Record::Left { cluster, .. } => {
                self.clusters.remove(cluster);
                self.names.drop_cluster(cluster);
            }
            Record::Freed { served, .. } => {
                if let Names::Single(single) = &mut self.names {
                    single.free(served);
                }
            }
            Record::Change { cluster, .. }
            | Record::Progress { cluster, .. }
            | Record::Joined { cluster, .. }
            | Record::Away { cluster, .. }
            | Record::Claim { cluster, .. } => self.part(cluster).replay(&record),
        }
        let marker = record.marker()?;
        match record {
            Record::Change { cluster, change, .. } => self.take_change(marker, &cluster, &change, effects),
            Record::Claim { cluster, served, key, .. } => {
                self.take_claim(marker, served, cluster, key, effects);
                None
            }
            _ => {
                effects.push(Effect { marker, what: Sight::Nothing });
                None
            }
        }
    }

    fn take_change(
        &mut self,
        marker: Marker,
        cluster: &ClusterName,
        change: &Change,
        effects: &mut Vec<Effect>,
    ) -> Option<ClusterName> {
        match &mut self.names {
            Names::Single(single) => {
                effects.push(take_single(single, marker, cluster, change));
                None
            }
            Names::Same(same) => {
                let is_there = is_there(&self.clusters);
                let step = match change.kind {
                    ChangeKind::Deleted => same.remove(&change.key, cluster, marker, is_there),
                    ChangeKind::Added | ChangeKind::Modified => {
                        same.put(&change.key, cluster, change.terminating, marker, is_there)
                    }
                };
                self.same_effects(marker, cluster, change, step, effects)
            }
        }
    }

    fn same_effects(
        &self,
        marker: Marker,
        cluster: &ClusterName,
        change: &Change,
        step: SameStep,
        effects: &mut Vec<Effect>,
    ) -> Option<ClusterName> {
        let Names::Same(same) = &self.names else { return None };
        let (served, key) = (change.key.clone(), change.key.clone());
        let name = same.get(&served);
        let holders = || name.map_or_else(|| Arc::from([]), |name| name.holder_names());
        if !matches!(step, SameStep::Put(_)) && change.kind != ChangeKind::Deleted {
            effects.push(Effect { marker, what: Sight::Hold { cluster: cluster.clone(), key: key.clone() } });
        }
        let what = match &step {
            SameStep::Put(kind) => {
                let cluster = cluster.clone();
                Sight::Show { served, cluster, key, kind: *kind, holders: Some(holders()), content: Content::Changed }
            }
            SameStep::Aside | SameStep::Appears(_) => Sight::Nothing,
            SameStep::Gone | SameStep::Passes(_) => Sight::Delete { served },
            SameStep::Holders => {
                let cluster = name.and_then(|name| name.shown.clone()).unwrap_or_else(|| cluster.clone());
                Sight::Show {
                    served,
                    cluster,
                    key,
                    kind: ChangeKind::Modified,
                    holders: Some(holders()),
                    content: Content::Kept,
                }
            }
        };
        effects.push(Effect { marker, what });
        if let SameStep::Passes(next) | SameStep::Appears(next) = step { Some(next) } else { None }
    }

    fn take_claim(
        &mut self,
        marker: Marker,
        served: ObjectKey,
        cluster: ClusterName,
        key: ObjectKey,
        effects: &mut Vec<Effect>,
    ) {
        match &mut self.names {
            Names::Single(single) => {
                single.take(&served, &cluster, &key);
                effects.push(Effect { marker, what: Sight::Nothing });
            }
            Names::Same(same) => {
                same.pass(&served, &cluster, marker);
                let holders = same.get(&served).map_or_else(|| Arc::from([]), names::Shared::holder_names);
                let (holders, kind) = (Some(holders), ChangeKind::Added);
                let what = Sight::Show { served, cluster, key, kind, holders, content: Content::Kept };
                effects.push(Effect { marker, what });
            }
        }
    }
}

/// Whether readers have a cluster's objects.
fn is_there(clusters: &BTreeMap<ClusterName, ClusterLog>) -> impl Fn(&ClusterName) -> bool + '_ {
    |cluster| clusters.get(cluster).is_some_and(|part| part.presence == Presence::Joined)
}

fn take_single(single: &mut Single, marker: Marker, cluster: &ClusterName, change: &Change) -> Effect {
    let (served, _) = single.name_for(cluster, &change.key);
    if change.kind == ChangeKind::Deleted {
        single.mark_gone(&served, marker);
        return Effect { marker, what: Sight::Delete { served } };
    }
    single.take(&served, cluster, &change.key);
    let (cluster, key, kind) = (cluster.clone(), change.key.clone(), change.kind);
    Effect { marker, what: Sight::Show { served, cluster, key, kind, holders: None, content: Content::Changed } }
}

#[cfg(test)]
mod tests;
