//! What the clusters have free for pods, from the caches of nodes and pods.

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
    free: Arc<BTreeMap<ClusterName, Free>>,
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
    /// What each cluster has free; of one that is not there nothing is known. Creates that come together share a count.
    pub(super) async fn of(&self, sequencer: &Sequencer) -> BTreeMap<ClusterName, Free> {
        let mut counted = self.0.lock().await;
        if let Some(Counted { at, free }) = &*counted
            && at.elapsed() < COUNTED_FOR
        {
            return (**free).clone();
        }
        let resource = |name: &'static str| async move { sequencer.resource(&Gvr::new("", "v1", name)).await.ok() };
        let (Some(nodes), Some(pods)) = (resource("nodes").await, resource("pods").await) else {
            return BTreeMap::new();
        };
        let (nodes, pods) = (nodes.reader().clone(), pods.reader().clone());
        let free = tokio::task::spawn_blocking(move || count(&nodes, &pods)).await.unwrap_or_default();
        *counted = Some(Counted { at: Instant::now(), free: Arc::new(free.clone()) });
        free
    }
}

/// Of each cluster what its nodes that take pods can give, less what its pods that are not over ask for.
fn count(nodes: &Reader, pods: &Reader) -> BTreeMap<ClusterName, Free> {
    let mut free: BTreeMap<ClusterName, Free> = BTreeMap::new();
    for object in nodes.latest().range(None, None) {
        let Ok(node) = serde_json::from_slice::<Node>(&object.body().to_bytes()) else { continue };
        if !node.spec.unschedulable {
            let sum = free.entry(object.cluster().clone()).or_default();
            *sum = added(*sum, Free::of_allocatable(&node.status.allocatable));
        }
    }
    for object in pods.latest().range(None, None) {
        let Some(free) = free.get_mut(object.cluster()) else { continue };
        let Ok(pod) = serde_json::from_slice::<Pod>(&object.body().to_bytes()) else { continue };
        if !matches!(pod.status.phase.as_str(), "Succeeded" | "Failed") {
            *free = less(*free, pod_requests(&pod.spec).unwrap_or_default());
        }
    }
    free
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
