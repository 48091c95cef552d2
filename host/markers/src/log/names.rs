//! Who has which name (design 2.6). Pure bookkeeping: each record moves it one step, the same way when it is staged and
//! when it is replayed.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hasher;
use std::sync::Arc;

use orrery_api::{ClusterName, Naming, ObjectKey};
use twox_hash::XxHash3_64;

use crate::{ChangeKind, Marker};

/// Longest name that the host serves: that of a DNS subdomain.
const NAME_CHARS_MAX: usize = 253;

/// The claims of one resource.
#[derive(Clone, Debug)]
pub(crate) enum Names {
    /// `Unique` and `Qualified`: a name has one object.
    Single(Single),
    /// `Same`: a name is one object in several clusters.
    Same(Same),
}

#[derive(Clone, Debug)]
pub(crate) struct Single {
    qualified_always: bool,
    claims: HashMap<ObjectKey, Claim>,
    /// What is served under another name than its own.
    renamed: HashMap<(ClusterName, ObjectKey), ObjectKey>,
    /// Plain names of objects that are being created.
    reserved: HashMap<ObjectKey, ClusterName>,
}

/// Why a name cannot be kept for a new object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// An object of this cluster has it.
    Living(ClusterName),
    /// Another object of that name is being created.
    InFlight,
}

/// One object's claim to a served name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) cluster: ClusterName,
    pub(crate) key: ObjectKey,
    /// When its object went, where it did; the claim outlives it for as long as the deletion is in the ring.
    pub(crate) gone: Option<Marker>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Same {
    names: BTreeMap<ObjectKey, Shared>,
}

/// One name that several clusters may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shared {
    /// Those that hold it now, in the order in which they came.
    pub(crate) holders: Vec<Holder>,
    /// Whose object is shown; it may be gone from there while the other holders are terminating. `None` only between a
    /// deletion and the claim that follows it.
    pub(crate) shown: Option<ClusterName>,
    /// The marker of what is shown.
    pub(crate) marker: Marker,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) cluster: ClusterName,
    pub(crate) terminating: bool,
}

/// What one change of a `Same` object means to readers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SameStep {
    /// The changed object is shown, as this kind of event.
    Put(ChangeKind),
    /// The changed object is kept aside; what is shown stays as it is.
    Aside,
    /// The holders changed: what is shown gets a new marker.
    Holders,
    /// Nobody that is there holds the name any more.
    Gone,
    /// The shown object went, and the named holder's takes its place, under a claim of its own.
    Passes(ClusterName),
    /// Nobody sees the shown object, and the named holder's takes its place, under a claim of its own.
    Appears(ClusterName),
}

// === impl Names ===

impl Names {
    pub(crate) fn new(naming: Naming) -> Self {
        match naming {
            Naming::Same => Self::Same(Same::default()),
            Naming::Unique => Self::Single(Single::new(false)),
            Naming::Qualified => Self::Single(Single::new(true)),
        }
    }

    /// The cluster left: its claims end with it.
    pub(crate) fn drop_cluster(&mut self, cluster: &ClusterName) {
        match self {
            Self::Single(single) => {
                single.claims.retain(|_, claim| claim.cluster != *cluster);
                single.renamed.retain(|(holder, _), _| holder != cluster);
            }
            Self::Same(same) => same.names.retain(|_, name| {
                name.holders.retain(|holder| holder.cluster != *cluster);
                !name.holders.is_empty()
            }),
        }
    }
}

// === impl Single ===

impl Single {
    fn new(qualified_always: bool) -> Self {
        Self { qualified_always, claims: HashMap::new(), renamed: HashMap::new(), reserved: HashMap::new() }
    }

    /// The name under which (cluster, key) is or will be served, and whether a claim record must say so first.
    pub(crate) fn name_for(&self, cluster: &ClusterName, key: &ObjectKey) -> (ObjectKey, NeedsClaim) {
        if let Some(served) = self.renamed.get(&(cluster.clone(), key.clone())) {
            return (served.clone(), NeedsClaim::No);
        }
        if !self.qualified_always && self.free_for(key, cluster, key) {
            return (key.clone(), NeedsClaim::No);
        }
        (self.qualified(cluster, key), NeedsClaim::Yes)
    }

    /// The name under which (cluster, key) is served, where it has one.
    pub(crate) fn served(&self, cluster: &ClusterName, key: &ObjectKey) -> Option<ObjectKey> {
        let served = self.renamed.get(&(cluster.clone(), key.clone())).unwrap_or(key);
        self.claims.get(served).filter(|claim| claim.cluster == *cluster && claim.key == *key).map(|_| served.clone())
    }

    pub(crate) fn claim(&self, served: &ObjectKey) -> Option<&Claim> {
        self.claims.get(served)
    }

    pub(crate) fn take(&mut self, served: &ObjectKey, cluster: &ClusterName, key: &ObjectKey) {
        if served != key {
            self.renamed.insert((cluster.clone(), key.clone()), served.clone());
        }
        self.claims.insert(served.clone(), Claim { cluster: cluster.clone(), key: key.clone(), gone: None });
    }

    pub(crate) fn mark_gone(&mut self, served: &ObjectKey, at: Marker) {
        if let Some(claim) = self.claims.get_mut(served) {
            claim.gone = Some(at);
        }
    }

    pub(crate) fn free(&mut self, served: &ObjectKey) {
        let Some(claim) = self.claims.remove(served) else { return };
        let object = (claim.cluster, claim.key);
        // The same key may have come back under another name meanwhile.
        if self.renamed.get(&object) == Some(served) {
            self.renamed.remove(&object);
        }
    }

    /// Claims whose objects went before `before`, sorted by name.
    pub(crate) fn lapsed(&self, before: Marker) -> Vec<(ObjectKey, ClusterName)> {
        let lapsed = |claim: &Claim| claim.gone.is_some_and(|gone| gone < before);
        let mut names: Vec<_> = self
            .claims
            .iter()
            .filter(|(_, claim)| lapsed(claim))
            .map(|(served, claim)| (served.clone(), claim.cluster.clone()))
            .collect();
        names.sort();
        names
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &Claim)> {
        self.claims.iter()
    }

    pub(super) fn reserve(&mut self, key: &ObjectKey, cluster: &ClusterName) -> Result<(), Taken> {
        if self.reserved.contains_key(key) {
            return Err(Taken::InFlight);
        }
        match self.claims.get(key).filter(|claim| claim.gone.is_none()) {
            Some(claim) => Err(Taken::Living(claim.cluster.clone())),
            None => {
                self.reserved.insert(key.clone(), cluster.clone());
                Ok(())
            }
        }
    }

    pub(super) fn release(&mut self, key: &ObjectKey) {
        self.reserved.remove(key);
    }

    /// Whose claim to `key`, left of an object that is gone, ends because the name was reserved for `cluster`'s.
    pub(super) fn superseded(&self, cluster: &ClusterName, key: &ObjectKey) -> Option<ClusterName> {
        let claim = self.claims.get(key).filter(|_| self.reserved.get(key) == Some(cluster))?;
        let is_own = claim.cluster == *cluster && claim.key == *key;
        (!is_own && claim.gone.is_some()).then(|| claim.cluster.clone())
    }

    fn free_for(&self, served: &ObjectKey, cluster: &ClusterName, key: &ObjectKey) -> bool {
        let is_reserved = self.reserved.get(served).is_some_and(|own| own != cluster || key != served);
        !is_reserved && self.claims.get(served).is_none_or(|claim| claim.cluster == *cluster && claim.key == *key)
    }

    fn qualified(&self, cluster: &ClusterName, key: &ObjectKey) -> ObjectKey {
        let named = |name: String| ObjectKey { namespace: key.namespace.clone(), name: name.into() };
        let plain = named(format!("{}.{cluster}", key.name));
        if plain.name.len() <= NAME_CHARS_MAX && self.free_for(&plain, cluster, key) {
            return plain;
        }
        // The salt only ever moves past names that are taken, of which there are finitely many.
        (0u64..)
            .map(|salt| named(with_hash(&key.name, cluster, hash_of(cluster, key, salt))))
            .find(|served| self.free_for(served, cluster, key))
            .expect("some hash is free")
    }
}

/// Whether a claim record must stand before a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NeedsClaim {
    Yes,
    No,
}

/// `<name>-<six hex digits>.<cluster>`, the name cut to what fits.
fn with_hash(name: &str, cluster: &ClusterName, hash: u64) -> String {
    let tail = format!("-{:06x}.{cluster}", hash & 0xff_ffff);
    let mut end = name.len().min(NAME_CHARS_MAX - tail.len());
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{tail}", name[..end].trim_end_matches(['.', '-']))
}

fn hash_of(cluster: &ClusterName, key: &ObjectKey, salt: u64) -> u64 {
    let mut hasher = XxHash3_64::default();
    for part in [cluster.as_str(), &key.namespace, &key.name] {
        hasher.write(part.as_bytes());
        hasher.write_u8(0);
    }
    hasher.write_u64(salt);
    hasher.finish()
}

// === impl Same ===

impl Same {
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<&Shared> {
        self.names.get(key)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &Shared)> {
        self.names.iter()
    }

    pub(crate) fn insert(&mut self, key: ObjectKey, shared: Shared) {
        self.names.insert(key, shared);
    }

    /// Names whose shown object is gone, or of a cluster that is not there, each with the holder that it passes to: the
    /// first that is there, if possible one that is not on its way out.
    pub(crate) fn to_pass_on(&self, is_there: impl Fn(&ClusterName) -> bool) -> Vec<(ObjectKey, ClusterName)> {
        let next = |name: &Shared| {
            let lasting = name.successor(&is_there);
            lasting
                .or_else(|| name.holders.iter().map(|holder| &holder.cluster).find(|holder| is_there(holder)).cloned())
        };
        let unseen = |name: &Shared| name.shows_a_ghost() || name.shown.as_ref().is_some_and(|shown| !is_there(shown));
        self.names
            .iter()
            .filter(|(_, name)| unseen(name))
            .filter_map(|(key, name)| Some((key.clone(), next(name)?)))
            .collect()
    }

    pub(crate) fn restore_holder(&mut self, key: &ObjectKey, holder: Holder) {
        if let Some(name) = self.names.get_mut(key) {
            name.holders.push(holder);
        }
    }

    /// An object of `cluster` came or changed. `is_there` says of the other clusters whether readers have their objects.
    pub(crate) fn put(
        &mut self,
        key: &ObjectKey,
        cluster: &ClusterName,
        terminating: bool,
        marker: Marker,
        is_there: impl Fn(&ClusterName) -> bool,
    ) -> SameStep {
        let holder = Holder { cluster: cluster.clone(), terminating };
        let Some(name) = self.names.get_mut(key) else {
            let shared = Shared { holders: vec![holder], shown: Some(cluster.clone()), marker };
            self.names.insert(key.clone(), shared);
            return SameStep::Put(ChangeKind::Added);
        };
        let joins = !name.holds(cluster);
        let ghost = name.shows_a_ghost();
        // Clusters are away only from a start on, and then nobody has the body of what is gone.
        let unseen = if ghost {
            !name.holders.iter().any(|holder| is_there(&holder.cluster))
        } else {
            name.shown.as_ref().is_some_and(|shown| shown != cluster && !is_there(shown))
        };
        match name.holders.iter_mut().find(|known| known.cluster == *cluster) {
            Some(known) => known.terminating = terminating,
            None => name.holders.push(holder),
        }
        let step = if ghost || unseen {
            match name.successor(|holder| holder == cluster || is_there(holder)) {
                Some(next) if unseen => SameStep::Appears(next),
                Some(next) => SameStep::Passes(next),
                None if unseen => SameStep::Appears(cluster.clone()),
                None if joins => SameStep::Holders,
                None => SameStep::Aside,
            }
        } else if name.shown.as_ref() == Some(cluster) {
            // Of a cluster that loads again nobody has seen it yet.
            SameStep::Put(if is_there(cluster) { ChangeKind::Modified } else { ChangeKind::Added })
        } else if joins {
            SameStep::Holders
        } else {
            SameStep::Aside
        };
        name.step(step, marker)
    }

    /// The object of `cluster` went. `is_there` is as of [`Self::put`].
    pub(crate) fn remove(
        &mut self,
        key: &ObjectKey,
        cluster: &ClusterName,
        marker: Marker,
        is_there: impl Fn(&ClusterName) -> bool,
    ) -> SameStep {
        let Some(name) = self.names.get_mut(key) else { return SameStep::Aside };
        name.holders.retain(|holder| holder.cluster != *cluster);
        let Some(first) = name.holders.first().map(|holder| holder.cluster.clone()) else {
            self.names.remove(key);
            return SameStep::Gone;
        };
        let step = if !name.shows_a_ghost() {
            let seen = name.shown.as_ref().is_some_and(&is_there);
            if seen { SameStep::Holders } else { SameStep::Aside }
        } else if let Some(next) = name.successor(&is_there) {
            SameStep::Passes(next)
        } else if name.holders.iter().any(|holder| is_there(&holder.cluster)) {
            // All that is left there is on its way out: the last state stays shown.
            SameStep::Holders
        } else {
            name.shown = Some(first);
            SameStep::Gone
        };
        name.step(step, marker)
    }

    /// The name passes to `cluster`'s object.
    pub(crate) fn pass(&mut self, key: &ObjectKey, cluster: &ClusterName, marker: Marker) {
        if let Some(name) = self.names.get_mut(key) {
            name.shown = Some(cluster.clone());
            name.marker = marker;
        }
    }
}

// === impl Shared ===

impl Shared {
    /// The names of the holders, in their order.
    pub(crate) fn holder_names(&self) -> Arc<[ClusterName]> {
        self.holders.iter().map(|holder| holder.cluster.clone()).collect()
    }

    /// The names of the holders, that of the one which is shown first.
    pub(super) fn shown_first(&self) -> Vec<ClusterName> {
        let mut names: Vec<_> = self.holders.iter().map(|holder| holder.cluster.clone()).collect();
        names.sort_by_key(|name| self.shown.as_ref() != Some(name));
        names
    }

    /// Whose the name is: the one that is shown, or the first holder where that is gone.
    pub(super) fn owner(&self) -> Option<&ClusterName> {
        let shown = self.shown.as_ref().filter(|shown| self.holds(shown));
        shown.or_else(|| self.holders.first().map(|holder| &holder.cluster))
    }

    fn holds(&self, cluster: &ClusterName) -> bool {
        self.holders.iter().any(|holder| holder.cluster == *cluster)
    }

    /// Whether what it shows is gone.
    pub(super) fn shows_a_ghost(&self) -> bool {
        self.shown.as_ref().is_none_or(|shown| !self.holds(shown))
    }

    /// The first holder that is there and not on its way out.
    fn successor(&self, is_there: impl Fn(&ClusterName) -> bool) -> Option<ClusterName> {
        let lasting = |holder: &&Holder| !holder.terminating && is_there(&holder.cluster);
        self.holders.iter().find(lasting).map(|holder| holder.cluster.clone())
    }

    fn step(&mut self, step: SameStep, marker: Marker) -> SameStep {
        match step {
            SameStep::Passes(_) | SameStep::Appears(_) => self.shown = None,
            SameStep::Put(_) | SameStep::Holders => self.marker = marker,
            SameStep::Aside | SameStep::Gone => {}
        }
        step
    }
}

#[cfg(test)]
mod tests;
