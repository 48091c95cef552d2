use bytes::Bytes;
use http::header::{
    CONNECTION, HeaderMap, HeaderValue, ORIGIN, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{Method, Request, Response, StatusCode};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::body::{Body, full, text};

/// What a client's wish for a WebSocket is answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Handshake {
    accept: HeaderValue,
    protocol: Option<HeaderValue>,
}

/// A handshake that is refused, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused(StatusCode, &'static str);

/// Carries a bearer token where headers cannot, as in browsers (AS
/// pkg/authentication/request/websocket/protocol.go). It is no protocol, and never echoed.
const BEARER_PREFIX: &str = "base64url.bearer.authorization.k8s.io.";

// === impl Handshake ===

impl Handshake {
    /// Whether a WebSocket is asked for.
    pub(crate) fn is_asked(headers: &HeaderMap) -> bool {
        let upgrade = headers.get(UPGRADE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"));
        upgrade && tokens(headers, &CONNECTION).any(|token| token.eq_ignore_ascii_case("upgrade"))
    }

    /// Reads the client's part. Refusals are those of upstream's library: a client must send an Origin, whatever it is,
    /// and at most one subprotocol beside a token.
    pub(crate) fn read<B>(request: &Request<B>) -> Result<Self, Refused> {
        let headers = request.headers();
        if request.method() != Method::GET {
            return Err(Refused(StatusCode::METHOD_NOT_ALLOWED, "a WebSocket begins with GET"));
        }
        if headers.get(SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
            return Err(Refused(StatusCode::BAD_REQUEST, "Sec-WebSocket-Version is not 13"));
        }
        let key = headers.get(SEC_WEBSOCKET_KEY).filter(|key| !key.is_empty());
        let key = key.ok_or(Refused(StatusCode::BAD_REQUEST, "there is no Sec-WebSocket-Key"))?;
        if !headers.contains_key(ORIGIN) {
            return Err(Refused(StatusCode::FORBIDDEN, "there is no Origin"));
        }
        let mut protocols = tokens(headers, &SEC_WEBSOCKET_PROTOCOL)
            .filter(|name| !name.is_empty() && !name.starts_with(BEARER_PREFIX));
        let protocol = protocols.next().map(HeaderValue::from_str).transpose();
        let protocol = protocol.map_err(|_| Refused(StatusCode::BAD_REQUEST, "the subprotocol is no text"))?;
        if protocols.next().is_some() {
            return Err(Refused(StatusCode::BAD_REQUEST, "more than one subprotocol is offered"));
        }
        let accept = derive_accept_key(key.as_bytes());
        Ok(Self { accept: HeaderValue::from_str(&accept).expect("base64 is a header's text"), protocol })
    }

    /// The 101.
    pub(crate) fn answer(self) -> Response<Body> {
        let mut response = Response::new(full(Bytes::new()));
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(SEC_WEBSOCKET_ACCEPT, self.accept);
        if let Some(protocol) = self.protocol {
            headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
        }
        response
    }
}

// === impl Refused ===

impl Refused {
    /// The answer that it is.
    pub(crate) fn answer(&self) -> Response<Body> {
        let mut response = text(self.0, format!("{}\n", self.1));
        if self.1.contains("Version") {
            response.headers_mut().insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        }
        response
    }
}

fn tokens<'a>(headers: &'a HeaderMap, name: &http::HeaderName) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `name: value` lines, beside those that every handshake has.
    fn read(more: &[(&str, &str)]) -> Result<Option<String>, u16> {
        let mut request = Request::get("/").header("sec-websocket-version", "13").header("origin", "https://x");
        request = request.header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        for (name, value) in more {
            request = request.header(*name, *value);
        }
        let handshake = Handshake::read(&request.body(()).unwrap()).map_err(|Refused(code, _)| code.as_u16())?;
        // The example of RFC 6455, 1.3.
        assert_eq!(handshake.accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        Ok(handshake.protocol.map(|protocol| protocol.to_str().unwrap().to_owned()))
    }

    #[test]
    fn the_subprotocol_is_echoed_and_a_token_beside_it_is_not() {
        let protocol = "sec-websocket-protocol";
        let binary = Ok(Some("base64.binary.k8s.io".to_owned()));
        let bearer = "base64url.bearer.authorization.k8s.io.c2VjcmV0";
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&[(protocol, "base64.binary.k8s.io")]), binary);
        assert_eq!(read(&[(protocol, &format!("{bearer}, base64.binary.k8s.io"))]), binary);
        assert_eq!(read(&[(protocol, "base64.binary.k8s.io"), (protocol, bearer)]), binary);
        assert_eq!(read(&[(protocol, bearer)]), Ok(None));
        assert_eq!(read(&[(protocol, "a, b")]), Err(400));
    }

    #[test]
    fn what_upstream_refuses_is_refused() {
        let request = |lines: &[(&str, &str)], method| {
            let mut request = Request::builder().method(method).uri("/");
            for (name, value) in lines {
                request = request.header(*name, *value);
            }
            Handshake::read(&request.body(()).unwrap()).map(drop).map_err(|Refused(code, _)| code.as_u16())
        };
        let (version, key) = (("sec-websocket-version", "13"), ("sec-websocket-key", "eA=="));
        let origin = ("origin", "https://x");
        assert_eq!(request(&[version, key, origin], "GET"), Ok(()));
        assert_eq!(request(&[version, key], "GET"), Err(403));
        assert_eq!(request(&[version, origin], "GET"), Err(400));
        assert_eq!(request(&[key, origin], "GET"), Err(400));
        assert_eq!(request(&[("sec-websocket-version", "8"), key, origin], "GET"), Err(400));
        assert_eq!(request(&[version, key, origin], "POST"), Err(405));
    }

    #[test]
    fn a_websocket_is_asked_for_by_both_headers() {
        for (upgrade, connection, expected) in [
            ("websocket", "Upgrade", true),
            ("WebSocket", "keep-alive, upgrade", true),
            ("SPDY/3.1", "Upgrade", false),
            ("websocket", "keep-alive", false),
        ] {
            let headers = [(UPGRADE, upgrade), (CONNECTION, connection)];
            let headers = headers.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value))).collect();
            assert_eq!(Handshake::is_asked(&headers), expected, "{upgrade} {connection}");
        }
    }
}
