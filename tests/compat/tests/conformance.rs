//! Upstream's e2e suite as judge: what passes directly against a member passes through the host that serves it alone,
//! and with a second member all but a few.
//!
//! A third of the specs always runs. The rest are for `./dev test conformance`, which with `--discover` finds out what
//! passes directly.

use std::collections::BTreeSet;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;
use std::{env, fs};

use anyhow::{Result, bail, ensure};
use orrery_compat::conformance::{CANDIDATES, NOT_CANDIDATES, Run, Spec, Verdict, exceptions, specs, write_specs};
use orrery_harness::{Client, Cluster, ClusterSpec, Host, HostSpec, eventually, start_all};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(30);

const QUOTA: &str = "
apiVersion: v1
kind: ResourceQuota
metadata: {name: maps, namespace: sky, labels: {orrery.dev/cluster: east}}
spec: {hard: {configmaps: 5}}
";
/// It is made in one cluster and asks for a node of the other.
const POD: &str = "
apiVersion: v1
kind: Pod
metadata: {name: afar, namespace: sky, labels: {orrery.dev/cluster: east}}
spec:
  containers: [{name: c, image: c}]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [node-1.west]}]}]
";
const DAEMON_SET: &str = "
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: everywhere, namespace: sky, labels: {orrery.dev/cluster: west}}
spec:
  selector: {matchLabels: {app: everywhere}}
  template: {metadata: {labels: {app: everywhere}}, spec: {containers: [{name: c, image: c}]}}
";

/// A host keeps history for five minutes, and one spec waits until a continue token is too old.
const SPEC_LIMIT: Duration = Duration::from_mins(8);
const LIMIT: Duration = Duration::from_mins(40);

/// What waits longer than this for something is no spec that fake nodes can pass.
const DISCOVERY_SPEC_LIMIT: Duration = Duration::from_mins(4);
const DISCOVERY_LIMIT: Duration = Duration::from_mins(90);

#[test]
fn a_third_of_what_passes_directly_passes_through_the_host() -> Result<()> {
    let specs = specs()?;
    let names = specs.iter().filter(|spec| spec.always).map(|spec| &*spec.name).collect::<Vec<_>>();
    let east = member("east").start()?;
    let host = HostSpec::new().member(&east).flag("--stamp=none").start()?;
    none_failed(&through(&host, "third", &names)?, &names, "third")
}

#[test]
#[ignore = "takes a quarter of an hour: ./dev test conformance"]
fn what_passes_directly_passes_through_the_host() -> Result<()> {
    let specs = asked(specs()?)?;
    let names = specs.iter().map(|spec| &*spec.name).collect::<Vec<_>>();
    let east = member("east").start()?;
    let host = HostSpec::new().member(&east).flag("--stamp=none").start()?;
    let verdicts = while_templates_change(&east, || through(&host, "one-member", &names))?;
    none_failed(&verdicts, &names, "one-member")
}

#[test]
#[ignore = "takes a quarter of an hour: ./dev test conformance"]
fn with_two_members_all_passes_but_what_one_cluster_has_and_two_have_not() -> Result<()> {
    let excepted: BTreeSet<String> = exceptions()?.into_iter().map(|exception| exception.name).collect();
    let specs = specs()?;
    let unknown: Vec<_> = excepted.iter().filter(|name| specs.iter().all(|spec| spec.name != **name)).collect();
    ensure!(unknown.is_empty(), "excepted in conformance-two.txt, but not in conformance.txt: {unknown:#?}");
    let specs = asked(specs)?;
    let names = specs.iter().map(|spec| &*spec.name).filter(|name| !excepted.contains(*name)).collect::<Vec<_>>();
    let [east, west] = start_all(["east", "west"].map(member))?;
    let host = HostSpec::new().member(&east).member(&west).flag("--stamp=none").start()?;
    let verdicts = while_templates_change(&east, || through(&host, "two-members", &names))?;
    none_failed(&verdicts, &names, "two-members")
}

/// What happens instead of what the excepted specs wait for.
#[test]
fn quotas_daemon_sets_and_schedulers_see_their_own_cluster_alone() -> Result<()> {
    let [east, west] = start_all(["east", "west"].map(|name| ClusterSpec::full(name).nodes(2)))?;
    let host = HostSpec::new().member(&east).member(&west).start()?;
    let kubectl = host.kubectl();
    kubectl.ok(&["create", "namespace", "sky"])?;
    let maps = "/api/v1/namespaces/sky/configmaps";
    let client = host.client()?;
    let count = |value: &Value| value["items"].as_array().map_or(0, Vec::len);
    eventually("each cluster has its CA there", SOON, || {
        let maps = client.json(maps)?;
        ensure!(count(&maps) == 2, "{maps}");
        Ok(())
    })?;
    kubectl.apply(&format!("{QUOTA}---{DAEMON_SET}---{POD}"))?;
    eventually("they have settled", SOON, || {
        let quota = client.json("/api/v1/namespaces/sky/resourcequotas/maps")?;
        ensure!(quota["status"]["used"]["configmaps"] == "1", "{quota}");
        let set = client.json("/apis/apps/v1/namespaces/sky/daemonsets/everywhere")?;
        ensure!(set["status"]["numberReady"] == 2 && set["status"]["desiredNumberScheduled"] == 2, "{set}");
        let pods = client.json("/api/v1/namespaces/sky/pods?labelSelector=orrery.dev/cluster=west")?;
        let nodes = client.json("/api/v1/nodes")?;
        ensure!(count(&pods) == 2 && count(&nodes) == 4, "{pods}\n{nodes}");
        let pod = client.json("/api/v1/namespaces/sky/pods/afar")?;
        let conditions = pod["status"]["conditions"].as_array();
        let unschedulable = conditions.is_some_and(|all| all.iter().any(|one| one["reason"] == "Unschedulable"));
        ensure!(unschedulable, "{pod}");
        Ok(())
    })
}

#[test]
#[ignore = "writes conformance.txt anew: ./dev test conformance --discover"]
fn discover_what_passes_directly() -> Result<()> {
    // A first list may be missing.
    let before = specs().unwrap_or_default();
    let east = member("east").start()?;
    let run = Run {
        kubeconfig: &east.kubeconfig(),
        kubectl: east.kubectl().program(),
        name: "discovery",
        spec_limit: DISCOVERY_SPEC_LIMIT,
        limit: DISCOVERY_LIMIT,
    };
    let verdicts = run.matching(&CANDIDATES.map(str::to_owned), Some(NOT_CANDIDATES))?;
    let specs = write_specs(&before, &verdicts)?;
    for Verdict { name, took, failure } in &verdicts {
        let outcome = if failure.is_none() { "passed" } else { "FAILED" };
        eprintln!("{outcome} {:>6.1} s {name}", took.as_secs_f32());
    }
    eprintln!("{} of {} pass directly", specs.len(), verdicts.len());
    let gone = before.iter().filter(|spec| !specs.iter().any(|now| now.name == spec.name)).collect::<Vec<_>>();
    ensure!(gone.is_empty(), "passed before and no more: {gone:#?}");
    Ok(())
}

/// Those of `specs` whose names contain `ORRERY_SPEC`, if it is set: for work on one of them.
fn asked(mut specs: Vec<Spec>) -> Result<Vec<Spec>> {
    if let Ok(part) = env::var("ORRERY_SPEC") {
        specs.retain(|spec| spec.name.contains(&part));
        ensure!(!specs.is_empty(), "no spec of conformance.txt has {part:?} in its name");
    }
    Ok(specs)
}

/// A member whose etcd forgets soon, for the spec that waits for it.
fn member(name: &str) -> ClusterSpec {
    ClusterSpec::full(name).apiserver_flag("--etcd-compaction-interval=30s")
}

/// Runs `step` while a PodTemplate that no spec knows changes twice a second: the last 256 changes are kept however old.
/// One spec waits until a page of PodTemplates is too old; in one etcd everything that is written moves the clock on, here a
/// kind has a clock of its own.
fn while_templates_change<T>(cluster: &Cluster, step: impl FnOnce() -> Result<T>) -> Result<T> {
    const EVERY: Duration = Duration::from_millis(500);
    let client = cluster.client()?;
    let containers = json!([{"name": "c", "image": "c"}]);
    let template = json!({"metadata": {"name": "restless"}, "template": {"spec": {"containers": containers}}});
    client.create("/api/v1/namespaces/default/podtemplates", &template)?;
    thread::scope(|scope| {
        let (done, ended) = mpsc::channel::<()>();
        let changing = scope.spawn(move || {
            for turn in 0_u32.. {
                if ended.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
                change(&client, turn)?;
            }
            anyhow::Ok(())
        });
        let outcome = step();
        drop(done);
        changing.join().unwrap_or_else(|_| bail!("the writer panicked"))?;
        outcome
    })
}

fn change(client: &Client, turn: u32) -> Result<()> {
    let patch = json!({"metadata": {"annotations": {"turn": turn.to_string()}}}).to_string();
    let path = "/api/v1/namespaces/default/podtemplates/restless";
    let headers = [("content-type", "application/merge-patch+json")];
    client.send("PATCH", path, &headers, patch.as_bytes())?.success().map(drop)
}

fn through(host: &Host, run: &str, names: &[&str]) -> Result<Vec<Verdict>> {
    let run = Run {
        kubeconfig: &host.kubeconfig(),
        kubectl: host.kubectl().program(),
        name: run,
        spec_limit: SPEC_LIMIT,
        limit: LIMIT,
    };
    let verdicts = run.specs(names);
    fs::write(run.folder()?.join("host.log"), host.log())?;
    verdicts
}

/// An error that names each spec that failed, with the first lines of why.
fn none_failed(verdicts: &[Verdict], asked: &[&str], run: &str) -> Result<()> {
    let failed = verdicts.iter().filter_map(|verdict| Some((&verdict.name, verdict.failure.as_ref()?)));
    let failed: Vec<String> = failed.map(|(name, failure)| format!("{name}\n    {}", indented(failure))).collect();
    ensure!(
        failed.is_empty(),
        "{} of {} specs failed; ~/.cache/orrery/conformance/{run} has what was printed:\n{}",
        failed.len(),
        asked.len(),
        failed.join("\n")
    );
    Ok(())
}

fn indented(text: &str) -> String {
    text.replace('\n', "\n    ")
}
