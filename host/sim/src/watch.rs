//! Watches: each pulls from its kind's history when it is read, so that a watch that nobody reads costs nothing.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use orrery_api::ObjectKey;
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, sleep, sleep_until};

use crate::body::{Body, Broken, pieces};
use crate::cluster::{Cluster, Counts, Mode, State, WatchLists, World};
use crate::history::Table;
use crate::kind::Kind;
use crate::serve::{Asked, json_answer, status, status_text};

/// An open watch.
struct Watching {
    cluster: Cluster,
    changed: Receiver<()>,
    kind: Kind,
    asked: Asked,
    /// Objects of the start that are still to be sent.
    initial: std::vec::IntoIter<(ObjectKey, State)>,
    /// The version at which they were read, until the bookmark that ends them is sent.
    initial_end: Option<u64>,
    /// Position in the history of the next event.
    next: u64,
    /// Nothing at or below this version is sent.
    above: u64,
    told: Counts,
    bookmarks: bool,
    next_bookmark: Instant,
    deadline: Instant,
    /// The second half of a piece that was cut.
    half: Option<Bytes>,
    ended: bool,
    _open: Arc<()>,
}

/// What a watch does next.
enum Pulled {
    /// Sends this.
    Piece(String),
    /// Waits until something changes.
    Wait,
    /// Sends this and ends.
    End(String),
    /// Sends this and breaks.
    Break(String),
}

/// A watch is sent in pieces of about so many bytes.
const PIECE_BYTES: usize = 32 << 10;
/// As kube-apiserver sends them.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// Where a client names no end: the shortest that kube-apiserver draws.
const TIMEOUT_SECONDS: u64 = 1800;

// === impl Cluster ===

impl Cluster {
    /// Begins a watch.
    pub(crate) fn watch(&self, world: &World, table: &Table, asked: &Asked) -> Response<Body> {
        let asks_initial = asked.query.is_set("sendInitialEvents");
        if asks_initial && world.faults.watch_lists == WatchLists::Refused {
            return status(422, "Invalid", "sendInitialEvents is forbidden for watch", None);
        }
        let version = asked.query.number("resourceVersion").unwrap_or(0);
        let ignores = asks_initial && world.faults.watch_lists == WatchLists::Ignored;
        let from_state = version == 0 || (asks_initial && !ignores);
        if !from_state && version < table.watch_floor {
            let text = status_text(410, "Expired", &format!("too old resource version: {version}"), None);
            return json_answer(format!("{{\"type\":\"ERROR\",\"object\":{text}}}\n"));
        }
        let initial: Vec<(ObjectKey, State)> = if from_state && !ignores {
            let wanted = table.objects.iter().filter(|(key, _)| asked.selects(key));
            wanted.map(|(key, state)| (key.clone(), state.clone())).collect()
        } else {
            Vec::new()
        };
        let seconds = asked.query.number("timeoutSeconds").unwrap_or(TIMEOUT_SECONDS);
        let watching = Watching {
            cluster: self.clone(),
            changed: self.changed(),
            kind: table.kind.clone(),
            asked: asked.clone(),
            initial: initial.into_iter(),
            initial_end: (asks_initial && !ignores).then_some(world.revision),
            next: if from_state { table.end() } else { table.after(version) },
            above: if from_state { world.revision } else { version },
            told: world.faults.counts,
            bookmarks: asked.query.is_set("allowWatchBookmarks"),
            next_bookmark: Instant::now() + BOOKMARK_EVERY,
            deadline: Instant::now() + Duration::from_secs(seconds),
            half: None,
            ended: false,
            _open: table.watches.clone(),
        };
        let mut response = json_answer(String::new());
        *response.body_mut() = pieces(watching, Watching::next);
        response
    }
}

// === impl Watching ===

impl Watching {
    async fn next(mut self) -> Option<(Result<Bytes, Broken>, Self)> {
        if let Some(half) = self.half.take() {
            return Some((Ok(half), self));
        }
        loop {
            if self.ended {
                return None;
            }
            self.changed.borrow_and_update();
            let pace = self.cluster.world().faults.pace;
            match self.pull() {
                Pulled::Piece(text) => {
                    if !pace.watch.is_zero() {
                        sleep(pace.watch).await;
                    }
                    let mut piece = Bytes::from(text);
                    if pace.chopped {
                        self.half = Some(piece.split_off(piece.len() / 2));
                    }
                    return Some((Ok(piece), self));
                }
                Pulled::End(text) => {
                    self.ended = true;
                    if !text.is_empty() {
                        return Some((Ok(text.into()), self));
                    }
                }
                Pulled::Break(text) if !text.is_empty() => return Some((Ok(text.into()), self)),
                Pulled::Break(_) => {
                    self.ended = true;
                    return Some((Err(Broken::Reset), self));
                }
                Pulled::Wait => self.wait().await,
            }
        }
    }

    async fn wait(&mut self) {
        let silent = self.cluster.mode() == Mode::Silent;
        let wake = if self.bookmarks { self.next_bookmark.min(self.deadline) } else { self.deadline };
        tokio::select! {
            biased;
            changed = self.changed.changed() => self.ended |= changed.is_err(),
            () = sleep_until(wake), if !silent => {}
        }
    }

    fn pull(&mut self) -> Pulled {
        let cluster = self.cluster.clone();
        let mut world = cluster.world();
        let counts = world.faults.counts;
        if counts.cuts != self.told.cuts || world.faults.mode == Mode::Refusing {
            return Pulled::Break(String::new());
        }
        // What was on its way before the cluster fell silent still comes.
        if counts.expiries != self.told.expiries {
            return Pulled::End(self.expired());
        }
        if counts.ends != self.told.ends {
            return Pulled::End(String::new());
        }
        if world.faults.mode == Mode::Silent {
            return Pulled::Wait;
        }
        let text = self.initial(world.faults.pace.chopped);
        if !text.is_empty() {
            return Pulled::Piece(text);
        }
        match self.events(&mut world) {
            Pulled::Wait => self.idle(&world, counts),
            pulled => pulled,
        }
    }

    /// Objects that there were at the start, and the bookmark that ends them.
    fn initial(&mut self, one_by_one: bool) -> String {
        let mut text = String::new();
        while text.len() < PIECE_BYTES && (text.is_empty() || !one_by_one) {
            let Some((key, state)) = self.initial.next() else {
                if let Some(version) = self.initial_end.take() {
                    self.write_bookmark(version, true, &mut text);
                }
                break;
            };
            self.write_event("ADDED", &key, &state, &mut text);
        }
        text
    }

    fn events(&mut self, world: &mut World) -> Pulled {
        let World { tables, faults, .. } = world;
        let Some(table) = tables.iter().find(|table| table.served && table.kind.gvr == self.kind.gvr) else {
            return Pulled::End(String::new());
        };
        if table.is_forgotten(self.next) {
            return Pulled::End(self.expired());
        }
        let mut text = String::new();
        while text.len() < PIECE_BYTES && (text.is_empty() || !faults.pace.chopped) {
            let Some(event) = table.event(self.next) else { break };
            self.next += 1;
            if event.version <= self.above || !self.asked.selects(&event.key) {
                continue;
            }
            let kind = match (&event.before, event.deleted) {
                (_, true) => "DELETED",
                (None, false) => "ADDED",
                (Some(_), false) => "MODIFIED",
            };
            let begins = text.len();
            self.write_event(kind, &event.key, &event.after, &mut text);
            if faults.cut_after == Some(0) {
                faults.cut_after = None;
                faults.cut();
                text.truncate(begins + (text.len() - begins) / 2);
                return Pulled::Break(text);
            }
            faults.cut_after = faults.cut_after.map(|left| left - 1);
            faults.end_after = faults.end_after.map(|left| left.saturating_sub(1));
            if faults.end_after == Some(0) {
                faults.end_after = None;
                faults.counts.ends += 1;
                break;
            }
            if faults.repeat > 0 {
                faults.repeat -= 1;
                self.write_event(kind, &event.key, &event.after, &mut text);
            }
        }
        if text.is_empty() { Pulled::Wait } else { Pulled::Piece(text) }
    }

    /// All events are sent: a bookmark if one is due, the end if it is time.
    fn idle(&mut self, world: &World, counts: Counts) -> Pulled {
        let now = Instant::now();
        let ends = now >= self.deadline;
        let asked_for = std::mem::replace(&mut self.told.bookmarks, counts.bookmarks) != counts.bookmarks;
        let mut text = String::new();
        if self.bookmarks && (asked_for || ends || now >= self.next_bookmark) {
            self.next_bookmark = now + BOOKMARK_EVERY;
            if !world.faults.lacks_bookmarks {
                self.write_bookmark(world.revision.max(self.above), false, &mut text);
            }
        }
        match (ends, text.is_empty()) {
            (true, _) => Pulled::End(text),
            (false, true) => Pulled::Wait,
            (false, false) => Pulled::Piece(text),
        }
    }

    fn expired(&self) -> String {
        let text = status_text(410, "Expired", "too old resource version", None);
        format!("{{\"type\":\"ERROR\",\"object\":{text}}}\n")
    }

    fn write_event(&self, kind: &str, key: &ObjectKey, state: &State, out: &mut String) {
        let _ = write!(out, r#"{{"type":"{kind}","object":"#);
        if self.asked.partial {
            self.kind.template.write_partial(key, state, out);
        } else {
            self.kind.template.write(&self.kind, true, key, state, out);
        }
        out.push_str("}\n");
    }

    fn write_bookmark(&self, version: u64, ends_initial: bool, out: &mut String) {
        let annotations = if ends_initial { r#","annotations":{"k8s.io/initial-events-end":"true"}"# } else { "" };
        let (kind, api_version) = (&self.kind.kind, self.kind.gvr.api_version());
        let _ = writeln!(
            out,
            r#"{{"type":"BOOKMARK","object":{{"kind":"{kind}","apiVersion":"{api_version}","metadata":{{"resourceVersion":"{version}","creationTimestamp":null{annotations}}}}}}}"#
        );
    }
}
