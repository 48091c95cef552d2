use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use orrery_harness::{Client, Cluster, eventually};
use serde_json::Value;

use crate::Kind;
use crate::essence::{STAMP, essence, metadata, version};

/// An object as a member holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// The member.
    pub cluster: String,
    /// Its namespace; empty for a cluster-scoped one.
    pub namespace: String,
    /// Its name there.
    pub name: String,
    /// Everything but name and resourceVersion.
    pub essence: Value,
}

/// An object as the host shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Its namespace.
    pub namespace: String,
    /// Its served name.
    pub name: String,
    /// The host's resourceVersion.
    pub version: u64,
    /// Whose it is by its stamp; `None` without one.
    pub cluster: Option<String>,
    /// Everything but name, resourceVersion and stamp.
    pub essence: Value,
}

// === impl Shown ===

impl Shown {
    /// Reads an object out of the host's JSON, with its uid.
    pub(crate) fn new(object: &Value) -> Result<(String, Self)> {
        let stamp = object.pointer("/metadata/labels").and_then(|labels| labels.get(STAMP)).and_then(Value::as_str);
        let shown = Self {
            namespace: metadata(object, "namespace").to_owned(),
            name: metadata(object, "name").to_owned(),
            version: version(object)?,
            cluster: stamp.map(str::to_owned),
            essence: essence(object),
        };
        Ok((metadata(object, "uid").to_owned(), shown))
    }
}

/// Every object of `kind` that `members` hold, by uid.
pub fn held(members: &[&Cluster], kind: Kind) -> Result<BTreeMap<String, Held>> {
    let mut all = BTreeMap::new();
    for member in members {
        let list = member.client()?.json(kind.everywhere())?;
        for item in items(&list)? {
            let held = Held {
                cluster: member.name().to_owned(),
                namespace: metadata(item, "namespace").to_owned(),
                name: metadata(item, "name").to_owned(),
                essence: essence(item),
            };
            all.insert(metadata(item, "uid").to_owned(), held);
        }
    }
    Ok(all)
}

/// What a LIST through the host shows, by uid, with the list's resourceVersion.
pub fn shown(host: &Client, path: &str) -> Result<(u64, BTreeMap<String, Shown>)> {
    let list = host.json(path)?;
    let shown: BTreeMap<_, _> = items(&list)?.iter().map(Shown::new).collect::<Result<_>>()?;
    ensure!(shown.len() == items(&list)?.len(), "two items of {path} have one uid");
    Ok((version(&list)?, shown))
}

/// The resourceVersion of a LIST.
pub fn list_version(client: &Client, path: &str) -> Result<u64> {
    version(&client.json(path)?)
}

/// Compares what is shown with what is held: the same objects with the same content, each under its own name or, where
/// names meet, with its cluster's behind it, and no name twice.
pub fn check_union(shown: &BTreeMap<String, Shown>, held: &BTreeMap<String, Held>) -> Result<()> {
    let missing: Vec<_> = held.iter().filter(|(uid, _)| !shown.contains_key(*uid)).take(5).collect();
    ensure!(missing.is_empty(), "held but not shown ({} held, {} shown): {missing:#?}", held.len(), shown.len());
    let mut names = BTreeMap::new();
    for (uid, shown) in shown {
        let Some(held) = held.get(uid) else { bail!("shown but not held: {uid} {shown:#?}") };
        ensure!(shown.essence == held.essence, "{uid} is held as\n{}\nbut shown as\n{}", held.essence, shown.essence);
        ensure!(shown.cluster.as_ref().is_none_or(|stamp| *stamp == held.cluster), "{uid} is stamped {shown:?}");
        let qualified = format!("{}.{}", held.name, held.cluster);
        // A qualified name that is taken itself gets a hash more.
        let fits = shown.name == held.name || shown.name.starts_with(&qualified);
        ensure!(fits && shown.namespace == held.namespace, "{held:?} is shown as {}/{}", shown.namespace, shown.name);
        let other = names.insert((&shown.namespace, &shown.name), uid);
        ensure!(other.is_none(), "{}/{} is the name of {uid} and of {other:?}", shown.namespace, shown.name);
    }
    Ok(())
}

/// Waits until a LIST of `kind` through the host shows the union of `members`, and gives the list's resourceVersion.
pub fn union_is_shown(host: &Client, members: &[&Cluster], kind: Kind, limit: Duration) -> Result<u64> {
    let names: Vec<_> = members.iter().map(|member| member.name()).collect();
    eventually(&format!("{} of {names:?} are shown", kind.resource()), limit, || {
        let held = held(members, kind)?;
        let (version, shown) = shown(host, kind.everywhere())?;
        check_union(&shown, &held)?;
        Ok(version)
    })
}

fn items(list: &Value) -> Result<&Vec<Value>> {
    list["items"].as_array().context("a list has items, which are never null")
}
