//! A member in process for tests: objects with versions, list, exact list, watch and WatchList as the API server has
//! them, and the faults that a network and an etcd have.

mod body;
mod serve;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use orrery_api::ClusterName;

use crate::{ConnectError, Endpoint, Fleet, FleetSettings, Member, MemberSource, Metrics, Traffic, Transport};

/// A handle to the member: clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Fake(Arc<Mutex<World>>);

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) uid: String,
    pub(crate) minor: u32,
    pub(crate) version: u64,
    /// Events at or below it are compacted.
    pub(crate) floor: u64,
    /// (namespace, name) → (version, uid, labels).
    pub(crate) objects: BTreeMap<(String, String), Object>,
    pub(crate) history: Vec<Happening>,
    pub(crate) mode: Mode,
    /// The token that is taken; [`Fake::connect`] brings the one of `configured`.
    pub(crate) token: u32,
    pub(crate) configured: u32,
    /// Whether WatchList is understood, and whether its end is ever sent.
    pub(crate) watch_list: WatchList,
    /// Paths of all requests for objects.
    pub(crate) requests: Vec<String>,
    pub(crate) crds: BTreeMap<String, u64>,
    streams: Vec<body::Stream>,
    place: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Object {
    pub(crate) version: u64,
    pub(crate) uid: String,
    pub(crate) text: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Happening {
    version: u64,
    kind: &'static str,
    key: (String, String),
    object: Object,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mode {
    Serving,
    /// Connections are refused.
    Refusing,
    /// Nothing is answered, and streams stand still.
    Frozen,
    /// Objects are answered with this code.
    Failing(u16),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum WatchList {
    Understood,
    Refused,
    /// Taken for a plain watch from now on.
    Ignored,
}

// === impl Fake ===

impl Fake {
    pub(crate) fn new(uid: &str) -> Self {
        Self(Arc::new(Mutex::new(World {
            uid: uid.to_owned(),
            minor: 37,
            version: 10,
            floor: 0,
            objects: BTreeMap::new(),
            history: Vec::new(),
            mode: Mode::Serving,
            token: 1,
            configured: 1,
            watch_list: WatchList::Understood,
            requests: Vec::new(),
            crds: BTreeMap::new(),
            streams: Vec::new(),
            place: 1,
        })))
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap()
    }

    /// A fleet of this member alone, named `east`.
    pub(crate) fn fleet(&self, settings: FleetSettings) -> (Fleet, Member) {
        let east = ClusterName::new("east").unwrap();
        let fleet = Fleet::start_with(vec![(east.clone(), Arc::new(self.clone()))], settings, Metrics::default());
        let member = fleet.member(&east).unwrap();
        (fleet, member)
    }

    /// Creates or changes an object.
    pub(crate) fn put(&self, namespace: &str, name: &str, text: &str) {
        self.world().put(namespace, name, text);
    }

    pub(crate) fn delete(&self, namespace: &str, name: &str) {
        self.world().delete_all(&[(namespace, name)]);
    }

    /// Sends a bookmark on every watch.
    pub(crate) fn bookmark(&self) {
        self.world().bookmark();
    }

    pub(crate) fn set_mode(&self, mode: Mode) {
        let mut world = self.world();
        world.mode = mode;
        if mode == Mode::Refusing {
            world.break_streams();
        }
    }

    /// Ends every watch as a server does at its deadline.
    pub(crate) fn end_watches(&self) {
        self.world().streams.drain(..).for_each(|stream| stream.end(&[]));
    }

    /// Breaks every connection.
    pub(crate) fn reset(&self) {
        self.world().break_streams();
    }

    /// Tells every watch that its version is too old.
    pub(crate) fn expire_watches(&self) {
        let mut world = self.world();
        let line = serve::error_event(410, "too old resource version");
        world.streams.drain(..).for_each(|stream| stream.end(&line));
    }

    /// Requests for lists and watches of objects so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.world().requests.clone()
    }
}

#[async_trait]
impl MemberSource for Fake {
    async fn connect(&self, _: &FleetSettings, _: &Traffic) -> Result<Endpoint, ConnectError> {
        let World { configured: token, place, .. } = *self.world();
        let fake = self.clone();
        let service = tower::service_fn(move |request| fake.clone().answer(token, request));
        Ok(Endpoint { transport: Transport::new(service), server: "fake".to_owned(), place, authority: 1 })
    }
}

// === impl World ===

impl World {
    pub(crate) fn put(&mut self, namespace: &str, name: &str, text: &str) {
        self.version += 1;
        let key = (namespace.to_owned(), name.to_owned());
        let known = self.objects.get(&key).map(|object| object.uid.clone());
        let kind = if known.is_some() { "MODIFIED" } else { "ADDED" };
        let uid = known.unwrap_or_else(|| format!("{name}-{}", self.version));
        let object = Object { version: self.version, uid, text: text.to_owned() };
        self.objects.insert(key.clone(), object.clone());
        self.happen(Happening { version: self.version, kind, key, object });
    }

    /// Deletes all of them in one transaction: their events share a version.
    pub(crate) fn delete_all(&mut self, keys: &[(&str, &str)]) {
        self.version += 1;
        for (namespace, name) in keys {
            let key = ((*namespace).to_owned(), (*name).to_owned());
            if let Some(object) = self.objects.remove(&key) {
                let object = Object { version: self.version, ..object };
                self.happen(Happening { version: self.version, kind: "DELETED", key, object });
            }
        }
    }

    pub(crate) fn bookmark(&mut self) {
        let line = serve::bookmark_event(self.version, false);
        self.streams.iter().for_each(|stream| stream.send(&line));
    }

    /// The world as it is now, to come back to: a snapshot of its etcd.
    pub(crate) fn snapshot(&self) -> (u64, BTreeMap<(String, String), Object>) {
        (self.version, self.objects.clone())
    }

    /// An etcd restored from a snapshot: versions go back, and history begins anew.
    pub(crate) fn restore(&mut self, (version, objects): (u64, BTreeMap<(String, String), Object>)) {
        (self.version, self.floor, self.objects) = (version, version, objects);
        self.history.clear();
    }

    /// Another server stands behind the configuration.
    pub(crate) fn move_place(&mut self) {
        self.place += 1;
    }

    /// A CustomResourceDefinition is there in this generation.
    pub(crate) fn define(&mut self, name: &str, generation: u64) {
        self.version += 1;
        self.crds.insert(name.to_owned(), generation);
        let line = serve::crd_event(name, generation, self.version);
        self.streams.iter().for_each(|stream| stream.send_crd(&line));
    }

    /// Watches that are open on objects.
    pub(crate) fn watches(&mut self) -> usize {
        self.streams.retain(|stream| !stream.is_gone());
        self.streams.iter().filter(|stream| stream.is_of_objects()).count()
    }

    fn happen(&mut self, happening: Happening) {
        self.streams.iter().for_each(|stream| stream.offer(&happening));
        self.history.push(happening);
    }

    fn break_streams(&mut self) {
        self.streams.drain(..).for_each(body::Stream::cut);
    }
}
