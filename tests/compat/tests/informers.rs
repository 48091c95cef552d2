//! client-go's informers as judge: over three clusters under churn, while the host is killed again and again and one
//! member goes away and comes back.

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use orrery_compat::{Informers, Request};
use orrery_harness::{Cluster, ClusterSpec, HostSpec, eventually, start_all};
use orrery_real::{COMETS, Churn, Kind};
use serde_json::Value;

const KILLS: usize = 5;
/// client-go waits ever longer between its tries, half a minute at the end.
const MOVED_LIMIT: Duration = Duration::from_secs(60);
const EVERYTHING: &str = "";

#[test]
fn informers_hold_the_union_after_the_host_was_killed_five_times_and_a_member_was_away() -> Result<()> {
    let mut clusters = start_all(["east", "west", "north"].map(ClusterSpec::bare))?;
    clusters.iter().try_for_each(serve_comets)?;
    let [east, west, north] = &clusters;
    let churn = Churn::start(&[east, west, north], &Kind::ALL, Duration::from_millis(10))?;
    let mut host = HostSpec::new()
        .member(east)
        .member(west)
        .member(north)
        .flag("--log-format=json")
        .flag("--log-level=info,orrery::request=debug")
        .start()?;
    let scratch = tempfile::tempdir()?;
    let mut informers = Informers::start(&host.kubeconfig(), EVERYTHING, &scratch.path().join("informers.log"))?;
    for _ in 0..KILLS {
        all_moved(&mut informers)?;
        host.kill9()?;
        host.restart()?;
    }
    all_moved(&mut informers)?;
    // What is away when a host begins a kind may cost a list (an API server that starts anew has no history), so the
    // member goes now that all watches are back.
    clusters[2].kill_apiserver()?;
    thread::sleep(Duration::from_secs(1));
    clusters[2].start_apiserver()?;
    thread::sleep(Duration::from_secs(1));
    churn.stop()?;
    let report = informers.settle(&clusters, EVERYTHING)?;
    let logged = requests_of_informers(&host.log());
    for kind in Kind::ALL {
        let asked: Vec<_> = logged.iter().filter(|one| one.resource == kind.resource()).collect();
        check_requests(kind, &asked, given_up(kind, &report.requests))?;
    }
    ensure!(report.faults.is_empty(), "laws were broken: {:#?}", report.faults);
    ensure!(!host.log().contains("panicked"), "the host panicked");
    Ok(())
}

#[test]
fn informers_of_a_kube_apiserver_hold_what_it_holds() -> Result<()> {
    let clusters = [ClusterSpec::bare("east").start()?];
    serve_comets(&clusters[0])?;
    let churn = Churn::start(&[&clusters[0]], &Kind::ALL, Duration::from_millis(10))?;
    let scratch = tempfile::tempdir()?;
    let mut informers = Informers::start(&clusters[0].kubeconfig(), EVERYTHING, &scratch.path().join("informers.log"))?;
    thread::sleep(Duration::from_secs(3));
    churn.stop()?;
    let report = informers.settle(&clusters, EVERYTHING)?;
    ensure!(report.faults.is_empty(), "laws were broken: {:#?}", report.faults);
    for kind in Kind::ALL {
        let asked: Vec<_> = report.requests.iter().filter(|one| one.resource == kind.resource()).collect();
        check_requests(kind, &asked, 0)?;
    }
    Ok(())
}

fn serve_comets(cluster: &Cluster) -> Result<()> {
    cluster.kubectl().apply(COMETS)?;
    cluster.kubectl().ok(&["wait", "--for=condition=Established", "crd/comets.sky.example.com", "--timeout=20s"])?;
    Ok(())
}

/// Waits until every informer has heard of something new, so through the watch that it has now: client-go
/// takes a watch that is cut in its first second and before its first event for a server that cannot watch, and lists.
fn all_moved(informers: &mut Informers) -> Result<()> {
    let before = informers.report()?.versions;
    eventually("every informer hears of a change", MOVED_LIMIT, || {
        let now = informers.report()?.versions;
        ensure!(now.iter().all(|(resource, version)| before.get(resource) != Some(version)), "{before:?}, {now:?}");
        Ok(())
    })
}

/// The informers' requests in the host's log of requests.
fn requests_of_informers(log: &str) -> Vec<Request> {
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let theirs = lines.filter(|line| {
        let agent = line["agent"].as_str().unwrap_or_default();
        line["target"] == "orrery::request" && agent.starts_with("informers/")
    });
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let request = |line: Value| Request {
        resource: text(&line["resource"]).split('.').next().unwrap_or_default().to_owned(),
        query: text(&line["query"]),
        status: line["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(0),
        error: String::new(),
    };
    theirs.map(request).collect()
}

fn is(request: &Request, word: &str) -> bool {
    request.query.split('&').any(|part| part == word)
}

/// How often client-go listed again of its own accord: it does where a connection breaks, under a request that opens a
/// watch, in a way that it does not know for a server that is down. A 410 comes within an answer, so it never counts here.
fn given_up(kind: Kind, sent: &[Request]) -> usize {
    let sent: Vec<_> = sent.iter().filter(|one| one.resource == kind.resource()).collect();
    sent.windows(2).filter(|pair| pair[0].status == 0 && is(pair[1], "sendInitialEvents=true")).count()
}

/// One WatchList (and one for each time that the client gave up), the LIST by which the detector checks it, and from then
/// on nothing but watches from a version.
fn check_requests(kind: Kind, asked: &[&Request], given_up: usize) -> Result<()> {
    let answered: Vec<_> = asked.iter().filter(|one| one.status == 200).collect();
    let watch_lists = answered.iter().filter(|one| is(one, "sendInitialEvents=true")).count();
    let lists = answered.iter().filter(|one| !is(one, "watch=true")).count();
    let detector =
        answered.iter().filter(|one| is(one, "resourceVersionMatch=Exact") && !is(one, "watch=true")).count();
    let told = || format!("{}: {asked:#?}", kind.resource());
    ensure!(watch_lists == 1 + given_up, "{watch_lists} WatchLists, {given_up} times given up, of {}", told());
    ensure!(lists == watch_lists && detector == lists, "{lists} lists, {detector} by the detector, of {}", told());
    let resumed = |one: &&&&Request| {
        is(one, "watch=true")
            && !is(one, "sendInitialEvents=true")
            && one.query.contains("resourceVersion=")
            && !is(one, "resourceVersion=0")
    };
    ensure!(
        answered.iter().filter(resumed).count() + 2 * watch_lists == answered.len(),
        "other requests of {}",
        told()
    );
    // 0: the host was down; 429: it was starting, and client-go asks the same again.
    ensure!(asked.iter().all(|one| [200, 0, 429].contains(&one.status)), "a request was refused of {}", told());
    Ok(())
}
