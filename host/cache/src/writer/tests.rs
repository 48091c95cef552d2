//! Random histories against a plain model: what readers see of a cache is what a list of events and a map would show.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use orrery_api::extension::{Selectable, SelectorFilter};
use orrery_api::placement::StageFailure;
use orrery_api::{ClusterName, Gvr, Naming, ObjectKey, Stamp, Uid};
use orrery_markers::{ChangeKind, Digest, Marker, MemberObject, MemberVersion};
use proptest::prelude::*;

use super::{Apply, BaseObject, Writer};
use crate::{
    Budget, FieldSelector, FieldTable, LabelSelector, Metrics, Object, Reader, Selection, Shape, Snapshot, Step, Watch,
    WatchEvent,
};

mod beside;
mod model;

fn marker(number: u64) -> Marker {
    Marker::new(number).unwrap()
}

fn cluster(name: &str) -> ClusterName {
    ClusterName::new(name).unwrap()
}

fn shape(stamp: Stamp, naming: Naming) -> Shape {
    let gvr = Gvr::new("", "v1", "pods");
    let fields = FieldTable::of(&gvr, true);
    Shape { gvr, kind: "Pod".into(), namespaced: true, stamp, naming, fields }
}

/// A pod that differs in label, node and content.
fn pod(key: &ObjectKey, app: &str, node: &str, content: u64) -> MemberObject {
    let body = format!(
        r#"{{"metadata":{{"name":"{}","namespace":"{}","uid":"u","resourceVersion":"{content}","labels":{{"app":"{app}"}}}},"spec":{{"nodeName":"{node}","pad":"{}"}}}}"#,
        key.name,
        key.namespace,
        "x".repeat(200)
    );
    let version = MemberVersion::from_number(content);
    let (digest, body) = (Digest::from_bits(0), Bytes::from(body));
    MemberObject { key: key.clone(), uid: Uid::new("u"), version, digest, terminating: false, body }
}

fn put(at: u64, key: &ObjectKey, app: &str, node: &str) -> Apply {
    let object = pod(key, app, node, at);
    Apply::Put { marker: marker(at), served: key.clone(), cluster: cluster("east"), object, holders: None }
}

fn cache(bytes_max: u64) -> (Writer, Reader, Budget) {
    let budget = Budget::new(bytes_max);
    let (mut writer, reader) = crate::resource(shape(Stamp::Label, Naming::Unique), &budget, &Metrics::default());
    assert!(writer.begin(vec![], vec![], marker(10)).is_empty());
    (writer, reader, budget)
}

fn body(object: &Object) -> String {
    String::from_utf8(object.body().to_bytes().to_vec()).unwrap()
}

fn bodies(snapshot: &Snapshot) -> Vec<String> {
    snapshot.range(None, None).map(|object| body(object)).collect()
}

/// What a watch has to say now, without waiting.
fn drain(watch: &mut Watch) -> (Vec<WatchEvent>, Option<Step>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut events = Vec::new();
        loop {
            match tokio::time::timeout(Duration::from_millis(1), watch.next()).await {
                Ok(Step::Events(more)) => events.extend(more),
                Ok(end) => return (events, Some(end)),
                Err(_) => return (events, None),
            }
        }
    })
}

fn kinds(events: &[WatchEvent]) -> Vec<(ChangeKind, u64)> {
    events.iter().map(|event| (event.kind, event.marker.get())).collect()
}

fn selection(namespace: Option<&str>, labels: &str) -> Selection {
    let labels = LabelSelector::parse(labels).unwrap();
    Selection { namespace: namespace.map(Into::into), labels, ..Selection::everything() }
}

/// Selects what has a text in its JSON, as an extension would, which takes its time.
#[derive(Debug)]
struct Says {
    text: &'static str,
    takes: Duration,
}

#[async_trait]
impl SelectorFilter for Says {
    async fn select(&self, objects: &[&dyn Selectable]) -> Result<Vec<bool>, StageFailure> {
        tokio::task::yield_now().await;
        if !self.takes.is_zero() {
            tokio::time::sleep(self.takes).await;
        }
        let says = |object: &&dyn Selectable| String::from_utf8(object.json()).unwrap().contains(self.text);
        Ok(objects.iter().map(says).collect())
    }

    async fn outdated(&self) {
        std::future::pending::<()>().await;
    }

    fn generation(&self) -> u64 {
        1
    }
}

fn says(selection: Selection, text: &'static str) -> Selection {
    Selection { extended: Some(Arc::new(Says { text, takes: Duration::ZERO })), ..selection }
}

#[test]
fn what_an_extension_is_being_asked_about_is_neither_lost_nor_passed_over_when_nobody_waits() {
    let (mut writer, reader, _) = cache(1 << 30);
    let slow = Says { text: r#""app":"web""#, takes: Duration::from_millis(10) };
    let selection = Selection { extended: Some(Arc::new(slow)), ..Selection::everything() };
    let mut watch = reader.watch(marker(10), selection).unwrap();
    let key = ObjectKey::new("ns", "pod");
    writer.apply(vec![put(11, &key, "web", "n"), put(12, &key, "db", "n")], Instant::now());
    // Each look is given up after a millisecond, as a watch does for a bookmark.
    for _ in 0..3 {
        assert!(drain(&mut watch).0.is_empty());
        assert_eq!(watch.position(), marker(10), "a bookmark would pass over what was not told");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let Step::Events(events) = runtime.block_on(watch.next()) else { panic!("there are events") };
    assert_eq!(kinds(&events), [(ChangeKind::Added, 11), (ChangeKind::Deleted, 12)]);
    assert_eq!(watch.position(), marker(12));
}

#[test]
fn a_watch_that_selects_sees_objects_enter_and_leave_its_selection() {
    let (mut writer, reader, _) = cache(1 << 30);
    let mut watch = reader.watch(marker(10), selection(None, "app=web")).unwrap();
    let key = ObjectKey::new("ns", "pod");
    let batch = vec![
        put(11, &key, "db", "n"),
        put(12, &key, "web", "n"),
        put(13, &key, "web", "m"),
        put(14, &key, "db", "m"),
        put(15, &key, "web", "m"),
        Apply::Delete { marker: marker(16), served: key },
    ];
    writer.apply(batch, Instant::now());
    let (events, end) = drain(&mut watch);
    assert!(end.is_none());
    use ChangeKind::{Added, Deleted, Modified};
    assert_eq!(kinds(&events), [(Added, 12), (Modified, 13), (Deleted, 14), (Added, 15), (Deleted, 16)]);
    // What left the selection is shown as it was in it, under the marker of the change.
    assert!(body(&events[2].object).contains(r#""app":"web""#));
    assert!(body(&events[2].object).contains(r#""resourceVersion":"14""#));
    assert!(body(&events[4].object).contains(r#""resourceVersion":"16""#));
}

#[test]
fn a_deletion_that_nobody_has_a_body_of_ends_the_watches_that_began_before() {
    let (mut writer, reader, _) = cache(1 << 30);
    let mut before = reader.watch(marker(10), Selection::everything()).unwrap();
    let mut idle = reader.watch(marker(10), selection(Some("other"), "")).unwrap();
    writer.apply(vec![Apply::Delete { marker: marker(12), served: ObjectKey::new("ns", "gone") }], Instant::now());
    assert!(matches!(drain(&mut before).1, Some(Step::Expired)));
    assert!(matches!(drain(&mut idle).1, Some(Step::Expired)));
    assert_eq!(reader.watch(marker(11), Selection::everything()).err().unwrap().floor, marker(12));
    let mut after = reader.watch(marker(12), Selection::everything()).unwrap();
    writer.apply(vec![put(13, &ObjectKey::new("ns", "a"), "web", "n")], Instant::now());
    assert_eq!(kinds(&drain(&mut after).0), [(ChangeKind::Added, 13)]);
}

#[test]
fn an_object_that_cannot_be_read_is_reported_and_its_last_state_is_not_shown_as_current() {
    let (mut writer, reader, _) = cache(1 << 30);
    let key = ObjectKey::new("ns", "pod");
    writer.apply(vec![put(11, &key, "web", "n")], Instant::now());
    let mut watch = reader.watch(marker(11), Selection::everything()).unwrap();
    let object = MemberObject { body: Bytes::from_static(b"{"), ..pod(&key, "web", "n", 1) };
    let broken =
        Apply::Put { marker: marker(12), served: key.clone(), cluster: cluster("east"), object, holders: None };
    let not_shown = writer.apply(vec![broken], Instant::now());
    assert_eq!(not_shown[0].to_string(), "ns/pod of cluster east is not shown at marker 12");
    assert!(reader.get(&key).is_none());
    assert!(matches!(drain(&mut watch).1, Some(Step::Expired)));
    assert_eq!(reader.head(), marker(12));
}

#[test]
fn a_watch_of_a_quiet_namespace_outlives_the_ring_and_one_that_does_not_read_does_not() {
    let (mut writer, reader, _) = cache(1 << 30);
    let mut quiet = reader.watch(marker(10), selection(Some("quiet"), "")).unwrap();
    let mut slow = reader.watch(marker(10), selection(Some("busy"), "")).unwrap();
    let mut slow_everywhere = reader.watch(marker(10), Selection::everything()).unwrap();
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    for number in 0..1000 {
        writer.apply(vec![put(11 + number, &ObjectKey::new("busy", "pod"), "web", "n")], at(number));
    }
    assert!(reader.floor() > marker(600), "{}", reader.floor());
    assert!(matches!(drain(&mut slow).1, Some(Step::Slow)));
    assert!(matches!(drain(&mut slow_everywhere).1, Some(Step::Slow)));
    assert_eq!(quiet.position(), marker(1010));
    writer.apply(vec![put(2000, &ObjectKey::new("quiet", "pod"), "web", "n")], at(1000));
    assert_eq!(quiet.position(), marker(1010));
    let (events, end) = drain(&mut quiet);
    assert_eq!((kinds(&events), end.is_none()), (vec![(ChangeKind::Added, 2000)], true));
    assert_eq!(quiet.position(), marker(2000));
}

#[tokio::test]
async fn a_watch_that_is_far_behind_is_told_all_in_several_batches() {
    let (mut writer, reader, _) = cache(1 << 30);
    let key = ObjectKey::new("ns", "pod");
    writer.apply((11..1011).map(|number| put(number, &key, "web", "n")).collect(), Instant::now());
    writer.apply(vec![Apply::Mark { marker: marker(2000) }], Instant::now());
    for selection in [Selection::everything(), selection(Some("ns"), "")] {
        let mut watch = reader.watch(marker(10), selection).unwrap();
        let mut told = Vec::new();
        while told.len() < 1000 {
            let Step::Events(events) = watch.next().await else { panic!("the watch ended") };
            assert!(events.len() <= 256);
            told.extend(events.iter().map(|event| event.marker.get()));
            let expected = if told.len() < 1000 { marker(told[told.len() - 1]) } else { marker(2000) };
            assert_eq!(watch.position(), expected);
        }
        assert!(told.iter().copied().eq(11..1011));
    }
}

#[test]
fn events_are_kept_for_five_minutes_and_then_down_to_some() {
    let (mut writer, reader, _) = cache(1 << 30);
    let start = Instant::now();
    for number in 0..1000u64 {
        let at = start + Duration::from_millis(number * 290);
        writer.apply(vec![put(11 + number, &ObjectKey::new("ns", "pod"), "web", "n")], at);
    }
    assert_eq!(reader.floor(), marker(10));
    // One each 0.29 s: those of the first 100 s are 345.
    reader.settle(start + Duration::from_secs(400));
    assert_eq!((reader.floor(), reader.stats().ring_events), (marker(10 + 345), 1000 - 345));
    reader.settle(start + Duration::from_secs(4000));
    assert_eq!((reader.floor(), reader.stats().ring_events), (marker(10 + 1000 - 256), 256));
}

/// kube-apiserver would say 410 after its compaction; here the state that a token names is still the state of now.
#[test]
fn a_state_that_nothing_has_changed_since_is_never_too_old() {
    let (mut writer, reader, _) = cache(1 << 30);
    let start = Instant::now();
    writer.apply(vec![put(11, &ObjectKey::new("ns", "pod"), "web", "n")], start);
    let begun = reader.latest();
    reader.settle(start + Duration::from_hours(24));
    assert_eq!(bodies(&reader.at(marker(11)).unwrap()), bodies(&begun));
    assert!(reader.watch(marker(11), Selection::everything()).is_ok());
}

#[test]
fn a_ring_over_its_budget_loses_its_oldest_events_and_the_floor_rises() {
    let (mut writer, reader, budget) = cache(400_000);
    let now = Instant::now();
    for number in 0..1000u64 {
        writer.apply(vec![put(11 + number, &ObjectKey::new("ns", "pod"), "web", "n")], now);
    }
    assert!(budget.ring_bytes() <= 100_000, "{}", budget.ring_bytes());
    assert!(reader.floor() > marker(700), "{}", reader.floor());
    assert!(reader.at(marker(10)).is_err());
    // Snapshots kept for tokens count too, and go first.
    let kept = reader.at(Marker::new(reader.floor().get() + 1).unwrap()).unwrap();
    let floor = reader.floor();
    writer.apply(vec![put(2000, &ObjectKey::new("ns", "pod"), "web", "n")], now);
    assert!(budget.ring_bytes() <= 101_000, "{}", budget.ring_bytes());
    assert!(reader.floor() <= marker(floor.get() + 4), "{floor} {}", reader.floor());
    drop((kept, writer, reader));
    assert_eq!(budget.bytes_used(), 0);
}

#[test]
fn compressed_events_are_told_as_they_were() {
    let (mut writer, reader, _) = cache(1 << 30);
    let start = Instant::now();
    let key = ObjectKey::new("ns", "pod");
    let mut watch = reader.watch(marker(10), Selection::everything()).unwrap();
    let mut later = reader.watch(marker(10), selection(Some("ns"), "app=web")).unwrap();
    for number in 11..200 {
        let app = if number % 3 == 0 { "web" } else { "db" };
        writer.apply(vec![put(number, &key, app, "n")], start);
    }
    writer.apply(vec![Apply::Delete { marker: marker(200), served: key }], start);
    let whole: Vec<_> = drain(&mut watch).0.iter().map(|event| body(&event.object)).collect();
    let snapshots: Vec<_> = (11..=200).map(|number| bodies(&reader.at(marker(number)).unwrap())).collect();
    let bytes_before = reader.stats().ring_bytes;
    reader.settle(start + Duration::from_secs(10));
    assert!(reader.stats().ring_bytes < bytes_before * 9 / 10, "{bytes_before} {}", reader.stats().ring_bytes);
    let mut again = reader.watch(marker(10), Selection::everything()).unwrap();
    let packed: Vec<_> = drain(&mut again).0.iter().map(|event| body(&event.object)).collect();
    assert_eq!(packed, whole);
    let selected = drain(&mut later).0;
    assert_eq!(selected.len(), 2 * 63, "each third enters and leaves again");
    assert!(selected.iter().all(|event| body(&event.object).contains("web")));
    for (number, snapshot) in (11..=200).zip(snapshots) {
        assert_eq!(bodies(&reader.at(marker(number)).unwrap()), snapshot, "{number}");
    }
}

#[test]
fn a_new_beginning_ends_the_watches_of_the_old_one() {
    let (mut writer, reader, _) = cache(1 << 30);
    let key = ObjectKey::new("ns", "pod");
    writer.apply(vec![put(11, &key, "web", "n")], Instant::now());
    let mut watch = reader.watch(marker(11), Selection::everything()).unwrap();
    let object = pod(&key, "db", "n", 5);
    let base = BaseObject { served: key.clone(), marker: marker(15), cluster: cluster("west"), object, holders: None };
    assert!(writer.begin(vec![base], vec![], marker(20)).is_empty());
    assert!(matches!(drain(&mut watch).1, Some(Step::Expired)));
    assert_eq!((reader.head(), reader.floor(), reader.latest().len()), (marker(20), marker(20), 1));
    assert_eq!(reader.get(&key).unwrap().label("orrery.dev/cluster"), Some("west"));
    writer.apply(vec![Apply::Delete { marker: marker(21), served: key }], Instant::now());
    assert_eq!(reader.at(marker(20)).unwrap().len(), 1);
    assert!(reader.latest().is_empty());
}

#[test]
fn an_object_of_several_clusters_passes_to_the_next_holder_and_back() {
    let budget = Budget::new(1 << 30);
    let (mut writer, reader) = crate::resource(shape(Stamp::Label, Naming::Same), &budget, &Metrics::default());
    writer.begin(vec![], vec![], marker(10));
    let (east, west) = (cluster("east"), cluster("west"));
    let key = ObjectKey::new("", "default");
    let holders = |clusters: &[&ClusterName]| Some(clusters.iter().map(|name| (*name).clone()).collect::<Arc<[_]>>());
    let shown = |at: u64, cluster: &ClusterName, holders| Apply::Reshow {
        marker: marker(at),
        served: key.clone(),
        cluster: cluster.clone(),
        key: key.clone(),
        holders,
    };
    let now = Instant::now();
    let object = pod(&key, "of-east", "n", 1);
    let first = Apply::Put {
        marker: marker(11),
        served: key.clone(),
        cluster: east.clone(),
        object,
        holders: holders(&[&east]),
    };
    let hold = Apply::Hold { cluster: west.clone(), object: pod(&key, "of-west", "n", 2) };
    assert!(writer.apply(vec![first, hold, shown(12, &east, holders(&[&east, &west]))], now).is_empty());
    assert!(body(&reader.get(&key).unwrap()).contains(r#""orrery.dev/clusters":"east,west""#));
    // Another first holder, while east still holds it: its state is kept and can be shown again.
    assert!(writer.apply(vec![shown(13, &west, holders(&[&west, &east]))], now).is_empty());
    assert_eq!(reader.get(&key).unwrap().label("app"), Some("of-west"));
    assert!(writer.holds(&east, &key) && !writer.holds(&west, &key));
    assert!(writer.apply(vec![shown(14, &east, holders(&[&east]))], now).is_empty());
    assert_eq!(reader.get(&key).unwrap().label("app"), Some("of-east"));
    assert!(!writer.holds(&west, &key), "west holds it no more");
    let not_shown = writer.apply(vec![shown(15, &west, holders(&[&west]))], now);
    assert_eq!(not_shown.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_reader_waits_for_a_marker_and_says_where_the_head_is_when_it_does_not_come() {
    let (mut writer, reader, _) = cache(1 << 30);
    let deadline = || tokio::time::Instant::now() + Duration::from_secs(3);
    let late = reader.reached(marker(12), deadline()).await.unwrap_err();
    assert_eq!(late.to_string(), "Too large resource version: 12, current: 10");
    let waiting = tokio::spawn({
        let reader = reader.clone();
        async move { reader.reached(marker(12), deadline()).await }
    });
    tokio::task::yield_now().await;
    writer.apply(vec![Apply::Mark { marker: marker(12) }], Instant::now());
    assert!(waiting.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_waiting_watch_is_woken_by_events_of_its_namespace_only() {
    let (mut writer, reader, _) = cache(1 << 30);
    let mut mine = reader.watch(marker(10), selection(Some("mine"), "")).unwrap();
    let mut waiting = tokio_test_task(async move { (mine.next().await, mine) });
    assert!(!waiting.poll());
    writer.apply(vec![put(11, &ObjectKey::new("other", "pod"), "web", "n")], Instant::now());
    assert!(!waiting.is_woken());
    writer.apply(vec![put(12, &ObjectKey::new("mine", "pod"), "web", "n")], Instant::now());
    assert!(waiting.is_woken() && waiting.poll());
}

/// A future that is polled by hand.
struct ByHand<F> {
    future: std::pin::Pin<Box<F>>,
    woken: Arc<Woken>,
}

#[derive(Default)]
struct Woken(std::sync::atomic::AtomicBool);

impl std::task::Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, std::sync::atomic::Ordering::SeqCst);
    }
}

fn tokio_test_task<F: Future>(future: F) -> ByHand<F> {
    ByHand { future: Box::pin(future), woken: Arc::default() }
}

impl<F: Future> ByHand<F> {
    fn poll(&mut self) -> bool {
        self.woken.0.store(false, std::sync::atomic::Ordering::SeqCst);
        let waker = self.woken.clone().into();
        self.future.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_ready()
    }

    fn is_woken(&self) -> bool {
        self.woken.0.load(std::sync::atomic::Ordering::SeqCst)
    }
}

#[test]
fn metrics_are_registered_by_their_names() {
    let metrics = Metrics::default();
    let (mut writer, reader) = crate::resource(shape(Stamp::None, Naming::Unique), &Budget::new(1 << 30), &metrics);
    writer.begin(vec![], vec![], marker(10));
    writer.apply(vec![put(11, &ObjectKey::new("ns", "pod"), "web", "n")], Instant::now());
    let _watch = reader.watch(marker(11), Selection::everything()).unwrap();
    let mut registry = prometheus_client::registry::Registry::default();
    metrics.register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    for line in [
        r#"orrery_cache_objects{resource="pods"} 1"#,
        r#"orrery_cache_ring_events{resource="pods"} 1"#,
        r#"orrery_cache_watchers{resource="pods"} 1"#,
        r#"orrery_cache_head{resource="pods"} 11"#,
        r#"orrery_cache_slow_watchers_cut_total{resource="pods"} 0"#,
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
}

#[tokio::test]
async fn a_watch_ends_when_nothing_can_follow_any_more() {
    let (writer, reader, _budget) = cache(1 << 20);
    let mut watch = reader.watch(marker(10), Selection::everything()).unwrap();
    drop(writer);
    assert!(matches!(watch.next().await, Step::Expired));
    assert!(reader.watch(marker(10), Selection::everything()).is_err());
}
