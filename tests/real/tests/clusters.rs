//! What the other tests take for granted of the real clusters that they start, and of the faults done to them.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use orrery_harness::{Client, Cluster, ClusterSpec, eventually, repository, start_all};
use serde_json::json;

const SOON: Duration = Duration::from_secs(20);

/// Makes a ConfigMap and gives its resourceVersion.
fn create_config_map(client: &Client, name: &str) -> Result<u64> {
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    let made = client.create("/api/v1/namespaces/default/configmaps", &body)?;
    let version = made.pointer("/metadata/resourceVersion").and_then(|version| version.as_str());
    Ok(version.context("what was made has a version")?.parse()?)
}

fn status_of(client: &Client, path: &str) -> Result<u16> {
    Ok(client.get(path)?.status)
}

fn answers(client: &Client) -> Result<()> {
    match client.get("/version")?.status {
        200 => Ok(()),
        status => bail!("answered {status}"),
    }
}

#[test]
fn two_clusters_run_pods_of_their_own() -> Result<()> {
    let clusters = start_all([ClusterSpec::full("east"), ClusterSpec::full("west").nodes(1)])?;
    for cluster in &clusters {
        cluster.kubectl().ok(&["create", "deployment", "web", "--image=web", "--replicas=2"])?;
        cluster.kubectl().ok(&["create", "job", "once", "--image=once"])?;
    }
    for cluster in &clusters {
        let kubectl = cluster.kubectl();
        kubectl.ok(&["wait", "--for=condition=Available", "deployment/web", "--timeout=20s"])?;
        kubectl.ok(&["wait", "--for=condition=Complete", "job/once", "--timeout=20s"])?;
        let pod = kubectl.ok(&["get", "pods", "-l=app=web", "-o=jsonpath={.items[0].metadata.name}"])?;
        assert_eq!(kubectl.ok(&["exec", &pod, "--", "echo", "hello"])?, "hello\n");
        assert!(kubectl.ok(&["logs", &pod, "--follow=false"])?.contains("yet it moves"));
    }
    let [east, west] = &clusters;
    assert_ne!(east.kube_system_uid()?, west.kube_system_uid()?);
    assert_eq!(east.kubectl().ok(&["get", "nodes", "-o=name"])?.lines().count(), 3);
    Ok(())
}

#[test]
fn an_api_server_that_is_frozen_hangs_and_one_that_is_killed_refuses_and_both_come_back() -> Result<()> {
    let mut cluster = ClusterSpec::bare("east").start()?;
    let client = cluster.client()?;
    cluster.pause()?;
    let (sender, answered) = std::sync::mpsc::sync_channel(1);
    let asking = client.clone();
    let asker = std::thread::spawn(move || sender.send(status_of(&asking, "/version")));
    ensure!(answered.recv_timeout(Duration::from_millis(500)).is_err(), "a frozen server answers");
    cluster.resume()?;
    assert_eq!(answered.recv_timeout(SOON)??, 200);
    asker.join().expect("it does not panic")?;
    cluster.kill_apiserver()?;
    assert!(answers(&client).is_err());
    cluster.start_apiserver()?;
    answers(&client)
}

#[test]
fn a_compacted_version_is_gone_for_an_exact_list() -> Result<()> {
    // Snapshots in the watch cache would answer it without etcd.
    let cluster = ClusterSpec::bare("east").apiserver_flag("--watch-cache=false").start()?;
    let client = cluster.client()?;
    let old = create_config_map(&client, "a")?;
    create_config_map(&client, "b")?;
    let list = format!("/api/v1/configmaps?resourceVersion={old}&resourceVersionMatch=Exact");
    assert_eq!(status_of(&client, &list)?, 200);
    assert!(cluster.compact()? > old);
    assert_eq!(status_of(&client, &list)?, 410);
    Ok(())
}

#[test]
fn a_restored_cluster_has_older_versions_and_a_wiped_one_is_another_cluster() -> Result<()> {
    let mut cluster = ClusterSpec::full("east").nodes(1).start()?;
    let client = cluster.client()?;
    let uid = cluster.kube_system_uid()?;
    create_config_map(&client, "kept")?;
    let snapshot = cluster.snapshot()?;
    let before = create_config_map(&client, "lost")?;
    let lost = "/api/v1/namespaces/default/configmaps/lost";
    assert_eq!(status_of(&client, lost)?, 200);
    cluster.restore(&snapshot)?;
    assert_eq!(status_of(&client, lost)?, 404);
    assert_eq!(status_of(&client, "/api/v1/namespaces/default/configmaps/kept")?, 200);
    assert!(cluster.revision()? <= before + 50, "it went on from where the snapshot was taken");
    assert_eq!(cluster.kube_system_uid()?, uid);
    cluster.wipe()?;
    let new_uid = eventually("kube-system is there again", SOON, || cluster.kube_system_uid())?;
    assert_ne!(new_uid, uid);
    Ok(())
}

#[test]
fn a_dropped_cluster_leaves_no_process_and_no_file() -> Result<()> {
    let cluster = ClusterSpec::bare("east").start()?;
    let (pid, dir, client) = (cluster.apiserver().pid(), cluster.dir().to_owned(), cluster.client()?);
    drop::<Cluster>(cluster);
    assert!(!dir.exists());
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    assert!(answers(&client).is_err());
    Ok(())
}

#[test]
fn a_kept_cluster_outlives_the_command_that_started_it_until_it_is_taken_down() -> Result<()> {
    let name = format!("kept-{}", std::process::id());
    let dev = |args: &[&str]| -> Result<String> {
        let output = Command::new(repository().join("dev")).arg("clusters").args(args).arg(&name).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    };
    let said = dev(&["up"])?;
    let kubeconfig = said.trim().strip_prefix(&format!("{name} ")).context("a line NAME KUBECONFIG")?;
    let client = Client::from_kubeconfig(Path::new(kubeconfig))?;
    let answered = answers(&client);
    let second = dev(&["up"]);
    assert_eq!(dev(&["down"])?, format!("{name} ended\n"));
    answered?;
    assert!(second.is_err(), "a name is started once");
    assert!(answers(&client).is_err());
    assert!(dev(&["down"]).is_err(), "there is none any more");
    Ok(())
}
