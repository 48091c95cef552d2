use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use expect_test::{Expect, expect};
use http::Response;
use http_body_util::BodyExt as _;
use orrery_api::{ClusterName, Naming, Stamp, Uid};
use orrery_cache::{Apply, BaseObject, Budget, FieldTable, Metrics, Reader, Shape, Writer, resource};
use orrery_markers::{Digest, MemberObject, MemberVersion};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::body::{Body, Encoding};
use crate::negotiate::object_form;
use crate::request::Verb;

/// A resource of pods that began at marker 100 and is served without a stamp, so that bodies are short.
struct Pods {
    writer: Writer,
    reader: Reader,
    head: u64,
}

fn marker(number: u64) -> Marker {
    Marker::new(number).unwrap()
}

fn pod(namespace: &str, name: &str, labels: &str) -> MemberObject {
    let body = format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"{namespace}","uid":"u-{namespace}-{name}","resourceVersion":"7","labels":{{{labels}}}}},"spec":{{}}}}"#
    );
    MemberObject {
        key: ObjectKey::new(namespace, name),
        uid: Uid::new(&format!("u-{namespace}-{name}")),
        version: MemberVersion::from_number(7),
        digest: Digest::from_bits(0),
        terminating: false,
        body: Bytes::from(body),
    }
}

// === impl Pods ===

impl Pods {
    /// `names` as `namespace/name`, each with the label `parity` of its position.
    fn new(names: &[&str]) -> Self {
        let gvr = Gvr::new("", "v1", "pods");
        let fields = FieldTable::of(&gvr, true);
        let shape =
            Shape { gvr, kind: "Pod".into(), namespaced: true, stamp: Stamp::None, naming: Naming::Unique, fields };
        let (mut writer, reader) = resource(shape, &Budget::new(1 << 30), &Metrics::default());
        let base = names.iter().enumerate().map(|(at, name)| {
            let (namespace, name) = name.split_once('/').unwrap();
            let parity = if at % 2 == 0 { r#""parity":"even""# } else { r#""parity":"odd""# };
            BaseObject {
                served: ObjectKey::new(namespace, name),
                marker: marker(at as u64 + 1),
                cluster: ClusterName::new("east").unwrap(),
                object: pod(namespace, name, parity),
                holders: None,
            }
        });
        let shown = writer.begin(base.collect(), Vec::new(), marker(100));
        assert!(shown.is_empty());
        Self { writer, reader, head: 100 }
    }

    fn put(&mut self, namespace: &str, name: &str, labels: &str) {
        self.head += 1;
        let put = Apply::Put {
            marker: marker(self.head),
            served: ObjectKey::new(namespace, name),
            cluster: ClusterName::new("east").unwrap(),
            object: pod(namespace, name, labels),
            holders: None,
        };
        self.apply(put);
    }

    fn delete(&mut self, namespace: &str, name: &str) {
        self.head += 1;
        self.apply(Apply::Delete { marker: marker(self.head), served: ObjectKey::new(namespace, name) });
    }

    /// The head moves, and nothing that is shown changes.
    fn pass(&mut self) {
        self.head += 1;
        self.apply(Apply::Mark { marker: marker(self.head) });
    }

    fn apply(&mut self, change: Apply) {
        assert!(self.writer.apply(vec![change], std::time::Instant::now()).is_empty());
    }

    async fn list(&self, namespace: &str, query: &str) -> Result<Response<Body>, Status> {
        self.list_as("application/json", namespace, query).await
    }

    async fn list_as(&self, accept: &str, namespace: &str, query: &str) -> Result<Response<Body>, Status> {
        let query = Query::parse(query);
        let form = object_form(Some(accept))?.form;
        let options = ListOptions::parse(&query, false)?;
        let scope = self.scope(Verb::List, namespace);
        let selection = scope.selection(&options, self.reader.shape())?;
        let rendering = Rendering::new(form, &query, Some(printer()))?;
        let wanted = Wanted { scope, options, selection, rendering };
        list(&self.reader, &knows, wanted, Encoding::default()).await
    }

    async fn watch(&self, query: &str) -> Result<WatchStream, Status> {
        self.watch_as("application/json", query).await
    }

    async fn watch_as(&self, accept: &str, query: &str) -> Result<WatchStream, Status> {
        let query = Query::parse(query);
        let form = object_form(Some(accept))?.form;
        let options = ListOptions::parse(&query, true)?;
        let scope = self.scope(Verb::Watch, "");
        let selection = scope.selection(&options, self.reader.shape())?;
        let rendering = Rendering::new(form, &query, Some(printer()))?;
        let lasts = options.timeout.unwrap_or(Duration::from_secs(600));
        let settings = WatchSettings { lasts, shutdown: CancellationToken::new() };
        watch(&self.reader, &knows, Wanted { scope, options, selection, rendering }, settings).await
    }

    fn scope(&self, verb: Verb, namespace: &str) -> Scope {
        let gvr = self.reader.shape().gvr.clone();
        let request = ResourceRequest { verb, gvr, namespace: namespace.to_owned(), name: None, subresource: None };
        Scope::new(&request, self.reader.shape())
    }
}

/// The log of these tests knows every marker but those from 40 to 49, which lie between two terms.
fn knows(marker: Marker) -> bool {
    !(40..50).contains(&marker.get())
}

fn printer() -> Arc<Printer> {
    Arc::new(Printer::for_resource(&Gvr::new("example.com", "v1", "widgets"), None, false))
}

async fn text(response: Result<Response<Body>, Status>) -> String {
    match response {
        Ok(response) => String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap(),
        Err(status) => format!("{} {status}", status.code().as_u16()),
    }
}

async fn value(response: Result<Response<Body>, Status>) -> serde_json::Value {
    let text = text(response).await;
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"))
}

fn names(list: &serde_json::Value) -> String {
    let items = list["items"].as_array().unwrap().iter();
    items.map(|item| item["metadata"]["name"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

/// The frames that come without waiting more than 100 ms for the first of them; empty when none does or at the end.
async fn frames(watch: &mut WatchStream) -> String {
    let next = timeout(Duration::from_millis(100), watch.next()).await;
    next.ok().flatten().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()).unwrap_or_default()
}

/// Frames in short: type, name and version of each.
fn brief(frames: &str) -> String {
    let one = |line: &str| {
        let frame: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        let metadata = &frame["object"]["metadata"];
        let end = if metadata["annotations"]["k8s.io/initial-events-end"] == "true" { " end" } else { "" };
        let name = metadata["name"].as_str().unwrap_or_default();
        format!(
            "{} {name}@{}{end}",
            frame["type"].as_str().unwrap(),
            metadata["resourceVersion"].as_str().unwrap_or_default()
        )
    };
    frames.lines().map(one).collect::<Vec<_>>().join(", ")
}

#[track_caller]
fn reads(actual: &str, expected: &Expect) {
    expected.assert_eq(actual);
}

#[tokio::test]
async fn a_list_is_written_as_upstream_writes_it() {
    let pods = Pods::new(&["a/x"]);
    reads(
        &text(pods.list("", "").await).await,
        &expect![[r#"
        {"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"100"},"items":[{"metadata":{"name":"x","namespace":"a","uid":"u-a-x","resourceVersion":"1","labels":{"parity":"even"}},"spec":{}}]}
    "#]],
    );
    reads(
        &text(pods.list("nowhere", "").await).await,
        &expect![[r#"
        {"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"100"},"items":[]}
    "#]],
    );
}

#[tokio::test]
async fn pages_show_one_state_and_count_what_remains() {
    let mut pods = Pods::new(&["a/1", "a/2", "a/3", "b/1", "b/2"]);
    let first = value(pods.list("", "limit=2").await).await;
    assert_eq!((names(&first).as_str(), &first["metadata"]["remainingItemCount"]), ("1 2", &serde_json::json!(3)));
    pods.delete("a", "3");
    pods.put("a", "4", "");
    let resume = |page: &serde_json::Value| page["metadata"]["continue"].as_str().unwrap().to_owned();
    let second = value(pods.list("", &format!("limit=2&continue={}", resume(&first))).await).await;
    assert_eq!((names(&second).as_str(), &second["metadata"]["remainingItemCount"]), ("3 1", &serde_json::json!(1)));
    assert_eq!(second["metadata"]["resourceVersion"], "100");
    let third = value(pods.list("", &format!("limit=2&continue={}", resume(&second))).await).await;
    assert_eq!(names(&third), "2");
    assert_eq!(third["metadata"], serde_json::json!({"resourceVersion": "100"}));
}

#[tokio::test]
async fn a_limit_counts_what_is_selected_and_a_selected_list_counts_no_rest() {
    let pods = Pods::new(&["a/1", "a/2", "a/3", "a/4", "a/5"]);
    let first = value(pods.list("", "limit=2&labelSelector=parity=even").await).await;
    assert_eq!(names(&first), "1 3");
    assert!(first["metadata"].get("remainingItemCount").is_none());
    let resume = first["metadata"]["continue"].as_str().unwrap();
    let second = value(pods.list("", &format!("limit=2&labelSelector=parity=even&continue={resume}")).await).await;
    assert_eq!(names(&second), "5");
    assert!(second["metadata"].get("continue").is_none());
}

#[tokio::test]
async fn an_expired_page_goes_on_in_the_state_of_now() {
    let mut pods = Pods::new(&["a/1", "a/2", "a/3"]);
    let lost = crate::token::ContinueToken { at: Some(marker(45)), after: ObjectKey::new("a", "1"), selected_by: 0 }
        .encode("");
    let status = pods.list("", &format!("limit=2&continue={lost}")).await.unwrap_err();
    assert_eq!(status.code(), 410);
    let body: serde_json::Value = serde_json::from_slice(&status.to_json()).unwrap();
    let fresh = body["metadata"]["continue"].as_str().unwrap();
    pods.put("a", "0", "");
    let rest = value(pods.list("", &format!("limit=5&continue={fresh}")).await).await;
    assert_eq!(names(&rest), "2 3");
    assert_eq!(rest["metadata"]["resourceVersion"], "101");
}

#[tokio::test(start_paused = true)]
async fn which_state_a_list_reads() {
    let mut pods = Pods::new(&["a/1"]);
    pods.put("a", "2", "");
    pods.put("a", "3", "");
    for (query, expected) in [
        ("", "1 2 3@102"),
        ("resourceVersion=0", "1 2 3@102"),
        ("resourceVersion=0&limit=2", "1 2@102"),
        ("resourceVersion=101", "1 2 3@102"),
        ("resourceVersion=101&resourceVersionMatch=NotOlderThan&limit=2", "1 2@102"),
        ("resourceVersion=101&resourceVersionMatch=Exact", "1 2@101"),
        ("resourceVersion=101&limit=5", "1 2@101"),
        ("resourceVersion=102&resourceVersionMatch=Exact", "1 2 3@102"),
        ("fieldSelector=metadata.name=2", "2@102"),
        ("fieldSelector=metadata.name=2,metadata.namespace=b", "@102"),
        ("resourceVersion=99&resourceVersionMatch=Exact", "410 The resourceVersion for the provided list is too old."),
        ("resourceVersion=45", "410 The resourceVersion for the provided list is too old."),
        ("resourceVersion=103", "504 Timeout: Too large resource version: 103, current: 102"),
        (
            "resourceVersion=18446744073709551615",
            "504 Timeout: Too large resource version: 18446744073709551615, current: 102",
        ),
        (
            "resourceVersion=103&resourceVersionMatch=Exact",
            "504 Timeout: Too large resource version: 103, current: 102",
        ),
        ("fieldSelector=spec.color=red", "400 field label not supported: spec.color"),
    ] {
        let answer = pods.list("", query).await;
        let said = match answer {
            Ok(answer) => {
                let list = value(Ok(answer)).await;
                format!("{}@{}", names(&list), list["metadata"]["resourceVersion"].as_str().unwrap())
            }
            Err(status) => format!("{} {status}", status.code().as_u16()),
        };
        assert_eq!(said, expected, "{query:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_of_a_version_to_come_waits_three_seconds_for_it() {
    let mut pods = Pods::new(&["a/1"]);
    let begun = Instant::now();
    assert_eq!(pods.list("", "resourceVersion=101").await.unwrap_err().code(), 504);
    assert_eq!(begun.elapsed(), Duration::from_secs(3));
    let writer = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        pods.writer.apply(vec![Apply::Mark { marker: marker(101) }], std::time::Instant::now());
    };
    let reader = pods.reader.clone();
    let (fresh, ()) = tokio::join!(fresh(&reader, 101), writer);
    assert_eq!(fresh, Ok(marker(101)));
}

#[tokio::test]
async fn a_long_list_is_written_in_pieces_that_fit_together() {
    let all: Vec<String> = (0..3000).map(|n| format!("a/{n:05}")).collect();
    let pods = Pods::new(&all.iter().map(String::as_str).collect::<Vec<_>>());
    let list = value(pods.list("", "").await).await;
    assert_eq!(list["items"].as_array().unwrap().len(), 3000);
    let paged = value(pods.list("", "limit=2500").await).await;
    assert_eq!(paged["items"].as_array().unwrap().len(), 2500);
    let response = pods.list("", "").await.unwrap();
    assert!(!response.headers().contains_key("content-length"), "it should stream");
}

#[tokio::test]
async fn a_list_as_table_and_as_metadata() {
    let pods = Pods::new(&["a/x"]);
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let list = value(pods.list_as(table, "", "").await).await;
    assert_eq!((&list["kind"], &list["apiVersion"]), (&"Table".into(), &"meta.k8s.io/v1".into()));
    assert_eq!(list["metadata"], serde_json::json!({"resourceVersion": "100"}));
    assert_eq!(list["columnDefinitions"][0]["name"], "Name");
    assert_eq!(list["rows"][0]["cells"][0], "x");
    assert_eq!(list["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(list["rows"][0]["object"]["metadata"]["resourceVersion"], "1");
    let none = value(pods.list_as(table, "", "includeObject=None").await).await;
    assert!(none["rows"][0]["object"].is_null());
    let object = value(pods.list_as(table, "", "includeObject=Object").await).await;
    assert_eq!(object["rows"][0]["object"]["kind"], "Pod");
    let wrong = text(pods.list_as(table, "", "includeObject=all").await).await;
    assert!(wrong.starts_with("400 Unable to convert to Table as requested: includeObject"), "{wrong}");
    let metadata = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    reads(
        &text(pods.list_as(metadata, "", "").await).await,
        &expect![[r#"
        {"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"100"},"items":[{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"x","namespace":"a","uid":"u-a-x","resourceVersion":"1","labels":{"parity":"even"}}}]}
    "#]],
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_list_sends_all_then_one_end_then_lives() {
    let mut pods = Pods::new(&["a/1", "a/2"]);
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = pods.watch(query).await.unwrap();
    assert_eq!(brief(&frames(&mut watch).await), "ADDED 1@1, ADDED 2@2, BOOKMARK @100 end");
    pods.put("a", "1", "");
    pods.delete("a", "2");
    assert_eq!(brief(&frames(&mut watch).await), "MODIFIED 1@101, DELETED 2@102");
    assert_eq!(frames(&mut watch).await, "");
}

#[tokio::test(start_paused = true)]
async fn where_a_watch_begins() {
    let mut pods = Pods::new(&["a/1"]);
    pods.put("a", "2", "");
    for (query, expected) in [
        ("", "ADDED 1@1, ADDED 2@101"),
        ("resourceVersion=0", "ADDED 1@1, ADDED 2@101"),
        ("allowWatchBookmarks=true", "ADDED 1@1, ADDED 2@101, BOOKMARK @101 end"),
        (
            "resourceVersion=101&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
            "ADDED 1@1, ADDED 2@101, BOOKMARK @101 end",
        ),
        ("sendInitialEvents=false&resourceVersionMatch=NotOlderThan", ""),
        ("resourceVersion=100", "ADDED 2@101"),
        ("resourceVersion=101", ""),
        ("labelSelector=parity=even", "ADDED 1@1"),
        ("fieldSelector=metadata.name=2&resourceVersion=0", "ADDED 2@101"),
    ] {
        let mut watch = pods.watch(query).await.unwrap();
        assert_eq!(brief(&frames(&mut watch).await), expected, "{query:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_watch_cannot_begin_with_is_one_error_event_and_the_end() {
    let pods = Pods::new(&["a/1"]);
    for (query, expected) in [
        ("resourceVersion=99", "too old resource version: 99 (100)"),
        ("resourceVersion=45", "too old resource version: 45 (100)"),
        ("resourceVersion=500", "too old resource version: 500 (100)"),
        (
            "resourceVersion=500&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
            "Timeout: Too large resource version: 500, current: 100",
        ),
    ] {
        let mut watch = pods.watch(query).await.unwrap();
        let frame: serde_json::Value = serde_json::from_slice(&watch.next().await.unwrap()).unwrap();
        assert_eq!(
            (frame["type"].as_str(), frame["object"]["message"].as_str()),
            (Some("ERROR"), Some(expected)),
            "{query}"
        );
        assert_eq!(frame["object"]["kind"], "Status");
        assert!(watch.next().await.is_none(), "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_told_nothing_else_gets_a_bookmark_within_a_second() {
    let mut pods = Pods::new(&["a/1"]);
    let mut watch = pods.watch("resourceVersion=100&allowWatchBookmarks=true&labelSelector=parity=odd").await.unwrap();
    pods.pass();
    pods.put("a", "1", r#""parity":"even""#);
    let begun = Instant::now();
    reads(
        std::str::from_utf8(&watch.next().await.unwrap()).unwrap(),
        &expect![[r#"
        {"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"102"},"spec":{"containers":null},"status":{}}}
    "#]],
    );
    assert!(begun.elapsed() <= Duration::from_secs(1), "{:?}", begun.elapsed());
    let begun = Instant::now();
    assert_eq!(brief(std::str::from_utf8(&watch.next().await.unwrap()).unwrap()), "BOOKMARK @102");
    assert!((59..=61).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_watch_without_bookmarks_is_silent_until_its_time_and_ends_without_a_word() {
    let mut pods = Pods::new(&["a/1"]);
    let begun = Instant::now();
    let mut watch = pods.watch("resourceVersion=100&timeoutSeconds=300").await.unwrap();
    pods.pass();
    assert!(watch.next().await.is_none());
    assert_eq!(begun.elapsed(), Duration::from_secs(300));
}

#[tokio::test(start_paused = true)]
async fn two_seconds_before_its_end_a_watch_gets_its_last_bookmark() {
    let pods = Pods::new(&["a/1"]);
    let begun = Instant::now();
    let mut watch = pods.watch("resourceVersion=100&timeoutSeconds=10&allowWatchBookmarks=true").await.unwrap();
    assert_eq!(brief(std::str::from_utf8(&watch.next().await.unwrap()).unwrap()), "BOOKMARK @100");
    assert_eq!(begun.elapsed(), Duration::from_secs(8));
    assert!(watch.next().await.is_none());
    assert_eq!(begun.elapsed(), Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_cleanly_when_the_host_does() {
    let pods = Pods::new(&["a/1"]);
    let mut watch = pods.watch("resourceVersion=100").await.unwrap();
    watch.shutdown_now();
    assert!(timeout(Duration::from_secs(1), watch.next()).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_watch_as_table_tells_its_columns_once() {
    let mut pods = Pods::new(&["a/1"]);
    let mut watch =
        pods.watch_as("application/json;as=Table;v=v1;g=meta.k8s.io", "allowWatchBookmarks=true").await.unwrap();
    let begun = frames(&mut watch).await;
    let lines: Vec<serde_json::Value> = begun.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["object"]["rows"].as_array().unwrap().len(), 1);
    assert_eq!(lines[0]["object"]["columnDefinitions"][0]["name"], "Name");
    assert!(lines[1]["object"]["columnDefinitions"].is_null());
    assert_eq!(lines[1]["object"]["metadata"], serde_json::json!({"resourceVersion": "100"}));
    assert_eq!(lines[1]["object"]["rows"][0]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    pods.put("a", "1", "");
    let event: serde_json::Value = serde_json::from_str(&frames(&mut watch).await).unwrap();
    assert!(event["object"]["columnDefinitions"].is_null());
    assert_eq!(event["object"]["metadata"]["resourceVersion"], "101");
}

#[tokio::test(start_paused = true)]
async fn a_watch_as_metadata_has_metadata_only() {
    let pods = Pods::new(&["a/1"]);
    let accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    let mut watch = pods.watch_as(accept, "allowWatchBookmarks=true").await.unwrap();
    reads(
        &frames(&mut watch).await,
        &expect![[r#"
        {"type":"ADDED","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"1","namespace":"a","uid":"u-a-1","resourceVersion":"1","labels":{"parity":"even"}}}}
        {"type":"BOOKMARK","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"100","annotations":{"k8s.io/initial-events-end":"true"}}}}
    "#]],
    );
}

#[tokio::test(start_paused = true)]
async fn an_object_that_enters_or_leaves_a_selection_is_added_or_deleted() {
    let mut pods = Pods::new(&["a/1"]);
    let mut watch = pods.watch("resourceVersion=100&labelSelector=parity=odd").await.unwrap();
    pods.put("a", "1", r#""parity":"odd""#);
    assert_eq!(brief(&frames(&mut watch).await), "ADDED 1@101");
    pods.put("a", "1", r#""parity":"even""#);
    assert_eq!(brief(&frames(&mut watch).await), "DELETED 1@102");
}

#[tokio::test(start_paused = true)]
async fn a_watch_whose_history_goes_ends_with_410() {
    let mut pods = Pods::new(&["a/1"]);
    let mut watch = pods.watch("resourceVersion=100").await.unwrap();
    pods.pass();
    pods.writer.expire_started_before(marker(101));
    let frame: serde_json::Value = serde_json::from_slice(&watch.next().await.unwrap()).unwrap();
    assert_eq!((&frame["type"], &frame["object"]["code"]), (&"ERROR".into(), &410.into()));
    assert!(watch.next().await.is_none());
}
