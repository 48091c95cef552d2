//! helm as judge: a chart with a hook is installed, upgraded, rolled back and uninstalled through the host over two members
//! as it is directly.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use orrery_harness::{Client, ClusterSpec, HostSpec, Kubectl, eventually, go_program, repository, start_all};
use serde_json::Value;
use tempfile::TempDir;

const SOON: Duration = Duration::from_secs(30);
const NAMESPACE: &str = "sky";

/// helm with one kubeconfig, and caches of its own.
struct Helm {
    program: PathBuf,
    kubeconfig: PathBuf,
    home: TempDir,
}

#[test]
#[ignore = "the suite clients"]
fn a_chart_is_installed_upgraded_rolled_back_and_uninstalled() -> Result<()> {
    let [lone, east, west] = start_all(["lone", "east", "west"].map(|name| ClusterSpec::full(name).nodes(1)))?;
    let host = HostSpec::new().member(&east).member(&west).start()?;
    // Directly first: where that fails, the judge is wrong.
    judge(lone.kubectl(), &lone.kubeconfig(), &lone.client()?).context("directly")?;
    // All of a release is in the cluster that its namespace is pinned to.
    judge(host.kubectl(), &host.kubeconfig(), &west.client()?).context("through the host")
}

/// A release's life; `member` has what it leaves.
fn judge(kubectl: &Kubectl, kubeconfig: &Path, member: &Client) -> Result<()> {
    let pin = "placement.orrery.dev/cluster: west";
    kubectl
        .apply(&format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {NAMESPACE}, labels: {{{pin}}}}}}}"))?;
    let helm = Helm::new(kubeconfig)?;
    let chart = repository().join("tests/compat/helm/chart");
    let chart = chart.to_str().context("its path is text")?;
    let wait = ["--wait", "--timeout=60s"];

    helm.ok(&[&["install", "demo", chart], &wait[..]].concat())?;
    is_there(member, 2, "hello")?;
    helm.ok(&[&["upgrade", "demo", chart, "--set=greeting=salve,replicas=3"], &wait[..]].concat())?;
    is_there(member, 3, "salve")?;
    let hook = member.json(&namespaced("/apis/batch/v1", "jobs/demo-before"))?;
    ensure!(hook["status"]["succeeded"] == 1, "the hook was not waited for: {hook}");
    helm.ok(&[&["rollback", "demo", "1"], &wait[..]].concat())?;
    is_there(member, 2, "hello")?;
    let history = helm.json(&["history", "demo"])?;
    let revisions = history.as_array().map(Vec::as_slice).unwrap_or_default();
    let told: Vec<_> = revisions.iter().map(|one| one["status"].as_str().unwrap_or_default()).collect();
    ensure!(told == ["superseded", "superseded", "deployed"], "{history}");
    // One that the members refuse is put back.
    let refused = helm.run(&["upgrade", "demo", chart, "--set=replicas=none", "--rollback-on-failure"])?;
    ensure!(!refused.status.success(), "replicas that are no number were taken");
    is_there(member, 2, "hello")?;
    helm.ok(&[&["uninstall", "demo"], &wait[..]].concat())?;
    ensure!(helm.json(&["list", "--all-namespaces"])? == Value::Array(Vec::new()), "it is still listed");
    for (api, resource) in [("/apis/apps/v1", "deployments"), ("/api/v1", "services"), ("/api/v1", "secrets")] {
        let left = member.json(&namespaced(api, resource))?;
        ensure!(left["items"].as_array().is_some_and(Vec::is_empty), "it left {left}");
    }
    Ok(())
}

/// Waits until the member has so many replicas with that greeting.
fn is_there(member: &Client, replicas: u64, greeting: &str) -> Result<()> {
    eventually("the release is as it was asked for", SOON, || {
        let set = member.json(&namespaced("/apis/apps/v1", "deployments/demo"))?;
        ensure!(set["status"]["availableReplicas"] == replicas, "{}", set["status"]);
        let map = member.json(&namespaced("/api/v1", "configmaps/demo"))?;
        ensure!(map["data"]["greeting"] == greeting, "{}", map["data"]);
        Ok(())
    })
}

fn namespaced(api: &str, rest: &str) -> String {
    format!("{api}/namespaces/{NAMESPACE}/{rest}")
}

// === impl Helm ===

impl Helm {
    fn new(kubeconfig: &Path) -> Result<Self> {
        let program = go_program("tests/compat/helm", "helm.sh/helm/v4/cmd/helm", "helm")?;
        Ok(Self { program, kubeconfig: kubeconfig.to_owned(), home: tempfile::tempdir()? })
    }

    fn run(&self, args: &[&str]) -> Result<std::process::Output> {
        let mut command = Command::new(&self.program);
        command.args(args).arg("--namespace").arg(NAMESPACE).env("KUBECONFIG", &self.kubeconfig);
        for folder in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(folder, self.home.path().join(folder));
        }
        command.output().context("failed to start helm")
    }

    fn ok(&self, args: &[&str]) -> Result<String> {
        let output = self.run(args)?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "helm {} ended with {}: {said}", args.join(" "), output.status);
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn json(&self, args: &[&str]) -> Result<Value> {
        Ok(serde_json::from_str(&self.ok(&[args, &["--output=json"]].concat())?)?)
    }
}
