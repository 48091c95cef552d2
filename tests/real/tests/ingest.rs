//! The ingest against real API servers: what no member in process can show.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use orrery_api::{ClusterName, Gvr};
use orrery_fleet::{
    Body, Fleet, FleetSettings, Health, ListReason, Member, MemberSpec, Metrics, Observation, Start, Upgrade, observe,
};
use orrery_harness::{Client, Cluster, ClusterSpec};
use orrery_markers::{ChangeKind, Digest, MemberObject, MemberVersion};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Longer than any wait that the ingest promises.
const LONG: Duration = Duration::from_secs(90);

/// A fleet of one real cluster, and what is observed of it.
struct Observed {
    runtime: Runtime,
    member: Member,
    rx: mpsc::Receiver<(ClusterName, Observation)>,
    _fleet: Fleet,
    _cancel: DropGuard,
}

// === impl Observed ===

impl Observed {
    fn begin(cluster: &Cluster, gvr: Gvr, start: Start) -> Result<Self> {
        let runtime = Runtime::new()?;
        let inside = runtime.enter();
        let name = ClusterName::new(cluster.name())?;
        let spec = MemberSpec {
            name: name.clone(),
            kubeconfig: vec![cluster.kubeconfig()],
            context: None,
            attributes: Arc::default(),
        };
        let fleet = Fleet::start(vec![spec], FleetSettings::default(), Metrics::default());
        let member = fleet.member(&name).context("the member is there")?;
        let (tx, rx) = mpsc::channel(64);
        let cancel = CancellationToken::new();
        observe(member.clone(), gvr, start, None, tx, cancel.clone());
        drop(inside);
        Ok(Self { runtime, member, rx, _fleet: fleet, _cancel: cancel.drop_guard() })
    }

    fn next(&mut self) -> Result<Observation> {
        let rx = &mut self.rx;
        let next = self.runtime.block_on(async { timeout(LONG, rx.recv()).await });
        Ok(next.context("nothing was observed for long")?.context("the observation ended")?.1)
    }

    /// The next observation that `wanted` makes something of.
    fn until<T>(&mut self, mut wanted: impl FnMut(Observation) -> Option<T>) -> Result<T> {
        loop {
            if let Some(found) = wanted(self.next()?) {
                return Ok(found);
            }
        }
    }

    fn until_listed(&mut self) -> Result<(ListReason, MemberVersion, Vec<MemberObject>)> {
        self.until(|observation| match observation {
            Observation::Listed { why, version, objects, .. } => Some((why, version, objects)),
            _ => None,
        })
    }

    fn until_change_of(&mut self, name: &str) -> Result<(MemberObject, ChangeKind)> {
        self.until(|observation| match observation {
            Observation::Changed { object, kind } if &*object.key.name == name => Some((object, kind)),
            _ => None,
        })
    }
}

fn config_maps() -> Gvr {
    Gvr::new("", "v1", "configmaps")
}

fn put(client: &Client, name: &str, text: &str) -> Result<u64> {
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}});
    version_of(&client.create(CONFIG_MAPS, &body)?)
}

fn version_of(object: &serde_json::Value) -> Result<u64> {
    Ok(object
        .pointer("/metadata/resourceVersion")
        .and_then(|text| text.as_str())
        .context("it has a version")?
        .parse()?)
}

fn names(objects: &[MemberObject]) -> Vec<&str> {
    objects.iter().filter(|object| &*object.key.namespace == "default").map(|object| &*object.key.name).collect()
}

fn digests(objects: &[MemberObject]) -> BTreeMap<String, Digest> {
    objects.iter().map(|object| (object.key.to_string(), object.digest)).collect()
}

/// A list's items lack kind and apiVersion, and a list and a watch are encoded by different code in the API server.
#[test]
fn one_state_has_one_digest_in_a_list_a_watch_list_and_an_event() -> Result<()> {
    let cluster = ClusterSpec::bare("east").start()?;
    let client = cluster.client()?;
    let before = put(&client, "plain", "x")?;
    let mut streamed = Observed::begin(&cluster, config_maps(), Start::Fresh)?;
    streamed.until_listed()?;
    let odd = put(&client, "odd", "<a href=\"&\">\u{2028}é\u{1F600}\\ \t</a>")?;
    let (event, kind) = streamed.until_change_of("odd")?;
    ensure!(kind == ChangeKind::Added && event.version.number() == odd, "another event came: {event:?}");

    let start = Start::Resume { from: MemberVersion::from_number(odd), or_from: None };
    let mut exact = Observed::begin(&cluster, config_maps(), start)?;
    let Observation::Resumed { objects: listed, .. } = exact.next()? else { bail!("it was not resumed") };
    let (_, _, watch_listed) = Observed::begin(&cluster, config_maps(), Start::Fresh)?.until_listed()?;
    ensure!(digests(&listed) == digests(&watch_listed), "list and WatchList differ");
    ensure!(digests(&listed)["default/odd"] == event.digest, "list and event differ");

    let start = Start::Resume { from: MemberVersion::from_number(before), or_from: None };
    let mut replayed = Observed::begin(&cluster, config_maps(), start)?;
    let Observation::Resumed { at, objects, .. } = replayed.next()? else { bail!("it was not resumed") };
    ensure!(at.number() == before && !names(&objects).contains(&"odd"), "the exact list is of another version");
    ensure!(replayed.until_change_of("odd")?.0.digest == event.digest, "the replayed event differs");
    Ok(())
}

#[test]
fn an_api_server_that_is_frozen_makes_it_stale_and_goes_on_with_a_list() -> Result<()> {
    let cluster = ClusterSpec::bare("east").start()?;
    let client = cluster.client()?;
    let mut observed = Observed::begin(&cluster, config_maps(), Start::Fresh)?;
    observed.until_listed()?;
    cluster.pause()?;
    let frozen = Instant::now();
    let reason = observed.until(|observation| match observation {
        Observation::Stale { reason } => Some(reason),
        _ => None,
    })?;
    ensure!(frozen.elapsed() < Duration::from_secs(35), "{reason} only after {:?}", frozen.elapsed());
    ensure!(matches!(observed.member.health(), Health::Unreachable { .. }), "{:?}", observed.member.health());
    cluster.resume()?;
    put(&client, "after", "x")?;
    let (why, _, objects) = observed.until_listed()?;
    ensure!(why == ListReason::Reconnected, "{why:?}");
    if !names(&objects).contains(&"after") {
        observed.until_change_of("after")?;
    }
    Ok(())
}

#[test]
fn an_etcd_restored_from_an_older_snapshot_is_listed_as_it_is() -> Result<()> {
    let mut cluster = ClusterSpec::bare("east").start()?;
    let client = cluster.client()?;
    put(&client, "kept", "x")?;
    let snapshot = cluster.snapshot()?;
    let lost = put(&client, "lost", "x")?;
    let mut observed = Observed::begin(&cluster, config_maps(), Start::Fresh)?;
    let (_, _, objects) = observed.until_listed()?;
    ensure!(names(&objects).contains(&"lost"), "{:?}", names(&objects));
    cluster.restore(&snapshot)?;
    let (why, version, objects) = observed.until_listed()?;
    ensure!(matches!(why, ListReason::Reconnected | ListReason::WentBack), "{why:?}");
    ensure!(names(&objects).contains(&"kept") && !names(&objects).contains(&"lost"), "{:?}", names(&objects));
    let ahead =
        Start::Resume { from: MemberVersion::from_number(lost.max(version.number()) + 1_000_000), or_from: None };
    let (why, _, _) = Observed::begin(&cluster, config_maps(), ahead)?.until_listed()?;
    ensure!(why == ListReason::ResumeRefused, "a version of the future was resumed: {why:?}");
    Ok(())
}

#[test]
fn a_compacted_version_is_not_resumed_and_the_next_one_is() -> Result<()> {
    let mut cluster = ClusterSpec::bare("east").start()?;
    let client = cluster.client()?;
    let old = put(&client, "one", "x")?;
    // A compaction keeps the revision that it is made at: without a later one, `old` would still be there.
    put(&client, "since", "x")?;
    cluster.compact()?;
    // The API server's own window of history does not reach over a restart.
    cluster.kill_apiserver()?;
    cluster.start_apiserver()?;
    let recent = put(&cluster.client()?, "two", "x")?;
    let start =
        Start::Resume { from: MemberVersion::from_number(old), or_from: Some(MemberVersion::from_number(recent)) };
    let mut observed = Observed::begin(&cluster, config_maps(), start)?;
    let Observation::Resumed { at, objects, .. } = observed.next()? else { bail!("neither was resumed") };
    ensure!(at.number() == recent && names(&objects) == ["one", "since", "two"], "{at} {:?}", names(&objects));
    Ok(())
}

#[test]
fn another_cluster_at_the_same_address_is_told_as_another() -> Result<()> {
    let mut cluster = ClusterSpec::bare("east").start()?;
    let mut observed = Observed::begin(&cluster, config_maps(), Start::Fresh)?;
    observed.until_listed()?;
    let first = observed.member.identity().context("it has an identity")?;
    ensure!(*first == cluster.kube_system_uid()?, "{first}");
    cluster.wipe()?;
    let (why, _, _) = observed.until_listed()?;
    ensure!(why == ListReason::IdentityChanged, "{why:?}");
    ensure!(observed.member.identity().is_some_and(|second| second != first), "the identity is the old one");
    Ok(())
}

#[test]
fn a_new_kind_is_discovered_within_two_seconds_and_a_changed_one_is_listed() -> Result<()> {
    let cluster = ClusterSpec::bare("east").start()?;
    let widgets = Gvr::new("example.com", "v1", "widgets");
    let mut observed = Observed::begin(&cluster, widgets.clone(), Start::Fresh)?;
    let away = observed.next()?;
    ensure!(matches!(away, Observation::Away { .. }), "{away:?}");
    let crd = |properties: serde_json::Value| {
        let schema = json!({"openAPIV3Schema": {"type": "object", "properties": properties}});
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}})
        .to_string()
    };
    let discovered = || observed.member.discovery().is_some_and(|discovery| discovery.find(&widgets).is_some());
    cluster.kubectl().apply(&crd(json!({"size": {"type": "string"}})))?;
    cluster.kubectl().ok(&["wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=20s"])?;
    let established = Instant::now();
    while !discovered() {
        ensure!(established.elapsed() < Duration::from_secs(2), "it is not discovered within 2 s");
        std::thread::sleep(Duration::from_millis(20));
    }
    cluster.kubectl().apply(
        r#"{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "default"}}"#,
    )?;
    let (why, _, objects) = observed.until_listed()?;
    ensure!(why == ListReason::Fresh, "{why:?}");
    let before = match objects.into_iter().next() {
        Some(object) => object,
        None => observed.until_change_of("w")?.0,
    };
    // Defaults are applied to what is read from storage: other bytes of the same version.
    let with_default = json!({"size": {"type": "string"}, "color": {"type": "string", "default": "red"}});
    cluster.kubectl().apply(&crd(with_default))?;
    let (why, _, objects) = observed.until_listed()?;
    ensure!(why == ListReason::SchemaChanged && names(&objects) == ["w"], "{why:?} {:?}", names(&objects));
    ensure!(objects[0].version == before.version && objects[0].digest.differs_from(before.digest), "{:?}", objects[0]);
    Ok(())
}

#[test]
fn an_upgrade_is_spliced_to_the_member() -> Result<()> {
    use tokio::io::AsyncReadExt as _;
    let cluster = ClusterSpec::full("east").nodes(1).start()?;
    cluster.kubectl().ok(&["create", "deployment", "web", "--image=web"])?;
    cluster.kubectl().ok(&["wait", "--for=condition=Available", "deployment/web", "--timeout=30s"])?;
    let pod = cluster.kubectl().ok(&["get", "pods", "-l=app=web", "-o=jsonpath={.items[0].metadata.name}"])?;
    let observed = Observed::begin(&cluster, config_maps(), Start::Fresh)?;
    let request = http::Request::get(format!(
        "/api/v1/namespaces/default/pods/{pod}/exec?command=echo&command=hello&stdout=true"
    ))
    .header("Connection", "Upgrade")
    .header("Upgrade", "websocket")
    .header("Sec-WebSocket-Version", "13")
    .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
    .header("Sec-WebSocket-Protocol", "v5.channel.k8s.io")
    .body(empty())?;
    let printed = observed.runtime.block_on(async {
        let Upgrade::Switched { response, mut io } = observed.member.upgrade(request).await? else {
            bail!("it was refused");
        };
        ensure!(response.headers()["sec-websocket-protocol"] == "v5.channel.k8s.io", "{response:?}");
        let mut bytes = Vec::new();
        let mut chunk = [0; 1024];
        while !bytes.windows(5).any(|window| window == b"hello") {
            let read = timeout(LONG, io.read(&mut chunk)).await??;
            ensure!(read > 0, "it ended after {bytes:?}");
            bytes.extend_from_slice(&chunk[..read]);
        }
        Ok(bytes)
    })?;
    ensure!(!printed.is_empty(), "nothing was printed");
    Ok(())
}

fn empty() -> Body {
    use http_body_util::BodyExt as _;
    http_body_util::Empty::new().map_err(|never: std::convert::Infallible| match never {}).boxed_unsync()
}
