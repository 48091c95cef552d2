use std::sync::Arc;
use std::time::Duration;

use orrery_api::ObjectKey;
use orrery_api::placement::StageFailure;
use orrery_cache::{Object, Reader, Selection, Snapshot};
use orrery_markers::Marker;
use tokio::time::Instant;

use super::Scope;
use crate::options::{ListOptions, ListStart};
use crate::status::Status;
use crate::token::ContinueToken;

/// What a LIST answers, before it is written.
pub(crate) struct Page {
    /// The state that it shows; its marker is the list's resourceVersion.
    pub(super) snapshot: Snapshot,
    /// The objects.
    pub(super) objects: Objects,
    /// The token of the next page.
    pub(super) resume: Option<String>,
    /// How many objects are on later pages; only where nothing is selected.
    pub(super) remaining: Option<usize>,
}

/// The objects of a page.
pub(super) enum Objects {
    /// All that the selection selects, found while they are written.
    Selected(Selection),
    /// These.
    These(Vec<Arc<Object>>),
}

/// How long a LIST waits for a version that has not come, as upstream.
const FRESH_WAIT: Duration = Duration::from_secs(3);
/// Upstream's words for an Exact list whose version is gone.
const EXPIRED: &str = "The resourceVersion for the provided list is too old.";

// === impl Page ===

impl Page {
    /// Reads the page that `options` ask for. `knows` says whether the log contains a marker.
    pub(super) async fn read(
        reader: &Reader,
        knows: &(dyn Fn(Marker) -> bool + Sync),
        scope: &Scope,
        options: &ListOptions,
        selection: Selection,
    ) -> Result<Self, Status> {
        let start = options.list_start(&scope.namespace, scope.namespaced)?;
        let (snapshot, after) = match start {
            ListStart::Latest | ListStart::Any => (reader.latest(), None),
            ListStart::NotOlderThan(version) => {
                let marker = fresh(reader, version).await?;
                // A version that no term knows is of another life of the host: the client shall start over.
                let known = marker == reader.head() || knows(marker);
                if !known {
                    return Err(Status::expired(EXPIRED));
                }
                (reader.latest(), None)
            }
            ListStart::Exact(version) => {
                let marker = fresh(reader, version).await?;
                (exact(reader, knows, marker).ok_or_else(|| Status::expired(EXPIRED))?, None)
            }
            // The pages before were selected by extensions that say something else by now.
            ListStart::Continue(ContinueToken { selected_by, .. }) if selected_by != selector(&selection) => {
                return Err(Status::expired(EXPIRED));
            }
            ListStart::Continue(ContinueToken { at: None, after, .. }) => (reader.latest(), Some(after)),
            ListStart::Continue(ContinueToken { at: Some(marker), after, selected_by }) => {
                fresh(reader, marker.get()).await?;
                let resume = || ContinueToken { at: None, after: after.clone(), selected_by }.encode(&scope.namespace);
                let snapshot = exact(reader, knows, marker).ok_or_else(|| Status::expired_page(resume()))?;
                (snapshot, Some(after))
            }
        };
        let page = Self::of(reader, snapshot, scope, options, selection.clone(), after.as_ref());
        page.filtered(&selection).await
    }

    /// The objects that extensions select too.
    async fn filtered(mut self, selection: &Selection) -> Result<Self, Status> {
        if selection.extended.is_none() {
            return Ok(self);
        }
        self.gather();
        if let Objects::These(objects) = &mut self.objects {
            *objects = selection.filtered(std::mem::take(objects)).await.map_err(|error| unselected(&error))?;
        }
        Ok(self)
    }

    fn of(
        reader: &Reader,
        snapshot: Snapshot,
        scope: &Scope,
        options: &ListOptions,
        selection: Selection,
        after: Option<&ObjectKey>,
    ) -> Self {
        if let Some(key) = scope.only_key(&selection) {
            let selected = snapshot.get(&key).filter(|object| selection.selects(object)).cloned();
            let beyond = selected.filter(|object| after.is_none_or(|after| object.served() > after));
            return Self {
                objects: Objects::These(beyond.into_iter().collect()),
                snapshot,
                resume: None,
                remaining: None,
            };
        }
        let limit = options.limit.unwrap_or(usize::MAX);
        if limit == usize::MAX && after.is_none() {
            return Self { snapshot, objects: Objects::Selected(selection), resume: None, remaining: None };
        }
        let namespace = selection.namespace.as_deref();
        let selected = || snapshot.range(namespace, after).filter(|object| selection.selects(object));
        let objects: Vec<_> = selected().take(limit).cloned().collect();
        let more = objects.len() == limit && selected().nth(limit).is_some();
        let last = objects.last().filter(|_| more).map(|object| object.served().clone());
        let remaining = last.as_ref().filter(|_| !selection.has_selectors()).map(|last| match after {
            // The first page: nothing needs to be walked through to be counted.
            None => snapshot.count(namespace) - objects.len(),
            Some(_) => snapshot.range(namespace, Some(last)).count(),
        });
        let at = Some(snapshot.marker());
        let selected_by = selector(&selection);
        let resume = last.map(|after| ContinueToken { at, after, selected_by }.encode(&scope.namespace));
        if resume.is_some() {
            reader.keep(&snapshot);
        }
        Self { snapshot, objects: Objects::These(objects), resume, remaining }
    }

    /// All objects at once, in the order in which they are written.
    pub(super) fn gather(&mut self) -> &mut [Arc<Object>] {
        if let Objects::Selected(selection) = &self.objects {
            let all = self.snapshot.range(selection.namespace.as_deref(), None);
            self.objects = Objects::These(all.filter(|object| selection.selects(object)).cloned().collect());
        }
        match &mut self.objects {
            Objects::These(objects) => objects,
            Objects::Selected(_) => &mut [],
        }
    }

    /// The list's metadata as JSON.
    pub(super) fn metadata(&self) -> String {
        let mut json = format!(r#"{{"resourceVersion":"{}""#, self.snapshot.marker());
        if let Some(resume) = &self.resume {
            json.push_str(&format!(r#","continue":"{resume}""#));
        }
        if let Some(remaining) = self.remaining {
            json.push_str(&format!(r#","remainingItemCount":{remaining}"#));
        }
        json.push('}');
        json
    }
}

/// The generation of the extensions that select; 0 where none do.
fn selector(selection: &Selection) -> u64 {
    selection.extended.as_ref().map_or(0, |extended| extended.generation())
}

/// The answer where an extension cannot say which objects are selected.
pub(crate) fn unselected(failure: &StageFailure) -> Status {
    Status::unavailable(format!("a selector of an extension cannot be used: {failure}"), 1)
}

/// Waits until the cache has `version` behind it; 504 if that takes too long.
pub(crate) async fn fresh(reader: &Reader, version: u64) -> Result<Marker, Status> {
    let too_large = || Status::too_large(version, reader.head().get());
    let Ok(marker) = Marker::new(version) else { return Err(too_large()) };
    reader.reached(marker, Instant::now() + FRESH_WAIT).await.map_err(|_| too_large())?;
    Ok(marker)
}

fn exact(reader: &Reader, knows: &(dyn Fn(Marker) -> bool + Sync), marker: Marker) -> Option<Snapshot> {
    (marker == reader.head() || knows(marker)).then(|| reader.at(marker).ok()).flatten()
}
