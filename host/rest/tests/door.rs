//! The front with its door: TLS, who is let in, bounds, and the end. Here the fleet has no members; in the modules it
//! has some that are played.

#[path = "door/host.rs"]
mod host;
#[path = "door/member.rs"]
mod member;
#[path = "door/overload.rs"]
mod overload;
#[path = "door/public_bugs.rs"]
mod public_bugs;
#[path = "door/writes.rs"]
mod writes;

use std::time::Duration;

use http_body_util::Empty;
use hyper::Request;
use tokio::net::TcpStream;
use tokio::time::timeout;

use host::{Door, get};

#[tokio::test]
async fn who_shows_no_certificate_sees_health_and_nothing_else() {
    let door = Door::open().await;
    let mut nobody = door.connect(false).await;
    for path in ["/healthz", "/livez", "/readyz"] {
        let (response, body) = get(&mut nobody, path, &[]).await;
        assert_eq!((response.status().as_u16(), body.as_str()), (200, "ok"), "{path}");
    }
    for path in ["/api", "/version", "/metrics", "/api/v1/pods?watch=1", "/clusters/a/api", "/orrery/v1/status"] {
        let (response, body) = get(&mut nobody, path, &[]).await;
        assert_eq!(response.status(), 401, "{path}");
        assert_eq!(
            body,
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"Unauthorized\",\
             \"reason\":\"Unauthorized\",\"code\":401}\n"
        );
    }
}

#[tokio::test]
async fn every_answer_has_the_headers_that_clients_look_for() {
    let door = Door::open().await;
    let mut somebody = door.connect(true).await;
    let (response, body) = get(&mut somebody, "/apis", &[("audit-id", "mine")]).await;
    assert_eq!(response.headers()["audit-id"], "mine");
    assert_eq!(response.headers()["cache-control"], "no-cache, private");
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(body, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[]}\n");
    let (response, _) = get(&mut somebody, "/apis", &[]).await;
    assert_eq!(response.headers()["audit-id"].len(), 36);
}

#[tokio::test]
async fn what_is_not_there_is_said_in_the_form_that_its_place_has() {
    let door = Door::open().await;
    let mut somebody = door.connect(true).await;
    for (path, code, expected) in [
        ("/nope", 404, "404 page not found"),
        ("/apis/nope/v1/foos", 404, "404 page not found"),
        ("/clusters/east/api", 404, "cluster \\\"east\\\" is no member of this fleet; members are: "),
        ("/version", 503, "no member has told its version yet"),
        ("/orrery/v1/clock?resource=pods", 404, "no member serves a resource \\\"pods\\\""),
        ("/orrery/v1/clock", 400, "the query names no resource"),
    ] {
        let (response, body) = get(&mut somebody, path, &[]).await;
        assert_eq!(response.status(), code, "{path}");
        assert!(body.contains(expected), "{path}: {body}");
        assert_eq!(response.headers().contains_key("retry-after"), code == 503, "{path}");
    }
    let (_, status) = get(&mut somebody, "/orrery/v1/status", &[]).await;
    assert_eq!(status, "{\"members\":[],\"resources\":[]}\n");
}

#[tokio::test]
async fn long_headers_are_taken_as_kube_apiserver_takes_them() {
    let door = Door::open().await;
    let mut somebody = door.connect(true).await;
    let long = "x".repeat(900 << 10);
    let (response, _) = get(&mut somebody, "/api", &[("x-long", &long)]).await;
    assert_eq!(response.status(), 200);
    let path = format!("/api?labelSelector={}", "x".repeat(60 << 10));
    assert_eq!(get(&mut somebody, &path, &[]).await.0.status(), 200);
}

#[tokio::test]
async fn requests_are_counted() {
    let door = Door::open().await;
    let mut somebody = door.connect(true).await;
    get(&mut somebody, "/apis", &[]).await;
    let (_, printed) = get(&mut somebody, "/metrics", &[]).await;
    assert!(printed.contains("orrery_http_requests_total{verb=\"get\",resource=\"\",code=\"200\"} 1"), "{printed}");
    assert!(printed.contains("orrery_http_connections 1"), "{printed}");
    assert!(printed.ends_with("# EOF\n"));
}

#[tokio::test]
async fn at_the_end_all_connections_are_closed_and_serve_returns() {
    let door = Door::open().await;
    let mut idle = door.connect(true).await;
    assert_eq!(get(&mut idle, "/readyz", &[]).await.0.status(), 200);
    door.stop.cancel();
    timeout(Duration::from_secs(10), door.served).await.expect("it should return").unwrap();
    let gone = idle.ready().await.is_err()
        || idle.send_request(Request::get("/api").body(Empty::new()).unwrap()).await.is_err();
    assert!(gone, "the connection should be closed");
    assert!(TcpStream::connect(door.address).await.is_err(), "nobody should listen");
}
