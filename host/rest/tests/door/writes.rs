//! Writes to members that are played: answers that are lost, watches that are silent, and names that are being made.

use std::time::Duration;

use orrery_rest::Settings;
use serde_json::Value;
use tokio::time::{Instant, timeout};

use crate::host::{Door, Sender, ask, get};
use crate::member::Member;

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const SOON: Duration = Duration::from_secs(20);

/// One member that has a configmap `one`, and a host over it that shows it.
async fn played() -> (Member, Door, Sender) {
    let member = Member::new("e");
    member.put("a", "one", "first");
    let door = Door::over(&[("east", member.source())], Settings::default()).await;
    let mut sender = door.connect(true).await;
    let shown = async {
        while get(&mut sender, &format!("{MAPS}/one"), &[]).await.0.status() != 200 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, shown).await.unwrap();
    (member, door, sender)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

async fn shown(sender: &mut Sender) -> Value {
    json(&get(sender, MAPS, &[]).await.1)
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_is_504_and_sent_once() {
    let one = format!("{MAPS}/one");
    let straight = format!("/clusters/east{MAPS}");
    for (method, path) in [("POST", MAPS), ("PUT", &one), ("DELETE", &one), ("POST", &straight)] {
        let (member, _door, mut sender) = played().await;
        member.lose_answers();
        let (response, body) = ask(&mut sender, method, path, &[]).await;
        assert_eq!(response.status().as_u16(), 504, "{method}: {body}");
        assert!(response.headers().get("retry-after").is_none(), "a client would repeat it by itself");
        assert!(body.contains("cluster east"), "{body}");
        assert_eq!(member.writes().len(), 1, "{:?}", member.writes());
    }
}

/// A client that is told 404 takes its object for gone, and keeps for hours that a kind is not served.
#[tokio::test]
async fn nothing_is_said_not_to_be_there_before_the_members_have_told_what_they_serve() {
    let member = Member::new("e");
    member.put("a", "one", "first");
    member.hesitate(true);
    let door = Door::over(&[("east", member.source())], Settings::default()).await;
    let mut sender = door.connect(true).await;
    let one = format!("{MAPS}/one");
    let reached = async { while get(&mut sender, "/version", &[]).await.0.status() != 200 {} };
    timeout(SOON, reached).await.unwrap();
    for (method, path) in
        [("GET", &*one), ("PUT", &one), ("POST", MAPS), ("GET", MAPS), ("GET", "/api"), ("GET", "/apis")]
    {
        let (response, body) = ask(&mut sender, method, path, &[]).await;
        assert_eq!(response.status().as_u16(), 429, "{method} {path}: {body}");
        assert!(response.headers().contains_key("retry-after"), "{method} {path}");
    }
    member.hesitate(false);
    let told = async { while get(&mut sender, &one, &[]).await.0.status() != 200 {} };
    timeout(SOON, told).await.unwrap();
}

#[tokio::test]
async fn what_a_silent_watch_does_not_tell_is_read_and_the_next_writes_do_not_wait() {
    let (member, _door, mut sender) = played().await;
    member.fall_quiet();
    let (response, body) = ask(&mut sender, "PUT", &format!("{MAPS}/one"), &[]).await;
    assert_eq!(response.status().as_u16(), 200, "{body}");
    let answer = json(&body);
    let list = shown(&mut sender).await;
    let item = &list["items"][0];
    assert_eq!(item["metadata"]["resourceVersion"], answer["metadata"]["resourceVersion"], "{list} is not {answer}");
    assert_eq!(item["data"]["text"], "PUT");

    let begun = Instant::now();
    let (response, body) = ask(&mut sender, "DELETE", &format!("{MAPS}/one"), &[]).await;
    assert_eq!(response.status().as_u16(), 200, "{body}");
    assert!(begun.elapsed() < Duration::from_secs(2), "it waited for a watch that is known to be silent");
    assert_eq!(shown(&mut sender).await["items"], serde_json::json!([]));
    let (response, body) = ask(&mut sender, "POST", MAPS, &[]).await;
    assert_eq!(response.status().as_u16(), 201, "{body}");
    let answer = json(&body);
    let list = shown(&mut sender).await;
    assert_eq!(list["items"][0]["metadata"]["resourceVersion"], answer["metadata"]["resourceVersion"], "{list}");
}

/// Found by a member that froze just between its answer and the look: the answer then waited for a whole minute.
#[tokio::test]
async fn an_answer_does_not_wait_long_for_a_member_that_answers_a_write_and_then_nothing() {
    for method in ["PUT", "DELETE"] {
        let (member, _door, mut sender) = played().await;
        member.fall_quiet();
        member.freeze_after_a_write();
        let answer = timeout(SOON, ask(&mut sender, method, &format!("{MAPS}/one"), &[])).await;
        let (response, body) = answer.unwrap_or_else(|_| panic!("{method} is not answered"));
        assert_eq!(response.status().as_u16(), 504, "{method}: {body}");
        assert!(body.contains("has not shown it in time"), "{method}: {body}");
    }
}

#[tokio::test]
async fn a_table_and_metadata_are_answers_to_writes_too() {
    let (_member, _door, mut sender) = played().await;
    let path = format!("{MAPS}/one");
    let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let (response, body) = ask(&mut sender, "PUT", &path, &table).await;
    assert_eq!((response.status().as_u16(), &json(&body)["kind"]), (200, &"Table".into()), "{body}");
    assert_eq!(json(&body)["rows"][0]["cells"][0], "one", "{body}");
    let partial = [("accept", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")];
    let (_, body) = ask(&mut sender, "PUT", &path, &partial).await;
    let partial = json(&body);
    assert_eq!((&partial["kind"], &partial["data"]), (&"PartialObjectMetadata".into(), &Value::Null), "{body}");
    let (_, body) = ask(&mut sender, "PUT", &path, &[("accept", "application/yaml")]).await;
    assert!(body.contains("  name: one\n"), "{body}");
    let (response, _) = ask(&mut sender, "PUT", &path, &[("accept", "application/vnd.kubernetes.protobuf")]).await;
    assert_eq!(response.status().as_u16(), 406);
    let listed = shown(&mut sender).await;
    assert!(partial["metadata"]["resourceVersion"].as_str() < listed["metadata"]["resourceVersion"].as_str());
}

#[tokio::test]
async fn a_verb_that_the_member_does_not_have_is_405() {
    let (member, _door, mut sender) = played().await;
    let (response, body) = ask(&mut sender, "DELETE", MAPS, &[]).await;
    assert_eq!(response.status().as_u16(), 405, "{body}");
    assert_eq!(json(&body)["reason"], "MethodNotAllowed");
    assert!(member.writes().is_empty());
}
