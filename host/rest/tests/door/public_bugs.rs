//! What broke elsewhere, and must not here: the public bugs of kubernetes-api.md, section 10, as far as they are about
//! reads. Cases that another test holds are named with it, so that nothing stands twice.
//!
//! | case | what broke | test |
//! |---|---|---|
//! | 1, 15 | paging over clusters | [`a_paged_list_of_two_clusters_has_one_version_and_misses_nothing`]; `read::tests` |
//! | 2, 3 | versions that change from read to read | [`an_object_has_one_version_however_often_and_by_whom_it_is_read`] |
//! | 4, 17, 18, 12 | informers wait for a sign that never comes | [`a_watch_list_of_a_quiet_fleet_ends_at_once`] |
//! | 5 | one name in two clusters is a conflict | [`one_name_in_two_clusters_is_two_objects`] |
//! | 6 | lists fail while a member initializes | [`a_member_that_never_answers_fails_no_list`] |
//! | 7 | another cluster under a name | `tests/real/tests/faults_membership.rs` |
//! | 8 | a slow cluster blocks the watch | [`a_member_that_falls_silent_holds_up_no_watch`] |
//! | 9, 10, 11, 27, 35, 36, 38, 41 | versions that cannot be parsed, compared or watched from | [`every_list_is_a_start_for_a_watch_whatever_it_selects`] |
//! | 13, 23, 24 | what a watch that starts too early is told | `read::tests::what_a_watch_cannot_begin_with_is_one_error_event_and_the_end` |
//! | 14, 19 | fake and aggregated servers in general | `tests/compat/tests/as_upstream.rs` |
//! | 16 | a deletion missed at compaction | `tests/real/tests/ingest.rs` |
//! | 20 | many gzip members in one body | [`members_are_never_asked_to_compress`] |
//! | 21 | a Status over several lines in a watch | [`a_refused_watch_is_one_line_even_for_people`] |
//! | 22 | bookmarks without required fields | `read::tests::a_watch_that_is_told_nothing_else_gets_a_bookmark_within_a_second` |
//! | 25 | a 410 for ever | [`after_a_410_a_new_list_is_a_start`] |
//! | 26, 43, 44 | events whose version is no start | [`every_event_is_a_start_for_a_watch`] |
//! | 28, 29, 33 | replicas | one replica so far; `read::page` for versions that have not come |
//! | 30, 31 | a kind that one cluster lacks | [`a_kind_that_one_member_lacks_is_listed_and_watched`] |
//! | 32 | protobuf of what has none | `negotiate::tests` |
//! | 34 | versions that go back after a restore | `tests/real/tests/faults_restored.rs` |
//! | 37 | gzip passed on unread | `body::tests` |
//! | 39 | a WebSocket watch expects 101 | `tests/compat/tests/as_upstream/websocket.rs` |
//! | 40 | watches cut by a time of somebody else's | `read::tests::a_watch_without_bookmarks_is_silent_until_its_time_and_ends_without_a_word` |
//! | 42 | `resourceVersion=undefined` | [`a_version_that_is_none_is_400_at_once`] |
//! | 45 | a watch whose head waits for its first event | [`a_watch_without_events_is_answered_at_once`] |
//! | 46 | `$ref`s that resolve to nothing | `tests/compat/tests/as_upstream/openapi.rs`: documents are one member's own |
//! | 47, 48, 49 | one member's trouble in everybody's discovery | [`a_silent_member_changes_nothing_in_discovery`]; `tests/real/tests/live.rs` |
//! | 54 | Tables for k9s | `tests/compat/tests/tables.rs` |
//! | 50 | protobuf bodies that a proxy cannot read | `translate::tests`; drain and `create token` in `tests/compat/tests/kubectl_writes.rs` |
//! | 51 to 53, 55 to 62 | exec, logs and upgrades: verbs, paths, times, protocols | `proxy::tests`, `connect::tests`; `tests/compat/tests/kubectl_writes.rs` |

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt as _, Empty};
use hyper::Request;
use hyper::body::Incoming;
use orrery_rest::Settings;
use serde_json::Value;
use tokio::time::{Instant, timeout};

use crate::host::{Door, get};
use crate::member::Member;

const MAPS: &str = "/api/v1/configmaps";
const SOON: Duration = Duration::from_secs(20);

/// Two members, and a host over both that serves configmaps.
struct Fleet {
    east: Member,
    west: Member,
    door: Door,
}

/// A watch, line by line.
struct Watch {
    body: Incoming,
    rest: BytesMut,
}

// === impl Fleet ===

impl Fleet {
    async fn start() -> Self {
        Self::of(Member::new("east"), Member::new("west")).await
    }

    async fn of(east: Member, west: Member) -> Self {
        let members = [("east", east.source()), ("west", west.source())];
        let door = Door::over(&members, Settings::default()).await;
        let fleet = Self { east, west, door };
        let ready = async {
            while get(&mut fleet.door.connect(true).await, MAPS, &[]).await.0.status() != 200 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(2 * SOON, ready).await.expect("the host serves configmaps");
        fleet
    }

    async fn json(&self, path: &str) -> Value {
        let (response, body) = get(&mut self.door.connect(true).await, path, &[]).await;
        assert_eq!(response.status(), 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    /// Lists until there are so many objects.
    async fn list_of(&self, count: usize) -> Value {
        let listed = async {
            loop {
                let list = self.json(MAPS).await;
                if names(&list).len() == count {
                    break list;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(SOON, listed).await.expect("all objects are listed")
    }

    async fn watch(&self, query: &str) -> Watch {
        let mut sender = self.door.connect(true).await;
        let path = format!("{MAPS}?watch=1&{query}");
        let request = Request::get(&path).header("host", "front").body(Empty::<Bytes>::new()).unwrap();
        let response = timeout(SOON, sender.send_request(request)).await.expect("a head, and soon").unwrap();
        assert_eq!(response.status(), 200, "{path}");
        Watch { body: response.into_body(), rest: BytesMut::new() }
    }
}

// === impl Watch ===

impl Watch {
    async fn next(&mut self) -> Value {
        let line = async {
            loop {
                if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                    break self.rest.split_to(end + 1);
                }
                let frame = self.body.frame().await.expect("the watch goes on").unwrap();
                self.rest.extend_from_slice(&frame.into_data().unwrap());
            }
        };
        serde_json::from_slice(&timeout(SOON, line).await.expect("an event, and soon")).unwrap()
    }

    /// Kind and name of the next event.
    async fn brief(&mut self) -> String {
        let event = self.next().await;
        let name = event["object"]["metadata"]["name"].as_str().unwrap_or_default();
        format!("{} {name}", event["type"].as_str().unwrap())
    }
}

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().expect("one decimal number")
}

#[tokio::test]
async fn a_paged_list_of_two_clusters_has_one_version_and_misses_nothing() {
    let fleet = Fleet::start().await;
    for name in ["a", "c", "e"] {
        fleet.east.put("x", name, "");
    }
    for name in ["b", "d"] {
        fleet.west.put("x", name, "");
    }
    fleet.list_of(5).await;
    let (mut seen, mut versions, mut resume) = (Vec::new(), Vec::new(), String::new());
    loop {
        let page = fleet.json(&format!("{MAPS}?limit=2&continue={resume}")).await;
        seen.extend(names(&page).into_iter().map(str::to_owned));
        versions.push(version(&page));
        match page["metadata"]["continue"].as_str() {
            Some(next) => resume = next.to_owned(),
            None => break,
        }
        // What is written meanwhile belongs to a later state.
        fleet.west.put("x", &format!("later-{}", seen.len()), "");
    }
    assert_eq!(seen, ["a", "b", "c", "d", "e"]);
    assert!(versions.iter().all(|version| *version == versions[0]), "{versions:?}");
}

#[tokio::test]
async fn an_object_has_one_version_however_often_and_by_whom_it_is_read() {
    let fleet = Fleet::start().await;
    fleet.west.put("x", "a", "");
    let listed = version(&fleet.list_of(1).await["items"][0]);
    let mut watches = Vec::new();
    for _ in 0..5 {
        watches.push(fleet.watch("resourceVersion=0").await);
        assert_eq!(version(&fleet.json(MAPS).await["items"][0]), listed);
        assert_eq!(version(&fleet.json("/api/v1/namespaces/x/configmaps/a").await), listed);
    }
    for watch in &mut watches {
        assert_eq!(version(&watch.next().await["object"]), listed);
    }
    fleet.west.put("x", "a", "changed");
    let mut told = Vec::new();
    for watch in &mut watches {
        told.push(version(&watch.next().await["object"]));
    }
    assert!(told.iter().all(|version| *version == told[0]) && told[0] > listed, "{told:?}");
}

#[tokio::test]
async fn a_watch_list_of_a_quiet_fleet_ends_at_once() {
    let fleet = Fleet::start().await;
    let begun = Instant::now();
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let event = fleet.watch(query).await.next().await;
    assert_eq!(event["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true", "{event}");
    assert!(begun.elapsed() < Duration::from_secs(5), "nothing has to be written for it: {:?}", begun.elapsed());
}

#[tokio::test]
async fn one_name_in_two_clusters_is_two_objects() {
    let fleet = Fleet::start().await;
    fleet.east.put("x", "same", "of east");
    fleet.list_of(1).await;
    let mut watch = fleet.watch("resourceVersion=0").await;
    assert_eq!(watch.brief().await, "ADDED same");
    fleet.west.put("x", "same", "of west");
    assert_eq!(watch.brief().await, "ADDED same.west");
    assert_eq!(names(&fleet.list_of(2).await), ["same", "same.west"]);
    fleet.east.delete("x", "same");
    assert_eq!(watch.brief().await, "DELETED same");
    assert_eq!(names(&fleet.list_of(1).await), ["same.west"], "names do not move while they are watched");
}

#[tokio::test]
async fn a_member_that_never_answers_fails_no_list() {
    let (east, west) = (Member::new("east"), Member::new("west"));
    east.put("x", "a", "");
    west.fall_silent();
    let fleet = Fleet::of(east, west).await;
    let (response, body) = get(&mut fleet.door.connect(true).await, MAPS, &[]).await;
    assert_eq!(response.status(), 200, "{body}");
    let warned =
        response.headers().get_all("warning").iter().any(|text| text.to_str().unwrap().contains("cluster west"));
    assert!(warned && body.contains(r#""name":"a""#), "{:?} {body}", response.headers());
}

#[tokio::test]
async fn a_member_that_falls_silent_holds_up_no_watch() {
    let fleet = Fleet::start().await;
    fleet.west.put("x", "of-west", "");
    fleet.list_of(1).await;
    let mut watch = fleet.watch("resourceVersion=0").await;
    assert_eq!(watch.brief().await, "ADDED of-west");
    fleet.west.fall_silent();
    let begun = Instant::now();
    for number in 0..3 {
        fleet.east.put("x", &format!("of-east-{number}"), "");
        assert_eq!(watch.brief().await, format!("ADDED of-east-{number}"));
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn every_list_is_a_start_for_a_watch_whatever_it_selects() {
    let fleet = Fleet::start().await;
    for (member, name) in [(&fleet.east, "a"), (&fleet.west, "b"), (&fleet.east, "c")] {
        member.put("x", name, "");
    }
    fleet.list_of(3).await;
    let selectors = ["", "&labelSelector=orrery.dev/cluster%3Dwest", "&fieldSelector=metadata.name%3Dd", "&limit=1"];
    for selector in selectors {
        let list = fleet.json(&format!("{MAPS}?resourceVersion={selector}")).await;
        let at = version(&list);
        assert!(at < 1 << 53, "{at} is a number that JavaScript can hold");
        let newest = list["items"].as_array().unwrap().iter().map(version).max().unwrap_or_default();
        assert!(newest <= at, "no object is newer than its list: {newest} {at}");
        let mut watch = fleet.watch(&format!("resourceVersion={at}{}", selector.replace("&limit=1", ""))).await;
        fleet.west.put("x", "d", selector);
        let event = watch.next().await;
        assert_eq!(event["object"]["metadata"]["name"].as_str().unwrap().split('.').next(), Some("d"), "{selector}");
        assert!(version(&event["object"]) > at);
        fleet.west.delete("x", "d");
        assert_eq!(watch.next().await["type"], "DELETED");
    }
}

#[tokio::test]
async fn members_are_never_asked_to_compress() {
    let fleet = Fleet::start().await;
    fleet.east.put("x", "a", "");
    fleet.list_of(1).await;
    let (response, _) = get(
        &mut fleet.door.connect(true).await,
        "/clusters/east/api/v1/namespaces/x/configmaps/a",
        &[("accept-encoding", "gzip")],
    )
    .await;
    assert_eq!(response.status(), 200);
    let asked = fleet.east.accepted_encodings();
    assert!(!asked.is_empty() && asked.iter().all(|encoding| encoding == "identity"), "{asked:?}");
}

#[tokio::test]
async fn a_refused_watch_is_one_line_even_for_people() {
    let fleet = Fleet::start().await;
    let person = [("user-agent", "curl/8.0")];
    let mut sender = fleet.door.connect(true).await;
    let (response, body) = get(&mut sender, &format!("{MAPS}?watch=1&limit=x&pretty=true"), &person).await;
    assert_eq!((response.status().as_u16(), body.trim_end().lines().count()), (400, 1), "{body}");
    let (_, body) = get(&mut sender, &format!("{MAPS}?watch=1&resourceVersion=1&pretty=true"), &person).await;
    assert_eq!(body.lines().count(), 1, "{body}");
    let event: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&event["type"], &event["object"]["code"]), (&"ERROR".into(), &410.into()));
}

#[tokio::test]
async fn after_a_410_a_new_list_is_a_start() {
    let fleet = Fleet::start().await;
    fleet.east.put("x", "a", "");
    fleet.list_of(1).await;
    for _ in 0..3 {
        assert_eq!(fleet.watch("resourceVersion=7").await.next().await["object"]["code"], 410);
        let at = version(&fleet.json(MAPS).await);
        let mut watch = fleet.watch(&format!("resourceVersion={at}")).await;
        fleet.east.put("x", "a", &at.to_string());
        assert_eq!(watch.brief().await, "MODIFIED a");
    }
}

#[tokio::test]
async fn every_event_is_a_start_for_a_watch() {
    let fleet = Fleet::start().await;
    let mut at = version(&fleet.json(MAPS).await);
    for number in 0..20 {
        let member = if number % 2 == 0 { &fleet.east } else { &fleet.west };
        // As Headlamp does: each event is followed by a new watch from its version.
        let mut watch = fleet.watch(&format!("resourceVersion={at}")).await;
        member.put("x", &format!("n{number}"), "");
        let event = watch.next().await;
        assert_eq!(event["object"]["metadata"]["name"], format!("n{number}"));
        assert!(version(&event["object"]) > at);
        at = version(&event["object"]);
    }
}

#[tokio::test]
async fn a_kind_that_one_member_lacks_is_listed_and_watched() {
    let fleet = Fleet::of(Member::new("east"), Member::without_configmaps("west")).await;
    let mut watch = fleet.watch("resourceVersion=0").await;
    fleet.east.put("x", "a", "");
    assert_eq!(watch.brief().await, "ADDED a");
    let (response, _) = get(&mut fleet.door.connect(true).await, MAPS, &[]).await;
    assert!(!response.headers().contains_key("warning"), "who does not serve a kind has nothing of it to miss");
}

#[tokio::test]
async fn a_version_that_is_none_is_400_at_once() {
    let fleet = Fleet::start().await;
    let mut sender = fleet.door.connect(true).await;
    for query in ["watch=1&resourceVersion=undefined", "resourceVersion=undefined", "watch=1&resourceVersion=1/2/3"] {
        let begun = Instant::now();
        let (response, body) = get(&mut sender, &format!("{MAPS}?{query}"), &[]).await;
        assert_eq!(response.status(), 400, "{query}: {body}");
        assert!(begun.elapsed() < Duration::from_secs(2), "{query}: {:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn a_watch_without_events_is_answered_at_once() {
    let fleet = Fleet::start().await;
    let at = version(&fleet.json(MAPS).await);
    let begun = Instant::now();
    let _watch = fleet.watch(&format!("resourceVersion={at}")).await;
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_silent_member_changes_nothing_in_discovery() {
    let fleet = Fleet::start().await;
    let aggregated = [("accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")];
    let mut sender = fleet.door.connect(true).await;
    let (before, document) = get(&mut sender, "/apis", &aggregated).await;
    assert!(document.contains(r#""gauges""#) && !document.contains("Stale"), "{document}");
    fleet.east.fall_silent();
    fleet.west.fall_silent();
    let etag = before.headers()["etag"].to_str().unwrap().to_owned();
    let known = [aggregated[0], ("if-none-match", &etag)];
    for _ in 0..5 {
        let (after, same) = get(&mut sender, "/apis", &aggregated).await;
        assert_eq!((after.headers()["etag"].to_str().unwrap(), &same), (etag.as_str(), &document));
        assert_eq!(get(&mut sender, "/apis", &known).await.0.status(), 304);
    }
}

/// Kinds that can only be listed are asked of the members each time.
#[tokio::test]
async fn a_live_list_lacks_who_does_not_answer_and_says_so() {
    let fleet = Fleet::start().await;
    let gauges = "/apis/example.com/v1/namespaces/a/gauges";
    let list = fleet.json(gauges).await;
    assert_eq!((names(&list), &list["metadata"]), (vec!["pressure.east", "pressure.west"], &serde_json::json!({})));
    let one = fleet.json(&format!("{gauges}/pressure.west")).await;
    assert_eq!((&one["value"], &one["kind"]), (&"west".into(), &"Gauge".into()));
    let mut sender = fleet.door.connect(true).await;
    for absent in ["nosuch", "pressure"] {
        assert_eq!(get(&mut sender, &format!("{gauges}/{absent}"), &[]).await.0.status(), 404, "{absent}");
    }
    assert_eq!(get(&mut sender, &format!("{gauges}?watch=1"), &[]).await.0.status(), 405);
    let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let (response, body) = get(&mut sender, gauges, &table).await;
    let table: Value = serde_json::from_str(&body).unwrap();
    let cells: Vec<_> =
        table["rows"].as_array().unwrap().iter().map(|row| (&row["cells"][0], &row["cells"][2])).collect();
    let of = |cluster: &str| (Value::from(format!("pressure.{cluster}")), Value::from(cluster));
    let (east, west) = (of("east"), of("west"));
    assert_eq!((response.status().as_u16(), cells), (200, vec![(&east.0, &east.1), (&west.0, &west.1)]), "{body}");
    let selected = fleet.json(&format!("{gauges}?labelSelector=orrery.dev/cluster%3Dwest")).await;
    assert_eq!(names(&selected), ["pressure.west"]);
    let none = fleet.json(&format!("{gauges}?labelSelector=orrery.dev/cluster%3Dnosuch")).await;
    assert_eq!((names(&none), &none["kind"]), (Vec::new(), &"GaugeList".into()));
    let selected = fleet.json(&format!("{gauges}?fieldSelector=metadata.name%3Dpressure.west")).await;
    assert_eq!(names(&selected), ["pressure.west"]);
    fleet.west.fall_silent();
    let (response, body) = get(&mut sender, gauges, &[]).await;
    let warned =
        response.headers().get_all("warning").iter().any(|text| text.to_str().unwrap().contains("cluster west"));
    assert!(response.status() == 200 && warned, "{:?} {body}", response.headers());
    assert_eq!(get(&mut sender, &format!("{gauges}/nosuch"), &[]).await.0.status(), 503, "west may have it");
}
