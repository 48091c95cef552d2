//! One cluster's part of a log: its objects as last recorded, and how far its clock was followed.

use std::collections::HashMap;
use std::sync::Arc;

use orrery_api::{ObjectKey, Uid};

use crate::{Change, ChangeKind, Digest, Marker, MemberVersion, Record};

/// An object as the log knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Namespace and name in its cluster.
    pub key: ObjectKey,
    /// Its member version.
    pub version: MemberVersion,
    /// Digest of its content.
    pub digest: Digest,
    /// The marker of the change that brought it to this version.
    pub marker: Marker,
    /// Whether it carries a deletionTimestamp.
    pub terminating: bool,
}

/// Whether a cluster takes part in a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Not (yet) wholly in the log: what it holds is sequenced anew when it loads.
    Away,
    /// Loaded, and followed since.
    Joined,
}

/// One cluster's part of a log.
#[derive(Clone, Debug)]
pub struct ClusterLog {
    pub(crate) identity: Option<Arc<str>>,
    pub(crate) presence: Presence,
    pub(crate) clock: Option<Clock>,
    pub(crate) objects: HashMap<Uid, Entry>,
    pub(crate) keys: HashMap<ObjectKey, Uid>,
    pub(crate) gone: HashMap<Uid, Gone>,
    pub(crate) last: Option<Marker>,
}

/// How far a cluster's versions were followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Every change up to here is in the log.
    pub complete: MemberVersion,
    /// The last version seen; other changes may share it.
    pub latest: MemberVersion,
}

/// A deletion that the log still remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone {
    pub(crate) version: MemberVersion,
    pub(crate) marker: Marker,
}

/// What the log makes of a change that a stream brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The log has it, or something later of the same object.
    Known,
    /// It is new; `kind` is as the log sees it.
    New(ChangeKind),
    /// It is new, and the object that had its key must go first.
    Replaces(Uid),
}

// === impl ClusterLog ===

impl ClusterLog {
    pub(crate) fn new() -> Self {
        Self {
            identity: None,
            presence: Presence::Away,
            clock: None,
            objects: HashMap::new(),
            keys: HashMap::new(),
            gone: HashMap::new(),
            last: None,
        }
    }

    /// The uid of the cluster's kube-system namespace, once it joined.
    pub fn identity(&self) -> Option<&Arc<str>> {
        self.identity.as_ref()
    }

    /// Whether it takes part.
    pub fn presence(&self) -> Presence {
        self.presence
    }

    /// How far its versions were followed; `None` before anything was loaded.
    pub fn clock(&self) -> Option<Clock> {
        self.clock
    }

    /// How many objects it has in the log.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether it has no object in the log.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The marker of its last record.
    pub fn last(&self) -> Option<Marker> {
        self.last
    }

    /// The object with this uid.
    pub fn object(&self, uid: &Uid) -> Option<&Entry> {
        self.objects.get(uid)
    }

    /// The uids of its objects, in no order.
    pub fn uids(&self) -> impl Iterator<Item = &Uid> {
        self.objects.keys()
    }

    /// The keys of its objects, in no order.
    pub fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.keys.keys()
    }

    /// The object that has this key in the cluster.
    pub fn object_at(&self, key: &ObjectKey) -> Option<(&Uid, &Entry)> {
        let uid = self.keys.get(key)?;
        self.objects.get(uid).map(|entry| (uid, entry))
    }

    /// The marker of the deletion of the object with this uid, as long as that is remembered.
    pub fn deleted(&self, uid: &Uid) -> Option<Marker> {
        self.gone.get(uid).map(|gone| gone.marker)
    }

    pub(crate) fn judge(&self, change: &Change) -> Verdict {
        if let Some(entry) = self.objects.get(&change.uid) {
            if !change.version.is_after(entry.version) {
                return Verdict::Known;
            }
            let kind = if change.kind == ChangeKind::Deleted { ChangeKind::Deleted } else { ChangeKind::Modified };
            return Verdict::New(kind);
        }
        if change.kind == ChangeKind::Deleted || self.gone.contains_key(&change.uid) {
            return Verdict::Known;
        }
        match self.object_at(&change.key) {
            Some((other, entry)) if change.version.is_after(entry.version) => Verdict::Replaces(other.clone()),
            // It was there before the object that has its key now.
            Some(_) => Verdict::Known,
            None => Verdict::New(ChangeKind::Added),
        }
    }

    /// Takes over a record of this cluster.
    pub fn replay(&mut self, record: &Record) {
        match record {
            Record::Change { marker, change, .. } => self.record(change, *marker),
            Record::Progress { complete, latest, .. } => {
                self.clock = Some(Clock { complete: *complete, latest: *latest });
            }
            Record::Joined { marker, identity, .. } => {
                (self.identity, self.presence, self.last) = (Some(identity.clone()), Presence::Joined, Some(*marker));
            }
            Record::Away { marker, .. } => (self.presence, self.last) = (Presence::Away, Some(*marker)),
            Record::Left { .. } => *self = Self::new(),
            Record::Claim { marker, .. } => self.last = Some(*marker),
            Record::Term { .. } | Record::Freed { .. } => {}
        }
    }

    /// Takes over a change that is in the log at `marker`.
    fn record(&mut self, change: &Change, marker: Marker) {
        let Change { key, uid, version, digest, kind, terminating } = change.clone();
        self.last = Some(marker);
        if kind == ChangeKind::Deleted {
            self.objects.remove(&uid);
            if self.keys.get(&key) == Some(&uid) {
                self.keys.remove(&key);
            }
            self.gone.insert(uid, Gone { version, marker });
        } else {
            self.gone.remove(&uid);
            // Keys are shared between the two maps, so that their text stands in memory once.
            let key = self.keys.get_key_value(&key).map_or(key, |(known, _)| known.clone());
            self.keys.insert(key.clone(), uid.clone());
            self.objects.insert(uid, Entry { key, version, digest, marker, terminating });
        }
        self.saw(version);
    }

    /// Something of `version` was seen in the stream: all before it is complete.
    pub(crate) fn saw(&mut self, version: MemberVersion) -> bool {
        let complete = MemberVersion::from_number(version.number().saturating_sub(1));
        let moved = match self.clock {
            None => true,
            Some(clock) => version.is_after(clock.latest) || complete.is_after(clock.complete),
        };
        if moved {
            let complete = self
                .clock
                .map_or(complete, |clock| if complete.is_after(clock.complete) { complete } else { clock.complete });
            self.clock = Some(Clock { complete, latest: version });
        }
        moved
    }
}

impl Clock {
    /// The clock of a list at `version`: a list is whole.
    pub fn of_list(version: MemberVersion) -> Self {
        Self { complete: version, latest: version }
    }
}
