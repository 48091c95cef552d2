//! Kinds that members list but cannot watch: metrics.k8s.io, served in each member by an aggregated API server, which here
//! is a thread of the test.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use orrery_harness::{Client, Cluster, ClusterSpec, Host, HostSpec, eventually, start_all};
use orrery_real::warnings;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

const GROUP: &str = "/apis/metrics.k8s.io/v1beta1";
/// The aggregator of a member looks at a new APIService and at its server now and then.
const AGGREGATED: Duration = Duration::from_secs(60);

/// A metrics server that knows one node and one pod, until it is told to fail.
struct MetricsServer {
    fails: Arc<AtomicBool>,
}

// === impl MetricsServer ===

impl MetricsServer {
    /// Starts it, and registers it in `member`.
    fn start(member: &Cluster, cpu: &'static str) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let pki = member.dir().join("pki");
        let chain = CertificateDer::pem_file_iter(pki.join("apiserver.crt"))?.collect::<Result<_, _>>()?;
        let key = PrivateKeyDer::from_pem_file(pki.join("apiserver.key"))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let tls = Arc::new(builder.with_no_client_auth().with_single_cert(chain, key)?);
        let fails = Arc::new(AtomicBool::new(false));
        let failing = fails.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (tls, failing) = (tls.clone(), failing.clone());
                thread::spawn(move || answer_all(stream, tls, cpu, &failing));
            }
        });
        member.kubectl().apply(&format!(
            "
apiVersion: v1
kind: Service
metadata: {{name: metrics, namespace: kube-system}}
spec: {{type: ExternalName, externalName: localhost, ports: [{{port: {port}}}]}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {{name: v1beta1.metrics.k8s.io}}
spec:
  group: metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {{name: metrics, namespace: kube-system, port: {port}}}
"
        ))?;
        let client = member.client()?;
        eventually("the member serves metrics", AGGREGATED, || client.json(&format!("{GROUP}/nodes")))?;
        Ok(Self { fails })
    }

    fn fail(&self) {
        self.fails.store(true, Ordering::Relaxed);
    }
}

fn answer_all(stream: TcpStream, tls: Arc<ServerConfig>, cpu: &str, fails: &AtomicBool) -> Option<()> {
    let mut stream = BufReader::new(StreamOwned::new(ServerConnection::new(tls).ok()?, stream));
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        let path = line.split(' ').nth(1)?.to_owned();
        while line.trim_end() != "" {
            line.clear();
            stream.read_line(&mut line).ok()?;
        }
        let (code, body) = match answer(&path, cpu) {
            Some(body) if !fails.load(Ordering::Relaxed) || !path.contains("/nodes") => ("200 OK", body),
            Some(_) => ("500 Internal Server Error", json!({})),
            None => ("404 Not Found", json!({})),
        };
        let body = body.to_string();
        let head =
            format!("HTTP/1.1 {code}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.get_mut().write_all(format!("{head}{body}").as_bytes()).ok()?;
        stream.get_mut().flush().ok()?;
    }
}

fn answer(path: &str, cpu: &str) -> Option<Value> {
    let path = path.split('?').next()?;
    let usage = json!({"cpu": cpu, "memory": "1Gi"});
    let times = json!({"timestamp": "2026-01-01T00:00:00Z", "window": "10s"});
    let of = |mut object: Value| {
        object["timestamp"] = times["timestamp"].clone();
        object["window"] = times["window"].clone();
        object
    };
    let node = of(json!({"metadata": {"name": "node-1", "creationTimestamp": null}, "usage": usage}));
    let pod =
        of(json!({"metadata": {"name": "web", "namespace": "default"}, "containers": [{"name": "c", "usage": usage}]}));
    let list = |kind: &str, item: &Value| json!({"kind": format!("{kind}MetricsList"), "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": [item]});
    let single = |kind: &str, item: &Value| {
        let mut item = item.clone();
        item["kind"] = format!("{kind}Metrics").into();
        item["apiVersion"] = "metrics.k8s.io/v1beta1".into();
        item
    };
    let resource = |name: &str, kind: &str, namespaced: bool| json!({"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": ["get", "list"]});
    match path.strip_prefix(GROUP)? {
        "" => Some(
            json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "metrics.k8s.io/v1beta1", "resources": [
            resource("nodes", "NodeMetrics", false), resource("pods", "PodMetrics", true)]}),
        ),
        "/nodes" => Some(list("Node", &node)),
        "/nodes/node-1" => Some(single("Node", &node)),
        "/pods" | "/namespaces/default/pods" => Some(list("Pod", &pod)),
        "/namespaces/default/pods/web" => Some(single("Pod", &pod)),
        _ => None,
    }
}

#[test]
fn metrics_of_all_members_are_one_list_under_the_names_of_their_nodes() -> Result<()> {
    let members = start_all([ClusterSpec::bare("east"), ClusterSpec::bare("west")])?;
    let room = json!({"cpu": "4", "memory": "8Gi", "pods": "10"});
    let status = json!({"capacity": room, "allocatable": room});
    for member in &members {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}, "status": status});
        member.client()?.create("/api/v1/nodes", &node)?;
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
            "spec": {"nodeName": "node-1", "containers": [{"name": "c", "image": "web:1"}]}});
        member.client()?.create("/api/v1/namespaces/default/pods", &pod)?;
    }
    let [east, west] = &members;
    let [_east_metrics, west_metrics] = [MetricsServer::start(east, "1")?, MetricsServer::start(west, "2")?];
    let host = HostSpec::new().member(east).member(west).start()?;
    let client = host.client()?;
    let nodes = eventually("both members' metrics are there", AGGREGATED, || {
        let list = client.json(&format!("{GROUP}/nodes"))?;
        ensure!(names(&list) == ["node-1", "node-1.west"], "{list}");
        Ok(list)
    })?;
    ensure!(nodes["kind"] == "NodeMetricsList" && nodes["metadata"] == json!({}), "{nodes}");
    ensure!(
        nodes["items"][1]["usage"]["cpu"] == "2"
            && nodes["items"][1]["metadata"]["labels"]["orrery.dev/cluster"] == "west"
    );
    let of_west = client.json(&format!("{GROUP}/nodes?labelSelector=orrery.dev/cluster%3Dwest"))?;
    ensure!(names(&of_west) == ["node-1.west"], "{of_west}");
    let one = client.json(&format!("{GROUP}/nodes/node-1.west"))?;
    ensure!(one["usage"]["cpu"] == "2" && one["metadata"]["name"] == "node-1.west", "{one}");
    ensure!(client.get(&format!("{GROUP}/nodes/node-2"))?.status == 404);
    ensure!(client.get(&format!("{GROUP}/nodes?watch=1"))?.status == 405, "there is no clock to watch");
    let pods = client.json(&format!("{GROUP}/namespaces/default/pods"))?;
    ensure!(names(&pods) == ["web", "web.west"], "{pods}");
    let one = client.json(&format!("{GROUP}/namespaces/default/pods/web.west"))?;
    ensure!(one["kind"] == "PodMetrics" && one["containers"][0]["usage"]["cpu"] == "2", "{one}");
    // What kubectl makes of it: the node's share of its capacity.
    let top = host.kubectl().ok(&["top", "nodes", "--no-headers"])?;
    let rows: Vec<Vec<&str>> = top.lines().map(|row| row.split_whitespace().take(3).collect()).collect();
    ensure!(rows == [["node-1", "1000m", "25%"], ["node-1.west", "2000m", "50%"]], "{top}");
    shown_in_other_forms(&host)?;

    west_metrics.fail();
    let partial = client.get(&format!("{GROUP}/nodes"))?;
    ensure!(names(&partial.success()?) == ["node-1"], "{}", partial.text());
    let warned = warnings(&partial);
    ensure!(warned.iter().any(|warning| warning.contains("cluster west is away, its nodes are missing")), "{warned:?}");
    discovery_goes_on(&client)
}

/// As rows, of which kubectl makes a table with the clusters, and as metadata.
fn shown_in_other_forms(host: &Host) -> Result<()> {
    let printed = host.kubectl().ok(&["get", "nodes.metrics.k8s.io"])?;
    let rows: Vec<Vec<&str>> = printed.lines().map(|row| row.split_whitespace().collect()).collect();
    let ends = rows.iter().filter_map(|row| Some((*row.first()?, *row.last()?))).collect::<Vec<_>>();
    ensure!(ends == [("NAME", "CLUSTER"), ("node-1", "east"), ("node-1.west", "west")], "{printed}");
    let one = host.kubectl().ok(&["get", "pods.metrics.k8s.io", "web.west", "--no-headers"])?;
    ensure!(one.starts_with("web.west ") && one.trim_end().ends_with(" west"), "{one}");
    let partial = |kind: &str, path: &str| {
        let accept = format!("application/json;as={kind};v=v1;g=meta.k8s.io");
        let answer = host.client()?.send("GET", &format!("{GROUP}{path}"), &[("accept", accept.as_str())], b"")?;
        ensure!(answer.status == 200 || answer.status == 406, "{}", answer.text());
        Ok(if answer.status == 406 { Value::Null } else { answer.success()? })
    };
    let list = partial("PartialObjectMetadataList", "/nodes")?;
    ensure!(list["kind"] == "PartialObjectMetadataList" && names(&list) == ["node-1", "node-1.west"], "{list}");
    ensure!(list["items"][1]["kind"] == "PartialObjectMetadata" && list["items"][1].get("usage").is_none(), "{list}");
    let one = partial("PartialObjectMetadata", "/nodes/node-1.west")?;
    ensure!(one["kind"] == "PartialObjectMetadata" && one["metadata"]["name"] == "node-1.west", "{one}");
    ensure!(partial("PartialObjectMetadata", "/nodes")?.is_null(), "a list is no object");
    ensure!(partial("PartialObjectMetadataList", "/nodes/node-1")?.is_null(), "an object is no list");
    Ok(())
}

/// A live kind that fails must not take discovery with it.
fn discovery_goes_on(client: &Client) -> Result<()> {
    let accept = [("accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")];
    let groups = client.send("GET", "/apis", &accept, b"")?.success()?;
    let groups = groups["items"].as_array().context("groups")?;
    let fresh = |group: &Value| {
        group["versions"].as_array().is_some_and(|all| all.iter().all(|one| one["freshness"] == "Current"))
    };
    ensure!(groups.iter().all(fresh) && groups.iter().any(|group| group["metadata"]["name"] == "metrics.k8s.io"));
    Ok(())
}

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|item| item["metadata"]["name"].as_str()).collect()
}
