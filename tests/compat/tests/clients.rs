//! Clients in three languages as judges: each watches 500 objects of two members while the host is killed three times,
//! holds the union at the end, and has not listed again for it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_runtime::watcher::Config;
use orrery_compat::{ForeignClient, Held, KubeRs};
use orrery_harness::{Client, Cluster, ClusterSpec, Host, HostSpec, eventually, start_all};
use orrery_real::{change_config_map, create_config_map, delete_config_map};
use serde_json::{Value, json};

const KILLS: usize = 3;
const OBJECTS: usize = 500;
/// Clients wait ever longer between their tries.
const SETTLED_LIMIT: Duration = Duration::from_secs(60);

/// What a client holds, whenever it is asked.
type Ask = Box<dyn FnMut() -> Result<Held>>;

#[test]
fn kube_rs_holds_the_union_after_three_kills_without_a_relist() -> Result<()> {
    judge(|kubeconfig, _| kube_rs(kubeconfig, Config::default()), 1)
}

#[test]
fn kube_rs_with_streaming_lists_holds_the_union_after_three_kills_without_a_relist() -> Result<()> {
    judge(|kubeconfig, _| kube_rs(kubeconfig, Config::default().streaming_lists()), 1)
}

#[test]
fn the_javascript_informer_holds_the_union_after_three_kills_without_a_relist() -> Result<()> {
    let start = |kubeconfig: &Path, log: &Path| {
        let mut client = ForeignClient::javascript(kubeconfig, log)?;
        Ok(Box::new(move || client.held()) as Ask)
    };
    judge(start, 1)
}

#[test]
fn the_python_watch_holds_the_union_after_three_kills_with_a_relist_for_each_at_most() -> Result<()> {
    let start = |kubeconfig: &Path, log: &Path| {
        let mut client = ForeignClient::python(kubeconfig, log)?;
        Ok(Box::new(move || client.held()) as Ask)
    };
    judge(start, 1 + KILLS)
}

fn judge(start: impl FnOnce(&Path, &Path) -> Result<Ask>, lists_max: usize) -> Result<()> {
    let members = start_all(["east", "west"].map(ClusterSpec::bare))?;
    let clients = members.iter().map(Cluster::client).collect::<Result<Vec<_>>>()?;
    fill(&clients)?;
    let mut host = HostSpec::new().member(&members[0]).member(&members[1]);
    for flag in ["--log-format=json", "--log-level=info,orrery::request=debug"] {
        host = host.flag(flag);
    }
    let mut host = host.start()?;
    let scratch = tempfile::tempdir()?;
    let mut ask = start(&host.kubeconfig(), &scratch.path().join("log"))?;
    settle(&mut ask, &clients)?;
    for kill in 0..KILLS {
        host.kill9()?;
        // While nobody serves, one comes, one changes and one goes in each member.
        for (of, client) in clients.iter().enumerate() {
            create_config_map(client, &format!("new-{of}-{kill}"))?;
            change_config_map(client, &format!("one-{of}-{kill}"), "changed")?;
            delete_config_map(client, &format!("one-{of}-{}", 100 + kill))?;
        }
        host.restart()?;
        settle(&mut ask, &clients)?;
    }
    let lists = lists(&host);
    ensure!(lists.len() <= lists_max, "{} lists: {lists:#?}", lists.len());
    ensure!(!host.log().contains("panicked"), "the host panicked");
    Ok(())
}

fn fill(clients: &[Client]) -> Result<()> {
    for (of, client) in clients.iter().enumerate() {
        for number in 0..OBJECTS / clients.len() {
            create_config_map(client, &format!("one-{of}-{number}"))?;
        }
    }
    Ok(())
}

/// Waits until the client holds what the members hold.
fn settle(ask: &mut Ask, members: &[Client]) -> Result<()> {
    eventually("the client holds the union of the members", SETTLED_LIMIT, || {
        let mut union = BTreeMap::new();
        for (of, member) in members.iter().enumerate() {
            for one in member.json("/api/v1/namespaces/default/configmaps")?["items"].as_array().into_iter().flatten() {
                union.insert(served_name(one, of), text(&one["data"]["value"]));
            }
        }
        let held = ask()?;
        let differs = union.iter().find(|(name, value)| held.get(*name) != Some(value));
        ensure!(held.len() == union.len() && differs.is_none(), "{} of {}, {differs:?}", held.len(), union.len());
        Ok(())
    })
}

/// All names are of one member only, but for the CA that every namespace has.
fn served_name(object: &Value, of: usize) -> String {
    let name = text(&object["metadata"]["name"]);
    if of > 0 && name == "kube-root-ca.crt" { format!("{name}.west") } else { name }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The lists, streamed or not, that the host has answered.
fn lists(host: &Host) -> Vec<String> {
    let log = host.log();
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let answered = lines.filter(|line| line["target"] == "orrery::request" && line["code"] == json!(200));
    let of_config_maps = answered.filter(|line| text(&line["resource"]).starts_with("configmaps"));
    let queries = of_config_maps.map(|line| text(&line["query"]));
    queries.filter(|query| !query.contains("watch=") || query.contains("sendInitialEvents=true")).collect()
}

/// kube-rs's watcher, which keeps values by name.
fn kube_rs(kubeconfig: &Path, config: Config) -> Result<Ask> {
    let watcher = KubeRs::start(kubeconfig, config, |one| (name_of(one), value_of(one)))?;
    Ok(Box::new(move || Ok(watcher.held())))
}

fn name_of(object: &ConfigMap) -> String {
    object.metadata.name.clone().unwrap_or_default()
}

fn value_of(object: &ConfigMap) -> String {
    object.data.iter().flatten().find(|(key, _)| *key == "value").map(|(_, value)| value.clone()).unwrap_or_default()
}
