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

/// A running watch. Dropping it ends it. A server may end a watch at any time (a kube-apiserver that is short of CPU does);
/// it is begun again where it was.
pub(crate) struct Watching {
    seen: Arc<Mutex<Seen>>,
    task: AbortHandle,
    what: String,
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// The number of the write.
    pub(crate) write: u64,
    /// When it was there.
    pub(crate) at: Instant,
    /// Whether the watch had just been begun again: the server is late, not the way to it.
    pub(crate) resumed: bool,
}

#[derive(Default)]
struct Seen {
    arrivals: Vec<Arrival>,
    /// Why there are no more.
    failed: Option<String>,
}

/// Reads one watch after another.
struct Reader {
    connection: Connection,
    path: String,
    version: String,
    line: Vec<u8>,
    seen: Arc<Mutex<Seen>>,
}

/// Longest wait for what was written to arrive.
const ARRIVAL_LIMIT: Duration = Duration::from_secs(20);
/// How long after a watch was begun again its events are those that it missed.
const CATCHING_UP: Duration = Duration::from_secs(1);

// === impl Watching ===

impl Watching {
    /// Watches the collection at `path` from `version` on.
    pub(crate) async fn start(connection: &Connection, path: &str, version: &str) -> Result<Self> {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let reader = Reader {
            connection: connection.clone(),
            path: path.to_owned(),
            version: version.to_owned(),
            line: Vec::new(),
            seen: seen.clone(),
        };
        let first = reader.open().await?;
        let task = tokio::spawn(reader.run(first)).abort_handle();
        Ok(Self { seen, task, what: format!("the watch of {connection}{path}") })
    }

    /// Waits until so many have arrived, and gives them; those that went before are forgotten. An error if they do not
    /// come.
    pub(crate) async fn take(&self, count: usize) -> Result<Vec<Arrival>> {
        let limit = Instant::now() + ARRIVAL_LIMIT;
        loop {
            {
                let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(reason) = &seen.failed {
                    bail!("{} failed after {} events: {reason}", self.what, seen.arrivals.len());
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

// === impl Reader ===

impl Reader {
    async fn open(&self) -> Result<Incoming> {
        let Self { connection, path, version, .. } = self;
        let separator = if path.contains('?') { '&' } else { '?' };
        let query = format!("{path}{separator}watch=true&resourceVersion={version}&timeoutSeconds=3000");
        Ok(connection.get(&query, Wanted::default()).await?.into_body())
    }

    async fn run(mut self, mut body: Incoming) {
        let mut resumed = None;
        let failed = loop {
            if let Err(reason) = self.read(body, resumed).await {
                break reason;
            }
            self.line.clear();
            body = match self.open().await {
                Ok(body) => body,
                Err(error) => break error,
            };
            resumed = Some(Instant::now());
        };
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).failed = Some(format!("{failed:#}"));
    }

    /// Reads one watch to its end.
    async fn read(&mut self, mut body: Incoming, resumed: Option<Instant>) -> Result<()> {
        while let Some(frame) = body.frame().await {
            let data = frame?.into_data().unwrap_or_default();
            let at = Instant::now();
            let resumed = resumed.is_some_and(|resumed| at < resumed + CATCHING_UP);
            let events = lines(&data, &mut self.line)?;
            if let Some(last) = events.last() {
                self.version.clone_from(&last.version);
            }
            let arrivals = events.iter().map(|event| Arrival { write: event.write, at, resumed });
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).arrivals.extend(arrivals);
        }
        Ok(())
    }
}

/// What an event's line says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Event {
    write: u64,
    version: String,
}

/// The events whose lines end in `data`; what is left of it begins the next line.
fn lines(data: &[u8], line: &mut Vec<u8>) -> Result<Vec<Event>> {
    let mut events = Vec::new();
    let mut rest = data;
    while let Some(end) = memchr::memchr(b'\n', rest) {
        line.extend_from_slice(&rest[..end]);
        if line.starts_with(br#"{"type":"ERROR""#) {
            bail!("{}", String::from_utf8_lossy(line));
        }
        events.extend(event_of(line));
        line.clear();
        rest = &rest[end + 1..];
    }
    line.extend_from_slice(rest);
    Ok(events)
}

fn event_of(line: &[u8]) -> Option<Event> {
    let text = |before: &str| std::str::from_utf8(text_after(line, before.as_bytes())?).ok();
    let write = text(&format!(r#""{WRITE}":""#))?.parse().ok()?;
    Some(Event { write, version: text(r#""resourceVersion":""#)?.to_owned() })
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
        let metadata = format!(r#"{{"resourceVersion":"1{write}","annotations":{{"{WRITE}":"{write:012}"}}}}"#);
        format!(r#"{{"type":"MODIFIED","object":{{"metadata":{metadata}}}}}"#) + "\n"
    }

    fn event(write: u64) -> Event {
        Event { write, version: format!("1{write}") }
    }

    #[test]
    fn a_write_has_arrived_when_its_line_has_ended() {
        let text = format!("{}{}", frame(7), frame(8));
        let (head, tail) = text.split_at(text.len() - 3);
        let mut line = Vec::new();
        assert_eq!(lines(head.as_bytes(), &mut line).unwrap(), [event(7)]);
        assert_eq!(lines(tail.as_bytes(), &mut line).unwrap(), [event(8)]);
        assert!(line.is_empty());
    }

    #[test]
    fn an_error_fails_the_watch_and_a_bookmark_is_no_write() {
        let bookmark = b"{\"type\":\"BOOKMARK\",\"object\":{}}\n";
        assert_eq!(lines(bookmark, &mut Vec::new()).unwrap(), []);
        let gone = b"{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n";
        assert!(lines(gone, &mut Vec::new()).unwrap_err().to_string().contains("410"));
    }
}
