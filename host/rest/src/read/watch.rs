use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, Stream};
use orrery_api::ObjectKey;
use orrery_cache::{Object, Reader, Selection, Snapshot, Step, Watch};
use orrery_markers::Marker;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::frame::{Bookmark, Framer};
use super::page::{fresh, unselected};
use super::{Scope, Wanted};
use crate::body::CHUNK_BYTES;
use crate::options::WatchStart;
use crate::status::Status;

/// What a watch is run with, beside what the client asks for.
#[derive(Clone, Debug)]
pub(crate) struct WatchSettings {
    /// How long it lasts.
    pub(crate) lasts: Duration,
    /// Ends it cleanly.
    pub(crate) shutdown: CancellationToken,
}

/// A running watch: the frames of the next step, again and again. It is driven by the client's reading, so a client that
/// does not read holds nothing but its place in the ring.
pub(crate) struct WatchStream {
    framer: Framer,
    reader: Reader,
    phase: Phase,
    bookmarks: bool,
    /// The last resourceVersion that the client has from an event or bookmark.
    told: Option<Marker>,
    next_bookmark: Instant,
    last_bookmark: Instant,
    deadline: Instant,
    shutdown: CancellationToken,
}

enum Phase {
    /// Objects that there were at the start are still to be sent.
    Initial(Box<Initial>),
    Live(Watch),
    /// Nothing but this error.
    Failed(Status),
    Ended,
}

/// The objects that there were at the start.
struct Initial {
    snapshot: Snapshot,
    selection: Selection,
    /// The only one that can be selected, where the selection names one.
    only: Option<ObjectKey>,
    /// The only ones that are selected, where extensions select.
    chosen: Option<BTreeSet<ObjectKey>>,
    /// The last one sent.
    after: Option<ObjectKey>,
    /// What happens after them.
    watch: Watch,
    /// Whether a bookmark tells their end.
    ends: bool,
}

/// How soon after the head moved a client that is told nothing else gets a bookmark.
const IDLE_BOOKMARK: Duration = Duration::from_secs(1);
/// How long a client that asks for bookmarks is without one at most.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// How long before its end a watch gets a last bookmark.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);

/// Begins a watch. Errors of the request itself are answers of their own; what goes wrong from here on is told in the
/// stream, as upstream does.
pub(crate) async fn watch(
    reader: &Reader,
    knows: &(dyn Fn(Marker) -> bool + Sync),
    Wanted { scope, options, selection, rendering }: Wanted,
    settings: WatchSettings,
) -> Result<WatchStream, Status> {
    let start = options.watch_start()?;
    let begun = Instant::now();
    let (phase, told) = match begin(reader, knows, &scope, selection, start).await {
        Ok(phase) => phase,
        Err(status) => (Phase::Failed(status), None),
    };
    let deadline = begun + settings.lasts;
    Ok(WatchStream {
        framer: Framer::new(rendering, &scope),
        reader: reader.clone(),
        phase,
        bookmarks: options.bookmarks,
        told,
        next_bookmark: Instant::now() + IDLE_BOOKMARK,
        last_bookmark: begun,
        deadline,
        shutdown: settings.shutdown,
    })
}

async fn begin(
    reader: &Reader,
    knows: &(dyn Fn(Marker) -> bool + Sync),
    scope: &Scope,
    selection: Selection,
    start: WatchStart,
) -> Result<(Phase, Option<Marker>), Status> {
    let known = |marker: Marker| marker == reader.head() || knows(marker);
    match start {
        WatchStart::Now => {
            let head = reader.head();
            Ok((Phase::Live(live(reader, head, selection)?), Some(head)))
        }
        WatchStart::After(version) => {
            // Upstream would wait for ever for a version that never comes; after a lost store nobody may.
            let too_old = || Status::too_old(version, reader.floor().get());
            let marker = fresh(reader, version).await.map_err(|_| too_old())?;
            if !known(marker) {
                return Err(too_old());
            }
            Ok((Phase::Live(live(reader, marker, selection)?), Some(marker)))
        }
        WatchStart::Initial(_) | WatchStart::Unended => {
            if let WatchStart::Initial(version @ 1..) = start {
                let marker = fresh(reader, version).await?;
                if !known(marker) {
                    return Err(Status::too_old(version, reader.floor().get()));
                }
            }
            let ends = start != WatchStart::Unended;
            let snapshot = reader.latest();
            let watch = live(reader, snapshot.marker(), selection.clone())?;
            let only = scope.only_key(&selection);
            let chosen = chosen(&snapshot, &selection).await?;
            let initial = Initial { snapshot, selection, only, chosen, after: None, watch, ends };
            Ok((Phase::Initial(Box::new(initial)), None))
        }
    }
}

fn live(reader: &Reader, after: Marker, selection: Selection) -> Result<Watch, Status> {
    reader.watch(after, selection).map_err(|_| Status::too_old(after.get(), reader.floor().get()))
}

// === impl WatchStream ===

impl WatchStream {
    /// The pieces, one or more frames each, until the end.
    pub(crate) fn pieces(self) -> impl Stream<Item = Bytes> + Send {
        stream::unfold(self, |mut watch| async move { watch.next().await.map(|piece| (piece, watch)) })
    }

    /// The next frames, as one piece; `None` at the end. A call that is dropped half-way ends the watch.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        let mut out = Vec::new();
        while out.is_empty() {
            match std::mem::replace(&mut self.phase, Phase::Ended) {
                Phase::Initial(initial) => self.initial(initial, &mut out),
                Phase::Live(watch) => self.live(watch, &mut out).await,
                Phase::Failed(status) => Framer::error(&status, &mut out),
                Phase::Ended => return None,
            }
        }
        Some(out.into())
    }

    #[cfg(test)]
    pub(super) fn shutdown_now(&self) {
        self.shutdown.cancel();
    }

    /// Writes objects of the start until the piece is full, and the one bookmark after the last of them.
    fn initial(&mut self, mut initial: Box<Initial>, out: &mut Vec<u8>) {
        if let Some(last) = initial.write(&mut self.framer, out) {
            initial.after = Some(last);
            self.phase = Phase::Initial(initial);
            return;
        }
        let marker = initial.snapshot.marker();
        if self.bookmarks && initial.ends {
            self.bookmark(marker, Bookmark::InitialEventsEnd, out);
        }
        self.told = Some(marker);
        self.phase = Phase::Live(initial.watch);
    }

    /// Waits for what comes first: events, the time of a bookmark, or the end.
    async fn live(&mut self, mut watch: Watch, out: &mut Vec<u8>) {
        tokio::select! {
            biased;
            () = self.shutdown.cancelled() => return,
            () = sleep_until(self.deadline) => return,
            step = watch.next() => match step {
                Step::Events(events) => {
                    for event in &events {
                        self.framer.event(event, out);
                        self.told = Some(event.marker);
                    }
                }
                Step::Slow => return,
                Step::Expired => {
                    let from = self.told.map_or(0, Marker::get);
                    Framer::error(&Status::too_old(from, self.reader.floor().get()), out);
                    return;
                }
            },
            () = sleep_until(self.next_bookmark), if self.bookmarks => self.due_bookmark(&mut watch, out),
        }
        self.phase = Phase::Live(watch);
    }

    /// Writes a bookmark if one is due: something was passed over in silence, a minute went by, or the end is near.
    fn due_bookmark(&mut self, watch: &mut Watch, out: &mut Vec<u8>) {
        let now = Instant::now();
        let position = watch.position();
        let silent = self.told.is_none_or(|told| position > told);
        let long_ago = now >= self.last_bookmark + BOOKMARK_EVERY;
        let end_is_near = now + BOOKMARK_BEFORE_END >= self.deadline;
        let before_end = self.deadline.checked_sub(BOOKMARK_BEFORE_END).filter(|at| *at > now);
        if silent || end_is_near || long_ago {
            let marker = self.told.map_or(position, |told| told.max(position));
            self.bookmark(marker, Bookmark::Progress, out);
        }
        // After the one before the end there is no other.
        let next = if end_is_near { self.deadline } else { now + IDLE_BOOKMARK };
        self.next_bookmark = before_end.map_or(next, |before_end| next.min(before_end));
    }

    fn bookmark(&mut self, marker: Marker, bookmark: Bookmark, out: &mut Vec<u8>) {
        self.framer.bookmark(marker, bookmark, out);
        self.told = Some(marker);
        self.last_bookmark = Instant::now();
    }
}

/// Those of `snapshot` that extensions select, where they are asked.
async fn chosen(snapshot: &Snapshot, selection: &Selection) -> Result<Option<BTreeSet<ObjectKey>>, Status> {
    if selection.extended.is_none() {
        return Ok(None);
    }
    let all = snapshot.range(selection.namespace.as_deref(), None);
    let objects = all.filter(|object| selection.selects(object)).cloned().collect();
    let selected = selection.filtered(objects).await.map_err(|error| unselected(&error))?;
    Ok(Some(selected.iter().map(|object| object.served().clone()).collect()))
}

// === impl Initial ===

impl Initial {
    fn selects(&self, object: &Object) -> bool {
        self.selection.selects(object) && self.chosen.as_ref().is_none_or(|chosen| chosen.contains(object.served()))
    }

    /// Appends objects until the piece is full; then the last one's key.
    fn write(&self, framer: &mut Framer, out: &mut Vec<u8>) -> Option<ObjectKey> {
        if let Some(key) = &self.only {
            let object = self.snapshot.get(key).filter(|object| self.selects(object));
            object.into_iter().for_each(|object| framer.added(object, out));
            return None;
        }
        for object in self.snapshot.range(self.selection.namespace.as_deref(), self.after.as_ref()) {
            if self.selects(object) {
                framer.added(object, out);
            }
            if out.len() >= CHUNK_BYTES {
                return Some(object.served().clone());
            }
        }
        None
    }
}
