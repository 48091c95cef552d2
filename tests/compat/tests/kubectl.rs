//! kubectl as judge: whatever it prints against a member directly, it prints through the host, apart from
//! resourceVersions and the CLUSTER column.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use orrery_compat::{unversioned, without_cluster, without_columns};
use orrery_harness::{Cluster, ClusterSpec, HostSpec, Kubectl, Printed, eventually, go_program, start_all};
use orrery_real::COMETS;

/// Ages and heartbeats go on between one command and the other.
const SAME_LIMIT: Duration = Duration::from_secs(15);

/// Commands whose arguments hold no spaces.
const READS: [&str; 54] = [
    "get pods",
    "get pods -o wide",
    "get pods -o yaml",
    "get pods -o json",
    "get pods -o name",
    "get pods -o jsonpath={.items[*].spec.nodeName}",
    "get pods -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName",
    "get pods -o go-template={{len(.items)}}",
    "get pods -A",
    "get pods --show-labels",
    "get pods --show-kind --no-headers",
    "get pods -L app,tier",
    "get pods -l app=web",
    "get pods -l app!=web",
    "get pods -l nosuch=label",
    "get pods --field-selector status.phase=Running",
    "get pods --field-selector spec.nodeName=node-1 -o wide",
    "get pods --field-selector spec.nosuch=x",
    "get pods --chunk-size=2",
    "get pods --chunk-size=1 -o name",
    "get pods --sort-by=.metadata.name",
    "get pods --sort-by=.metadata.creationTimestamp -o wide",
    "get deployments,replicasets,jobs,services -o wide",
    "get deployment web -o yaml",
    "get deployment/web service/web configmap/settings",
    "get all",
    "get all -A -o name",
    "get nodes -o wide",
    "get namespaces",
    "get configmaps -o yaml",
    "get secrets,serviceaccounts -A -o name",
    "get crd -o name",
    "get comets",
    "get comets -o wide",
    "get comet halley -o yaml",
    "get events",
    "get events -o wide",
    "get pod nosuch",
    "get nosuch",
    "describe pods",
    "describe nodes",
    "describe deployment web",
    "describe configmap settings",
    "describe comet halley",
    "describe namespace default",
    "events",
    "events --for deployment/web",
    "events --types=Warning,Normal -A",
    "api-resources",
    "api-resources --namespaced=false -o wide",
    "api-versions",
    "get --raw /api/v1/namespaces/default/configmaps",
    "get --raw /apis/apps/v1/deployments",
    "get --raw /version",
];

const SKY: &str = "
apiVersion: sky.example.com/v1
kind: Comet
metadata: {name: halley, namespace: default, labels: {tier: outer}}
spec: {period: 76, tail: long}
---
apiVersion: sky.example.com/v1
kind: Comet
metadata: {name: encke, namespace: default}
spec: {period: 3}
";

#[test]
fn every_read_prints_the_same_through_the_host() -> Result<()> {
    let east = populated("east")?;
    let host = HostSpec::new().member(&east).flag("--stamp=none").start()?;
    let older = go_program("tests/compat/kubectl-1.32", ".", "kubectl-1.32")?;
    let mut differing = differing(east.kubectl(), host.kubectl());
    let (direct, through) = (east.kubectl().another(&older), host.kubectl().another(&older));
    differing.extend(self::differing(&direct, &through).into_iter().map(|text| format!("kubectl 1.32: {text}")));
    ensure!(differing.is_empty(), "{} commands differ:\n{}", differing.len(), differing.join("\n"));
    Ok(())
}

/// How what `through` prints of the host differs from what `direct` prints of the member.
fn differing(direct: &Kubectl, through: &Kubectl) -> Vec<String> {
    let commands = READS.iter().map(|read| read.split(' ').collect::<Vec<_>>());
    let spaced =
        [vec!["get", "pods", "-l", "app in (web, once)"], vec!["get", "pods", "-l", "app notin (web),!nosuch"]];
    let waits = [
        vec!["wait", "--for=condition=Available", "deployment/web", "--timeout=5s"],
        vec!["wait", "--for=jsonpath={.spec.period}=76", "comet/halley", "--timeout=5s"],
        vec!["wait", "--for=condition=Nosuch", "deployment/web", "--timeout=1s"],
    ];
    let mut differing = Vec::new();
    for command in commands.chain(spaced).chain(waits) {
        if let Err(difference) = prints_the_same(direct, through, &command) {
            differing.push(format!("{difference:#}"));
        }
    }
    differing
}

#[test]
fn watches_print_the_same_through_the_host() -> Result<()> {
    let east = ClusterSpec::bare("east").start()?;
    serve_comets(&east)?;
    let host = HostSpec::new().member(&east).flag("--stamp=none").start()?;
    let scratch = tempfile::tempdir()?;
    let watches = [
        "get configmaps -w",
        "get configmaps --watch-only -o name",
        "get configmaps -w -l tier=front --output-watch-events",
        "get comets -w -o custom-columns=NAME:.metadata.name,PERIOD:.spec.period",
        "get comets --watch-only",
        "get --raw /api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=3600",
    ];
    east.kubectl().ok(&["create", "configmap", "first"])?;
    east.kubectl().apply(SKY)?;
    let mut running = Vec::new();
    for (number, watch) in watches.iter().enumerate() {
        let args: Vec<&str> = watch.split(' ').chain(["-v=6"]).collect();
        let [direct, through] = ["direct", "through"].map(|way| scratch.path().join(format!("{way}-{number}")));
        running.push((*watch, east.kubectl().start(&args, &direct)?, host.kubectl().start(&args, &through)?));
    }
    for (watch, direct, through) in &running {
        eventually(watch, SAME_LIMIT, || is_watching(direct.log()).and_then(|()| is_watching(through.log())))?;
    }
    write_something(east.kubectl())?;
    for (watch, direct, through) in &running {
        eventually(watch, SAME_LIMIT, || {
            let [direct, through] = [direct, through].map(|process| watched(process.log()));
            let end = if watch.contains("-l tier") { "DELETED" } else { "last" };
            ensure!(direct.contains(end), "the end did not come directly yet:\n{direct}");
            ensure!(direct == through, "directly\n{direct}\nthrough the host\n{through}");
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn two_members_are_told_apart_by_column_and_label() -> Result<()> {
    let members = start_all([ClusterSpec::bare("east"), ClusterSpec::bare("west")])?;
    for member in &members {
        member.kubectl().ok(&["create", "configmap", &format!("of-{}", member.name())])?;
        member.kubectl().ok(&["create", "configmap", "shared"])?;
    }
    let [east, west] = &members;
    let host = HostSpec::new().member(east).member(west).start()?;
    let kubectl = host.kubectl();
    let columns = "-o=custom-columns=NAME:.metadata.name,CLUSTER:.metadata.labels.orrery\\.dev/cluster";
    let rows = kubectl.ok(&["get", "configmaps", columns, "--no-headers"])?;
    let rows: Vec<Vec<&str>> = rows.lines().map(|row| row.split_whitespace().collect()).collect();
    ensure!(
        rows == [["of-east", "east"], ["of-west", "west"], ["shared", "east"], ["shared.west", "west"]],
        "{rows:?}"
    );
    let table = kubectl.ok(&["get", "configmaps"])?;
    ensure!(table.lines().next().is_some_and(|header| header.trim_end().ends_with("CLUSTER")), "{table}");
    ensure!(table.lines().any(|row| row.starts_with("shared.west") && row.trim_end().ends_with("west")), "{table}");
    let of_label = kubectl.ok(&["get", "configmaps", "-L", "orrery.dev/cluster", "--no-headers"])?;
    ensure!(of_label.lines().all(|row| row.contains("east") || row.contains("west")), "{of_label}");
    for (selector, expected) in [
        ("orrery.dev/cluster=west", "configmap/of-west\nconfigmap/shared.west\n"),
        ("orrery.dev/cluster!=west", "configmap/of-east\nconfigmap/shared\n"),
        ("orrery.dev/cluster in (west),nosuch", ""),
    ] {
        let printed = kubectl.ok(&["get", "configmaps", "-l", selector, "-o", "name"])?;
        ensure!(printed == expected, "{selector}: {printed}");
    }
    ensure!(kubectl.ok(&["get", "configmap", "shared.west", "-o=jsonpath={.metadata.name}"])? == "shared.west");
    Ok(())
}

/// A whole cluster with something of every kind that is printed, at rest.
fn populated(name: &str) -> Result<Cluster> {
    let cluster = ClusterSpec::full(name).start()?;
    serve_comets(&cluster)?;
    let kubectl = cluster.kubectl();
    kubectl.apply(SKY)?;
    kubectl.ok(&["create", "configmap", "settings", "--from-literal=a=1", "--from-literal=b=two"])?;
    kubectl.ok(&["create", "deployment", "web", "--image=web:1", "--replicas=3"])?;
    kubectl.ok(&["expose", "deployment", "web", "--port=80"])?;
    kubectl.ok(&["create", "job", "once", "--image=once:1"])?;
    kubectl.ok(&["wait", "--for=condition=Available", "deployment/web", "--timeout=30s"])?;
    kubectl.ok(&["wait", "--for=condition=Complete", "job/once", "--timeout=30s"])?;
    Ok(cluster)
}

fn serve_comets(cluster: &Cluster) -> Result<()> {
    cluster.kubectl().apply(COMETS)?;
    cluster.kubectl().ok(&["wait", "--for=condition=Established", "crd/comets.sky.example.com", "--timeout=20s"])?;
    Ok(())
}

fn prints_the_same(direct: &Kubectl, through: &Kubectl, command: &[&str]) -> Result<()> {
    eventually(&command.join(" "), SAME_LIMIT, || {
        let (direct, through) = (seen(&direct.run(command)?), seen(&through.run(command)?));
        if direct != through {
            bail!("directly\n{}\nthrough the host\n{}", shown(&direct), shown(&through));
        }
        Ok(())
    })
}

/// What is printed, without that in which a host may differ.
fn seen(printed: &Printed) -> Printed {
    let stdout = without_cluster(&unversioned(&printed.stdout));
    Printed { stdout, stderr: unversioned(&printed.stderr), code: printed.code }
}

fn shown(printed: &Printed) -> String {
    format!("{}{}(code {})", printed.stdout, printed.stderr, printed.code)
}

fn write_something(kubectl: &Kubectl) -> Result<()> {
    kubectl.ok(&["create", "configmap", "second"])?;
    kubectl.ok(&["label", "configmap", "second", "tier=front"])?;
    kubectl.ok(&["label", "configmap", "second", "tier=back", "--overwrite"])?;
    kubectl.ok(&["delete", "configmap", "first"])?;
    kubectl.ok(&["patch", "comet", "encke", "--type=merge", "-p", r#"{"spec":{"period":4}}"#])?;
    kubectl.ok(&["delete", "comet", "halley"])?;
    kubectl.ok(&["create", "configmap", "last"])?;
    kubectl.run_with_input(&["create", "-f", "-"], &SKY.replace("encke", "last"))?;
    Ok(())
}

/// Whether a watch that runs with `-v=6`, which logs each answer, is answered.
fn is_watching(log: &Path) -> Result<()> {
    let text = fs::read_to_string(log)?;
    let answered = text.lines().any(|line| is_log(line) && line.contains("watch=") && line.contains("200 OK"));
    ensure!(answered, "no watch is answered:\n{text}");
    Ok(())
}

/// What a watch has printed so far, without what kubectl logs, and without AGE and CLUSTER, which depend on when and
/// where it was printed.
fn watched(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let printed: Vec<&str> = text.lines().skip(1).filter(|line| !is_log(line)).collect();
    without_columns(&unversioned(&printed.join("\n")), &["AGE", "CLUSTER"])
}

/// Lines of kubectl's log begin with a letter for the level, month and day, as `I1130 `.
fn is_log(line: &str) -> bool {
    let (head, _) = line.split_at_checked(5).unwrap_or_default();
    head.starts_with(['I', 'W', 'E']) && head[1..].chars().all(|c| c.is_ascii_digit())
}
