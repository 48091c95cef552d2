//! What the clusters have and have free for pods, from the caches of nodes and pods.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use orrery_api::placement::{Free, Resources, pod_requests};
use orrery_api::{ClusterName, Gvr};
use orrery_cache::Reader;
use orrery_sequencer::Sequencer;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// How old a count may be: all pods are read for one.
const COUNTED_FOR: Duration = Duration::from_secs(5);

/// What each cluster has free, counted now and then.
#[derive(Default)]
pub(in crate::front) struct Capacity(Mutex<Option<Counted>>);

#[derive(Clone)]
struct Counted {
    at: Instant,
    amounts: Arc<BTreeMap<ClusterName, Amounts>>,
}

/// What one cluster has.
#[derive(Clone, Copy, Default)]
pub(super) struct Amounts {
    /// What its nodes have.
    pub(super) capacity: Free,
    /// What they give to pods.
    pub(super) allocatable: Free,
    /// What of that no pod asks for.
    pub(super) free: Free,
}

#[derive(Deserialize)]
struct Node {
    #[serde(default)]
    spec: NodeSpec,
    #[serde(default)]
    status: NodeStatus,
}

#[derive(Default, Deserialize)]
struct NodeSpec {
    #[serde(default)]
    unschedulable: bool,
}

#[derive(Default, Deserialize)]
struct NodeStatus {
    #[serde(default)]
    capacity: Value,
    #[serde(default)]
    allocatable: Value,
}

#[derive(Deserialize)]
struct Pod {
    #[serde(default)]
    spec: Value,
    #[serde(default)]
    status: PodStatus,
}

#[derive(Default, Deserialize)]
struct PodStatus {
    #[serde(default)]
    phase: String,
}

// === impl Capacity ===

impl Capacity {
    /// What each cluster has; of one that is not there nothing is known. Creates that come together share a count.
    pub(super) async fn of(&self, sequencer: &Sequencer) -> Arc<BTreeMap<ClusterName, Amounts>> {
        let mut counted = self.0.lock().await;
        if let Some(Counted { at, amounts }) = &*counted
            && at.elapsed() < COUNTED_FOR
        {
            return amounts.clone();
        }
        let resource = |name: &'static str| async move { sequencer.resource(&Gvr::new("", "v1", name)).await.ok() };
        let (Some(nodes), Some(pods)) = (resource("nodes").await, resource("pods").await) else {
            return Arc::default();
        };
        let (nodes, pods) = (nodes.reader().clone(), pods.reader().clone());
        let amounts: Arc<_> =
            tokio::task::spawn_blocking(move || count(&nodes, &pods)).await.unwrap_or_default().into();
        *counted = Some(Counted { at: Instant::now(), amounts: amounts.clone() });
        amounts
    }
}

/// Of each cluster what its nodes that take pods can give, less what its pods that are not over ask for.
fn count(nodes: &Reader, pods: &Reader) -> BTreeMap<ClusterName, Amounts> {
    let mut amounts: BTreeMap<ClusterName, Amounts> = BTreeMap::new();
    for object in nodes.latest().range(None, None) {
        let Ok(node) = serde_json::from_slice::<Node>(&object.body().to_bytes()) else { continue };
        if !node.spec.unschedulable {
            let sum = amounts.entry(object.cluster().clone()).or_default();
            sum.capacity = added(sum.capacity, Free::of_allocatable(&node.status.capacity));
            sum.allocatable = added(sum.allocatable, Free::of_allocatable(&node.status.allocatable));
            sum.free = sum.allocatable;
        }
    }
    for object in pods.latest().range(None, None) {
        let Some(Amounts { free, .. }) = amounts.get_mut(object.cluster()) else { continue };
        let Ok(pod) = serde_json::from_slice::<Pod>(&object.body().to_bytes()) else { continue };
        if !matches!(pod.status.phase.as_str(), "Succeeded" | "Failed") {
            *free = less(*free, pod_requests(&pod.spec).unwrap_or_default());
        }
    }
    amounts
}

fn added(sum: Free, node: Free) -> Free {
    let add = |sum: Option<u64>, one: Option<u64>| match (sum, one) {
        (Some(sum), Some(one)) => Some(sum.saturating_add(one)),
        (sum, one) => sum.or(one),
    };
    Free {
        cpu_milli: add(sum.cpu_milli, node.cpu_milli),
        memory_bytes: add(sum.memory_bytes, node.memory_bytes),
        pods: add(sum.pods, node.pods),
    }
}

fn less(free: Free, asked: Resources) -> Free {
    let less = |free: Option<u64>, asked: u64| free.map(|free| free.saturating_sub(asked));
    Free {
        cpu_milli: less(free.cpu_milli, asked.cpu_milli),
        memory_bytes: less(free.memory_bytes, asked.memory_bytes),
        pods: less(free.pods, 1),
    }
}
