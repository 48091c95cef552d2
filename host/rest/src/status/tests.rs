use expect_test::{Expect, expect};

use super::*;

#[track_caller]
fn prints(status: &Status, expected: &Expect) {
    expected.assert_eq(&String::from_utf8(status.to_json()).unwrap());
}

#[test]
fn an_object_that_is_not_there_is_named_as_upstream_names_it() {
    let pods = GroupResource { group: "".into(), resource: "pods".into() };
    prints(
        &Status::not_found(&pods, "x"),
        &expect![[
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods \"x\" not found","reason":"NotFound","details":{"name":"x","kind":"pods"},"code":404}"#
        ]],
    );
    let deployments = GroupResource { group: "apps".into(), resource: "deployments".into() };
    prints(
        &Status::not_found(&deployments, "x"),
        &expect![[
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"deployments.apps \"x\" not found","reason":"NotFound","details":{"name":"x","group":"apps","kind":"deployments"},"code":404}"#
        ]],
    );
}

#[test]
fn a_version_that_has_not_come_is_known_by_its_cause_and_asks_to_retry() {
    let status = Status::too_large(7, 5);
    prints(
        &status,
        &expect![[
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Timeout: Too large resource version: 7, current: 5","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504}"#
        ]],
    );
    assert_eq!(status.retry_after_seconds(), 1);
}

#[test]
fn an_expired_page_carries_the_token_that_goes_on() {
    let status = Status::expired_page("t0k".to_owned());
    let json = String::from_utf8(status.to_json()).unwrap();
    assert!(json.starts_with(r#"{"kind":"Status","apiVersion":"v1","metadata":{"continue":"t0k"},"status":"Failure","message":"The provided continue parameter is too old to display a consistent list result. You can"#), "{json}");
    assert!(json.ends_with(r#"may show up in the list.","reason":"Expired","code":410}"#), "{json}");
}

#[test]
fn an_expired_watch_names_both_versions() {
    prints(
        &Status::too_old(5, 100),
        &expect![[
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 5 (100)","reason":"Expired","code":410}"#
        ]],
    );
}
