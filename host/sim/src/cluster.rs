//! The cluster behind the API: objects, revisions, and what is done to it.

mod faults;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use orrery_api::{Gvr, ObjectKey, Uid};
use tokio::sync::watch;

use crate::history::Table;
use crate::kind::Kind;

pub(crate) use faults::Counts;
pub use faults::{Mode, Pace, WatchLists};

/// A simulated cluster. A handle: clones are the same.
#[derive(Clone)]
pub struct Cluster(Arc<Shared>);

struct Shared {
    world: Mutex<World>,
    changed: watch::Sender<()>,
}

/// One state of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Its uid.
    pub uid: Uid,
    /// The revision of the change that led here.
    pub version: u64,
    /// The revision at which it was created.
    pub created: u64,
    /// Counts its changes, from 1.
    pub generation: u64,
    /// What the template puts for `$TEXT`.
    pub text: Arc<str>,
    /// Whether it is being deleted.
    pub terminating: bool,
}

/// A cluster's etcd as it was once, to come back to.
#[derive(Clone, Debug)]
pub struct Snapshot {
    revision: u64,
    objects: Vec<(Gvr, bool, BTreeMap<ObjectKey, State>)>,
}

/// All that there is, under one lock.
pub(crate) struct World {
    pub(crate) uid: Arc<str>,
    pub(crate) minor: u32,
    pub(crate) token: Option<Arc<str>>,
    pub(crate) revision: u64,
    pub(crate) tables: Vec<Table>,
    /// Uids given out.
    created: u64,
    pub(crate) faults: faults::Faults,
}

// === impl Cluster ===

impl Cluster {
    /// An empty cluster whose kube-system namespace has this uid. It serves `kinds`, and the kinds that define kinds.
    pub fn new(uid: &str, kinds: impl IntoIterator<Item = Kind>) -> Self {
        let mut world = World {
            uid: uid.into(),
            minor: 37,
            token: None,
            revision: 1,
            tables: vec![Table::new(Kind::definitions()), Table::new(Kind::services())],
            created: 0,
            faults: faults::Faults::default(),
        };
        kinds.into_iter().for_each(|kind| world.define(kind));
        Self(Arc::new(Shared { world: Mutex::new(world), changed: watch::Sender::new(()) }))
    }

    /// Creates an object, or changes the one that has the key. Gives the revision; none for a kind that is not served.
    pub fn put(&self, gvr: &Gvr, key: &ObjectKey, text: &str) -> Option<u64> {
        self.change(|world| world.put(gvr, key, text, false))
    }

    /// As [`Self::put`], of an object that is being deleted from then on.
    pub fn terminate(&self, gvr: &Gvr, key: &ObjectKey, text: &str) -> Option<u64> {
        self.change(|world| world.put(gvr, key, text, true))
    }

    /// Deletes all of these in one transaction: their events share a revision.
    pub fn delete(&self, gvr: &Gvr, keys: &[ObjectKey]) -> Option<u64> {
        self.change(|world| world.delete(gvr, keys))
    }

    /// The objects of a kind as they are now.
    pub fn objects(&self, gvr: &Gvr) -> BTreeMap<ObjectKey, State> {
        let world = self.world();
        world.served(gvr).map(|table| table.objects.clone()).unwrap_or_default()
    }

    /// One object as it is now.
    pub fn get(&self, gvr: &Gvr, key: &ObjectKey) -> Option<State> {
        self.world().served(gvr)?.objects.get(key).cloned()
    }

    /// Whether a kind is served now.
    pub fn serves(&self, gvr: &Gvr) -> bool {
        self.world().served(gvr).is_some()
    }

    /// The revision of the last change of anything.
    pub fn revision(&self) -> u64 {
        self.world().revision
    }

    /// Something that is not simulated takes so many revisions.
    pub fn pass(&self, revisions: u64) {
        self.change(|world| world.revision += revisions);
    }

    /// Watches of a kind that are open.
    pub fn watches(&self, gvr: &Gvr) -> usize {
        self.world().served(gvr).map_or(0, |table| Arc::strong_count(&table.watches) - 1)
    }

    /// Serves one kind more, and has its definition where it is custom.
    pub fn define(&self, kind: Kind) {
        self.change(|world| world.define(kind));
    }

    /// Changes the definition of a custom kind, as a new schema does.
    pub fn redefine(&self, gvr: &Gvr) {
        let text = self.revision().to_string();
        self.put(&Kind::definitions().gvr, &definition(gvr), &text);
    }

    /// Deletes a custom kind with all its objects; watches of it end.
    pub fn undefine(&self, gvr: &Gvr) {
        self.change(|world| {
            let keys: Vec<_> =
                world.served(gvr).map(|table| table.objects.keys().cloned().collect()).unwrap_or_default();
            world.delete(gvr, &keys);
            if let Some(table) = world.tables.iter_mut().find(|table| table.kind.gvr == *gvr) {
                table.served = false;
            }
            world.delete(&Kind::definitions().gvr, &[definition(gvr)]);
        });
    }

    /// The cluster's etcd as it is now.
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot_at(self.revision())
    }

    /// The cluster's etcd as it was at a revision, as far as its history goes.
    pub fn snapshot_at(&self, revision: u64) -> Snapshot {
        let table = |table: &Table| {
            let mut objects = table.at(revision);
            objects.retain(|_, state| state.version <= revision);
            (table.kind.gvr.clone(), table.served, objects)
        };
        Snapshot { revision, objects: self.world().tables.iter().map(table).collect() }
    }

    /// Restores its etcd: revisions go back, and history begins anew. Whether connections break is the caller's to say.
    pub fn restore(&self, snapshot: &Snapshot) {
        self.change(|world| {
            world.revision = snapshot.revision;
            for table in &mut world.tables {
                let found = snapshot.objects.iter().find(|(gvr, ..)| *gvr == table.kind.gvr);
                let (served, objects) =
                    found.map_or((false, BTreeMap::new()), |(_, served, objects)| (*served, objects.clone()));
                table.served = served;
                table.reset(snapshot.revision, objects);
            }
        });
    }

    /// Forgets the history up to a revision: older lists and watches are 410.
    pub fn compact(&self, revision: u64) {
        self.change(|world| world.tables.iter_mut().for_each(|table| table.compact(revision.min(world.revision))));
    }

    /// Another cluster stands at this address: another uid, later revisions and no objects. Whether connections break is
    /// the caller's to say.
    pub fn become_another(&self, uid: &str) {
        self.change(|world| {
            world.uid = uid.into();
            world.revision += 1000;
            let revision = world.revision;
            world.tables.iter_mut().skip(2).for_each(|table| table.reset(revision, BTreeMap::new()));
        });
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.0.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn changed(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    fn change<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        let done = change(&mut self.world());
        self.0.changed.send_replace(());
        done
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let world = self.world();
        f.debug_struct("Cluster").field("uid", &world.uid).field("revision", &world.revision).finish_non_exhaustive()
    }
}

// === impl World ===

impl World {
    pub(crate) fn served(&self, gvr: &Gvr) -> Option<&Table> {
        self.tables.iter().find(|table| table.served && table.kind.is(gvr))
    }

    fn served_mut(&mut self, gvr: &Gvr) -> Option<&mut Table> {
        self.tables.iter_mut().find(|table| table.served && table.kind.is(gvr))
    }

    fn put(&mut self, gvr: &Gvr, key: &ObjectKey, text: &str, terminating: bool) -> Option<u64> {
        self.served(gvr)?;
        self.revision += 1;
        self.created += 1;
        // Two clusters never give the same uid.
        let fresh = Uid::from_uuid(u128::from(hash(&self.uid)) << 64 | u128::from(self.created));
        let version = self.revision;
        let table = self.served_mut(gvr)?;
        let known = table.objects.get(key);
        let uid = known.map_or(fresh, |known| known.uid.clone());
        let created = known.map_or(version, |known| known.created);
        let generation = known.map_or(1, |known| known.generation + 1);
        let terminating = terminating || known.is_some_and(|known| known.terminating);
        table.put(key.clone(), State { uid, version, created, generation, text: text.into(), terminating });
        Some(version)
    }

    fn delete(&mut self, gvr: &Gvr, keys: &[ObjectKey]) -> Option<u64> {
        self.served(gvr)?;
        self.revision += 1;
        let version = self.revision;
        let table = self.served_mut(gvr)?;
        keys.iter().for_each(|key| table.delete(key, version));
        Some(version)
    }

    fn define(&mut self, kind: Kind) {
        let gvr = kind.gvr.clone();
        let custom = kind.custom;
        match self.tables.iter_mut().find(|table| table.kind.gvr == gvr) {
            Some(table) => {
                table.served = true;
                table.reset(self.revision, BTreeMap::new());
            }
            None => self.tables.push(Table::new(kind)),
        }
        if custom {
            self.put(&Kind::definitions().gvr, &definition(&gvr), "", false);
        }
    }
}

fn definition(gvr: &Gvr) -> ObjectKey {
    ObjectKey::new("", &gvr.group_resource().to_string())
}

/// FNV-1a, which needs no crate and stays the same.
pub(crate) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
