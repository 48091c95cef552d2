//! controller-runtime as judge: what controllers do all day works through the host over two members as it does directly.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use orrery_harness::{Cluster, ClusterSpec, HostSpec, Kubectl, go_program, start_all};

const TRIALS: [&str; 7] = ["locks", "apply", "namespaces", "owners", "election", "caches", "counter"];

#[test]
fn controllers_work_through_the_host_as_they_do_directly() -> Result<()> {
    let [east, west] = start_all([ClusterSpec::full("east").nodes(1), ClusterSpec::full("west").nodes(1)])?;
    let host = HostSpec::new().member(&east).member(&west).start()?;
    let mut wrong = Vec::new();
    for trial in TRIALS {
        // Directly first: where that fails, the judge is wrong.
        judge(trial, "direct", east.kubectl(), &east.kubeconfig(), &east)?;
        if let Err(error) = judge(trial, "through", host.kubectl(), &host.kubeconfig(), &west) {
            wrong.push(format!("{trial}: {error:#}"));
        }
    }
    ensure!(wrong.is_empty(), "through the host:\n{}", wrong.join("\n"));
    Ok(())
}

/// Runs `trial` in a namespace of its own that is pinned to `member`.
fn judge(trial: &str, way: &str, kubectl: &Kubectl, kubeconfig: &Path, member: &Cluster) -> Result<()> {
    let namespace = format!("{trial}-{way}");
    let pin = format!("placement.orrery.dev/cluster: {}", member.name());
    kubectl
        .apply(&format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}, labels: {{{pin}}}}}}}"))?;
    let program = go_program("tests/compat/controllers", ".", "controllers")?;
    let output = Command::new(program).arg(trial).arg(kubeconfig).arg(&namespace).arg(member.kubeconfig()).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim_end());
    Ok(())
}
