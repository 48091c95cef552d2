//! Fake nodes.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::client::Client;

/// Makes the nodes `node-1` to `node-<nodes>`, in zones `zone-a` and `zone-b` by turns. kwok makes them Ready.
pub(super) fn create(client: &Client, nodes: usize) -> Result<()> {
    for number in 1..=nodes {
        client.create("/api/v1/nodes", &node(number)).with_context(|| format!("failed to make node-{number}"))?;
    }
    Ok(())
}

/// How many nodes are Ready.
pub(super) fn ready(client: &Client) -> Result<usize> {
    let nodes = client.json("/api/v1/nodes")?;
    let nodes = nodes["items"].as_array().context("a list has items")?;
    let is_ready = |node: &&Value| {
        let conditions = node["status"]["conditions"].as_array();
        conditions.is_some_and(|all| all.iter().any(|one| one["type"] == "Ready" && one["status"] == "True"))
    };
    Ok(nodes.iter().filter(is_ready).count())
}

fn node(number: usize) -> Value {
    let name = format!("node-{number}");
    let room = json!({"cpu": "32", "memory": "256Gi", "pods": "5000"});
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "topology.kubernetes.io/zone": if number % 2 == 1 { "zone-a" } else { "zone-b" },
            },
        },
        "status": {"capacity": room, "allocatable": room},
    })
}
