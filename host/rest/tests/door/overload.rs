//! The host under load and under odd requests: nobody's requests stop those of others.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::Request;
use orrery_rest::Settings;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;

use crate::host::{Door, get};
use crate::member::Member;

const SOON: Duration = Duration::from_secs(20);

/// An HTTP/2 connection, frame by frame (RFC 9113).
struct Http2 {
    stream: TlsStream<TcpStream>,
    /// Streams that the server has ended.
    ended: Vec<u32>,
}

/// What became of a stream.
#[derive(Debug, PartialEq)]
enum Outcome {
    Answered,
    Reset,
    /// The whole connection goes.
    Gone,
}

/// Types and flags of frames.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const FRAME_BYTES_MAX: usize = 16 << 10;

// === impl Http2 ===

impl Http2 {
    async fn begin(door: &Door) -> Self {
        let mut stream = door.connect_raw(b"h2").await;
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        let mut connection = Self { stream, ended: Vec::new() };
        connection.send(SETTINGS, 0, 0, &[]).await;
        connection
    }

    /// A GET whose head takes as many frames as it needs (HPACK without compression: RFC 7541, 6.1 and 6.2.2).
    async fn get(&mut self, stream: u32, path: &str) {
        let mut head = vec![0x82, 0x87];
        for (name_index, value) in [(1, "front"), (4, path)] {
            head.push(name_index);
            let mut length = value.len();
            if length < 127 {
                head.push(length as u8);
            } else {
                head.push(127);
                length -= 127;
                while length >= 128 {
                    head.push((length % 128 + 128) as u8);
                    length /= 128;
                }
                head.push(length as u8);
            }
            head.extend_from_slice(value.as_bytes());
        }
        let parts: Vec<&[u8]> = head.chunks(FRAME_BYTES_MAX).collect();
        for (at, part) in parts.iter().enumerate() {
            let kind = if at == 0 { HEADERS } else { CONTINUATION };
            let first = if at == 0 { END_STREAM } else { 0 };
            let last = if at + 1 == parts.len() { END_HEADERS } else { 0 };
            self.send(kind, first | last, stream, part).await;
        }
    }

    async fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut frame = vec![length[1], length[2], length[3], kind, flags];
        frame.extend_from_slice(&stream.to_be_bytes());
        frame.extend_from_slice(payload);
        self.stream.write_all(&frame).await.unwrap();
        self.stream.flush().await.unwrap();
    }

    /// Reads frames until it is clear what became of `stream`.
    async fn outcome(&mut self, stream: u32) -> Outcome {
        let reading = async {
            loop {
                let mut head = [0; 9];
                if self.stream.read_exact(&mut head).await.is_err() {
                    return Outcome::Gone;
                }
                let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
                let (kind, flags) = (head[3], head[4]);
                let of = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
                self.stream.read_exact(&mut vec![0; length]).await.unwrap();
                if matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0 || kind == RST_STREAM {
                    self.ended.push(of);
                }
                match kind {
                    HEADERS if of == stream => return Outcome::Answered,
                    RST_STREAM if of == stream => return Outcome::Reset,
                    GOAWAY => return Outcome::Gone,
                    _ => {}
                }
            }
        };
        timeout(SOON, reading).await.expect("an answer or a reset, and soon")
    }
}

/// A host over one member that has a configmap, and serves it.
pub(crate) async fn serving(settings: Settings) -> Door {
    let east = Member::new("east");
    east.put("a", "one", "x");
    let door = Door::over(&[("east", east.source())], settings).await;
    let mut sender = door.connect(true).await;
    let ready = async {
        while get(&mut sender, "/api/v1/configmaps", &[]).await.0.status() != 200 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, ready).await.expect("the host serves configmaps");
    door
}

#[tokio::test]
async fn thousands_of_half_open_connections_stop_nobody() {
    let door = serving(Settings { header_read: Duration::from_secs(600), ..Settings::default() }).await;
    let mut half_open = Vec::new();
    for number in 0..3000 {
        // Each holds a file descriptor here and one there.
        let Ok(mut stream) = TcpStream::connect(door.address).await else { break };
        if number % 2 == 0 {
            // The beginning of a TLS record that never ends.
            let _ = stream.write_all(&[22, 3, 1, 2, 0, 1]).await;
        }
        half_open.push(stream);
    }
    assert!(half_open.len() >= 1000, "{} connections are too few to tell", half_open.len());
    let mut somebody = timeout(SOON, door.connect(true)).await.expect("one more is let in");
    let (response, body) = get(&mut somebody, "/api/v1/namespaces/a/configmaps", &[]).await;
    assert_eq!((response.status().as_u16(), body.contains("\"name\":\"one\"")), (200, true), "{body}");
}

#[tokio::test]
async fn connections_beyond_the_bound_are_closed_and_those_within_go_on() {
    let door = serving(Settings { connections_max: 3, ..Settings::default() }).await;
    let mut somebody = door.connect(true).await;
    let mut idle = Vec::new();
    for _ in 0..20 {
        idle.push(TcpStream::connect(door.address).await);
    }
    assert_eq!(get(&mut somebody, "/api/v1/configmaps", &[]).await.0.status(), 200);
    let (_, metrics) = get(&mut somebody, "/metrics", &[]).await;
    assert!(metrics.contains("orrery_http_refused_total{reason=\"connections\"}"), "{metrics}");
}

#[tokio::test]
async fn a_url_of_a_mebibyte_is_414_over_http_1() {
    let door = serving(Settings::default()).await;
    let mut stream = door.connect_raw(b"http/1.1").await;
    let path = format!("/api/v1/configmaps?labelSelector={}", "x".repeat(1 << 20));
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: front\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    timeout(SOON, stream.read_exact(&mut answer)).await.unwrap().unwrap();
    assert_eq!(std::str::from_utf8(&answer).unwrap(), "HTTP/1.1 414");
}

#[tokio::test]
async fn a_url_that_is_too_long_fails_alone_over_http_2() {
    let door = serving(Settings::default()).await;
    // Client libraries refuse to send such a URL, so that the frames are written by hand.
    let mut connection = Http2::begin(&door).await;
    connection.get(1, "/api/v1/configmaps?watch=1&timeoutSeconds=60").await;
    assert_eq!(connection.outcome(1).await, Outcome::Answered);
    for (stream, bytes) in [(3, 100 << 10), (5, 1 << 20)] {
        connection.get(stream, &format!("/api/v1/configmaps?labelSelector={}", "x".repeat(bytes))).await;
        let outcome = connection.outcome(stream).await;
        assert!(matches!(outcome, Outcome::Reset | Outcome::Answered), "{bytes} bytes: {outcome:?}");
    }
    connection.get(7, "/api/v1/configmaps").await;
    assert_eq!(connection.outcome(7).await, Outcome::Answered, "the connection goes on");
    assert!(!connection.ended.contains(&1), "and so does the watch");
}

#[tokio::test]
async fn one_user_that_takes_all_it_gets_leaves_half_for_others() {
    let door = serving(Settings { long_running_max: 8, ..Settings::default() }).await;
    let mut watches = Vec::new();
    for number in 0..5 {
        let mut sender = door.connect(true).await;
        let request = Request::get("/api/v1/configmaps?watch=1").header("host", "front").body(Empty::<Bytes>::new());
        let response = sender.send_request(request.unwrap()).await.unwrap();
        let expected = if number < 4 { 200 } else { 429 };
        assert_eq!(response.status(), expected, "watch {number}");
        assert_eq!(response.headers().contains_key("retry-after"), number == 4);
        watches.push((sender, response));
    }
    let mut somebody = door.connect(true).await;
    assert_eq!(get(&mut somebody, "/api/v1/configmaps", &[]).await.0.status(), 200, "reads have places of their own");
    drop(watches.remove(0));
    let again = async {
        while get(&mut somebody, "/api/v1/configmaps?watch=1&timeoutSeconds=1", &[]).await.0.status() != 200 {}
    };
    timeout(SOON, again).await.expect("a place that is given back is taken again");
}

#[tokio::test]
async fn garbage_anywhere_in_a_url_is_answered_and_never_with_500() {
    const GARBAGE: [&str; 16] = [
        "",
        "0",
        "-1",
        "x",
        "%00",
        "%zz",
        "%C3%28",
        "1;2",
        "99999999999999999999",
        "-9223372036854775808",
        "9223372036854775807",
        "%F0%9F%92%A5",
        "%22%5C%0A",
        "a%3Db%2C",
        "!!",
        "a%20in%20(",
    ];
    const PARAMETERS: [&str; 14] = [
        "limit",
        "continue",
        "labelSelector",
        "fieldSelector",
        "resourceVersion",
        "resourceVersionMatch",
        "sendInitialEvents",
        "allowWatchBookmarks",
        "timeoutSeconds",
        "pretty",
        "timeout",
        "includeObject",
        "watch",
        "hash",
    ];
    let door = serving(Settings::default()).await;
    let mut sender = door.connect(true).await;
    let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    for path in ["/api/v1/configmaps", "/api/v1/namespaces/a/configmaps/one", "/api/v1/watch/configmaps", "/api"] {
        for (parameter, value) in PARAMETERS.iter().flat_map(|parameter| GARBAGE.map(|value| (parameter, value))) {
            let lasts = *parameter == "timeoutSeconds" && ["0", "9223372036854775807"].contains(&value);
            if lasts && path.contains("/watch/") {
                continue;
            }
            // What comes first counts; a watch is over at once.
            let url = format!("{path}?{parameter}={value}&timeoutSeconds=-1");
            let (response, body) = get(&mut sender, &url, &table).await;
            assert!(response.status() != 500 && response.status() != 503, "{url}: {} {body}", response.status());
        }
    }
    let (_, metrics) = get(&mut sender, "/metrics", &[]).await;
    assert!(metrics.contains("orrery_http_panics_total 0"), "{metrics}");
}
