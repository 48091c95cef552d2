//! The clusters of the bench: one that holds all pods, and two members that hold half of them each.

use anyhow::{Context, Result};
use bytes::Bytes;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use http::Method;
use orrery_harness::{Cluster, ClusterSpec, EtcdSnapshot, Profile, start_all};
use serde_json::json;

use super::pod::{self, Pod};
use crate::client::{Connection, Endpoint};
use crate::say;

/// What stands before the host, and what the host stands before.
pub(crate) struct Clusters {
    /// Holds all pods.
    pub(crate) direct: Cluster,
    /// Pods of even and of odd numbers.
    pub(crate) members: [Cluster; 2],
}

/// Requests under way at once while pods are made.
const PARALLEL: usize = 24;

// === impl Clusters ===

impl Clusters {
    /// Starts them with pods number 0 up to `pods`. What is made once is kept for later runs.
    pub(crate) async fn start(pods: usize) -> Result<Self> {
        let specs = ["direct", "east", "west"].map(|name| ClusterSpec::bare(name).profile(Profile::Release));
        let [mut direct, mut east, mut west] = start_all(specs)?;
        fill(&mut direct, pods, |_| true).await?;
        fill(&mut east, pods, |pod| pod.0 % 2 == 0).await?;
        fill(&mut west, pods, |pod| pod.0 % 2 == 1).await?;
        Ok(Self { direct, members: [east, west] })
    }

    /// Which member holds a pod.
    pub(crate) fn member_of(pod: Pod) -> usize {
        pod.0 % 2
    }
}

async fn fill(cluster: &mut Cluster, pods: usize, holds: impl Fn(Pod) -> bool) -> Result<()> {
    let name = format!("bench-{}-{pods}-{}", pod::EDITION, cluster.name());
    if let Some(snapshot) = EtcdSnapshot::kept(&name)? {
        return cluster.restore(&snapshot);
    }
    say(&format!("reads: making the pods of {} (once)", cluster.name()));
    let connection = Endpoint::of(&cluster.client()?).connect().await?;
    let namespaces = (0..pods.div_ceil(pod::PER_NAMESPACE)).map(|number| Pod(number * pod::PER_NAMESPACE));
    each(namespaces, async |pod| create_namespace(&connection, pod).await).await?;
    each((0..pods).map(Pod).filter(|pod| holds(*pod)), async |pod| create(&connection, pod).await).await?;
    cluster.keep(&name).context("failed to keep the pods for the next run")?;
    Ok(())
}

async fn each(pods: impl Iterator<Item = Pod>, make: impl AsyncFn(Pod) -> Result<()>) -> Result<()> {
    stream::iter(pods).map(|pod| make(pod)).buffer_unordered(PARALLEL).try_collect().await
}

async fn create_namespace(connection: &Connection, first: Pod) -> Result<()> {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": first.namespace()}});
    connection.write(Method::POST, "/api/v1/namespaces", "application/json", bytes(&namespace)).await
}

async fn create(connection: &Connection, pod: Pod) -> Result<()> {
    connection.write(Method::POST, &pod.collection(), "application/json", bytes(&pod.json())).await?;
    let path = format!("{}/status", pod.path());
    connection.write(Method::PATCH, &path, "application/merge-patch+json", bytes(&pod.status())).await
}

fn bytes(value: &serde_json::Value) -> Bytes {
    value.to_string().into()
}
