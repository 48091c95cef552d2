//! The ingest against a member in process, on a clock that stands still unless somebody waits.

mod faults;
mod property;
mod start;

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::*;
use crate::FleetSettings;
use crate::fake::Fake;

/// A running observation, and what a receiver makes of it.
struct Seen {
    rx: mpsc::Receiver<(ClusterName, Observation)>,
    cancel: CancellationToken,
    fleet: crate::Fleet,
    /// uid → (name, version, text), as a receiver that drops what is not new has it.
    objects: BTreeMap<String, (String, u64, String)>,
    gone: BTreeMap<String, u64>,
    lists: Vec<ListReason>,
    stale: bool,
}

fn configmaps() -> Gvr {
    Gvr::new("", "v1", "configmaps")
}

fn version(number: u64) -> MemberVersion {
    MemberVersion::from_number(number)
}

fn begin(fake: &Fake, start: Start) -> Seen {
    begin_of(fake, configmaps(), start, None)
}

fn begin_of(fake: &Fake, gvr: Gvr, start: Start, namespaces: Option<&[&str]>) -> Seen {
    let (fleet, member) = fake.fleet(FleetSettings { page: 2, ..FleetSettings::default() });
    let (tx, rx) = mpsc::channel(16);
    let cancel = CancellationToken::new();
    let namespaces = namespaces.map(|names| names.iter().map(ToString::to_string).collect());
    observe(member, gvr, start, namespaces, tx, cancel.clone());
    Seen { rx, cancel, fleet, objects: BTreeMap::new(), gone: BTreeMap::new(), lists: Vec::new(), stale: false }
}

// === impl Seen ===

impl Seen {
    async fn next(&mut self) -> Observation {
        let next = timeout(Duration::from_secs(3600), self.rx.recv()).await.expect("something within an hour");
        let (_, observation) = next.expect("the observation goes on");
        self.take(&observation);
        observation
    }

    /// The next observation that is no progress and no life sign.
    async fn next_change(&mut self) -> Observation {
        loop {
            match self.next().await {
                Observation::Progress { .. } | Observation::Live | Observation::Stale { .. } => {}
                other => return other,
            }
        }
    }

    fn take(&mut self, observation: &Observation) {
        let entry = |object: &MemberObject| {
            let json: serde_json::Value = serde_json::from_slice(&object.body).unwrap();
            let text = json["data"]["text"].as_str().unwrap_or_default().to_owned();
            (object.uid.to_string(), (object.key.to_string(), object.version.number(), text))
        };
        match observation {
            Observation::Listed { objects, why, .. } => {
                self.lists.push(*why);
                self.objects = objects.iter().map(entry).collect();
                self.gone.clear();
            }
            Observation::Resumed { objects, .. } => self.objects = objects.iter().map(entry).collect(),
            Observation::Changed { object, kind } => self.change(entry(object), *kind),
            Observation::Stale { .. } => self.stale = true,
            Observation::Live => self.stale = false,
            Observation::Progress { .. } | Observation::Away { .. } => {}
        }
    }

    /// What is not above what is known of the uid is dropped, as the sequencer does.
    fn change(&mut self, (uid, entry): (String, (String, u64, String)), kind: ChangeKind) {
        let known = self.objects.get(&uid).map(|known| known.1).or(self.gone.get(&uid).copied());
        if known.is_some_and(|known| entry.1 <= known) {
            return;
        }
        if kind == ChangeKind::Deleted {
            self.objects.remove(&uid);
            self.gone.insert(uid, entry.1);
        } else {
            self.objects.insert(uid, entry);
        }
    }

    fn is(&self, fake: &Fake) -> bool {
        let objects = fake.objects().into_iter();
        let expected: BTreeMap<_, _> = objects
            .map(|(key, state)| (state.uid.to_string(), (key.to_string(), state.version, state.text.to_string())))
            .collect();
        self.objects == expected
    }

    async fn until_is(&mut self, fake: &Fake) {
        while !self.is(fake) {
            self.next().await;
        }
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        self.cancel.cancel();
        self.fleet.members().iter().for_each(crate::Member::leave);
    }
}

/// Waits until the member has a watch open.
async fn watched(fake: &Fake) {
    for _ in 0..10_000 {
        if fake.watches() > 0 {
            return;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("no watch was opened");
}
