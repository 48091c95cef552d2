//! Members of older minor versions beside the newest. By name only (`./dev test minors`): building them takes minutes.

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use orrery_harness::{ClusterSpec, HostSpec, Minor, start_all};
use orrery_real::{COMETS, Churn, Kind, Recorder};

const SOON: Duration = Duration::from_secs(20);

const MINORS: [(&str, Minor); 3] = [("old", Minor::V1_34), ("middle", Minor::V1_36), ("new", Minor::V1_37)];

#[test]
#[ignore = "builds Kubernetes 1.34 and 1.36"]
fn clusters_of_every_minor_run_pods() -> Result<()> {
    for (name, minor) in MINORS {
        let cluster = ClusterSpec::full(name).nodes(1).version(minor).start()?;
        let version = cluster.client()?.json("/version")?;
        assert_eq!(version["gitVersion"], format!("v{}", minor.version()));
        cluster.kubectl().ok(&["create", "deployment", "web", "--image=web"])?;
        cluster.kubectl().ok(&["wait", "--for=condition=Available", "deployment/web", "--timeout=20s"])?;
    }
    Ok(())
}

#[test]
#[ignore = "builds Kubernetes 1.34 and 1.36"]
fn members_of_three_minors_are_one_api_across_a_kill_and_an_outage_of_each() -> Result<()> {
    let mut members = start_all(MINORS.map(|(name, minor)| ClusterSpec::bare(name).version(minor)))?;
    for member in &members {
        member.kubectl().apply(COMETS)?;
        let wait = ["wait", "--for=condition=Established", "crd/comets.sky.example.com", "--timeout=20s"];
        member.kubectl().ok(&wait)?;
    }
    let mut host = HostSpec::new().member(&members[0]).member(&members[1]).member(&members[2]).start()?;
    let client = host.client()?;
    let churn = Churn::start(&members.each_ref(), &Kind::ALL, Duration::from_millis(10))?;
    let recorders: Vec<_> =
        Kind::ALL.iter().map(|kind| Recorder::start(&client, kind.everywhere())).collect::<Result<_>>()?;
    thread::sleep(Duration::from_secs(1));
    host.kill9()?;
    host.restart()?;
    // What is away while a kind begins is shown anew when it comes; so they go one by one once all kinds have begun.
    Kind::ALL.iter().try_for_each(|kind| client.json(kind.everywhere()).map(drop))?;
    for member in &mut members {
        member.kill_apiserver()?;
        thread::sleep(Duration::from_secs(1));
        member.start_apiserver()?;
    }
    churn.stop()?;
    for (kind, recorder) in Kind::ALL.iter().zip(&recorders) {
        let recording = recorder.settle(&client, &members.each_ref(), *kind, SOON)?;
        ensure!(recording.lists == 1, "{}: {} lists", kind.resource(), recording.lists);
    }
    Ok(())
}
