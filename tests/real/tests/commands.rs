//! The commands that ask a running host, as a user types them.

use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use orrery_harness::{Cluster, ClusterSpec, Host, HostSpec, eventually, start_all};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(20);

fn two_clusters() -> Result<[Cluster; 2]> {
    start_all([ClusterSpec::bare("east"), ClusterSpec::bare("west")])
}

/// Runs a command on the host's directory; with the kubeconfig `kubeconfig` as the user's own.
fn run(host: &Host, args: &[&str], kubeconfig: &Path) -> Result<Output> {
    Ok(host.command(args)?.env("KUBECONFIG", kubeconfig).output()?)
}

fn printed(output: Output) -> Result<String> {
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn a_user_sees_members_and_clock_and_takes_the_contexts_over() -> Result<()> {
    let [east, west] = two_clusters()?;
    for (cluster, name) in [(&east, "from-east"), (&west, "from-west")] {
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        cluster.client()?.create("/api/v1/namespaces/default/configmaps", &body)?;
    }
    let host = HostSpec::new().member(&east).member(&west).start()?;
    let own = host.data().join("own-kubeconfig");
    fs::write(&own, fs::read_to_string(east.kubeconfig())?)?;

    host.kubectl().ok(&["get", "configmaps", "-A"])?;
    let status = eventually("both members are there", SOON, || {
        let status = printed(run(&host, &["status"], &own)?)?;
        ensure!(
            status.lines().any(|line| line.starts_with("configmaps") && line.contains("east") && line.contains("west"))
        );
        Ok(status)
    })?;
    for name in ["east", "west"] {
        let line = status.lines().find(|line| line.starts_with(name)).context("each member has a line")?;
        ensure!(line.contains("yes") && line.contains("v1.37"), "{line}");
    }
    let document: Value = serde_json::from_str(&printed(run(&host, &["status", "-o", "json"], &own)?)?)?;
    ensure!(document["members"].as_array().is_some_and(|members| members.len() == 2), "{document}");

    let head = host.client()?.json("/api/v1/configmaps")?["metadata"]["resourceVersion"].clone();
    let head = head.as_str().context("a list has a resourceVersion")?;
    let clock = printed(run(&host, &["clock", "configmaps", head], &own)?)?;
    ensure!(clock.starts_with(&format!("configmaps v1, marker {head} ")), "{clock}");
    ensure!(clock.contains("east") && clock.contains("west"), "{clock}");
    let refused = run(&host, &["clock", "configmaps", "1"], &own)?;
    ensure!(!refused.status.success() && String::from_utf8(refused.stderr)?.contains("410"), "marker 1 is of no log");

    let said = printed(run(&host, &["kubeconfig", "--merge", "--members"], &own)?)?;
    ensure!(said.starts_with("Set kubectl context to \"orrery\""), "{said}");
    let kubectl = |context: &str| -> Result<String> {
        let mut command =
            host.kubectl().command(&["get", "configmaps", "-n", "default", "-o=name", "--context", context]);
        printed(command.env("KUBECONFIG", &own).output()?)
    };
    let all = kubectl("orrery")?;
    ensure!(all.contains("from-east") && all.contains("from-west"), "{all}");
    ensure!(kubectl("orrery-west")?.trim() == "configmap/from-west", "the context of one member shows that one alone");
    let context = east.kubectl().ok(&["config", "current-context"])?;
    ensure!(kubectl(context.trim())?.trim() == "configmap/from-east", "what stood in the file still works");
    Ok(())
}

#[test]
fn a_host_that_does_not_run_is_an_error_that_says_how_to_start_it() -> Result<()> {
    let east = ClusterSpec::bare("east").start()?;
    let mut host = HostSpec::new().member(&east).start()?;
    host.kill9()?;
    let output = run(&host, &["status"], &host.data().join("own-kubeconfig"))?;
    let error = String::from_utf8(output.stderr)?;
    ensure!(!output.status.success(), "a host that does not run has no status");
    ensure!(error.contains("does not answer") && error.contains("orrery serve --data"), "{error}");
    Ok(())
}
