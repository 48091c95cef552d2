//! Credentials that may not do everything.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use orrery_harness::{Client, Cluster, ClusterSpec, Host, HostSpec, Lines, eventually, start_all};
use orrery_real::{Kind, list_version, warned_of};
use serde_json::Value;

const SOON: Duration = Duration::from_secs(20);

/// What a credential needs that reads ConfigMaps of two namespaces, and knows the cluster by its kube-system namespace.
const LIMITED: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: blue}
---
apiVersion: v1
kind: Namespace
metadata: {name: green}
---
apiVersion: v1
kind: Namespace
metadata: {name: red}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: config-maps}
rules: [{apiGroups: [''], resources: [configmaps], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: identity}
rules: [{apiGroups: [''], resources: [namespaces], resourceNames: [kube-system], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: identity}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: identity}
subjects: [{kind: ServiceAccount, name: reader, namespace: default}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: config-maps, namespace: blue}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: config-maps}
subjects: [{kind: ServiceAccount, name: reader, namespace: default}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: config-maps, namespace: green}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: config-maps}
subjects: [{kind: ServiceAccount, name: reader, namespace: default}]
";

#[test]
fn a_credential_of_two_namespaces_shows_these_and_a_kind_it_may_not_list_is_away_with_the_reason() -> Result<()> {
    let [east, west] = start_all(["east", "west"].map(ClusterSpec::bare))?;
    east.kubectl().apply(LIMITED)?;
    let scratch = tempfile::tempdir()?;
    let limited = limited_kubeconfig(&east, scratch.path())?;
    let member = east.client()?;
    for namespace in ["blue", "green", "red"] {
        create_in(&member, namespace, "first")?;
    }
    west.kubectl().ok(&["create", "namespace", "blue"])?;
    create_in(&west.client()?, "blue", "of-west")?;
    let host = HostSpec::new().member_at("east", &limited).member(&west).flag("--namespaces=blue,green").start()?;
    let client = host.client()?;
    let mut watch = watch_now(&client)?;
    ensure!(places(&client)? == ["blue/first", "blue/of-west", "green/first"], "{:?}", places(&client)?);
    for namespace in ["red", "blue"] {
        create_in(&member, namespace, "second")?;
    }
    let event = watch.next_json()?.context("the watch ended")?;
    ensure!(event["object"]["metadata"]["namespace"] == "blue", "what it may not read is shown: {event}");
    // Secrets are its cluster's, but not for this credential.
    warned_of(&client, "/api/v1/secrets", "east", SOON)?;
    reason_is_told(&host)
}

#[test]
fn a_credential_that_may_not_list_everywhere_makes_its_member_away_for_that_kind_until_it_may() -> Result<()> {
    let [east, west] = start_all(["east", "west"].map(ClusterSpec::bare))?;
    east.kubectl().apply(LIMITED)?;
    let scratch = tempfile::tempdir()?;
    let host = HostSpec::new().member_at("east", &limited_kubeconfig(&east, scratch.path())?).member(&west).start()?;
    let client = host.client()?;
    create_in(&east.client()?, "default", "of-east")?;
    create_in(&west.client()?, "default", "of-west")?;
    eventually("west's is shown", SOON, || {
        ensure!(places(&client)? == ["default/of-west"], "{:?}", places(&client)?);
        Ok(())
    })?;
    warned_of(&client, Kind::ConfigMaps.everywhere(), "east", SOON)?;
    let binding =
        ["create", "clusterrolebinding", "all", "--clusterrole=config-maps", "--serviceaccount=default:reader"];
    east.kubectl().ok(&binding)?;
    eventually("east's is shown too", SOON, || {
        ensure!(places(&client)? == ["default/of-east", "default/of-west"], "{:?}", places(&client)?);
        Ok(())
    })
}

/// A kubeconfig with nothing but a token of the ServiceAccount `reader`.
fn limited_kubeconfig(cluster: &Cluster, folder: &Path) -> Result<PathBuf> {
    let token = cluster.kubectl().ok(&["create", "token", "reader"])?;
    let file = folder.join(cluster.name());
    fs::copy(cluster.kubeconfig(), &file)?;
    let config = cluster.kubectl().ok(&["config", "view", "--raw", "--flatten", "-o", "json"])?;
    let mut config: Value = serde_json::from_str(&config)?;
    config["users"][0]["user"] = serde_json::json!({"token": token.trim()});
    fs::write(&file, config.to_string())?;
    Ok(file)
}

fn create_in(client: &Client, namespace: &str, name: &str) -> Result<()> {
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    client.create(&path, &Kind::ConfigMaps.object(name, "front")).map(drop)
}

/// The ConfigMaps that the host shows, but for those that every namespace has.
fn places(host: &Client) -> Result<Vec<String>> {
    let list = host.json(Kind::ConfigMaps.everywhere())?;
    let items = list["items"].as_array().context("it has items")?.iter();
    let text = |item: &Value, field: &str| item["metadata"][field].as_str().unwrap_or_default().to_owned();
    let mut places: Vec<_> = items.map(|item| format!("{}/{}", text(item, "namespace"), text(item, "name"))).collect();
    places.retain(|place| !place.contains("kube"));
    Ok(places)
}

fn watch_now(host: &Client) -> Result<Lines> {
    let path = Kind::ConfigMaps.everywhere();
    host.lines(&format!("{path}?watch=true&resourceVersion={}", list_version(host, path)?))
}

fn reason_is_told(host: &Host) -> Result<()> {
    let status = host.command(&["status"])?.output()?;
    let text = String::from_utf8_lossy(&status.stdout);
    let told = text.lines().any(|line| line.starts_with("secrets") && line.to_lowercase().contains("forbidden"));
    ensure!(told, "no reason is told:\n{text}");
    Ok(())
}
