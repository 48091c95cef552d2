//! Bodies of answers, and how they are made smaller or more legible on the way out.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::stream;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, VARY};
use http::{Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, StreamBody};

pub(crate) use orrery_fleet::{Body, BodyError};

use crate::negotiate::Syntax;
use crate::pretty::Indenter;
use crate::status::Status;
use crate::yaml::YamlWriter;

/// How the client wants a body that may be long.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Encoding {
    /// It takes gzip.
    pub(crate) gzip: bool,
    /// It is read by a person.
    pub(crate) pretty: bool,
    /// What it is written in, where the document is made in both.
    pub(crate) syntax: Syntax,
}

/// About how many bytes a streamed body has in one piece.
pub(crate) const CHUNK_BYTES: usize = 192 << 10;

/// Up to here a body is not compressed, as upstream (AS responsewriters/writers.go). Below [`CHUNK_BYTES`], so that the
/// first piece decides.
const GZIP_ABOVE_BYTES: usize = 128 << 10;

/// A body that is there whole.
pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// An answer that is there whole, from its JSON.
pub(crate) fn json(code: StatusCode, json: Vec<u8>, encoding: Encoding) -> Response<Body> {
    let mut response = json_chunks(std::iter::once(Bytes::from(json)), encoding);
    *response.status_mut() = code;
    response
}

/// An answer of text.
pub(crate) fn text(code: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(full(text));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));
    response
}

/// The answer that a refusal is.
pub(crate) fn refusal(status: &Status, encoding: Encoding) -> Response<Body> {
    let mut bytes = status.to_json();
    if !encoding.pretty {
        bytes.push(b'\n');
    }
    let mut response = json(status.code(), bytes, Encoding { gzip: false, ..encoding });
    if status.retry_after_seconds() > 0 {
        response.headers_mut().insert(http::header::RETRY_AFTER, status.retry_after_seconds().into());
    }
    response
}

/// A 200 from JSON that comes in pieces of about [`CHUNK_BYTES`]. What fits in one has a Content-Length.
pub(crate) fn json_chunks(
    chunks: impl Iterator<Item = Bytes> + Send + 'static,
    Encoding { gzip, pretty, syntax }: Encoding,
) -> Response<Body> {
    match syntax {
        Syntax::Yaml => compressed(yaml(chunks), gzip, "application/yaml"),
        Syntax::Json if pretty => compressed(indent(chunks), gzip, "application/json"),
        Syntax::Json => compressed(chunks, gzip, "application/json"),
    }
}

fn compressed(chunks: impl Iterator<Item = Bytes> + Send + 'static, gzip: bool, kind: &'static str) -> Response<Body> {
    let mut chunks = chunks.peekable();
    let first_is_long = chunks.peek().is_some_and(|first| first.len() > GZIP_ABOVE_BYTES);
    let compresses = gzip && first_is_long;
    let mut response =
        Response::new(if compresses { streamed(gzip_chunks(chunks)) } else { whole_or_streamed(chunks) });
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if compresses {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    } else if let Some(bytes) = http_body::Body::size_hint(response.body()).exact() {
        response.headers_mut().insert(CONTENT_LENGTH, bytes.into());
    }
    response
}

fn whole_or_streamed(mut chunks: impl Iterator<Item = Bytes> + Send + 'static) -> Body {
    let first = chunks.next().unwrap_or_default();
    match chunks.next() {
        None => full(first),
        Some(second) => streamed([first, second].into_iter().chain(chunks)),
    }
}

fn streamed(chunks: impl Iterator<Item = Bytes> + Send + 'static) -> Body {
    StreamBody::new(stream::iter(chunks.map(|chunk| Ok(Frame::data(chunk))))).boxed_unsync()
}

fn indent(chunks: impl Iterator<Item = Bytes> + Send + 'static) -> impl Iterator<Item = Bytes> + Send + 'static {
    let mut indenter = Indenter::default();
    chunks.map(move |chunk| {
        let mut out = Vec::with_capacity(2 * chunk.len());
        indenter.feed(&chunk, &mut out);
        Bytes::from(out)
    })
}

fn yaml(chunks: impl Iterator<Item = Bytes> + Send + 'static) -> impl Iterator<Item = Bytes> + Send + 'static {
    let mut writer = Some(YamlWriter::default());
    let mut chunks = chunks;
    std::iter::from_fn(move || {
        let running = writer.as_mut()?;
        let mut out = Vec::new();
        match chunks.next() {
            Some(chunk) => running.feed(&chunk, &mut out),
            None => writer.take()?.finish(&mut out),
        }
        Some(Bytes::from(out))
    })
}

/// One gzip member over all pieces; a piece comes out when enough of it has gathered.
fn gzip_chunks(chunks: impl Iterator<Item = Bytes> + Send + 'static) -> impl Iterator<Item = Bytes> + Send + 'static {
    let mut encoder = Some(GzEncoder::new(Vec::new(), Compression::new(1)));
    let mut chunks = chunks;
    std::iter::from_fn(move || {
        loop {
            let running = encoder.as_mut()?;
            let Some(chunk) = chunks.next() else {
                let last = encoder.take().map(GzEncoder::finish);
                return last.map(|bytes| Bytes::from(bytes.expect("writing to memory does not fail")));
            };
            running.write_all(&chunk).expect("writing to memory does not fail");
            if running.get_ref().len() >= CHUNK_BYTES / 4 {
                return Some(Bytes::from(std::mem::take(running.get_mut())));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    async fn collect(response: Response<Body>) -> Vec<u8> {
        response.into_body().collect().await.unwrap().to_bytes().to_vec()
    }

    fn pieces(count: usize) -> Vec<Bytes> {
        (0..count).map(|n| Bytes::from(format!("[\"{n}\",{}],", "\"abc\",".repeat(CHUNK_BYTES / 6)))).collect()
    }

    #[tokio::test]
    async fn a_long_body_is_one_gzip_member_for_those_who_take_it() {
        let pieces = pieces(5);
        let response = json_chunks(pieces.clone().into_iter(), Encoding { gzip: true, ..Encoding::default() });
        assert_eq!(response.headers()[CONTENT_ENCODING], "gzip");
        assert_eq!(response.headers()[VARY], "Accept-Encoding");
        assert!(!response.headers().contains_key(CONTENT_LENGTH));
        let packed = collect(response).await;
        let mut unpacked = Vec::new();
        GzDecoder::new(packed.as_slice()).read_to_end(&mut unpacked).unwrap();
        assert!(unpacked == pieces.concat(), "unpacked to something else");
        assert!(packed.len() < unpacked.len() / 4);
    }

    #[tokio::test]
    async fn a_body_of_128_kib_is_not_compressed_and_one_byte_more_is() {
        for (bytes, expected) in [(GZIP_ABOVE_BYTES, false), (GZIP_ABOVE_BYTES + 1, true)] {
            let response = json(StatusCode::OK, vec![b' '; bytes], Encoding { gzip: true, ..Encoding::default() });
            assert_eq!(response.headers().contains_key(CONTENT_ENCODING), expected, "{bytes} bytes");
        }
    }

    #[tokio::test]
    async fn a_short_body_has_its_length() {
        let response = json(StatusCode::OK, b"{}".to_vec(), Encoding { gzip: true, ..Encoding::default() });
        assert_eq!(response.headers()[CONTENT_LENGTH], "2");
        assert_eq!(response.headers()[CONTENT_TYPE], "application/json");
        assert_eq!(collect(response).await, b"{}");
    }

    #[tokio::test]
    async fn a_refusal_asks_to_retry_where_its_status_does() {
        let response = refusal(&Status::too_many_requests("storage is (re)initializing", 1), Encoding::default());
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(response.headers()["retry-after"], "1");
        assert!(!refusal(&Status::unauthorized(), Encoding::default()).headers().contains_key("retry-after"));
    }
}
