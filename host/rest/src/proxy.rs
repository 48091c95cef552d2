//! `/clusters/NAME/…`: the straight way to one member, with every verb and upgrades.

use std::time::Duration;

use bytes::Bytes;
use http::header::{
    CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, LOCATION, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::TokioIo;
use orrery_fleet::{Fleet, Member, SendError, Upgrade};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::body::{Body, full};
use crate::front::Place;
use crate::status::Status;

/// Headers that speak to the next hop only (RFC 9110, 7.6.1).
const HOP_BY_HOP: [HeaderName; 7] =
    [CONNECTION, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

/// Where a part of a member's paths stands at this host.
#[derive(Clone, Debug)]
pub(crate) struct Mount {
    /// What its paths begin with there.
    pub(crate) there: String,
    /// What they begin with here.
    pub(crate) here: String,
}

/// How long the end of an upgraded connection may take to be told.
const CLOSE_WAIT: Duration = Duration::from_secs(1);

/// Passes `request` on to `member` at `path` (with its query), and the answer back. Redirects within `mount` lead through
/// this host. Connections that are upgraded end at `shutdown`.
pub(crate) async fn forward(
    member: &Member,
    request: Request<Body>,
    path: &str,
    mount: &Mount,
    shutdown: &CancellationToken,
) -> Result<Response<Body>, Status> {
    let upgrades = wants_upgrade(&request);
    // A command that runs in a pod is asked for with GET too.
    let changes = upgrades || !request.method().is_safe();
    let (mut parts, body) = request.into_parts();
    let client = parts.extensions.remove::<hyper::upgrade::OnUpgrade>();
    let place = parts.extensions.remove::<Place>();
    let uri: Uri =
        path.parse().map_err(|error| Status::bad_request(format!("the path after the cluster is no path: {error}")))?;
    let mut forwarded = Request::new(body);
    *forwarded.method_mut() = parts.method;
    *forwarded.uri_mut() = uri;
    *forwarded.headers_mut() = own_headers(parts.headers, upgrades);
    if !upgrades {
        let response = member.send(forwarded).await.map_err(|error| unanswered(&error, changes))?;
        return Ok(own_answer(response, mount));
    }
    match (member.upgrade(forwarded).await.map_err(|error| unanswered(&error, changes))?, client) {
        (Upgrade::Switched { response, io }, Some(client)) => {
            let shutdown = shutdown.clone();
            tokio::spawn(async move {
                if let Ok(client) = client.await {
                    splice(TokioIo::new(client), io, shutdown).await;
                }
                drop(place);
            });
            let mut answer = response.map(|()| full(Bytes::new()));
            *answer.version_mut() = Version::HTTP_11;
            Ok(answer)
        }
        (Upgrade::Switched { .. }, None) => Err(Status::bad_request("upgrades need HTTP/1.1")),
        (Upgrade::Refused(response), _) => Ok(own_answer(response, mount)),
    }
}

/// The 404 of a cluster that is no member.
pub(crate) fn no_such_member(fleet: &Fleet, name: &str) -> Status {
    let names: Vec<_> = fleet.members().iter().map(|member| member.name().to_string()).collect();
    Status::nothing_here(format!("cluster {name:?} is no member of this fleet; members are: {}", names.join(", ")))
}

/// What is said of a request that a member gave no answer to: 503, after which clients send it again, unless it `changes`
/// something and the member may have seen it. Then it is 504: nobody knows.
pub(crate) fn unanswered(error: &SendError, changes: bool) -> Status {
    if changes && !error.is_unsent() {
        return Status::timeout(format!("{error}; whether it was done is not known"));
    }
    Status::unavailable(error.to_string(), 5)
}

fn wants_upgrade(request: &Request<Body>) -> bool {
    let connection = request.headers().get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    request.headers().contains_key(UPGRADE)
        && connection.flat_map(|value| value.split(',')).any(|token| token.trim().eq_ignore_ascii_case("upgrade"))
}

/// The client's headers without what is for this hop, and without what only a proxy that the member trusts may say:
/// the member takes this host for its client, so a client's word on who it is must not reach it.
pub(crate) fn own_headers(mut headers: HeaderMap, upgrades: bool) -> HeaderMap {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|token| token.trim().parse().ok())
        .collect();
    let upgrade = headers.get(UPGRADE).cloned().filter(|_| upgrades);
    for name in HOP_BY_HOP.iter().chain(&named).chain([&HOST]) {
        headers.remove(name);
    }
    let identity: Vec<_> = headers.keys().filter(|name| says_identity(name.as_str())).cloned().collect();
    for name in identity {
        headers.remove(name);
    }
    if let Some(upgrade) = upgrade {
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, upgrade);
    }
    headers
}

fn says_identity(name: &str) -> bool {
    name.starts_with("x-remote-") || name.starts_with("impersonate-")
}

fn own_answer(mut response: Response<Body>, mount: &Mount) -> Response<Body> {
    for name in &HOP_BY_HOP {
        response.headers_mut().remove(name);
    }
    *response.version_mut() = Version::HTTP_11;
    let redirects = response.status().is_redirection() || response.status() == StatusCode::CREATED;
    if let Some(location) = response.headers().get(LOCATION).filter(|_| redirects).and_then(|value| mount.moved(value))
    {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

// === impl Mount ===

impl Mount {
    /// All of the member, under `here`.
    pub(crate) fn whole(here: String) -> Self {
        Self { there: String::new(), here }
    }

    /// A redirect within the member as one within this host.
    fn moved(&self, location: &HeaderValue) -> Option<HeaderValue> {
        let uri: Uri = location.to_str().ok()?.parse().ok()?;
        let path = uri.path_and_query()?.as_str().strip_prefix(&self.there)?;
        let is_within = path.is_empty() || path.starts_with(['/', '?']);
        HeaderValue::from_str(&format!("{}{path}", self.here)).ok().filter(|_| is_within)
    }
}

/// Carries bytes both ways until both sides have ended, one of them breaks, or the host ends. Nothing here knows how long
/// they are silent.
async fn splice(
    mut client: impl AsyncRead + AsyncWrite + Unpin,
    mut member: impl AsyncRead + AsyncWrite + Unpin,
    shutdown: CancellationToken,
) {
    let copied = tokio::io::copy_bidirectional(&mut client, &mut member);
    tokio::select! {
        _ = copied => {}
        () = shutdown.cancelled() => {}
    }
    // Whoever is still there is told that this is the end.
    let _ = timeout(CLOSE_WAIT, async { tokio::join!(client.shutdown(), member.shutdown()) }).await;
}

#[cfg(test)]
mod tests {
    use orrery_api::ClusterName;
    use tokio::io::AsyncReadExt as _;

    use super::*;

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        all.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn what_a_client_says_of_this_hop_or_of_who_it_is_does_not_reach_the_member() {
        let sent = headers(&[
            ("connection", "keep-alive, x-hop"),
            ("x-hop", "1"),
            ("te", "trailers"),
            ("host", "front"),
            ("x-remote-user", "root"),
            ("x-remote-extra-a", "b"),
            ("impersonate-user", "root"),
            ("impersonate-extra-a", "b"),
            ("user-agent", "kubectl"),
            ("content-type", "application/json"),
        ]);
        let mut kept: Vec<_> = own_headers(sent, false).keys().map(ToString::to_string).collect();
        kept.sort();
        assert_eq!(kept, ["content-type", "user-agent"]);
    }

    #[test]
    fn what_may_have_been_done_is_not_to_be_sent_again() {
        let cluster = || ClusterName::new("east").unwrap();
        let broke = |refused| SendError::Unreachable { cluster: cluster(), reason: "reset".to_owned(), refused };
        let late = SendError::NoAnswer { cluster: cluster(), seconds: 34 };
        for (error, changes, code, retry_after) in [
            (&broke(true), true, 503, 5),
            (&broke(false), true, 504, 0),
            (&late, true, 504, 0),
            (&broke(false), false, 503, 5),
            (&late, false, 503, 5),
        ] {
            let status = unanswered(error, changes);
            assert_eq!((status.code().as_u16(), status.retry_after_seconds()), (code, retry_after), "{error}");
        }
    }

    #[test]
    fn an_upgrade_keeps_its_two_headers() {
        let sent = headers(&[
            ("connection", "Upgrade"),
            ("upgrade", "SPDY/3.1"),
            ("x-stream-protocol-version", "v4.channel.k8s.io"),
        ]);
        let kept = own_headers(sent, true);
        assert_eq!(kept["connection"], "Upgrade");
        assert_eq!(kept["upgrade"], "SPDY/3.1");
        assert_eq!(kept["x-stream-protocol-version"], "v4.channel.k8s.io");
    }

    #[test]
    fn a_redirect_within_the_member_leads_through_this_host() {
        let moved = |mount: &Mount, location: &'static str| {
            mount.moved(&HeaderValue::from_static(location)).map(|value| value.to_str().unwrap().to_owned())
        };
        let whole = Mount::whole("/clusters/east".to_owned());
        assert_eq!(moved(&whole, "/api/v1/x?y=z").as_deref(), Some("/clusters/east/api/v1/x?y=z"));
        assert_eq!(moved(&whole, "https://10.0.0.1:6443/api/").as_deref(), Some("/clusters/east/api/"));
        let part = Mount { there: "/api/pods/web/proxy".to_owned(), here: "/api/pods/web.east/proxy".to_owned() };
        assert_eq!(moved(&part, "/api/pods/web/proxy/a%2fb").as_deref(), Some("/api/pods/web.east/proxy/a%2fb"));
        assert_eq!(moved(&part, "/api/pods/web/proxy2"), None);
        assert_eq!(moved(&part, "/elsewhere"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_is_silent_for_hours_goes_on_and_each_side_ends_for_itself() {
        let (mut client, here) = tokio::io::duplex(64);
        let (there, mut member) = tokio::io::duplex(64);
        let spliced = tokio::spawn(splice(here, there, CancellationToken::new()));
        let mut four = [0; 4];
        tokio::time::sleep(Duration::from_secs(4 * 3600)).await;
        client.write_all(b"ping").await.unwrap();
        member.read_exact(&mut four).await.unwrap();
        client.shutdown().await.unwrap();
        assert_eq!(member.read(&mut four).await.unwrap(), 0, "the member is told that the client has no more to say");
        tokio::time::sleep(Duration::from_secs(4 * 3600)).await;
        member.write_all(b"pong").await.unwrap();
        client.read_exact(&mut four).await.unwrap();
        assert_eq!(&four, b"pong");
        drop(member);
        assert_eq!(client.read(&mut four).await.unwrap(), 0);
        spliced.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn at_the_end_both_sides_of_a_stream_are_told() {
        let (mut client, here) = tokio::io::duplex(64);
        let (there, mut member) = tokio::io::duplex(64);
        let shutdown = CancellationToken::new();
        let spliced = tokio::spawn(splice(here, there, shutdown.clone()));
        shutdown.cancel();
        spliced.await.unwrap();
        let mut rest = Vec::new();
        assert_eq!(client.read_to_end(&mut rest).await.unwrap() + member.read_to_end(&mut rest).await.unwrap(), 0);
    }
}
