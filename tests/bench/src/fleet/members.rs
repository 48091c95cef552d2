use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use orrery_api::{Gvr, ObjectKey};
use orrery_sim::{Authority, Cluster, Kind, Mode, Template, kubeconfig, listen};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Scale;
use crate::reads::pod::{Pod, WRITE};

/// Simulated members behind loopback listeners with TLS, and the kubeconfig that names them.
pub(super) struct Members {
    pub(super) clusters: Vec<Cluster>,
    servers: Vec<(String, SocketAddr)>,
    authority: Arc<Authority>,
    scratch: TempDir,
    _stop: DropGuard,
}

const TOKEN: &str = "bench";

pub(super) fn pods() -> Gvr {
    Gvr::new("", "v1", "pods")
}

// === impl Members ===

impl Members {
    pub(super) async fn start(scale: &Scale) -> Result<Self> {
        let (authority, stop) = (Arc::new(Authority::new()?), CancellationToken::new());
        let kind = Kind::new(pods(), "Pod", true, template());
        let (mut clusters, mut servers) = (Vec::new(), Vec::new());
        for number in 0..scale.members {
            let name = format!("member-{number:04}");
            let cluster = Cluster::new(&name, [kind.clone()]);
            cluster.set_token(Some(TOKEN));
            for pod in (number * scale.pods_each..(number + 1) * scale.pods_each).map(Pod) {
                cluster.put(&pods(), &key(pod), "000000000000");
            }
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            servers.push((name, listener.local_addr()?));
            let (cluster_here, authority, stop) = (cluster.clone(), authority.clone(), stop.clone());
            tokio::spawn(async move { listen(listener, cluster_here, Some(&authority), stop).await });
            clusters.push(cluster);
        }
        let members = Self { clusters, servers, authority, scratch: tempfile::tempdir()?, _stop: stop.drop_guard() };
        members.name(scale.members)?;
        Ok(members)
    }

    /// The kubeconfig names the first `count` members from now on.
    pub(super) fn name(&self, count: usize) -> Result<()> {
        std::fs::write(self.kubeconfig(), kubeconfig(&self.servers[..count], Some(&self.authority), TOKEN))?;
        Ok(())
    }

    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.scratch.path().join("kubeconfig")
    }

    /// One member in ten accepts and never answers.
    pub(super) fn silence_one_in_ten(&self) -> Vec<Cluster> {
        let silent: Vec<Cluster> = self.clusters.iter().skip(7).step_by(10).cloned().collect();
        silent.iter().for_each(|cluster| cluster.set_mode(Mode::Silent));
        silent
    }

    /// Writes a number into a pod, wherever it is.
    pub(super) fn write(&self, scale: &Scale, write: u64) {
        // Members in turn, and in each of them one pod after another.
        let member = write as usize % scale.members;
        let pod = write as usize / scale.members % scale.pods_each + member * scale.pods_each;
        self.clusters[member].put(&pods(), &key(Pod(pod)), &format!("{write:012}"));
    }
}

pub(super) fn key(pod: Pod) -> ObjectKey {
    ObjectKey::new(&pod.namespace(), &pod.name())
}

/// What a kube-apiserver adds to such a pod by defaulting, which a simulated member does not.
const DEFAULTS_BYTES: usize = 1_780;

/// The pods of the other benches, of 8.5 KB: with the managedFields that an API server adds.
fn template() -> Template {
    let pod = Pod(0);
    let (json, status) = (pod.json(), pod.status());
    let mut metadata = json["metadata"].clone();
    let fields = metadata.as_object_mut().expect("metadata is an object");
    fields.remove("name");
    fields.remove("namespace");
    metadata["annotations"][WRITE] = json!("$TEXT");
    metadata["annotations"]["bench.orrery.dev/defaults"] = json!("x".repeat(DEFAULTS_BYTES));
    metadata["managedFields"] = json!([managed("kube-controller-manager", &json), managed("kubelet", &status)]);
    let members = |value: &Value| {
        let text = value.to_string();
        text[1..text.len() - 1].to_owned()
    };
    Template::new(&members(&metadata), &members(&json!({"spec": json["spec"], "status": status["status"]})))
}

/// What a writer owns: each field of the object, as `fieldsV1` spells it.
fn managed(manager: &str, object: &Value) -> Value {
    json!({
        "manager": manager, "operation": "Update", "apiVersion": "v1", "time": "2026-11-30T08:00:00Z",
        "fieldsType": "FieldsV1", "fieldsV1": owned(object),
    })
}

fn owned(value: &Value) -> Value {
    let field = |(name, value): (&String, &Value)| (format!("f:{name}"), owned(value));
    match value {
        Value::Object(fields) => Value::Object(fields.iter().map(field).collect()),
        Value::Array(items) if items.iter().all(|item| item["name"].is_string()) => {
            let item = |item: &Value| (format!("k:{{\"name\":{}}}", item["name"]), owned(item));
            Value::Object(items.iter().map(item).collect())
        }
        _ => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_pod_of_the_fleet_is_as_large_as_those_of_the_other_benches() {
        let cluster = Cluster::new("a", [Kind::new(pods(), "Pod", true, template())]);
        cluster.put(&pods(), &key(Pod(0)), "000000000000");
        let request = http::Request::get(Pod(0).path()).body(()).unwrap();
        let body = cluster.answer(request).await.unwrap().into_body();
        let bytes = http_body_util::BodyExt::collect(body).await.unwrap().to_bytes();
        let pod: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(pod["metadata"]["annotations"][WRITE], "000000000000");
        assert!((8_000..9_200).contains(&bytes.len()), "{} bytes", bytes.len());
    }
}
