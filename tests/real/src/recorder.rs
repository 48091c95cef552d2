use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use orrery_harness::{Client, Cluster, eventually};
use serde_json::Value;

use crate::Kind;
use crate::essence::version;
use crate::union::{Shown, check_union, held, shown, union_is_shown};

/// A client that follows a collection as an informer does (LIST, then watches, each from where the last one ended) on a
/// thread of its own, and holds everything that it is told against the laws:
///
/// - events of a stream carry rising resourceVersions, all above the one that it was opened at; bookmarks never go back;
/// - ADDED brings an object that was not there, MODIFIED and DELETED one that was, under the same name; only where a
///   cluster comes back that was away when the host started are its objects added anew, which is counted;
/// - no two objects have one name;
/// - one uid at one resourceVersion has one content, in events and lists.
///
/// Its watches last a few seconds each, so that it resumes often even if nothing happens to the server.
#[derive(Debug)]
pub struct Recorder {
    recording: Arc<Mutex<Recording>>,
    stopping: Arc<AtomicBool>,
}

/// What was recorded.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The objects that there are, by uid.
    pub objects: BTreeMap<String, Shown>,
    /// The last resourceVersion, of a list, event or bookmark.
    pub at: u64,
    /// Events seen, without bookmarks.
    pub events: u64,
    /// Lists made: one at the start, and one after each 410.
    pub lists: u64,
    /// Watches that were opened.
    pub watches: u64,
    /// Objects that were added though they were there.
    pub repeated: u64,
    /// Laws that were broken.
    pub faults: Vec<String>,
    /// Hash of the content by uid and resourceVersion.
    contents: BTreeMap<(String, u64), u64>,
}

/// How long one watch lasts.
const WATCH_SECONDS: u32 = 4;
const FAULTS_MAX: usize = 20;

/// How a watch ended.
enum End {
    /// It can be resumed.
    Over,
    /// 410: list again.
    Expired,
}

// === impl Recorder ===

impl Recorder {
    /// Begins to follow `path`, a collection without a query, and waits for the first list.
    pub fn start(client: &Client, path: &str) -> Result<Self> {
        let recording = Arc::new(Mutex::new(Recording::default()));
        let stopping = Arc::new(AtomicBool::new(false));
        let recorder = Self { recording: Arc::clone(&recording), stopping: Arc::clone(&stopping) };
        let (client, path) = (client.clone(), path.to_owned());
        thread::spawn(move || follow(&client, &path, &recording, &stopping));
        eventually("the recorder has listed", Duration::from_secs(20), || {
            ensure!(recorder.recording().lists > 0, "no list was answered");
            Ok(())
        })?;
        Ok(recorder)
    }

    /// What was recorded so far.
    pub fn recording(&self) -> Recording {
        lock(&self.recording).clone()
    }

    /// Waits until the host's LIST of `kind` shows the union of `members` and the recorder has come so far, and gives
    /// what was recorded. An error if that is not the union too, or if a law was broken on the way.
    pub fn settle(&self, host: &Client, members: &[&Cluster], kind: Kind, limit: Duration) -> Result<Recording> {
        let recording = self.settle_with_repeats(host, members, kind, limit)?;
        ensure!(recording.repeated == 0, "{} objects were added anew", recording.repeated);
        Ok(recording)
    }

    /// The same, where a cluster came back that was away when the host started.
    pub fn settle_with_repeats(
        &self,
        host: &Client,
        members: &[&Cluster],
        kind: Kind,
        limit: Duration,
    ) -> Result<Recording> {
        let at = union_is_shown(host, members, kind, limit)?;
        eventually(&format!("the recorder reaches {at}"), limit, || {
            let recording = lock(&self.recording);
            ensure!(recording.faults.is_empty(), "laws were broken: {:#?}", recording.faults);
            ensure!(recording.at >= at, "it is at {}", recording.at);
            Ok(())
        })?;
        let recording = self.recording();
        ensure!(recording.faults.is_empty(), "laws were broken: {:#?}", recording.faults);
        check_union(&recording.objects, &held(members, kind)?)?;
        Ok(recording)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
    }
}

fn lock(recording: &Mutex<Recording>) -> MutexGuard<'_, Recording> {
    recording.lock().expect("a recorder does not panic while it writes")
}

fn follow(client: &Client, path: &str, recording: &Mutex<Recording>, stopping: &AtomicBool) {
    let mut listed = false;
    while !stopping.load(Ordering::Relaxed) {
        let step = if listed { watch(client, path, recording, stopping) } else { list(client, path, recording) };
        match step {
            Ok(End::Over) => listed = true,
            Ok(End::Expired) => listed = false,
            // The server is away: that is for others to judge.
            Err(_) => thread::sleep(Duration::from_millis(50)),
        }
    }
}

fn list(client: &Client, path: &str, recording: &Mutex<Recording>) -> Result<End> {
    let (at, objects) = shown(client, path)?;
    lock(recording).listed(at, objects);
    Ok(End::Over)
}

fn watch(client: &Client, path: &str, recording: &Mutex<Recording>, stopping: &AtomicBool) -> Result<End> {
    let from = lock(recording).at;
    let query = format!("watch=1&allowWatchBookmarks=true&resourceVersion={from}&timeoutSeconds={WATCH_SECONDS}");
    let mut lines = client.lines(&format!("{path}?{query}"))?;
    ensure!(lines.status == 200, "the watch is answered {}", lines.status);
    lock(recording).watches += 1;
    let mut last = from;
    while let Some(event) = lines.next_json()? {
        let mut recording = lock(recording);
        if event["type"] == "ERROR" {
            ensure!(event["object"]["code"] == 410, "the watch ends with {event}");
            return Ok(End::Expired);
        }
        if let Err(broken) = recording.told(&event, &mut last) {
            recording.fault(format!("{path}: {broken:#}, in {event}"));
        }
        if stopping.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(End::Over)
}

// === impl Recording ===

impl Recording {
    fn listed(&mut self, at: u64, objects: BTreeMap<String, Shown>) {
        if at < self.at {
            self.fault(format!("a list at {at} after {}", self.at));
        }
        for (uid, object) in &objects {
            if object.version > at {
                self.fault(format!("a list at {at} has {uid} at {}", object.version));
            }
            if let Err(broken) = self.remember(uid, object) {
                self.fault(format!("{broken:#}"));
            }
        }
        self.objects = objects;
        self.at = at;
        self.lists += 1;
    }

    fn told(&mut self, event: &Value, last: &mut u64) -> Result<()> {
        let kind = event["type"].as_str().context("an event has a type")?;
        let at = version(&event["object"])?;
        if kind == "BOOKMARK" {
            ensure!(at >= *last, "a bookmark of {at} after {last}");
        } else {
            ensure!(at > *last, "an event of {at} after {last}");
            self.events += 1;
        }
        (self.at, *last) = (at, at);
        if kind == "BOOKMARK" {
            return Ok(());
        }
        let (uid, object) = Shown::new(&event["object"])?;
        self.remember(&uid, &object)?;
        self.change(kind, uid, object)
    }

    fn change(&mut self, kind: &str, uid: String, object: Shown) -> Result<()> {
        let before = self.objects.get(&uid);
        if let Some(before) = before {
            ensure!(before.name == object.name, "{uid} was named {}", before.name);
        }
        match (kind, before) {
            ("ADDED", None) => {
                let mut others = self.objects.values();
                let taken = others.any(|other| (&other.namespace, &other.name) == (&object.namespace, &object.name));
                self.objects.insert(uid, object);
                ensure!(!taken, "its name is another object's");
            }
            ("ADDED", Some(_)) => {
                self.objects.insert(uid, object);
                self.repeated += 1;
            }
            ("MODIFIED", Some(_)) => drop(self.objects.insert(uid, object)),
            ("DELETED", Some(_)) => drop(self.objects.remove(&uid)),
            _ => bail!("{uid} was not there"),
        }
        Ok(())
    }

    /// Checks that this state was never shown with another content.
    fn remember(&mut self, uid: &str, object: &Shown) -> Result<()> {
        let mut hasher = DefaultHasher::new();
        (&object.name, object.essence.to_string()).hash(&mut hasher);
        let content = hasher.finish();
        let before = self.contents.insert((uid.to_owned(), object.version), content);
        ensure!(before.is_none_or(|before| before == content), "{uid} at {} had another content", object.version);
        Ok(())
    }

    fn fault(&mut self, fault: String) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(fault);
        }
    }
}

#[cfg(test)]
mod tests;
