//! The older minor versions that `./dev clusters up --version` starts. By name only (`./dev test versions`): building
//! them takes minutes.

use anyhow::Result;
use orrery_harness::{ClusterSpec, Minor};

fn check(minor: Minor) -> Result<()> {
    let cluster = ClusterSpec::full("east").nodes(1).version(minor).start()?;
    let version = cluster.client()?.json("/version")?;
    assert_eq!(version["gitVersion"], format!("v{}", minor.version()));
    cluster.kubectl().ok(&["create", "deployment", "web", "--image=web"])?;
    cluster.kubectl().ok(&["wait", "--for=condition=Available", "deployment/web", "--timeout=20s"])?;
    Ok(())
}

#[test]
#[ignore = "builds Kubernetes 1.34"]
fn a_cluster_of_1_34_runs_pods() -> Result<()> {
    check(Minor::V1_34)
}

#[test]
#[ignore = "builds Kubernetes 1.36"]
fn a_cluster_of_1_36_runs_pods() -> Result<()> {
    check(Minor::V1_36)
}

#[test]
#[ignore = "the same for the newest, so that all can be seen side by side"]
fn a_cluster_of_1_37_runs_pods() -> Result<()> {
    check(Minor::V1_37)
}
