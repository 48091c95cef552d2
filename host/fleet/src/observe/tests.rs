//! The ingest against a member in process, on a clock that stands still unless somebody waits.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use tokio::time::{Instant, sleep, timeout};

use super::*;
use crate::FleetSettings;
use crate::fake::{Fake, Mode, WatchList};

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
        let world = fake.world();
        let expected: BTreeMap<_, _> = world
            .objects
            .iter()
            .map(|((namespace, name), object)| {
                (object.uid.clone(), (format!("{namespace}/{name}"), object.version, object.text.clone()))
            })
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
        if fake.world().watches() > 0 {
            return;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("no watch was opened");
}

#[tokio::test(start_paused = true)]
async fn a_member_with_watch_list_is_listed_by_one_request_and_its_changes_follow() {
    let fake = Fake::new("a");
    fake.put("n", "one", "1");
    let mut seen = begin(&fake, Start::Fresh);
    let Observation::Listed { version: listed, identity, objects, why } = seen.next().await else { panic!() };
    assert_eq!((listed, &*identity, objects.len(), why), (version(11), "a", 1, ListReason::Fresh));
    let listed_digest = objects[0].digest;
    fake.put("n", "two", "2");
    fake.bookmark();
    let Observation::Changed { object, kind: ChangeKind::Added } = seen.next().await else { panic!() };
    assert_eq!(object.version, version(12));
    assert_ne!(object.digest, listed_digest);
    let Observation::Progress { version: progress } = seen.next().await else { panic!() };
    assert_eq!(progress, version(12));
    fake.delete("n", "one");
    let Observation::Changed { object, kind: ChangeKind::Deleted } = seen.next().await else { panic!() };
    assert_eq!(object.version, version(13));
    let requests = fake.requests();
    assert!(requests.len() == 1 && requests[0].contains("sendInitialEvents=true"), "{requests:?}");
}

#[tokio::test(start_paused = true)]
async fn an_older_member_is_listed_page_by_page() {
    let fake = Fake::new("a");
    fake.world().minor = 31;
    (0..5).for_each(|at| fake.put("n", &format!("o{at}"), "x"));
    let mut seen = begin(&fake, Start::Fresh);
    let Observation::Listed { objects, .. } = seen.next().await else { panic!() };
    assert_eq!(objects.len(), 5);
    fake.put("n", "late", "x");
    seen.until_is(&fake).await;
    let kinds: Vec<_> = fake.requests().iter().map(|uri| uri.contains("watch=true")).collect();
    assert_eq!(kinds, [false, false, false, true]);
}

#[tokio::test(start_paused = true)]
async fn a_member_that_refuses_or_never_ends_a_watch_list_is_listed_plainly() {
    for watch_list in [WatchList::Refused, WatchList::Ignored] {
        let fake = Fake::new("a");
        fake.put("n", "one", "1");
        fake.world().watch_list = watch_list;
        let mut seen = begin(&fake, Start::Fresh);
        assert!(matches!(seen.next().await, Observation::Listed { why: ListReason::Fresh, .. }), "{watch_list:?}");
        watched(&fake).await;
        fake.put("n", "two", "2");
        seen.until_is(&fake).await;
        fake.reset();
        fake.put("n", "three", "3");
        seen.until_is(&fake).await;
        let asked = fake.requests().iter().filter(|uri| uri.contains("sendInitialEvents")).count();
        assert_eq!(asked, 1, "it is asked once only");
    }
}

#[tokio::test(start_paused = true)]
async fn a_resume_gives_the_exact_state_and_every_change_since() {
    let fake = Fake::new("a");
    for at in 0..4 {
        fake.put("n", &format!("o{at}"), "before");
    }
    fake.put("n", "o0", "after");
    fake.delete("n", "o1");
    let mut seen = begin(&fake, Start::Resume { from: version(14), or_from: None });
    let Observation::Resumed { at, identity, objects } = seen.next().await else { panic!() };
    assert_eq!((at, &*identity, objects.len()), (version(14), "a", 4));
    assert!(matches!(seen.next().await, Observation::Changed { kind: ChangeKind::Modified, .. }));
    assert!(matches!(seen.next().await, Observation::Changed { kind: ChangeKind::Deleted, .. }));
    assert!(seen.is(&fake));
}

#[tokio::test(start_paused = true)]
async fn a_resume_falls_back_to_the_second_version_and_then_to_the_latest() {
    let fake = Fake::new("a");
    (0..4).for_each(|at| fake.put("n", &format!("o{at}"), "x"));
    fake.world().floor = 13;
    let mut seen = begin(&fake, Start::Resume { from: version(12), or_from: Some(version(13)) });
    let Observation::Resumed { at, .. } = seen.next().await else { panic!() };
    assert_eq!(at, version(13));
    seen.until_is(&fake).await;
    for (from, or_from) in [(11, Some(12)), (12, None), (99, Some(100)), (0, None)] {
        let mut seen = begin(&fake, Start::Resume { from: version(from), or_from: or_from.map(version) });
        let Observation::Listed { why, .. } = seen.next_change().await else { panic!("from {from}") };
        assert_eq!(why, ListReason::ResumeRefused, "from {from}");
        assert!(seen.is(&fake));
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_cleanly_is_resumed_without_a_list_and_loses_nothing() {
    let fake = Fake::new("a");
    for name in ["a", "b", "c"] {
        fake.put("n", name, "x");
    }
    let mut seen = begin(&fake, Start::Fresh);
    seen.next().await;
    {
        // One transaction deletes three objects; the watch ends when only one of the events has been sent.
        let mut world = fake.world();
        world.delete_all(&[("n", "a")]);
        world.version -= 1;
    }
    seen.next().await;
    fake.end_watches();
    fake.world().delete_all(&[("n", "b"), ("n", "c")]);
    seen.until_is(&fake).await;
    assert_eq!(seen.lists, [ListReason::Fresh]);
    assert!(!seen.stale);
    assert!(seen.objects.is_empty());
}

#[tokio::test(start_paused = true)]
async fn versions_that_went_back_are_found_at_a_clean_end() {
    let fake = Fake::new("a");
    fake.put("n", "old", "x");
    let snapshot = fake.world().snapshot();
    let mut seen = begin(&fake, Start::Fresh);
    seen.next().await;
    fake.put("n", "lost", "x");
    seen.until_is(&fake).await;
    fake.world().restore(snapshot);
    fake.end_watches();
    let Observation::Listed { why, version: listed, .. } = seen.next_change().await else { panic!() };
    assert_eq!((why, listed), (ListReason::WentBack, version(11)));
    assert!(seen.is(&fake));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ended_cleanly_is_resumed_at_once_or_not_at_all() {
    let fake = Fake::new("a");
    let mut seen = begin(&fake, Start::Fresh);
    seen.next().await;
    // Nothing refuses and the version is not below: only the time tells that anything may have happened.
    fake.end_watches();
    fake.set_mode(Mode::Frozen);
    sleep(Duration::from_secs(5)).await;
    fake.set_mode(Mode::Serving);
    assert!(matches!(seen.next_change().await, Observation::Listed { why: ListReason::Reconnected, .. }));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_is_stale_until_a_list_has_come() {
    let fake = Fake::new("a");
    let mut seen = begin(&fake, Start::Fresh);
    seen.next().await;
    fake.reset();
    let Observation::Stale { reason } = seen.next().await else { panic!() };
    assert_eq!(reason.class, AwayClass::Refused);
    assert!(matches!(seen.next().await, Observation::Listed { why: ListReason::Reconnected, .. }));
    assert!(matches!(seen.next().await, Observation::Live));
}

#[tokio::test(start_paused = true)]
async fn an_expired_watch_is_a_list_without_being_stale() {
    let fake = Fake::new("a");
    let mut seen = begin(&fake, Start::Fresh);
    seen.next().await;
    fake.expire_watches();
    assert!(matches!(seen.next().await, Observation::Listed { why: ListReason::Expired, .. }));
}

#[tokio::test(start_paused = true)]
async fn a_member_that_stands_still_is_stale_within_half_a_minute_and_lists_when_it_goes_on() {
    let fake = Fake::new("a");
    let mut seen = begin(&fake, Start::Fresh);
    seen.next().await;
    let froze = Instant::now();
    fake.set_mode(Mode::Frozen);
    let Observation::Stale { reason } = seen.next().await else { panic!() };
    assert_eq!(reason.class, AwayClass::NoAnswer);
    assert!(froze.elapsed() <= Duration::from_secs(30), "{:?}", froze.elapsed());
    assert!(matches!(seen.fleet.members()[0].health(), crate::Health::Unreachable { .. }));
    sleep(Duration::from_secs(60)).await;
    fake.put("n", "meanwhile", "x");
    fake.set_mode(Mode::Serving);
    let thawed = Instant::now();
    let Observation::Listed { why, .. } = seen.next_change().await else { panic!() };
    assert_eq!(why, ListReason::Reconnected);
    assert!(thawed.elapsed() <= Duration::from_secs(21), "{:?}", thawed.elapsed());
    assert!(seen.is(&fake));
    assert_eq!(seen.fleet.members()[0].health(), crate::Health::Reachable);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_lost_its_bookmarks_is_cut() {
    let fake = Fake::new("a");
    let mut seen = begin(&fake, Start::Fresh);
    seen.next().await;
    let Observation::Stale { reason } = seen.next().await else { panic!() };
    assert!(reason.text.contains("silent"), "{reason}");
    assert!(matches!(seen.next().await, Observation::Listed { why: ListReason::Reconnected, .. }));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_loaded_is_away_with_its_reason_told_once_until_it_can() {
    let cases = [
        (Mode::Frozen, AwayClass::NoAnswer),
        (Mode::Refusing, AwayClass::Refused),
        (Mode::Failing(403), AwayClass::Forbidden),
        (Mode::Failing(404), AwayClass::NotServed),
        (Mode::Failing(500), AwayClass::BadAnswer),
    ];
    for (mode, class) in cases {
        let fake = Fake::new("a");
        fake.set_mode(mode);
        let began = Instant::now();
        let mut seen = begin(&fake, Start::Resume { from: version(10), or_from: None });
        let Observation::Away { reason } = seen.next().await else { panic!("{mode:?}") };
        assert_eq!(reason.class, class, "{mode:?}");
        assert!(began.elapsed() <= Duration::from_secs(11), "{mode:?} {:?}", began.elapsed());
        assert!(timeout(Duration::from_secs(60), seen.rx.recv()).await.is_err(), "{mode:?} is told twice");
        fake.set_mode(Mode::Serving);
        assert!(matches!(seen.next().await, Observation::Resumed { .. }), "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_that_asks_to_wait_is_loading_and_not_away_for_a_while() {
    let fake = Fake::new("a");
    fake.set_mode(Mode::Failing(429));
    let mut seen = begin(&fake, Start::Fresh);
    let began = Instant::now();
    assert!(matches!(seen.next().await, Observation::Away { .. }));
    assert!(began.elapsed() >= Duration::from_secs(9), "{:?}", began.elapsed());
    fake.set_mode(Mode::Serving);
    assert!(matches!(seen.next().await, Observation::Listed { .. }));
}

#[tokio::test(start_paused = true)]
async fn refused_credentials_are_read_anew() {
    let fake = Fake::new("a");
    let mut seen = begin(&fake, Start::Fresh);
    seen.next().await;
    sleep(Duration::from_secs(5)).await;
    {
        let mut world = fake.world();
        (world.token, world.configured) = (2, 2);
    }
    fake.end_watches();
    watched(&fake).await;
    fake.put("n", "after", "x");
    seen.until_is(&fake).await;
    assert_eq!(seen.lists, [ListReason::Fresh]);
    fake.world().token = 3;
    fake.reset();
    loop {
        if let Observation::Stale { reason } = seen.next().await
            && reason.class == AwayClass::Unauthorized
        {
            break;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn another_cluster_at_the_same_place_is_noticed_before_anything_of_it_is_told() {
    let fake = Fake::new("a");
    fake.put("n", "of-a", "x");
    let mut seen = begin(&fake, Start::Fresh);
    seen.next().await;
    {
        let mut world = fake.world();
        world.uid = "b".to_owned();
        world.objects.clear();
        world.history.clear();
        world.put("n", "of-b", "x");
        world.version += 100;
    }
    // It even grew past the old one, and the watch ended cleanly; what is in flight of the old one may still come.
    while fake.world().watches() > 0 {
        fake.end_watches();
    }
    let listed = loop {
        if let Observation::Listed { identity, why, .. } = seen.next_change().await {
            break (identity, why);
        }
    };
    assert_eq!((&*listed.0, listed.1), ("b", ListReason::IdentityChanged));
    assert!(seen.is(&fake));
}

#[tokio::test(start_paused = true)]
async fn streams_are_cut_when_the_configuration_names_another_server() {
    let fake = Fake::new("a");
    let mut seen = begin(&fake, Start::Fresh);
    seen.next().await;
    fake.world().move_place();
    let name = ClusterName::new("east").unwrap();
    seen.fleet.replace_with(vec![(name, std::sync::Arc::new(fake.clone()))]).await;
    assert!(matches!(seen.next_change().await, Observation::Listed { why: ListReason::Reconnected, .. }));
}

#[tokio::test(start_paused = true)]
async fn a_changed_custom_resource_definition_is_a_list_of_its_kind() {
    let fake = Fake::new("a");
    fake.world().define("widgets.example.com", 1);
    fake.world().define("others.example.com", 1);
    let mut seen = begin_of(&fake, Gvr::new("example.com", "v1", "widgets"), Start::Fresh, None);
    seen.next().await;
    let mut schemas = seen.fleet.members()[0].schemas();
    schemas.wait_for(|schemas| schemas.len() == 2).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    fake.world().define("others.example.com", 2);
    sleep(Duration::from_secs(1)).await;
    fake.world().define("widgets.example.com", 2);
    assert!(matches!(seen.next_change().await, Observation::Listed { why: ListReason::SchemaChanged, .. }));
    assert_eq!(seen.lists, [ListReason::Fresh, ListReason::SchemaChanged]);
}

#[tokio::test(start_paused = true)]
async fn namespaces_are_observed_one_by_one_and_told_as_one() {
    let fake = Fake::new("a");
    for namespace in ["a", "b", "c"] {
        fake.put(namespace, "one", "x");
    }
    let mut seen = begin_of(&fake, configmaps(), Start::Resume { from: version(11), or_from: None }, Some(&["a", "b"]));
    let Observation::Listed { objects, why, .. } = seen.next().await else { panic!() };
    assert_eq!((objects.len(), why), (2, ListReason::ResumeRefused));
    fake.put("c", "unseen", "x");
    fake.put("b", "two", "x");
    let Observation::Changed { object, .. } = seen.next().await else { panic!() };
    assert_eq!(object.key.to_string(), "b/two");
    fake.bookmark();
    let Observation::Progress { version: progress } = seen.next().await else { panic!() };
    assert_eq!(progress, version(15));
    fake.reset();
    let Observation::Listed { objects, why, .. } = seen.next_change().await else { panic!() };
    assert_eq!((objects.len(), why), (3, ListReason::Reconnected));
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_does_not_read_holds_the_watch_up_and_gets_everything_later() {
    let fake = Fake::new("a");
    let mut seen = begin(&fake, Start::Fresh);
    seen.next().await;
    (0..100).for_each(|at| fake.put("n", &format!("o{at}"), "x"));
    sleep(Duration::from_secs(5)).await;
    assert!(seen.rx.len() <= 16);
    seen.until_is(&fake).await;
    assert_eq!(seen.lists, [ListReason::Fresh]);
}

/// What may happen to a member in the property below.
#[derive(Clone, Debug)]
enum Deed {
    Put(u8, u8),
    Delete(u8),
    DeleteTwo(u8, u8),
    Bookmark,
    End,
    Reset,
    Expire,
    Compact,
    Freeze(u8),
    Refuse(u8),
    Restore,
    Wait(u8),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        6 => (0u8..6, any::<u8>()).prop_map(|(name, text)| Deed::Put(name, text)),
        3 => (0u8..6).prop_map(Deed::Delete),
        1 => (0u8..6, 0u8..6).prop_map(|(a, b)| Deed::DeleteTwo(a, b)),
        2 => Just(Deed::Bookmark),
        2 => Just(Deed::End),
        1 => Just(Deed::Reset),
        1 => Just(Deed::Expire),
        1 => Just(Deed::Compact),
        1 => (1u8..40).prop_map(Deed::Freeze),
        1 => (1u8..40).prop_map(Deed::Refuse),
        1 => Just(Deed::Restore),
        3 => (0u8..20).prop_map(Deed::Wait),
    ]
}

async fn act(fake: &Fake, deed: &Deed) {
    let name = |at: &u8| format!("o{at}");
    match deed {
        Deed::Put(at, text) => fake.put("n", &name(at), &text.to_string()),
        Deed::Delete(at) => fake.delete("n", &name(at)),
        Deed::DeleteTwo(a, b) => fake.world().delete_all(&[("n", &name(a)), ("n", &name(b))]),
        Deed::Bookmark => fake.bookmark(),
        Deed::End => fake.end_watches(),
        Deed::Reset => fake.reset(),
        Deed::Expire => fake.expire_watches(),
        Deed::Compact => {
            let mut world = fake.world();
            world.floor = world.version;
        }
        Deed::Freeze(seconds) => {
            fake.set_mode(Mode::Frozen);
            sleep(Duration::from_secs(u64::from(*seconds))).await;
            fake.set_mode(Mode::Serving);
        }
        Deed::Refuse(seconds) => {
            fake.set_mode(Mode::Refusing);
            sleep(Duration::from_secs(u64::from(*seconds))).await;
            fake.set_mode(Mode::Serving);
        }
        Deed::Restore => {
            let mut world = fake.world();
            let (now, mut objects) = world.snapshot();
            let then = now.saturating_sub(3).max(1);
            objects.retain(|_, object| object.version <= then);
            world.restore((then, objects));
            drop(world);
            // An etcd is not restored in less.
            fake.set_mode(Mode::Refusing);
            sleep(Duration::from_secs(4)).await;
            fake.set_mode(Mode::Serving);
        }
        Deed::Wait(tenths) => sleep(Duration::from_millis(u64::from(*tenths) * 100)).await,
    }
}

proptest! {
    /// After whatever faults, a receiver that drops what is not new has the member's objects.
    #[test]
    fn whatever_happens_the_observations_lead_to_the_members_state(deeds in prop::collection::vec(deed(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let agreed = runtime.block_on(async {
            let fake = Fake::new("a");
            let mut seen = begin(&fake, Start::Fresh);
            let acting = async {
                for deed in &deeds {
                    act(&fake, deed).await;
                }
            };
            let mut acting = std::pin::pin!(acting);
            loop {
                tokio::select! {
                    () = &mut acting => break,
                    _ = seen.next() => {}
                }
            }
            fake.put("n", "last", "x");
            timeout(Duration::from_secs(600), seen.until_is(&fake)).await.is_ok()
        });
        prop_assert!(agreed);
    }
}
