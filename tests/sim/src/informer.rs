//! A client that lists and watches as informers do, and holds what it is told against the laws.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use orrery_api::{ClusterName, Gvr, ObjectKey};
use serde_json::Value;
use tokio::time::sleep;

use crate::client::{Gone, Lines};
use crate::dice::Dice;
use crate::host::Address;
use crate::laws::{Fact, Item, Laws, View};
use crate::truth::Truth;

/// What a client watches.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) gvr: Gvr,
    pub(crate) part: Part,
}

/// All of a kind, or some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    All,
    Namespace(&'static str),
    Cluster(ClusterName),
}

/// What a client last knew, for others to see.
#[derive(Clone, Default)]
pub(crate) struct Known(Arc<Mutex<Option<(u64, View)>>>);

pub(crate) struct Informer {
    pub(crate) scope: Scope,
    pub(crate) laws: Laws,
    pub(crate) truth: Truth,
    pub(crate) address: Address,
    pub(crate) dice: Dice,
    pub(crate) known: Known,
    pub(crate) state: Replay,
}

/// What a client has made of what it was told.
#[derive(Default)]
pub(crate) struct Replay {
    view: View,
    /// The last marker that it was told; none before its first list.
    told: Option<u64>,
    /// The highest marker that it was ever told.
    highest: u64,
    /// For each uid the place of the last state seen among all that it had.
    places: HashMap<String, usize>,
    /// How often the host had lost its memory when they were noted.
    relapses: u64,
    /// Views of the past, to go back to.
    past: Vec<(u64, View)>,
}

/// Why a watch ended.
enum Ended {
    /// To be resumed.
    Cleanly,
    /// To be listed anew.
    Expired,
}

/// Views of the past that are kept.
const PAST_MAX: usize = 8;

// === impl Scope ===

impl Scope {
    fn path(&self, query: &str) -> String {
        let (base, selector) = match &self.part {
            Part::All => (self.gvr.path(), String::new()),
            Part::Namespace(namespace) => (self.gvr.path_in(namespace), String::new()),
            Part::Cluster(name) => (self.gvr.path(), format!("&labelSelector=orrery.dev%2Fcluster%3D{name}")),
        };
        format!("{base}?{query}{selector}")
    }

    pub(crate) fn selects(&self, cluster: &ClusterName, key: &ObjectKey) -> bool {
        match &self.part {
            Part::All => true,
            Part::Namespace(namespace) => **namespace == *key.namespace,
            Part::Cluster(name) => name == cluster,
        }
    }
}

// === impl Known ===

impl Known {
    /// The marker and the view of it; none while the client has to list.
    pub(crate) fn get(&self) -> Option<(u64, View)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, known: Option<(u64, View)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }
}

// === impl Informer ===

impl Informer {
    /// Lists and watches until it is dropped.
    pub(crate) async fn run(mut self) {
        loop {
            let done = match self.state.told {
                None => self.begin().await,
                Some(told) => self.resume(told).await,
            };
            let wait = match done {
                Ok(()) if self.dice.once_in(3) => self.dice.within(0..3_000),
                Ok(()) => self.dice.within(1..50),
                Err(Gone) => self.dice.within(50..2_000),
            };
            sleep(Duration::from_millis(wait)).await;
        }
    }

    async fn begin(&mut self) -> Result<(), Gone> {
        match self.dice.within(0..3) {
            0 => self.list("").await,
            1 => self.list("limit=2").await,
            _ => self.stream_list().await,
        }
    }

    /// Lists, page by page where `query` has a limit.
    async fn list(&mut self, query: &str) -> Result<(), Gone> {
        if let Some((marker, view)) = self.pages(query).await? {
            self.listed(marker, view);
        }
        Ok(())
    }

    fn listed(&mut self, marker: u64, view: View) {
        self.laws.count(|tally| tally.lists += 1);
        if marker < self.state.highest {
            let highest = self.state.highest;
            self.laws.violated("marker-monotone", format_args!("a list is at {marker} after {highest} was told"));
        }
        for (key, item) in &view {
            if item.marker > marker {
                self.laws.violated("snapshot", format_args!("a list at {marker} has {key} at {}", item.marker));
            }
            self.shown(key, item);
        }
        self.state.view = view;
        self.told(marker);
    }

    /// A host that came back without all that it had told may show again what a member went through. That is so from the
    /// next request on: what a watch of before still brings is older.
    fn note_relapses(&mut self) {
        if self.state.relapses != self.laws.relapses() {
            self.state.relapses = self.laws.relapses();
            self.state.places.clear();
        }
    }

    /// The pages of a list as one; none where it was refused, or expired on its way.
    async fn pages(&mut self, query: &str) -> Result<Option<(u64, View)>, Gone> {
        self.note_relapses();
        let mut view = View::new();
        let mut token = String::new();
        let mut at = None;
        loop {
            let query = if token.is_empty() { query.to_owned() } else { format!("limit=2&continue={token}") };
            let (code, body) = self.address.get(&self.scope.path(&query)).await?;
            if code != 200 {
                self.refused(code, &body).await;
                return Ok(None);
            }
            let list: Value = serde_json::from_slice(&body).unwrap_or_default();
            let marker = number(&list["metadata"]["resourceVersion"]);
            if at.is_some_and(|at| Some(at) != marker) || marker.is_none() {
                self.laws.violated("snapshot", format_args!("pages of one list are at {at:?} and {marker:?}"));
            }
            at = marker;
            for object in list["items"].as_array().into_iter().flatten() {
                match Item::read(object) {
                    Some((key, item)) => {
                        if view.insert(key.clone(), item).is_some() {
                            self.laws.violated("snapshot", format_args!("a list has {key} twice"));
                        }
                    }
                    None => self.laws.violated("member-faithful", format_args!("a list holds {object}")),
                }
            }
            list["metadata"]["continue"].as_str().unwrap_or_default().clone_into(&mut token);
            if token.is_empty() {
                return Ok(at.map(|at| (at, view)));
            }
            if self.dice.once_in(4) {
                sleep(self.dice.pause()).await;
            }
        }
    }

    /// Begins with a WatchList and goes on with its watch.
    async fn stream_list(&mut self) -> Result<(), Gone> {
        let query = format!(
            "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds={}",
            self.dice.within(5..300)
        );
        let Some(mut lines) = self.open(&query).await? else { return Ok(()) };
        let mut view = View::new();
        while let Some(line) = lines.next().await? {
            let event: Value = serde_json::from_slice(&line).unwrap_or_default();
            let marker = number(&event["object"]["metadata"]["resourceVersion"]);
            match (event["type"].as_str(), Item::read(&event["object"]), marker) {
                (Some("ADDED"), Some((key, item)), _) => {
                    if view.insert(key.clone(), item).is_some() {
                        self.laws.violated("unique", format_args!("initial events have {key} twice"));
                    }
                }
                (Some("BOOKMARK"), _, Some(marker)) => {
                    self.listed(marker, view);
                    return self.read(lines).await;
                }
                _ => {
                    self.ended_with(&event);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Watches on behind what it was told; now and then behind something older.
    async fn resume(&mut self, told: u64) -> Result<(), Gone> {
        let mut from = told;
        if self.dice.once_in(8) && !self.state.past.is_empty() {
            let (marker, view) = self.dice.pick(&self.state.past).clone();
            from = marker;
            self.state.places.clear();
            self.state.view = view;
            self.state.told = Some(marker);
            self.known.set(None);
        }
        let seconds = self.dice.within(5..300);
        let query = format!("watch=1&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={from}");
        match self.open(&query).await? {
            Some(lines) => {
                self.laws.count(|tally| tally.resumes += 1);
                self.read(lines).await
            }
            None => Ok(()),
        }
    }

    async fn open(&mut self, query: &str) -> Result<Option<Lines>, Gone> {
        self.note_relapses();
        match self.address.watch(&self.scope.path(query)).await? {
            Ok(lines) => Ok(Some(lines)),
            Err((code, body)) => {
                self.refused(code, &body).await;
                Ok(None)
            }
        }
    }

    /// Reads a watch to its end.
    async fn read(&mut self, mut lines: Lines) -> Result<(), Gone> {
        loop {
            if self.dice.once_in(40) {
                // A slow reader.
                sleep(Duration::from_millis(self.dice.within(0..60_000))).await;
            }
            let Some(line) = lines.next().await? else { return Ok(()) };
            let event: Value = serde_json::from_slice(&line).unwrap_or_default();
            match self.event(&event) {
                None => {}
                Some(Ended::Cleanly) => return Ok(()),
                Some(Ended::Expired) => {
                    self.forget();
                    return Ok(());
                }
            }
            if self.dice.once_in(10) {
                self.hold_against_exact().await?;
            }
        }
    }

    fn event(&mut self, event: &Value) -> Option<Ended> {
        let told = self.state.told.unwrap_or_default();
        let marker = number(&event["object"]["metadata"]["resourceVersion"]);
        let (Some(kind), Some(marker)) = (event["type"].as_str().filter(|kind| *kind != "ERROR"), marker) else {
            return Some(self.ended_with(event));
        };
        if kind == "BOOKMARK" {
            self.laws.count(|tally| tally.bookmarks += 1);
            if marker < told {
                self.laws.violated("bookmark-true", format_args!("a bookmark is at {marker} after {told} was told"));
            }
            self.told(marker);
            return None;
        }
        self.laws.count(|tally| tally.events += 1);
        if marker <= told {
            self.laws.violated("ordered", format_args!("{kind} at {marker} came after {told} was told"));
        }
        match Item::read(&event["object"]) {
            Some((key, item)) => self.change(kind, key, item),
            None => self.laws.violated("member-faithful", format_args!("an event holds {event}")),
        }
        self.told(marker);
        None
    }

    /// Complete and unique: each event leads from what the client knows to what it says.
    fn change(&mut self, kind: &str, key: ObjectKey, item: Item) {
        let before = self.state.view.get(&key);
        let fits = match (kind, before) {
            ("ADDED", None) => true,
            ("ADDED", Some(before)) => self.may_come_again(before, &item),
            ("MODIFIED" | "DELETED", Some(before)) => before.uid == item.uid,
            _ => false,
        };
        if !fits {
            let told = self.state.told;
            self.laws
                .violated("complete", format_args!("{kind} of {key} {item:?} at {told:?}, but known is {before:?}"));
        }
        if kind == "DELETED" {
            self.laws.fact(&self.scope.gvr, item.marker, &Fact::Gone(key.clone(), item.uid));
            self.state.view.remove(&key);
            return;
        }
        self.shown(&key, &item);
        self.state.view.insert(key, item);
    }

    /// Whether an object that the client knows may be added: its cluster was away meanwhile, or one of those that hold its
    /// name was.
    fn may_come_again(&self, before: &Item, item: &Item) -> bool {
        let is_shared = !item.holders.is_empty();
        self.laws.is_doubted(&item.cluster) && before.uid == item.uid
            || is_shared && (self.laws.is_excused(before) || self.laws.is_excused(item))
    }

    /// What holds for each object that is shown: unique, member-faithful, and never older than what was shown before.
    fn shown(&mut self, key: &ObjectKey, item: &Item) {
        self.laws.fact(&self.scope.gvr, item.marker, &Fact::State(key.clone(), item.clone()));
        self.laws.is_real(&self.truth, key, item);
        let place = self.state.places.entry(item.uid.clone()).or_default();
        match self.truth.place(&item.uid, &item.text, *place) {
            Some(now) => *place = now,
            None => self.laws.violated("ordered", format_args!("{key} went back to {item:?}")),
        }
    }

    /// Snapshot-consistent: the list exactly at a marker is what replaying up to it gives.
    async fn hold_against_exact(&mut self) -> Result<(), Gone> {
        let Some(told) = self.state.told else { return Ok(()) };
        let limit = if self.dice.once_in(2) { "&limit=2" } else { "" };
        let query = format!("resourceVersion={told}&resourceVersionMatch=Exact{limit}");
        let view = self.state.view.clone();
        let known = self.state.told.take();
        let listed = self.pages(&query).await;
        self.state.told = known;
        let Some((marker, list)) = listed? else { return Ok(()) };
        self.laws.count(|tally| tally.exact += 1);
        if marker != told {
            self.laws.violated("snapshot-consistent", format_args!("the list exactly at {told} is at {marker}"));
        }
        if let Some(how) = self.laws.difference(&list, &view) {
            self.laws.violated("snapshot-consistent", format_args!("{:?} exactly at {told}: {how}", self.scope));
        }
        Ok(())
    }

    fn told(&mut self, marker: u64) {
        self.state.told = Some(marker);
        self.state.highest = self.state.highest.max(marker);
        if self.dice.once_in(12) {
            let place = self.dice.within(0..PAST_MAX as u64) as usize;
            let past = (marker, self.state.view.clone());
            match self.state.past.get_mut(place) {
                Some(old) => *old = past,
                None => self.state.past.push(past),
            }
        }
        self.known.set(Some((marker, self.state.view.clone())));
    }

    /// To be listed anew.
    fn forget(&mut self) {
        self.laws.count(|tally| tally.expired += 1);
        self.state.told = None;
        self.known.set(None);
    }

    fn ended_with(&self, event: &Value) -> Ended {
        let code = event["object"]["code"].as_u64();
        if event["type"] != "ERROR" || code != Some(410) {
            self.laws.violated("promise", format_args!("a watch ended with {event}"));
        }
        if code == Some(410) { Ended::Expired } else { Ended::Cleanly }
    }

    /// An answer other than 200. While a kind loads, or nobody serves it, it is asked for again.
    async fn refused(&mut self, code: u16, body: &[u8]) {
        match code {
            410 => self.forget(),
            404 | 429 | 503 => sleep(Duration::from_secs(1)).await,
            _ => self.laws.violated("promise", format_args!("an answer is {code}: {}", String::from_utf8_lossy(body))),
        }
    }
}

fn number(value: &Value) -> Option<u64> {
    value.as_str()?.parse().ok()
}
