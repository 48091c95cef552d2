//! k9s as judge: what its users see of the pods of two clusters, and do with them, through the host as directly.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use orrery_compat::Terminal;
use orrery_harness::{Cluster, ClusterSpec, HostSpec, Kubectl, go_program, start_all};

/// A column of the label that says which cluster a pod is in: k9s makes its tables itself.
const VIEWS: &str = r"
views:
  v1/pods:
    columns: [NAME, CLUSTER:.metadata.labels.orrery\.dev/cluster, READY, STATUS, NODE, AGE]
";

/// It asks nobody else whether there is a newer one.
const SETTINGS: &str = "k9s: {skipLatestRevCheck: true}";

#[test]
#[ignore = "the suite clients"]
fn pods_of_two_clusters_are_listed_read_entered_and_deleted() -> Result<()> {
    let [lone, east, west] = start_all(["lone", "east", "west"].map(|name| ClusterSpec::full(name).nodes(1)))?;
    let host = HostSpec::new().member(&east).member(&west).start()?;
    // Directly first: where that fails, the judge is wrong.
    judge(lone.kubectl(), &lone.kubeconfig(), [&lone, &lone]).context("directly")?;
    judge(host.kubectl(), &host.kubeconfig(), [&east, &west]).context("through the host")
}

/// `moon` is in the first cluster and `sun` in the second.
fn judge(kubectl: &Kubectl, kubeconfig: &Path, clusters: [&Cluster; 2]) -> Result<()> {
    kubectl.ok(&["create", "namespace", "sky"])?;
    for (name, cluster) in ["moon", "sun"].into_iter().zip(clusters) {
        let label = format!("--labels=orrery.dev/cluster={}", cluster.name());
        kubectl.ok(&["run", name, "--namespace=sky", "--image=c", &label])?;
        kubectl.ok(&["wait", "--namespace=sky", "--for=condition=Ready", "pod", name, "--timeout=30s"])?;
    }
    let (settings, terminal) = k9s(kubectl, kubeconfig)?;
    let [first, second] = clusters.map(Cluster::name);
    terminal.until("both pods are listed", |screen| {
        is_row(screen, &["moon", first, "1/1", "Running"]) && is_row(screen, &["sun", second, "1/1", "Running"])
    })?;
    terminal.press(&["/", "moon", "Enter"])?;
    terminal.until("one is chosen", |screen| is_row(screen, &["moon"]) && !is_row(screen, &["sun"]))?;
    terminal.press(&["l"])?;
    terminal
        .until("its log", |screen| screen.contains("the sun stands still") && screen.contains("and yet it moves"))?;
    terminal.press(&["Escape"])?;
    terminal.until("the list again", |screen| is_row(screen, &["moon"]))?;
    terminal.press(&["s"])?;
    terminal.until("a shell", |screen| screen.contains("Pod: sky/moon"))?;
    terminal.press(&["expr 6 '*' 7", "Enter"])?;
    terminal.until("what a command prints", |screen| screen.lines().any(|line| line.trim() == "42"))?;
    terminal.press(&["exit", "Enter"])?;
    terminal.until("the list once more", |screen| is_row(screen, &["moon"]))?;
    terminal.press(&["C-d"])?;
    terminal.until("a question", |screen| screen.contains("<Delete>") && screen.contains("sky/moon"))?;
    // From `Cancel` to `OK`.
    terminal.press(&["Tab", "Enter"])?;
    terminal.until("it is gone", |screen| !screen.contains("<Delete>") && !is_row(screen, &["moon"]))?;
    terminal.press(&["Escape"])?;
    terminal.until("the other is there", |screen| is_row(screen, &["sun", second]) && !is_row(screen, &["moon"]))?;
    let left = kubectl.ok(&["get", "pods", "--namespace=sky", "--output=name"])?;
    ensure!(left.trim_end() == "pod/sun", "{left}");
    drop(settings);
    Ok(())
}

/// k9s with settings of its own. It finds kubectl, which it opens shells with, on its path.
fn k9s(kubectl: &Kubectl, kubeconfig: &Path) -> Result<(tempfile::TempDir, Terminal)> {
    let program = go_program("tests/compat/k9s", "github.com/derailed/k9s", "k9s")?;
    let settings = tempfile::tempdir()?;
    fs::write(settings.path().join("views.yaml"), VIEWS)?;
    fs::write(settings.path().join("config.yaml"), SETTINGS)?;
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", kubectl.program().parent().context("it is in a folder")?.display());
    let kubeconfig = kubeconfig.to_str().context("its path is text")?;
    let args = ["--kubeconfig", kubeconfig, "--namespace=sky", "--command=pods"];
    let logs = settings.path().join("logs");
    let env = [
        ("K9S_CONFIG_DIR", settings.path()),
        ("K9S_LOGS_DIR", &logs),
        ("PATH", Path::new(&path)),
        ("SHELL", Path::new("/bin/sh")),
    ];
    let terminal = Terminal::start(&program, &args, &env)?;
    Ok((settings, terminal))
}

/// Whether a line of a table begins so, cell by cell.
fn is_row(screen: &str, cells: &[&str]) -> bool {
    // Lines are framed, and a mark may stand before the first cell.
    let words = |line: &str| line.split_whitespace().filter(|word| *word != "│").map(str::to_owned).collect::<Vec<_>>();
    screen.lines().any(|line| words(line).iter().map(String::as_str).take(cells.len()).eq(cells.iter().copied()))
}
