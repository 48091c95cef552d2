//! stern as judge: it follows the logs of the pods of two clusters, also of those that come later.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Result, ensure};
use orrery_harness::{Cluster, ClusterSpec, HostSpec, Kubectl, eventually, go_program, start_all};

const SOON: Duration = Duration::from_secs(30);
/// What kwok's kubelet answers of every pod.
const LOG: [&str; 2] = ["the sun stands still", "and yet it moves"];

#[test]
#[ignore = "the suite clients"]
fn the_logs_of_two_clusters_are_followed_as_those_of_one() -> Result<()> {
    let [lone, east, west] = start_all(["lone", "east", "west"].map(|name| ClusterSpec::full(name).nodes(1)))?;
    let host = HostSpec::new().member(&east).member(&west).start()?;
    // Directly first: where that fails, the judge is wrong.
    judge(lone.kubectl(), &lone.kubeconfig(), [&lone, &lone])?;
    judge(host.kubectl(), &host.kubeconfig(), [&east, &west])
}

/// A pod of each cluster is there first, and then another one comes.
fn judge(kubectl: &Kubectl, kubeconfig: &Path, clusters: [&Cluster; 2]) -> Result<()> {
    kubectl.ok(&["create", "namespace", "sky"])?;
    for (name, cluster) in ["moon", "sun"].into_iter().zip(clusters) {
        run_pod(kubectl, name, cluster)?;
    }
    let once = stern(kubeconfig)?.arg("--no-follow").output()?;
    let printed = String::from_utf8_lossy(&once.stdout);
    let mut lines: Vec<&str> = printed.lines().collect();
    lines.sort_unstable();
    let expected = ["moon", "sun"].map(|pod| LOG.map(|line| format!("{pod} {line}"))).concat();
    let mut expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    expected.sort_unstable();
    ensure!(lines == expected, "{printed}\n{}", String::from_utf8_lossy(&once.stderr));

    let scratch = tempfile::tempdir()?;
    let path = scratch.path().join("log");
    let log = File::create(&path)?;
    let mut following = stern(kubeconfig)?.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?;
    let followed = eventually("both pods are followed", SOON, || is_followed(&path, &["moon", "sun"]))
        .and_then(|()| run_pod(kubectl, "star", clusters[1]))
        .and_then(|()| eventually("the new pod is followed", SOON, || is_followed(&path, &["star"])));
    following.kill()?;
    following.wait()?;
    followed
}

/// stern of all pods of the namespace, a line as `POD MESSAGE`. The lines are months old.
fn stern(kubeconfig: &Path) -> Result<Command> {
    let mut command = Command::new(go_program("tests/compat/stern", "github.com/stern/stern", "stern")?);
    command.arg("--kubeconfig").arg(kubeconfig).args([
        "--namespace=sky",
        "--color=never",
        "--only-log-lines",
        "--since=999999h",
    ]);
    command.args(["--template", "{{.PodName}} {{.Message}}{{\"\\n\"}}", "."]);
    Ok(command)
}

fn run_pod(kubectl: &Kubectl, name: &str, cluster: &Cluster) -> Result<()> {
    let metadata = format!("name: {name}, namespace: sky, labels: {{orrery.dev/cluster: {}}}", cluster.name());
    let spec = "containers: [{name: c, image: c}]";
    kubectl.apply(&format!("{{apiVersion: v1, kind: Pod, metadata: {{{metadata}}}, spec: {{{spec}}}}}"))?;
    kubectl.ok(&["wait", "--namespace=sky", "--for=condition=Ready", "pod", name, "--timeout=30s"])?;
    // stern waits for it, and kwok's kubelet gives none.
    let id =
        format!(r#"[{{"op": "add", "path": "/status/containerStatuses/0/containerID", "value": "fake://{name}"}}]"#);
    let patch = ["patch", "pod", name, "--namespace=sky", "--subresource=status", "--type=json", "--patch", &id];
    kubectl.ok(&patch).map(drop)
}

fn is_followed(log: &Path, pods: &[&str]) -> Result<()> {
    let printed = fs::read_to_string(log)?;
    let lacking = pods.iter().find(|pod| !printed.contains(&format!("{pod} {}", LOG[1])));
    ensure!(lacking.is_none(), "{lacking:?} is lacking in:\n{printed}");
    Ok(())
}
