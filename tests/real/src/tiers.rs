use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use orrery_harness::{Client, Cluster, ClusterSpec, Host, HostSpec, start_all};
use serde_json::{Value, json};

use crate::Kind;

/// Two members, `east` of the tier gold and `west` of the tier silver, and a host over them that reads extensions from
/// `folder`, with these flags beside.
pub fn host_over_tiers(folder: &Path, flags: &[&str]) -> Result<([Cluster; 2], Host)> {
    let clusters = start_all(["east", "west"].map(ClusterSpec::bare))?;
    let host = HostSpec::new().member(&clusters[0]).member(&clusters[1]);
    let host = host.flag("--cluster-label=east:tier=gold").flag("--cluster-label=west:tier=silver");
    let host = host.flag(format!("--extensions={}", folder.display()));
    let host = flags.iter().fold(host, |host, flag| host.flag(*flag));
    Ok((clusters, host.start()?))
}

/// Writes a file as editors do: whole, under its name at once.
pub fn replace_file(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> Result<()> {
    fs::write(folder.join(".new"), content)?;
    Ok(fs::rename(folder.join(".new"), folder.join(name))?)
}

/// Makes a ConfigMap with `labels` that nothing ties to a cluster; the cluster that it went to.
pub fn placed(client: &Client, name: &str, labels: &Value) -> Result<String> {
    let map = json!({"metadata": {"name": name, "labels": labels}});
    let made = client.create(Kind::ConfigMaps.in_default(), &map)?;
    Ok(made["metadata"]["labels"]["orrery.dev/cluster"].as_str().context("it has no stamp")?.to_owned())
}

/// The status of the extension `KIND/NAME`.
pub fn extension(client: &Client, name: &str) -> Result<Value> {
    client.json(&format!("/orrery/v1/extensions/{name}"))
}
