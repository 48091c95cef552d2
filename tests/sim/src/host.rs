//! The host under test: its crates wired as the binary wires them, its store surviving it.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use orrery_api::{ClusterName, Stamp};
use orrery_cache::Budget;
use orrery_extensions::Policies;
use orrery_fleet::{Body, BodyError, ConnectError, Endpoint, Fleet, FleetSettings, MemberSource, Traffic, Transport};
use orrery_markers::{AppendError, MarkerStore, Segment, SegmentSeq, StoreError, StoredLog};
use orrery_rest::{Front, InProcess};
use orrery_sequencer::{Sequencer, WallClock};
use orrery_sim::Cluster;
use orrery_stores::MemoryStore;
use orrery_stores::testing::Faulty;
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;

/// One life of the host.
pub(crate) struct Host {
    pub(crate) door: InProcess,
    pub(crate) fleet: Fleet,
    /// Ends this life: connections, resources, members' tasks, the store's handle.
    pub(crate) stop: CancellationToken,
    alive: Arc<AtomicBool>,
}

/// Where clients find the host of now; none while it is down.
#[derive(Clone, Default)]
pub(crate) struct Address(Arc<Mutex<Option<(InProcess, CancellationToken)>>>);

/// A wall clock that can be stepped; it goes on with Tokio's.
#[derive(Clone)]
pub(crate) struct Clock {
    begun: tokio::time::Instant,
    step_seconds: Arc<AtomicI64>,
}

pub(crate) type Store = Arc<Faulty<MemoryStore>>;

/// What a host is started with.
pub(crate) struct Setup {
    pub(crate) members: Vec<(ClusterName, Cluster)>,
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) seed: u64,
    pub(crate) cache_bytes: u64,
    pub(crate) namespaces: Option<Vec<String>>,
}

/// The store as one life sees it: a host that has died writes no more.
struct LifeLong {
    store: Store,
    alive: Arc<AtomicBool>,
}

/// The way to a simulated member in process.
#[derive(Debug)]
struct Source(Cluster);

// === impl Host ===

impl Host {
    pub(crate) fn start(setup: Setup) -> Self {
        let stop = CancellationToken::new();
        let alive = Arc::new(AtomicBool::new(true));
        let store = Arc::new(LifeLong { store: setup.store, alive: alive.clone() });
        let settings = FleetSettings { seed: setup.seed, page: 2, ..FleetSettings::default() };
        let fleet = Fleet::start_with(sources(setup.members), settings, orrery_fleet::Metrics::default());
        let clock = setup.clock;
        let settings = orrery_sequencer::Settings {
            stamp: Stamp::Label,
            namespaces: setup.namespaces,
            wall_clock: WallClock::new(move || clock.now()),
        };
        let sequencer = Sequencer::new(
            fleet.clone(),
            store,
            Budget::new(setup.cache_bytes),
            settings,
            orrery_sequencer::Metrics::default(),
            orrery_cache::Metrics::default(),
            stop.clone(),
        );
        let front = Front {
            fleet: fleet.clone(),
            sequencer,
            policies: Policies::none(),
            settings: orrery_rest::Settings::default(),
            metrics: orrery_rest::Metrics::default(),
            registry: Arc::new(Registry::default()),
            checks: Arc::new([]),
        };
        Self { door: InProcess::new(front, stop.clone()), fleet, stop, alive }
    }

    pub(crate) async fn replace(&self, members: Vec<(ClusterName, Cluster)>) {
        self.fleet.replace_with(sources(members)).await;
    }

    /// Ends it without any farewell, wherever its tasks are.
    pub(crate) fn kill(self) {
        self.alive.store(false, Ordering::SeqCst);
        self.stop.cancel();
    }
}

fn sources(members: Vec<(ClusterName, Cluster)>) -> Vec<(ClusterName, Arc<dyn MemberSource>)> {
    members.into_iter().map(|(name, cluster)| (name, Arc::new(Source(cluster)) as Arc<dyn MemberSource>)).collect()
}

// === impl Address ===

impl Address {
    pub(crate) fn set(&self, host: Option<&Host>) {
        let now = host.map(|host| (host.door.clone(), host.stop.clone()));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    pub(crate) fn now(&self) -> Option<(InProcess, CancellationToken)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

// === impl Clock ===

impl Clock {
    pub(crate) fn new() -> Self {
        Self { begun: tokio::time::Instant::now(), step_seconds: Arc::default() }
    }

    pub(crate) fn step(&self, seconds: i64) {
        self.step_seconds.fetch_add(seconds, Ordering::SeqCst);
    }

    fn now(&self) -> SystemTime {
        let stepped = 1_800_000_000 + self.step_seconds.load(Ordering::SeqCst);
        SystemTime::UNIX_EPOCH + Duration::from_secs(stepped.unsigned_abs()) + self.begun.elapsed()
    }
}

// === impl LifeLong ===

impl LifeLong {
    fn store(&self) -> Result<&Store, StoreError> {
        let dead = || StoreError::Unavailable("this life of the host is over".to_owned());
        if self.alive.load(Ordering::SeqCst) { Ok(&self.store) } else { Err(dead()) }
    }
}

#[async_trait::async_trait]
impl MarkerStore for LifeLong {
    async fn logs(&self) -> Result<Vec<String>, StoreError> {
        self.store()?.logs().await
    }

    async fn load(&self, name: &str) -> Result<StoredLog, StoreError> {
        self.store()?.load(name).await
    }

    async fn append(&self, name: &str, segment: &Segment) -> Result<(), AppendError> {
        self.store().map_err(AppendError::Failed)?.append(name, segment).await
    }

    async fn fold(&self, name: &str, upto: SegmentSeq, parts: Vec<Bytes>) -> Result<(), StoreError> {
        self.store()?.fold(name, upto, parts).await
    }
}

// === impl Source ===

#[async_trait::async_trait]
impl MemberSource for Source {
    async fn connect(&self, _: &FleetSettings, _: &Traffic) -> Result<Endpoint, ConnectError> {
        let cluster = self.0.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let cluster = cluster.clone();
            async move {
                let response: Response<_> = cluster.answer(request).await.map_err(BodyError::new)?;
                Ok::<_, BodyError>(response.map(|body| body.map_err(BodyError::new).boxed_unsync()))
            }
        });
        Ok(Endpoint { transport: Transport::new(service), server: "simulated".to_owned(), place: 1, authority: 1 })
    }
}
