use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use orrery_harness::{Client, Response, eventually};
use serde_json::json;

use crate::Kind;

/// The texts of an answer's `Warning` headers.
pub fn warnings(answer: &Response) -> Vec<&str> {
    answer.headers.iter().filter(|(name, _)| name == "warning").map(|(_, value)| value.as_str()).collect()
}

/// Waits until a LIST of `path` carries a Warning that names `cluster`. Every LIST until then is answered 200.
pub fn warned_of(host: &Client, path: &str, cluster: &str, limit: Duration) -> Result<()> {
    let mut refused = None;
    eventually(&format!("a list warns of {cluster}"), limit, || {
        let answer = host.get(path)?;
        if answer.status != 200 {
            refused = Some(format!("a list was answered {}: {}", answer.status, answer.text()));
            return Ok(());
        }
        let warnings = warnings(&answer);
        ensure!(warnings.iter().any(|text| text.contains(&format!("cluster {cluster} "))), "it carries {warnings:?}");
        Ok(())
    })?;
    refused.map_or(Ok(()), |refused| bail!(refused))
}

/// Makes a ConfigMap in namespace `default`.
pub fn create_config_map(client: &Client, name: &str) -> Result<()> {
    client.create(Kind::ConfigMaps.in_default(), &Kind::ConfigMaps.object(name, "front")).map(drop)
}

/// Deletes one.
pub fn delete_config_map(client: &Client, name: &str) -> Result<()> {
    client.send("DELETE", &config_map(name), &[], &[])?.success().map(drop)
}

/// Changes one: `data.value` becomes `value`.
pub fn change_config_map(client: &Client, name: &str, value: &str) -> Result<()> {
    let patch = json!({"data": {"value": value}}).to_string();
    let headers = [("content-type", "application/merge-patch+json")];
    client.send("PATCH", &config_map(name), &headers, patch.as_bytes())?.success().map(drop)
}

/// Path of a ConfigMap in namespace `default`.
pub fn config_map(name: &str) -> String {
    format!("{}/{name}", Kind::ConfigMaps.in_default())
}

/// Waits until the host shows a ConfigMap of that name.
pub fn is_shown(host: &Client, name: &str, limit: Duration) -> Result<()> {
    eventually(&format!("{name} is shown"), limit, || {
        host.json(Kind::ConfigMaps.in_default())?["items"]
            .as_array()
            .and_then(|items| items.iter().find(|item| item["metadata"]["name"] == name))
            .map(drop)
            .context("it is not in the list")
    })
}
