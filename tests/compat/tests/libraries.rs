//! The clients of Python and JavaScript as judges: what their users do with a pod, they do through the host over two
//! members as they do it directly.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use orrery_compat::{javascript_program, python_program};
use orrery_harness::{ClusterSpec, HostSpec, Kubectl, start_all};

/// A program, by the name of a file.
type Program = fn(&str) -> Result<Command>;

#[test]
#[ignore = "the suite clients"]
fn a_pod_is_made_watched_run_in_and_deleted_by_python_and_javascript() -> Result<()> {
    let [east, west] = start_all(["east", "west"].map(|name| ClusterSpec::full(name).nodes(1)))?;
    let host = HostSpec::new().member(&east).member(&west).start()?;
    let clients: [(Program, &str); 2] = [(python_program, "use.py"), (javascript_program, "use.mjs")];
    for (client, file) in clients {
        // Directly first: where that fails, the judge is wrong.
        judge(client(file)?, "direct", east.kubectl(), &east.kubeconfig())
            .with_context(|| format!("{file} directly"))?;
        judge(client(file)?, "through", host.kubectl(), &host.kubeconfig())
            .with_context(|| format!("{file} through the host"))?;
    }
    Ok(())
}

fn judge(mut client: Command, way: &str, kubectl: &Kubectl, kubeconfig: &Path) -> Result<()> {
    let pin = "placement.orrery.dev/cluster: west";
    kubectl.apply(&format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {way}, labels: {{{pin}}}}}}}"))?;
    let output = client.arg(kubeconfig).arg(way).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim_end());
    Ok(())
}
