//! Informers as judges of a named selector: client-go's and kube-rs's hold what a kube-apiserver selects by the label that the
//! rule reads, while objects come, go, change and change sides, and while the rule itself is replaced.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_runtime::watcher::Config;
use orrery_compat::{Informers, KubeRs, Report};
use orrery_harness::{Client, Cluster, ClusterSpec, Host, HostSpec, eventually, start_all};
use orrery_real::{COMETS, Churn, Kind, replace_file};

const OBJECTS: usize = 1000;
const SWAPS: usize = 5;

/// What informers ask for, and what the rule says of it: the same tier, or any other one.
const SELECTOR: &str = "selectors.orrery.dev/tier=front";
const SAME: Rule = Rule { expression: "front", selector: "tier=front" };
const OTHER: Rule = Rule { expression: "!front", selector: "tier!=front" };

/// How long an unoptimised compiler may take for the component of CEL while others keep both cores busy.
const LOADED: Duration = Duration::from_secs(150);
/// A new rule ends a tenth of the watches in each second, and client-go waits ever longer between its tries.
const RELISTED: Duration = Duration::from_secs(90);

/// A rule, and the label selector by which members select the same.
struct Rule {
    expression: &'static str,
    selector: &'static str,
}

#[test]
fn informers_of_a_named_selector_hold_what_members_select() -> Result<()> {
    judge(0)
}

#[test]
#[ignore = "the suite swaps"]
fn informers_of_a_named_selector_hold_what_members_select_while_its_rule_is_swapped() -> Result<()> {
    judge(SWAPS)
}

fn judge(swaps: usize) -> Result<()> {
    let folder = tempfile::tempdir()?;
    SAME.write(folder.path())?;
    let clusters = start_all(["east", "west"].map(ClusterSpec::bare))?;
    clusters.iter().try_for_each(fill)?;
    let host = host_over(&clusters, folder.path())?;
    let scratch = tempfile::tempdir()?;
    let mut informers = Informers::start(&host.kubeconfig(), SELECTOR, &scratch.path().join("informers.log"))?;
    let kube = KubeRs::start(&host.kubeconfig(), Config::default().streaming_lists().labels(SELECTOR), by_uid)?;

    let members: Vec<&Cluster> = clusters.iter().collect();
    let churn = Churn::start(&members, &Kind::ALL, Duration::from_millis(5))?;
    thread::sleep(Duration::from_secs(5));
    churn.stop()?;
    let report = informers.settle(&clusters, SAME.selector)?;
    ensure!(report.faults.is_empty(), "laws were broken: {:#?}", report.faults);
    ensure!(relists(&report).values().all(|lists| *lists == 1), "it was listed again: {:#?}", report.requests);
    kube_holds(&kube, &clusters, SAME.selector)?;
    if swaps == 0 {
        return Ok(());
    }

    let churn = Churn::start(&members, &Kind::ALL, Duration::from_millis(10))?;
    for swap in 0..swaps {
        let before = informers.report()?;
        [&OTHER, &SAME][swap % 2].write(folder.path())?;
        all_relisted(&mut informers, &before)?;
    }
    churn.stop()?;
    let last = if swaps.is_multiple_of(2) { &SAME } else { &OTHER };
    informers.settle(&clusters, last.selector)?;
    kube_holds(&kube, &clusters, last.selector)?;
    ensure!(!host.log().contains("panicked"), "the host panicked");
    Ok(())
}

// === impl Rule ===

impl Rule {
    fn write(&self, folder: &Path) -> Result<()> {
        let rule = format!(
            "apiVersion: orrery.dev/v1alpha1\nkind: CelPolicy\nmetadata: {{name: tiers}}\nspec:\n  target:\n    stage: named-selector\n    \
             name: tier\n    resources: [pods, nodes, configmaps, comets.sky.example.com]\n  variables:\n  - name: front\n    \
             expression: has(object.metadata.labels) && has(object.metadata.labels.tier) && object.metadata.labels.tier == \
             request.arg\n  expressions:\n  - expression: \"{}\"\n",
            self.expression.replace("front", "variables.front")
        );
        replace_file(folder, "tiers.yaml", rule)
    }
}

fn fill(cluster: &Cluster) -> Result<()> {
    cluster.kubectl().apply(COMETS)?;
    cluster.kubectl().ok(&["wait", "--for=condition=Established", "crd/comets.sky.example.com", "--timeout=20s"])?;
    let client = cluster.client()?;
    for number in 0..OBJECTS / 2 {
        let (name, tier) = (format!("{}-{number}", cluster.name()), ["front", "back"][number % 2]);
        client.create(Kind::ConfigMaps.in_default(), &Kind::ConfigMaps.object(&name, tier))?;
    }
    Ok(())
}

fn host_over(clusters: &[Cluster; 2], extensions: &Path) -> Result<Host> {
    let spec = HostSpec::new().member(&clusters[0]).member(&clusters[1]);
    let host = spec.flag(format!("--extensions={}", extensions.display())).start()?;
    let client = host.client()?;
    eventually("the rule is live", LOADED, || {
        client.json(&format!("{}?limit=1&labelSelector={SELECTOR}", Kind::Pods.everywhere())).map(drop)
    })?;
    Ok(host)
}

/// How often each resource was listed as a stream and checked by client-go's detector.
fn relists(report: &Report) -> BTreeMap<&str, usize> {
    let mut lists = BTreeMap::new();
    for one in report.requests.iter().filter(|one| one.status == 200 && !one.query.contains("watch=true")) {
        *lists.entry(one.resource.as_str()).or_insert(0) += 1;
    }
    lists
}

/// Waits until each resource was listed anew, and the detector has compared: it takes a rule that is replaced between the
/// two for a fault of the server.
fn all_relisted(informers: &mut Informers, before: &Report) -> Result<()> {
    let before = relists(before);
    eventually("every informer has listed by the new rule", RELISTED, || {
        let report = informers.report()?;
        let now = relists(&report);
        ensure!(before.iter().all(|(resource, lists)| now.get(resource) > Some(lists)), "{before:?}, {now:?}");
        Ok(())
    })
}

fn by_uid(object: &ConfigMap) -> (String, String) {
    let number = object.data.as_ref().and_then(|data| data.get("number")).cloned().unwrap_or_default();
    (object.metadata.uid.clone().unwrap_or_default(), number)
}

fn kube_holds(kube: &KubeRs, members: &[Cluster], selector: &str) -> Result<()> {
    let clients = members.iter().map(Cluster::client).collect::<Result<Vec<Client>>>()?;
    eventually("kube-rs holds what the members select", RELISTED, || {
        let mut union = BTreeMap::new();
        for client in &clients {
            let list = client.json(&format!("{}?labelSelector={selector}", Kind::ConfigMaps.in_default()))?;
            for one in list["items"].as_array().into_iter().flatten() {
                let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
                union.insert(text(&one["metadata"]["uid"]), text(&one["data"]["number"]));
            }
        }
        let held = kube.held();
        let differs = union.iter().find(|(uid, value)| held.get(*uid) != Some(value));
        ensure!(held.len() == union.len() && differs.is_none(), "{} of {}, {differs:?}", held.len(), union.len());
        Ok(())
    })
}
