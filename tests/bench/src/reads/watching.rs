//! Watches that note when each write arrives.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use memchr::memmem;
use tokio::task::AbortHandle;

use super::pod::WRITE;
use crate::client::{Connection, Wanted};

/// A running watch. Dropping it ends it.
pub(crate) struct Watching {
    seen: Arc<Mutex<Seen>>,
    task: AbortHandle,
    what: String,
}

#[derive(Default)]
struct Seen {
    /// The number of a write, and when its event was there.
    arrivals: Vec<(u64, Instant)>,
    /// Why there are no more.
    ended: Option<String>,
}

/// Longest wait for what was written to arrive.
const ARRIVAL_LIMIT: Duration = Duration::from_secs(20);

// === impl Watching ===

impl Watching {
    /// Watches the collection at `path` from `version` on.
    pub(crate) async fn start(connection: &Connection, path: &str, version: &str) -> Result<Self> {
        let query = format!("{path}?watch=true&resourceVersion={version}&timeoutSeconds=3000");
        let response = connection.get(&query, Wanted::default()).await?;
        let seen = Arc::new(Mutex::new(Seen::default()));
        let task = tokio::spawn(read(response.into_body(), seen.clone())).abort_handle();
        Ok(Self { seen, task, what: format!("the watch of {connection}{path}") })
    }

    /// Waits until so many have arrived, and gives them; those that went before are forgotten. An error if they do not
    /// come.
    pub(crate) async fn take(&self, count: usize) -> Result<Vec<(u64, Instant)>> {
        let limit = Instant::now() + ARRIVAL_LIMIT;
        loop {
            {
                let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(reason) = &seen.ended {
                    bail!("{} ended after {} events: {reason}", self.what, seen.arrivals.len());
                }
                if seen.arrivals.len() >= count {
                    return Ok(std::mem::take(&mut seen.arrivals));
                }
                if Instant::now() > limit {
                    bail!("{}: of {count} events {} arrived", self.what, seen.arrivals.len());
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The resourceVersion that a watch of `path` begins at.
pub(crate) async fn version_of(connection: &Connection, path: &str) -> Result<String> {
    let list = connection.text(&format!("{path}?limit=1")).await?;
    let version = text_after(list.as_bytes(), br#""resourceVersion":""#).context("a list has a resourceVersion")?;
    Ok(String::from_utf8(version.to_vec())?)
}

async fn read(mut body: Incoming, seen: Arc<Mutex<Seen>>) {
    let mut line = Vec::new();
    let ended = loop {
        match body.frame().await {
            Some(Ok(frame)) => {
                let at = Instant::now();
                let arrived = lines(&frame.into_data().unwrap_or_default(), &mut line);
                match arrived {
                    Ok(writes) => {
                        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                        seen.arrivals.extend(writes.into_iter().map(|write| (write, at)));
                    }
                    Err(reason) => break reason,
                }
            }
            Some(Err(error)) => break error.to_string(),
            None => break "the server closed it".to_owned(),
        }
    };
    seen.lock().unwrap_or_else(PoisonError::into_inner).ended = Some(ended);
}

/// The writes whose lines end in `data`; what is left of it begins the next line.
fn lines(data: &[u8], line: &mut Vec<u8>) -> Result<Vec<u64>, String> {
    let mut writes = Vec::new();
    let mut rest = data;
    while let Some(end) = memchr::memchr(b'\n', rest) {
        line.extend_from_slice(&rest[..end]);
        if line.starts_with(br#"{"type":"ERROR""#) {
            return Err(String::from_utf8_lossy(line).into_owned());
        }
        writes.extend(write_of(line));
        line.clear();
        rest = &rest[end + 1..];
    }
    line.extend_from_slice(rest);
    Ok(writes)
}

fn write_of(line: &[u8]) -> Option<u64> {
    let number = text_after(line, format!(r#""{WRITE}":""#).as_bytes())?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// What stands between the first `before` and the next quote.
fn text_after<'a>(text: &'a [u8], before: &[u8]) -> Option<&'a [u8]> {
    let from = memmem::find(text, before)? + before.len();
    let length = memchr::memchr(b'"', &text[from..])?;
    Some(&text[from..from + length])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(write: u64) -> String {
        format!(r#"{{"type":"MODIFIED","object":{{"metadata":{{"annotations":{{"{WRITE}":"{write:012}"}}}}}}}}"#) + "\n"
    }

    #[test]
    fn a_write_has_arrived_when_its_line_has_ended() {
        let text = format!("{}{}", frame(7), frame(8));
        let (head, tail) = text.split_at(text.len() - 3);
        let mut line = Vec::new();
        assert_eq!(lines(head.as_bytes(), &mut line), Ok(vec![7]));
        assert_eq!(lines(tail.as_bytes(), &mut line), Ok(vec![8]));
        assert!(line.is_empty());
    }

    #[test]
    fn an_error_ends_the_watch_and_a_bookmark_is_no_write() {
        let bookmark = b"{\"type\":\"BOOKMARK\",\"object\":{}}\n";
        assert_eq!(lines(bookmark, &mut Vec::new()), Ok(vec![]));
        let gone = b"{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n";
        assert!(lines(gone, &mut Vec::new()).unwrap_err().contains("410"));
    }
}
