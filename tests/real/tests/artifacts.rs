//! A plugin whose component is an artifact of an OCI registry.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use orrery_harness::{Client, eventually, free_port, go_program, repository};
use orrery_real::{Kind, extension, host_over_tiers, replace_file};
use serde_json::{Value, json};

/// A registry that does not answer is asked again after a second, and after ten more.
const FETCHED: Duration = Duration::from_secs(60);

/// A registry with one artifact, the example plugin. Dropping it ends it.
struct Registry {
    child: Child,
    digest: String,
}

// === impl Registry ===

impl Registry {
    fn start(address: &str) -> Result<Self> {
        let program = go_program("tests/clusters/registry", ".", "registry")?;
        let component = repository().join("plugins/example-scorer/example-scorer.wasm");
        let mut command = Command::new(program);
        let mut child = command.arg(address).arg(component).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut digest = String::new();
        BufReader::new(child.stdout.take().context("it was asked to be piped")?).read_line(&mut digest)?;
        ensure!(digest.starts_with("sha256:"), "the registry says {digest:?}");
        Ok(Self { child, digest: digest.trim().to_owned() })
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // It has ended already, or nobody is left to hear of a failure.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A policy that scores by the plugin, which prefers clusters of a tier.
fn documents(reference: &str, digest: &str, tier: &str) -> String {
    let plugin = json!({
        "apiVersion": "orrery.dev/v1alpha1",
        "kind": "Plugin",
        "metadata": {"name": "prefer"},
        "spec": {"component": {"oci": reference, "digest": digest}, "params": {"label": "tier", "weights": {tier: 100}}},
    });
    let policy = json!({
        "apiVersion": "orrery.dev/v1alpha1",
        "kind": "ClusterPlacementPolicy",
        "metadata": {"name": "all"},
        "spec": {"stages": [{"stage": "score", "plugin": "prefer"}]},
    });
    format!("{plugin}\n---\n{policy}\n")
}

fn write(folder: &Path, text: &str) -> Result<()> {
    replace_file(folder, "prefer.yaml", text)
}

fn status(client: &Client) -> Result<Value> {
    extension(client, "Plugin/prefer")
}

/// Makes a ConfigMap; the cluster that it went to.
fn placed(client: &Client, name: &str) -> Result<String> {
    orrery_real::placed(client, name, &json!({}))
}

fn refused(client: &Client, reason: &str) -> Result<()> {
    eventually("it is said why the component is not had", FETCHED, || {
        let status = status(client)?;
        let refusal = &status["refusal"];
        let said = refusal["reason"].as_str().unwrap_or_default();
        ensure!(refusal["step"] == "fetch" && said.contains(reason), "{status}");
        Ok(())
    })
}

fn serves(client: &Client) -> Result<()> {
    eventually("the component serves", FETCHED, || {
        let status = status(client)?;
        ensure!(status["state"] == "Serving", "{status}");
        Ok(())
    })
}

#[test]
fn a_component_is_fetched_by_its_digest_once_its_registry_answers_and_is_kept() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let address = format!("127.0.0.1:{}", free_port()?);
    let reference = format!("{address}/tests/plugin:1");
    let digest = Registry::start(&address)?.digest.clone();
    write(folder.path(), &documents(&reference, &digest, "gold"))?;
    let (_clusters, mut host) = host_over_tiers(folder.path(), &[])?;
    let client = host.client()?;
    // The registry is away: a create that needs its component is told so, and nothing else is.
    refused(&client, &reference)?;
    let early = json!({"metadata": {"name": "early"}}).to_string();
    let kind = ("content-type", "application/json");
    let rejected = client.send("POST", Kind::ConfigMaps.in_default(), &[kind], early.as_bytes())?;
    ensure!(rejected.status == 422 && rejected.text().contains("prefer"), "{}", rejected.text());
    ensure!(client.get(Kind::ConfigMaps.everywhere())?.status == 200, "reads wait for a component");

    let registry = Registry::start(&address)?;
    ensure!(registry.digest == digest, "the artifact is another one");
    serves(&client)?;
    ensure!(placed(&client, "to-gold")? == "east", "the component does not decide");

    // Another digest is another artifact, which is not there: what serves goes on.
    let other = format!("sha256:{}", "0".repeat(64));
    write(folder.path(), &documents(&reference, &other, "gold"))?;
    refused(&client, &reference)?;
    ensure!(placed(&client, "to-gold-still")? == "east", "what serves does not decide");

    // With other params it is another revision of the same artifact, which is kept: no registry is needed for it.
    drop(registry);
    write(folder.path(), &documents(&reference, &digest, "silver"))?;
    eventually("the other params decide", FETCHED, || {
        let status = status(&client)?;
        ensure!(status["state"] == "Serving" && status["generation"]["number"] != 1, "{status}");
        Ok(())
    })?;
    ensure!(placed(&client, "to-silver")? == "west", "the other params do not decide");
    host.kill9()?;
    host.restart()?;
    let client = host.client()?;
    serves(&client)?;
    ensure!(placed(&client, "to-silver-still")? == "west", "after a restart the component does not decide");
    Ok(())
}
