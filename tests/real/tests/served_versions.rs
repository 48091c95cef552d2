//! Served versions of one resource share one clock: an object has one resourceVersion in all of them.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use orrery_harness::{Client, Cluster, ClusterSpec, HostSpec, Lines, eventually, start_all};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(20);
const V1: &str = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
const V2: &str = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";

/// A CustomResourceDefinition of which `east` serves two versions and `west` one.
const MOONS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: moons.sky.example.com}
spec:
  group: sky.example.com
  scope: Namespaced
  names: {plural: moons, singular: moon, kind: Moon}
  versions:
  - {name: v1, served: true, storage: true, schema: &any {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v2, served: TWO, storage: false, schema: *any}
";

#[test]
fn an_object_has_one_resource_version_in_every_served_version() -> Result<()> {
    let clusters = start_all(["east", "west"].map(ClusterSpec::bare))?;
    let (east, west) = (clusters[0].client()?, clusters[1].client()?);
    for (client, name) in [(&east, "one"), (&west, "two")] {
        client.create(V2, &autoscaler(name))?;
    }
    let mut host = HostSpec::new().member(&clusters[0]).member(&clusters[1]).start()?;
    let client = host.client()?;
    ensure!(versions(&client, V2)?.len() == 2, "the host does not show both");
    let mut watch = watch_now(&client, V1)?;

    same_in_both(&client)?;
    resize(&west, "two", 7)?;
    let event = next(&mut watch)?;
    ensure!(event["type"] == "MODIFIED" && event["object"]["apiVersion"] == "autoscaling/v1", "not so: {event}");
    ensure!(event["object"]["spec"]["maxReplicas"] == 7, "not so: {event}");
    east.send("DELETE", &format!("{V2}/one"), &[], &[])?.success()?;
    let event = next(&mut watch)?;
    ensure!(event["type"] == "DELETED" && event["object"]["metadata"]["name"] == "one", "not so: {event}");
    same_in_both(&client)?;

    // The version that is asked for first writes the log, whoever wrote it before.
    let before = versions(&client, V1)?;
    host.kill9()?;
    host.restart()?;
    let client = host.client()?;
    ensure!(versions(&client, V1)? == before, "a restart changed {before:?}");
    same_in_both(&client)?;
    let mut watch = watch_now(&client, V2)?;
    resize(&west, "two", 8)?;
    let event = next(&mut watch)?;
    ensure!(event["object"]["apiVersion"] == "autoscaling/v2", "not so: {event}");
    same_in_both(&client)
}

#[test]
fn events_of_both_groups_share_one_clock() -> Result<()> {
    let cluster = ClusterSpec::bare("east").start()?;
    let member = cluster.client()?;
    let (core, events) = ("/api/v1/namespaces/default/events", "/apis/events.k8s.io/v1/namespaces/default/events");
    let host = HostSpec::new().member(&cluster).start()?;
    let client = host.client()?;
    let (mut old, mut new) = (watch_now(&client, core)?, watch_now(&client, events)?);
    let involved = json!({"kind": "Pod", "namespace": "default", "name": "none"});
    member.create(
        core,
        &json!({"metadata": {"name": "fell"}, "involvedObject": involved, "note": "x", "reason": "Fell"}),
    )?;
    let (old, new) = (next(&mut old)?, next(&mut new)?);
    ensure!(old["object"]["metadata"] == new["object"]["metadata"], "{old} is not {new}");
    ensure!(new["object"]["regarding"]["name"] == "none" && old["object"]["involvedObject"]["name"] == "none", "{new}");
    Ok(())
}

#[test]
fn a_version_shows_the_clusters_that_serve_it_and_no_others() -> Result<()> {
    let clusters = start_all(["east", "west"].map(ClusterSpec::bare))?;
    let (one, two) =
        ("/apis/sky.example.com/v1/namespaces/default/moons", "/apis/sky.example.com/v2/namespaces/default/moons");
    for (cluster, served) in clusters.iter().zip(["true", "false"]) {
        serve_moons(cluster, served)?;
        cluster.client()?.create(one, &moon(&format!("of-{}", cluster.name())))?;
    }
    let host = HostSpec::new().member(&clusters[0]).member(&clusters[1]).start()?;
    let client = host.client()?;
    // v2 first: it writes the log, and the log has west's objects too, which only v1 shows.
    ensure!(names(&client, two)? == ["of-east"], "v2 shows {:?}", names(&client, two)?);
    ensure!(names(&client, one)? == ["of-east", "of-west"], "v1 shows {:?}", names(&client, one)?);
    let (mut first, mut second) = (watch_now(&client, one)?, watch_now(&client, two)?);
    for cluster in &clusters {
        let (client, name) = (cluster.client()?, cluster.name());
        client.create(one, &moon(&format!("new-of-{name}")))?;
        client.send("DELETE", &format!("{one}/of-{name}"), &[], &[])?.success()?;
        expect(&mut first, "ADDED", &format!("new-of-{name}"))?;
        expect(&mut first, "DELETED", &format!("of-{name}"))?;
    }
    expect(&mut second, "ADDED", "new-of-east")?;
    expect(&mut second, "DELETED", "of-east")?;
    // West serves v2 from now on: what it holds is shown there too.
    serve_moons(&clusters[1], "true")?;
    eventually("v2 shows west's", SOON, || {
        ensure!(names(&client, two)? == ["new-of-east", "new-of-west"], "v2 shows {:?}", names(&client, two)?);
        ensure!(versions(&client, one)? == versions(&client, two)?, "they differ");
        Ok(())
    })
}

fn serve_moons(cluster: &Cluster, two: &str) -> Result<()> {
    cluster.kubectl().apply(&MOONS.replace("TWO", two))?;
    cluster.kubectl().ok(&["wait", "--for=condition=Established", "crd/moons.sky.example.com", "--timeout=20s"])?;
    Ok(())
}

fn moon(name: &str) -> Value {
    json!({"apiVersion": "sky.example.com/v1", "kind": "Moon", "metadata": {"name": name}})
}

fn autoscaler(name: &str) -> Value {
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
    json!({"metadata": {"name": name}, "spec": {"maxReplicas": 3, "scaleTargetRef": target}})
}

fn resize(member: &Client, name: &str, replicas: u32) -> Result<()> {
    let patch = json!({"spec": {"maxReplicas": replicas}}).to_string();
    let headers = [("content-type", "application/merge-patch+json")];
    member.send("PATCH", &format!("{V2}/{name}"), &headers, patch.as_bytes())?.success().map(drop)
}

/// Waits until both versions show the same objects at the same resourceVersions.
fn same_in_both(host: &Client) -> Result<()> {
    eventually("both versions show the same", SOON, || {
        let (one, two) = (versions(host, V1)?, versions(host, V2)?);
        ensure!(one == two, "{one:?} is not {two:?}");
        Ok(())
    })
}

fn versions(host: &Client, path: &str) -> Result<BTreeMap<String, String>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = host.json(path)?;
    let items = list["items"].as_array().context("it has items")?;
    Ok(items.iter().map(|item| (text(&item["metadata"]["name"]), text(&item["metadata"]["resourceVersion"]))).collect())
}

fn names(host: &Client, path: &str) -> Result<Vec<String>> {
    Ok(versions(host, path)?.into_keys().collect())
}

/// A watch from the present on.
fn watch_now(host: &Client, path: &str) -> Result<Lines> {
    let list = host.json(path)?;
    let version = list["metadata"]["resourceVersion"].as_str().context("it has a version")?;
    host.lines(&format!("{path}?watch=true&resourceVersion={version}"))
}

fn next(watch: &mut Lines) -> Result<Value> {
    watch.next_json()?.context("the watch ended")
}

fn expect(watch: &mut Lines, kind: &str, name: &str) -> Result<()> {
    let event = next(watch)?;
    ensure!(event["type"] == kind && event["object"]["metadata"]["name"] == name, "no {kind} of {name}: {event}");
    Ok(())
}
