//! One state of an object in the ring: whole while it is young, then compressed.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use bytes::Bytes;
use orrery_api::{ObjectKey, Uid};
use orrery_markers::MemberVersion;

use super::pack;
use crate::Object;
use crate::object::Head;

/// A state that events of the ring come from or lead to. It is compressed in place, so that all who point to it gain.
pub(crate) struct State {
    form: RwLock<Form>,
    /// How many states of the object are before it in the ring; every [`CHAIN_MAX`]th is compressed without its successor.
    generation: u32,
}

enum Form {
    Whole(Arc<Object>),
    Packed(Box<Packed>),
}

struct Packed {
    head: Head,
    length: usize,
    bytes: Box<[u8]>,
    against: Against,
}

/// What a body is compressed against.
#[derive(Clone)]
pub(super) enum Against {
    /// The object's next state: most of the bytes are the same.
    Successor(Arc<State>),
    /// Some object of the resource.
    Sample(Bytes),
}

/// A state that is to be compressed.
pub(super) struct Job {
    state: Arc<State>,
    object: Arc<Object>,
    body: Bytes,
    base: Bytes,
    against: Against,
}

/// How many states have to be decompressed to read one, at most.
const CHAIN_MAX: u32 = 32;
/// What a state costs beside its body or compressed bytes, with the event that led to it: measured, rounded up.
const OVERHEAD_BYTES: u64 = 512;

// === impl State ===

impl State {
    /// A state with nothing before it in the ring.
    pub(crate) fn first(object: Arc<Object>) -> Arc<Self> {
        Arc::new(Self { form: RwLock::new(Form::Whole(object)), generation: 0 })
    }

    /// The state that follows this one.
    pub(crate) fn next(&self, object: Arc<Object>) -> Arc<Self> {
        Arc::new(Self { form: RwLock::new(Form::Whole(object)), generation: self.generation.wrapping_add(1) })
    }

    /// What `read` finds in its head.
    pub(crate) fn with_head<T>(&self, read: impl FnOnce(&Head) -> T) -> T {
        match &*self.form() {
            Form::Whole(object) => read(&object.head),
            Form::Packed(packed) => read(&packed.head),
        }
    }

    /// Whether it is this state of this object.
    pub(crate) fn is(&self, served: &ObjectKey, uid: &Uid, version: MemberVersion) -> bool {
        self.with_head(|head| head.served == *served && head.uid() == uid && head.version() == version)
    }

    /// The object: decompressed anew where it is compressed.
    pub(crate) fn object(&self) -> Arc<Object> {
        match &*self.form() {
            Form::Whole(object) => object.clone(),
            Form::Packed(packed) => Arc::new(Object::restore(packed.head.clone(), &packed.unpack())),
        }
    }

    /// Length of the object's JSON in bytes.
    pub(crate) fn body_len(&self) -> usize {
        match &*self.form() {
            Form::Whole(object) => object.body_len(),
            Form::Packed(packed) => packed.length,
        }
    }

    /// What it costs to keep, in bytes.
    pub(super) fn cost(&self) -> u64 {
        OVERHEAD_BYTES
            + match &*self.form() {
                Form::Whole(object) => object.body_len() as u64,
                Form::Packed(packed) => packed.bytes.len() as u64,
            }
    }

    /// What is to be done to compress it, where that is not done yet: against `successor` if it has one and the chain of
    /// them is not too long, else against `sample`.
    pub(super) fn job(self: &Arc<Self>, successor: Option<&Arc<Self>>, sample: &Bytes) -> Option<Job> {
        let Form::Whole(object) = &*self.form() else { return None };
        let ends_chain = self.generation % CHAIN_MAX == CHAIN_MAX - 1;
        let against = match successor.filter(|_| !ends_chain) {
            Some(successor) => Against::Successor(successor.clone()),
            None => Against::Sample(sample.clone()),
        };
        Some(Job { state: self.clone(), object: object.clone(), body: object.whole(), base: against.bytes(), against })
    }

    fn bytes(&self) -> Bytes {
        match &*self.form() {
            Form::Whole(object) => object.whole(),
            Form::Packed(packed) => packed.unpack().into(),
        }
    }

    fn form(&self) -> RwLockReadGuard<'_, Form> {
        // No holder of the lock panics; a form is replaced as a whole.
        self.form.read().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Packed ===

impl Packed {
    fn unpack(&self) -> Vec<u8> {
        pack::unpack(&self.bytes, &self.against.bytes(), self.length)
    }
}

// === impl Against ===

impl Against {
    fn bytes(&self) -> Bytes {
        match self {
            Self::Successor(state) => state.bytes(),
            Self::Sample(bytes) => bytes.clone(),
        }
    }
}

// === impl Job ===

impl Job {
    /// Compresses the states of all `jobs`.
    pub(super) fn run_all(jobs: Vec<Self>) {
        let packed = pack::pack_all(jobs.iter().map(|job| (&job.body[..], &job.base[..])));
        for (job, bytes) in jobs.into_iter().zip(packed) {
            let Self { state, object, body, against, .. } = job;
            let packed = Packed { head: object.head.clone(), length: body.len(), bytes, against };
            *state.form.write().unwrap_or_else(PoisonError::into_inner) = Form::Packed(Box::new(packed));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use orrery_api::{ClusterName, Gvr, Naming, ObjectKey, Stamp, Uid};
    use orrery_markers::{ChangeKind, Digest, Marker, MemberObject, MemberVersion};

    use super::*;
    use crate::object::{Interner, Showing};
    use crate::ring::{NewChange, Ring};
    use crate::{FieldTable, Shape};

    fn object(number: u64) -> Arc<Object> {
        let gvr = Gvr::new("", "v1", "configmaps");
        let fields = FieldTable::of(&gvr, true);
        let kind = "ConfigMap".into();
        let shape = Shape { gvr, kind, namespaced: true, stamp: Stamp::None, naming: Naming::Unique, fields };
        let body = format!(r#"{{"metadata":{{"name":"a"}},"data":{{"n":"{number}","pad":"{}"}}}}"#, "x".repeat(500));
        let (key, version) = (ObjectKey::new("ns", "a"), MemberVersion::from_number(number));
        let (uid, digest, terminating, body) = (Uid::new("u"), Digest::from_bits(0), false, body.into());
        let object = MemberObject { key: key.clone(), uid, version, digest, terminating, body };
        let cluster = ClusterName::new("east").unwrap();
        let showing = Showing { marker: Marker::new(number).unwrap(), served: &key, cluster: &cluster, holders: None };
        Arc::new(Object::new(&object, &showing, &shape, &mut Interner::default()).unwrap())
    }

    /// How many states have to be decompressed to read this one.
    fn depth(state: &State) -> usize {
        match &*state.form() {
            Form::Whole(_) => 0,
            Form::Packed(packed) => match &packed.against {
                Against::Successor(successor) => 1 + depth(successor),
                Against::Sample(_) => 1,
            },
        }
    }

    #[test]
    fn a_state_is_read_through_a_bounded_number_of_others() {
        let start = Marker::new(1).unwrap();
        let now = Instant::now();
        let mut ring = Ring::new(start);
        for number in 2..200 {
            let before = Some(object(number - 1));
            ring.push(NewChange { kind: ChangeKind::Modified, before, after: object(number) }, now);
        }
        let numbers = ring.packing(now + Duration::from_secs(60), 1000).run();
        ring.recount(numbers);
        let changes = ring.changes_after(start, 1000);
        let befores: Vec<_> = changes.iter().map(|change| change.before.clone().unwrap()).collect();
        let deepest = befores.iter().map(|state| depth(state)).max().unwrap();
        assert_eq!(deepest, CHAIN_MAX as usize);
        for (number, state) in (1..).zip(&befores) {
            assert_eq!(state.object().whole(), object(number).whole());
        }
        let cost = ring.bytes() / ring.len() as u64;
        assert!(cost < OVERHEAD_BYTES + 200, "{cost} bytes an event");
    }
}
