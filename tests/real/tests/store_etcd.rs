//! The store in a real etcd: the contract of all stores, through a bad network too, and every fault done to it.

mod store_etcd {
    pub(crate) mod contract;
    pub(crate) mod faults;
    pub(crate) mod lossy;
    pub(crate) mod writers;
}

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use bytes::Bytes;
use orrery_harness::{Etcd, EtcdSpec};
use orrery_markers::{AppendError, MarkerStore, Segment, SegmentSeq, StoreError};
use orrery_stores::{DirLock, EtcdOpenError, EtcdSettings, EtcdStore, Metrics};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tempfile::TempDir;

/// Longest wait for what should come about soon.
const SOON: Duration = Duration::from_secs(30);
const LOG: &str = "pods.v1";

/// A host's side of a store: a directory, and what it shows of itself.
struct Seat {
    dir: TempDir,
    settings: EtcdSettings,
    metrics: Metrics,
}

impl Seat {
    fn at(etcd: &Etcd) -> Result<Self> {
        Self::of(EtcdSettings::new(etcd.endpoints()))
    }

    fn of(settings: EtcdSettings) -> Result<Self> {
        Ok(Self { dir: tempfile::tempdir()?, settings, metrics: Metrics::default() })
    }

    async fn open(&self) -> Result<EtcdStore, EtcdOpenError> {
        open_in(self.dir.path(), &self.settings, &self.metrics).await
    }

    /// The value of a metric, with its labels, as `orrery_store_etcd_lease_held`.
    fn metric(&self, name: &str) -> f64 {
        let mut registry = Registry::default();
        self.metrics.register(&mut registry);
        let mut text = String::new();
        encode(&mut text, &registry).expect("a string takes all");
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map_or(0.0, |value| value.parse().expect("a metric is a number"))
    }
}

async fn open_in(dir: &Path, settings: &EtcdSettings, metrics: &Metrics) -> Result<EtcdStore, EtcdOpenError> {
    let lock = Arc::new(DirLock::take(dir).expect("no other store is open in this directory"));
    EtcdStore::open(settings.clone(), lock, metrics.clone()).await
}

fn segment(seq: u64, text: &str) -> Segment {
    Segment { seq: SegmentSeq(seq), bytes: Bytes::from(format!("{seq} {text}")) }
}

/// Appends as a sequencer does: what failed, or is not known to be done, is repeated. Gives the failures on the way.
async fn append(store: &EtcdStore, segment: &Segment) -> Result<Vec<AppendError>> {
    let began = Instant::now();
    let mut failures = Vec::new();
    loop {
        match store.append(LOG, segment).await {
            Ok(()) => return Ok(failures),
            Err(AppendError::Superseded(seq)) => bail!("another writer's segment stands at {seq:?}"),
            Err(error) => failures.push(error),
        }
        ensure!(began.elapsed() < SOON, "no append for {} s; last: {:?}", SOON.as_secs(), failures.last());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Loads as soon as the store answers.
async fn load(store: &EtcdStore) -> Result<Vec<Segment>> {
    let began = Instant::now();
    loop {
        match store.load(LOG).await {
            Ok(log) => return Ok(log.segments),
            Err(error) if began.elapsed() > SOON => bail!("no load: {error}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Waits until `check` holds.
async fn until(what: &str, mut check: impl AsyncFnMut() -> bool) -> Result<()> {
    let began = Instant::now();
    while !check().await {
        ensure!(began.elapsed() < SOON, "{what}: not within {} s", SOON.as_secs());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

fn is_full(error: &AppendError) -> bool {
    matches!(error, AppendError::Failed(StoreError::Full(_)))
}

fn started() -> Result<Etcd> {
    EtcdSpec::new().start()
}
