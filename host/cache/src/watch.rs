use std::pin::pin;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use orrery_api::placement::StageFailure;
use orrery_markers::{ChangeKind, Marker};
use tokio::sync::Notify;

use crate::ring::{Change, Cursor, Found, State};
use crate::shared::Shared;
use crate::{Object, Selection};

/// A watch: a place in the ring of events. It has no queue, so a client that does not read costs nothing but its watch.
pub struct Watch {
    shared: Arc<Shared>,
    selection: Selection,
    /// Where it is about one namespace only: that, and who is told of its events.
    namespace: Option<(Arc<str>, Arc<Notify>)>,
    started: Marker,
    cursor: Cursor,
    /// Changes that extensions are still to be asked about, and the marker before them.
    unselected: Option<(Marker, Vec<Change>)>,
}

/// What comes next in a watch.
#[derive(Debug)]
pub enum Step {
    /// These events, at least one.
    Events(Vec<WatchEvent>),
    /// The client did not read for longer than the ring reaches back: the stream ends cleanly.
    Slow,
    /// What happened cannot be told: the stream ends with a 410 event.
    Expired,
}

/// One event of a watch, after selection: what leaves the selection is a deletion, what enters it an addition.
#[derive(Clone, Debug)]
pub struct WatchEvent {
    /// Added, modified or deleted, as the client sees it.
    pub kind: ChangeKind,
    /// The change's marker.
    pub marker: Marker,
    /// The object under that marker: the new state; of a deletion the last one that was selected.
    pub object: Arc<Object>,
}

enum Look {
    Changes(Vec<Change>),
    Nothing,
    End(Step),
}

// === impl Watch ===

impl Watch {
    pub(crate) fn new(
        shared: Arc<Shared>,
        cursor: Cursor,
        selection: Selection,
        namespace: Option<(Arc<str>, Arc<Notify>)>,
    ) -> Self {
        Self { shared, selection, namespace, started: cursor.marker, cursor, unselected: None }
    }

    /// Waits for what comes next. Cancel-safe: what was not returned comes again.
    pub async fn next(&mut self) -> Step {
        let Some(extended) = self.selection.extended.clone() else { return self.next_selected().await };
        tokio::select! {
            biased;
            // What was selected until now may not be what would be selected now.
            () = extended.outdated() => {
                self.shared.metrics.expired_watchers.inc();
                Step::Expired
            }
            step = self.next_selected() => step,
        }
    }

    async fn next_selected(&mut self) -> Step {
        loop {
            if let Some((_, changes)) = &self.unselected {
                let selected = select_extended(changes, &self.selection).await;
                self.unselected = None;
                match selected {
                    Ok(events) if !events.is_empty() => {
                        self.shared.metrics.watch_events.inc_by(events.len() as u64);
                        return Step::Events(events);
                    }
                    Ok(_) => {}
                    Err(_) => return Step::Expired,
                }
            }
            let before = self.cursor.marker;
            let shared = self.shared.clone();
            let notify = self.namespace.as_ref().map(|(_, notify)| notify.clone());
            let mut woken = pin!(notify.as_deref().unwrap_or(&shared.everywhere).notified());
            // From here on no event is missed: what comes after the look wakes.
            woken.as_mut().enable();
            match self.look() {
                Look::End(step) => return step,
                Look::Nothing => woken.await,
                Look::Changes(changes) if self.selection.extended.is_some() => {
                    self.unselected = Some((before, changes));
                }
                Look::Changes(changes) => {
                    let events: Vec<_> =
                        changes.into_iter().filter_map(|change| select(change, &self.selection)).collect();
                    if !events.is_empty() {
                        self.shared.metrics.watch_events.inc_by(events.len() as u64);
                        return Step::Events(events);
                    }
                    tokio::task::yield_now().await;
                }
            }
        }
    }

    /// The marker up to which [`Watch::next`] has returned everything: what a bookmark may say.
    pub fn position(&mut self) -> Marker {
        if let Some((before, _)) = &self.unselected {
            return *before;
        }
        let state = self.shared.state();
        let namespace = self.namespace.as_ref().map(|(namespace, _)| namespace);
        if !state.ring.has_after(&self.cursor, namespace) {
            self.cursor.marker = self.cursor.marker.max(state.head);
        }
        self.cursor.marker
    }

    fn look(&mut self) -> Look {
        let state = self.shared.state();
        if self.started < state.expired_below {
            self.shared.metrics.expired_watchers.inc();
            return Look::End(Step::Expired);
        }
        let namespace = self.namespace.as_ref().map(|(namespace, _)| namespace);
        match state.ring.read(&mut self.cursor, namespace, state.head) {
            Found::Changes(changes) => Look::Changes(changes),
            Found::Nothing => Look::Nothing,
            Found::Trimmed => {
                self.shared.metrics.slow_watchers.inc();
                Look::End(Step::Slow)
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.metrics.watchers.dec();
        if self.shared.watchers.fetch_sub(1, Relaxed) == 1 {
            *self.shared.unwatched_since.lock().unwrap_or_else(PoisonError::into_inner) =
                tokio::time::Instant::now().into_std();
        }
    }
}

/// `change` as a client sees it that watches `selection` (apiserver's `pkg/storage/cacher`, reference 1.6).
fn select(change: Change, selection: &Selection) -> Option<WatchEvent> {
    let Change { marker, kind, before, after } = change;
    if selection.is_everything() {
        return Some(WatchEvent { kind, marker, object: after.object() });
    }
    let was = before.as_deref().filter(|before| before.with_head(|head| selection.selects_head(head)));
    let is = kind != ChangeKind::Deleted && after.with_head(|head| selection.selects_head(head));
    event(kind, marker, was, is.then_some(&*after), &after)
}

/// What a client sees of a change from `was` to `is`, both as far as they are selected; `after` is what was last.
fn event(
    kind: ChangeKind,
    marker: Marker,
    was: Option<&State>,
    is: Option<&State>,
    after: &State,
) -> Option<WatchEvent> {
    let (kind, object) = match (was, is.is_some()) {
        (None, true) => (ChangeKind::Added, after.object()),
        (Some(_), true) => (ChangeKind::Modified, after.object()),
        (Some(_), false) if kind == ChangeKind::Deleted => (ChangeKind::Deleted, after.object()),
        (Some(before), false) => (ChangeKind::Deleted, Arc::new(before.object().at_marker(marker))),
        (None, false) => return None,
    };
    Some(WatchEvent { kind, marker, object })
}

/// `changes` as a client sees them that watches `selection`, by what extensions say of the states before and after.
async fn select_extended(changes: &[Change], selection: &Selection) -> Result<Vec<WatchEvent>, StageFailure> {
    let mut events = Vec::new();
    for changes in changes.chunks(CHANGES_AT_ONCE) {
        let meant = |state: &&Arc<State>| state.with_head(|head| selection.selects_head(head));
        let states: Vec<(Option<_>, Option<_>)> = changes
            .iter()
            .map(|Change { kind, before, after, .. }| {
                let is = (*kind != ChangeKind::Deleted).then_some(after);
                (before.as_ref().filter(meant), is.filter(meant))
            })
            .collect();
        let objects = states.iter().flat_map(|(was, is)| [was, is]).flatten().map(|state| state.object());
        let objects: Vec<Arc<Object>> = objects.collect();
        let mut selected = selection.selected(&objects).await?.into_iter();
        for (change, (was, is)) in changes.iter().zip(states) {
            let was = was.filter(|_| selected.next() == Some(true));
            let is = is.filter(|_| selected.next() == Some(true));
            let (was, is) = (was.map(|state| &**state), is.map(|state| &**state));
            events.extend(event(change.kind, change.marker, was, is, &change.after));
        }
    }
    Ok(events)
}

/// Changes whose states are asked about together.
const CHANGES_AT_ONCE: usize = 128;
