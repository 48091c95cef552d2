//! HTTP to the host on streams in memory.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use orrery_auth::Identity;

use crate::host::Address;

/// The host is down, or the connection to it broke.
#[derive(Debug)]
pub(crate) struct Gone;

/// A watch that is being read, line by line.
pub(crate) struct Lines {
    body: Incoming,
    buffer: Vec<u8>,
}

/// How much of an answer lies between the host and a client that does not read.
const PIPE_BYTES: usize = 16 << 10;

// === impl Address ===

impl Address {
    /// The whole answer to a GET: its code and body.
    pub(crate) async fn get(&self, path: &str) -> Result<(u16, Bytes), Gone> {
        let (code, body) = self.send(path).await?;
        Ok((code, body.collect().await.map_err(|_| Gone)?.to_bytes()))
    }

    /// A watch; where it is refused, the code and the whole answer.
    pub(crate) async fn watch(&self, path: &str) -> Result<Result<Lines, (u16, Bytes)>, Gone> {
        let (code, body) = self.send(path).await?;
        if code == 200 {
            return Ok(Ok(Lines { body, buffer: Vec::new() }));
        }
        Ok(Err((code, body.collect().await.map_err(|_| Gone)?.to_bytes())))
    }

    async fn send(&self, path: &str) -> Result<(u16, Incoming), Gone> {
        let (door, stop) = self.now().ok_or(Gone)?;
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        let identity = Identity { user: "simulation".to_owned(), groups: vec![Identity::MASTERS.to_owned()] };
        tokio::spawn(async move {
            let _ = stop.run_until_cancelled(door.converse(theirs, identity)).await;
        });
        let (mut requests, connection) = http1::handshake(TokioIo::new(ours)).await.map_err(|_| Gone)?;
        tokio::spawn(connection);
        let request = Request::get(path).header("host", "host").header("accept", "application/json");
        let request = request.body(Empty::<Bytes>::new()).expect("a path and two headers");
        let response = requests.send_request(request).await.map_err(|_| Gone)?;
        Ok((response.status().as_u16(), response.into_body()))
    }
}

// === impl Lines ===

impl Lines {
    /// The next line; none at the clean end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, Gone> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                return Ok(Some(self.buffer.drain(..=end).collect()));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => self.buffer.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data)),
                Some(Err(_)) => return Err(Gone),
                None if self.buffer.is_empty() => return Ok(None),
                None => return Err(Gone),
            }
        }
    }
}
