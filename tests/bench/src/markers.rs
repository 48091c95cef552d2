//! How many records a second the log takes, how many bytes each costs, and how long a log is read back.
//!
//! One log, as for one resource: changes of many clusters wait, are staged, packed and appended, and while one batch is
//! made durable the next one gathers, as in the running host. The store is asked for nothing that the host would not
//! ask.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use orrery_api::{ClusterName, Naming, ObjectKey, Uid};
use orrery_harness::{EtcdSpec, Profile};
use orrery_markers::{Change, ChangeKind, Digest, Log, MarkerStore, MemberVersion, Segment, StoredLog, UnixMicros};
use orrery_stores::{DirLock, EtcdSettings, EtcdStore, MemoryStore, Metrics, RedbStore};

use crate::report::Figure;
use crate::say;

const LOG: &str = "pods.v1";
const CLUSTERS: [usize; 3] = [1, 10, 100];
/// Records of one measurement.
const RECORDS: usize = 400_000;
/// Records that wait at once: what gathers while a commit lasts, under load.
const BATCH: usize = 2_000;
/// Objects that a measurement has at first, over all clusters.
const OBJECTS: usize = 20_000;
const TARGET_PER_S: f64 = 100_000.0;
const TARGET_ETCD_PER_S: f64 = 20_000.0;
const RESTART_RECORDS: usize = 1_000_000;
/// How far the host goes back at a restart.
const REWIND: Duration = Duration::from_secs(60);

/// Measures all, on memory, and on a file and an etcd of one member that both wait for their disk, below the directory
/// for temporary files.
pub(crate) async fn run() -> anyhow::Result<Vec<Figure>> {
    let (mut slowest, mut slowest_etcd) = (f64::INFINITY, f64::INFINITY);
    for clusters in CLUSTERS {
        let rate = sequence(Arc::new(MemoryStore::new()), clusters, RECORDS).await?;
        say(&format!("markers: memory, {clusters} clusters: {rate}"));
        let dir = tempfile::tempdir().context("failed to make a temporary directory")?;
        let rate = sequence(Arc::new(open(dir.path())?), clusters, RECORDS).await?;
        say(&format!("markers: redb, {clusters} clusters: {rate}"));
        slowest = slowest.min(rate.per_s());
        let rate = sequence_into_etcd(clusters).await?;
        say(&format!("markers: etcd, {clusters} clusters: {rate}"));
        slowest_etcd = slowest_etcd.min(rate.per_s());
    }
    restart().await?;
    Ok(vec![
        Figure::at_least("markers_redb_per_s", "records/s", slowest, TARGET_PER_S),
        Figure::at_least("markers_etcd_per_s", "records/s", slowest_etcd, TARGET_ETCD_PER_S),
    ])
}

async fn sequence_into_etcd(clusters: usize) -> anyhow::Result<Rate> {
    let etcd = tokio::task::spawn_blocking(|| EtcdSpec::new().profile(Profile::Release).durable().start()).await??;
    let dir = tempfile::tempdir().context("failed to make a temporary directory")?;
    let lock = Arc::new(DirLock::take(dir.path())?);
    let store = EtcdStore::open(EtcdSettings::new(etcd.endpoints()), lock, Metrics::default()).await?;
    let store = Arc::new(store);
    let rate = sequence(store.clone(), clusters, RECORDS).await?;
    store.release().await;
    Ok(rate)
}

fn open(dir: &Path) -> anyhow::Result<RedbStore> {
    let lock = Arc::new(DirLock::take(dir)?);
    Ok(RedbStore::open(lock, Metrics::default())?)
}

/// What a measurement saw.
struct Rate {
    records: usize,
    segments: usize,
    bytes: usize,
    took: Duration,
}

/// Sequences `records` changes of objects that the log knows in the main (of ten, eight are modified, one comes, one
/// goes) into `store`, and measures from the first to the last one that is durable.
async fn sequence(store: Arc<dyn MarkerStore>, clusters: usize, records: usize) -> anyhow::Result<Rate> {
    let mut world = World::new(clusters);
    let mut log = Log::new(Naming::Unique);
    let mut effects = Vec::new();
    log.begin_term(now(), &mut effects);
    for cluster in 0..clusters {
        let listed = world.list(cluster);
        log.relisted(&world.names[cluster], MemberVersion::from_number(world.version), &listed, &mut effects);
        log.joined(&world.names[cluster], "identity".into(), &mut effects);
    }
    append(&*store, log.pack(now())).await?;

    let changes: Vec<_> = (0..records).map(|_| world.change()).collect();
    let (mut segments, mut bytes) = (0, 0);
    let began = Instant::now();
    let mut appending = None;
    for batch in changes.chunks(BATCH) {
        for (cluster, change) in batch {
            log.change(&world.names[*cluster], change.clone(), &mut effects);
        }
        let packed = log.pack(now());
        segments += packed.len();
        bytes += packed.iter().map(|segment| segment.bytes.len()).sum::<usize>();
        // The batch before this one has become durable while this one was gathered.
        settle(&mut appending).await?;
        let store = store.clone();
        appending = Some(tokio::spawn(async move { append(&*store, packed).await }));
        effects.clear();
    }
    settle(&mut appending).await?;
    Ok(Rate { records, segments, bytes, took: began.elapsed() })
}

async fn settle(appending: &mut Option<tokio::task::JoinHandle<anyhow::Result<()>>>) -> anyhow::Result<()> {
    match appending.take() {
        Some(task) => task.await.context("an append ended early")?,
        None => Ok(()),
    }
}

async fn append(store: &dyn MarkerStore, segments: Vec<Segment>) -> anyhow::Result<()> {
    for segment in segments {
        store.append(LOG, &segment).await?;
    }
    Ok(())
}

/// Reads a log of many records back: from segments alone, and from a checkpoint.
async fn restart() -> anyhow::Result<()> {
    let dir = tempfile::tempdir().context("failed to make a temporary directory")?;
    sequence(Arc::new(open(dir.path())?), 2, RESTART_RECORDS).await?;
    read_back(dir.path(), "segments").await?;
    {
        let store = open(dir.path())?;
        let stored = store.load(LOG).await?;
        let began = Instant::now();
        let folded = Log::fold(&stored, Naming::Unique, now())?;
        let (upto, parts) = folded.context("there is something to fold")?;
        let (folding, bytes) = (began.elapsed(), parts.iter().map(|part| part.len()).sum::<usize>());
        store.fold(LOG, upto, parts).await?;
        let storing = began.elapsed() - folding;
        say(&format!(
            "markers: fold of {RESTART_RECORDS} records into {bytes} bytes: {folding:.0?}, stored in {storing:.0?}"
        ));
    }
    read_back(dir.path(), "checkpoint").await
}

async fn read_back(dir: &Path, from: &str) -> anyhow::Result<()> {
    let bytes = std::fs::metadata(dir.join(RedbStore::FILE)).context("the store has a file")?.len();
    let began = Instant::now();
    let store = open(dir)?;
    let opened = began.elapsed();
    let stored = store.load(LOG).await?;
    let loaded = began.elapsed();
    let objects = recover(&stored)?;
    let recovered = began.elapsed();
    say(&format!(
        "markers: restart from {from} of {RESTART_RECORDS} records ({objects} objects, file of {bytes} bytes): opened {opened:.0?}, loaded {:.0?}, replayed {:.0?}, in all {recovered:.0?}",
        loaded - opened,
        recovered - loaded,
    ));
    Ok(())
}

fn recover(stored: &StoredLog) -> anyhow::Result<usize> {
    let recovered = Log::recover(stored, Naming::Unique, REWIND)?;
    let mut log = recovered.log;
    let mut effects = Vec::new();
    for record in recovered.tail {
        log.replay(record, &mut effects);
        effects.clear();
    }
    Ok(log.clusters().map(|(_, part)| part.len()).sum())
}

fn now() -> UnixMicros {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    UnixMicros(since.as_micros() as u64)
}

/// Clusters full of pods that change.
struct World {
    names: Vec<ClusterName>,
    pods: Vec<Vec<Pod>>,
    version: u64,
    state: u64,
}

#[derive(Clone)]
struct Pod {
    uid: Uid,
    key: ObjectKey,
}

// === impl World ===

impl World {
    fn new(clusters: usize) -> Self {
        let name = |index| ClusterName::new(&format!("cluster-{index}")).expect("it is a DNS label");
        let names = (0..clusters).map(name).collect();
        let mut world = Self { names, pods: vec![Vec::new(); clusters], version: 1_000_000, state: 42 };
        for cluster in (0..clusters).cycle().take(OBJECTS) {
            let pod = world.pod(cluster);
            world.pods[cluster].push(pod);
        }
        world
    }

    fn list(&mut self, cluster: usize) -> Vec<Change> {
        let pods = self.pods[cluster].clone();
        pods.iter().map(|pod| self.changed(pod, ChangeKind::Added)).collect()
    }

    fn change(&mut self) -> (usize, Change) {
        let cluster = self.draw() as usize % self.pods.len();
        let place = self.draw() as usize % self.pods[cluster].len();
        let change = match self.draw() % 10 {
            0 => {
                let pod = self.pod(cluster);
                self.pods[cluster].push(pod.clone());
                self.changed(&pod, ChangeKind::Added)
            }
            1 if self.pods[cluster].len() > 1 => {
                let pod = self.pods[cluster].swap_remove(place);
                self.changed(&pod, ChangeKind::Deleted)
            }
            _ => {
                let pod = self.pods[cluster][place].clone();
                self.changed(&pod, ChangeKind::Modified)
            }
        };
        (cluster, change)
    }

    /// A pod of a Deployment: names of the length that Kubernetes gives them, unique over clusters in the main.
    fn pod(&mut self, cluster: usize) -> Pod {
        let (high, low, suffix) = (self.draw(), self.draw(), self.draw());
        let name = format!("checkout-{:09x}-{:05x}{cluster}", suffix % 40, suffix >> 44);
        let key = ObjectKey::new(&format!("team-{}", suffix % 20), &name);
        Pod { uid: Uid::from_uuid(u128::from(high) << 64 | u128::from(low)), key }
    }

    fn changed(&mut self, pod: &Pod, kind: ChangeKind) -> Change {
        self.version += 1 + self.draw() % 8;
        let version = MemberVersion::from_number(self.version);
        let digest = Digest::new(1, self.draw());
        Change { key: pod.key.clone(), uid: pod.uid.clone(), version, digest, kind, terminating: false }
    }

    /// The next number of a fixed sequence: SplitMix64 (Steele, Lea, Flood 2014).
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

// === impl Rate ===

impl Rate {
    fn per_s(&self) -> f64 {
        self.records as f64 / self.took.as_secs_f64()
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { records, segments, bytes, took } = self;
        let each = *bytes as f64 / *records as f64;
        let (per_s, per_segment) = (self.per_s(), took.as_secs_f64() * 1e3 / *segments as f64);
        write!(f, "{per_s:.0} records/s, {each:.1} bytes a record, {segments} segments of {per_segment:.2} ms")
    }
}
