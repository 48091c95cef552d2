//! kubectl as judge of writes: every command that writes prints the same against a member directly and through the host
//! over two members, apart from clusters' names, resourceVersions, and what comes by chance.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use anyhow::{Context, Result, bail, ensure};
use orrery_compat::{unstamped, unstamped_json, unversioned, without_chance, without_cluster};
use orrery_harness::{Cluster, ClusterSpec, Host, HostSpec, Kubectl, Printed, eventually, go_program, start_all};
use tempfile::TempDir;

const SCRIPT: &str = include_str!("kubectl_writes/script.sh");

/// Longest time until a read prints the same on both ways.
const SAME_LIMIT: Duration = Duration::from_secs(20);

/// Longest time for one command.
const COMMAND_SECONDS: &str = "120";

/// What one run of the script uses, so that two may run at the same time.
#[derive(Clone, Copy, Debug)]
struct Run<'a> {
    kubectl: &'a Path,
    namespace: &'a str,
    /// Numbers of the nodes A and B.
    nodes: [u8; 2],
    /// The flag of `kubectl autoscale`, which was renamed.
    cpu: &'a str,
}

/// One way to run the script: directly against a cluster, or through the host.
struct Way<'a> {
    run: Run<'a>,
    /// Folder with a `kubectl`, a kubeconfig, a cache, and a scratch folder.
    folder: TempDir,
    /// Suffix of the nodes' names.
    renamed: &'a str,
    container_log: PathBuf,
}

/// A part of the script.
struct Step<'a> {
    command: &'a str,
    /// Whether it only reads, so may run again.
    reads: bool,
}

#[test]
#[ignore = "the suite kubectl-writes: what terminals and controllers print comes by chance now and then"]
fn every_write_prints_the_same_through_the_host_over_two_members() -> Result<()> {
    // In `west` each name that both have is the second one.
    let [lone, east, west] = start_all([
        ClusterSpec::full("lone").nodes(4),
        ClusterSpec::full("east").nodes(4),
        ClusterSpec::full("west").nodes(4),
    ])?;
    let host = HostSpec::new().member(&east).member(&west).start()?;
    let older = go_program("tests/compat/kubectl-1.32", ".", "kubectl-1.32")?;
    let newest = Run { kubectl: host.kubectl().program(), namespace: "sky-a", nodes: [1, 3], cpu: "--cpu=80%" };
    let older = Run { kubectl: &older, namespace: "sky-b", nodes: [2, 4], cpu: "--cpu-percent=80" };
    let differing = thread::scope(|scope| {
        let of_older = scope.spawn(|| differing(&lone, &host, &west, older));
        let of_newest = differing(&lone, &host, &west, newest);
        [("1.37", of_newest), ("1.32", of_older.join().unwrap_or_else(|_| bail!("it panicked")))]
    });
    let mut found = Vec::new();
    for (version, differing) in differing {
        found.extend(differing?.into_iter().map(|text| format!("kubectl {version}: {text}")));
    }
    ensure!(found.is_empty(), "{} commands differ:\n\n{}", found.len(), found.join("\n\n"));
    Ok(())
}

/// What differs between the script run against `lone`, and through `host` in a namespace that is pinned to `west`.
fn differing(lone: &Cluster, host: &Host, west: &Cluster, run: Run<'_>) -> Result<Vec<String>> {
    let direct = Way::new(run, lone.kubectl(), &lone.kubeconfig(), "", lone)?;
    let through = Way::new(run, host.kubectl(), &host.kubeconfig(), ".west", west)?;
    Ok(steps().filter_map(|step| step.difference(&direct, &through)).collect())
}

/// The blocks of the script.
fn steps() -> impl Iterator<Item = Step<'static>> {
    let blocks = SCRIPT.split("\n\n").map(str::trim).filter(|block| !block.is_empty() && !block.starts_with('#'));
    blocks.map(|block| match block.strip_prefix("? ") {
        Some(command) => Step { command, reads: true },
        None => Step { command: block, reads: false },
    })
}

// === impl Step ===

impl Step<'_> {
    /// How what it prints differs, if it does.
    fn difference(&self, direct: &Way<'_>, through: &Way<'_>) -> Option<String> {
        let once = || {
            let (direct, through) = thread::scope(|scope| {
                let direct = scope.spawn(|| direct.prints(self.command));
                let through = through.prints(self.command);
                (direct.join().unwrap_or_else(|_| bail!("it panicked")), through)
            });
            let (direct, through) = (direct?, through?);
            let [shown_direct, shown_through] = [shown(&direct), shown(&through)];
            ensure!(direct == through, "directly:\n{shown_direct}\nthrough the host:\n{shown_through}");
            Ok(())
        };
        let same = if self.reads { eventually("it prints the same", SAME_LIMIT, once) } else { once() };
        same.err().map(|difference| format!("{}\n{difference:#}", self.command))
    }
}

// === impl Way ===

impl<'a> Way<'a> {
    fn new(run: Run<'a>, plain: &Kubectl, kubeconfig: &Path, renamed: &'a str, cluster: &Cluster) -> Result<Self> {
        let Run { kubectl, namespace, .. } = run;
        let pinned = format!("name: {namespace}, labels: {{placement.orrery.dev/cluster: west}}");
        plain.apply(&format!("{{apiVersion: v1, kind: Namespace, metadata: {{{pinned}}}}}"))?;
        let folder = tempfile::Builder::new().prefix("writes-").tempdir()?;
        symlink(kubectl, folder.path().join("kubectl"))?;
        fs::create_dir(folder.path().join("scratch"))?;
        fs::copy(kubeconfig, folder.path().join("kubeconfig"))?;
        let way = Self { run, folder, renamed, container_log: cluster.dir().join("container.log") };
        way.prepare("kubectl config set-context --current --namespace=$NS")?;
        way.prepare("for try in $(seq 300); do kubectl get serviceaccount default && exit; sleep 0.1; done; exit 1")?;
        Ok(way)
    }

    fn prepare(&self, command: &str) -> Result<()> {
        let printed = self.prints(command)?;
        ensure!(printed.code == 0, "{command}: {}", shown(&printed));
        Ok(())
    }

    /// What `command` prints, without what may differ.
    fn prints(&self, command: &str) -> Result<Printed> {
        let folder = self.folder.path();
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths([folder.to_owned()].into_iter().chain(env::split_paths(&path)))?;
        let mut bash = Command::new("timeout");
        bash.args([COMMAND_SECONDS, "bash", "-c", command]).current_dir(folder).stdin(Stdio::null());
        bash.env("PATH", path).env("KUBECONFIG", folder.join("kubeconfig")).env("KUBECACHEDIR", folder.join("cache"));
        bash.env("DIR", folder.join("scratch")).env("NS", self.run.namespace).env("CPU", self.run.cpu);
        bash.env("CONTAINER_LOG", &self.container_log).env("TERM", "xterm");
        let [a, b] = self.run.nodes.map(|number| format!("node-{number}"));
        bash.env("NODE_A", format!("{a}{}", self.renamed)).env("NODE_B", format!("{b}{}", self.renamed));
        bash.env("PLAIN_NODE_B", b);
        let output = bash.output().context("failed to start bash")?;
        Ok(Printed {
            stdout: self.plain(&String::from_utf8_lossy(&output.stdout)),
            stderr: self.plain(&String::from_utf8_lossy(&output.stderr)),
            code: output.status.code().unwrap_or(-1),
        })
    }

    fn plain(&self, text: &str) -> String {
        let text = text.replace(&*self.folder.path().to_string_lossy(), "FOLDER");
        let text = unstamped_json(&text).unwrap_or_else(|| unstamped(&without_cluster(&text)));
        let mut text = without_chance(&unversioned(&text));
        for number in self.run.nodes {
            text = text.replace(&format!("node-{number}{}", self.renamed), &format!("node-{number}"));
        }
        text
    }
}

fn shown(printed: &Printed) -> String {
    format!("{}{}(code {})", printed.stdout, printed.stderr, printed.code)
}
