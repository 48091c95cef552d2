//! A host as the laws see it: one log over several members, a store that fails on demand, and what clients were told.
//!
//! It drives the log as the sequencer does (stage, pack, append, then show), and checks the laws at every step.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::time::Duration;

use orrery_api::{ClusterName, Naming, ObjectKey};
use orrery_markers::{
    AppendError, Change, Effect, Log, Marker, MarkerStore, MemberVersion, Presence, Recovered, Replay, Segment, Shown,
    Sight, Step, StoredLog, UnixMicros,
};
use orrery_stores::MemoryStore;
use orrery_stores::testing::{Fault, Faulty, Outcome};

use crate::member::Member;
use crate::view::{Served, View};

const LOG: &str = "pods.v1";

/// Several members, and a host over them.
pub(crate) struct World {
    naming: Naming,
    pub(crate) members: Vec<Member>,
    pub(crate) links: Vec<Link>,
    runtime: tokio::runtime::Runtime,
    store: Faulty<MemoryStore>,
    copies: Vec<Copy>,
    pub(crate) log: Log,
    segments: Vec<Segment>,
    waiting: Vec<(Effect, Cause)>,
    pub(crate) view: View,
    /// What clients were told, at each marker, in the lives so far.
    told: BTreeMap<Marker, BTreeMap<ObjectKey, Served>>,
    /// The effects of what is in the store, as they were when they were staged.
    effects: Vec<Effect>,
    /// The highest marker that any client was ever told.
    highest: Option<Marker>,
    /// Below it the store has only a checkpoint.
    folded: Option<Marker>,
    now: u64,
    latest_now: u64,
    fresh: u64,
}

/// The host's connection to a member.
pub(crate) struct Link {
    pub(crate) is_member: bool,
    /// The place in the member's history of the next event; `None` where only a list helps.
    pub(crate) place: Option<usize>,
    /// Whether the member never went back to an earlier state, and the log always followed its watch.
    is_faithful: bool,
    /// The last version told of each object by the stream.
    streamed: HashMap<u128, u64>,
}

/// A backup of the store.
struct Copy {
    store: MemoryStore,
    effects: Vec<Effect>,
    folded: Option<Marker>,
}

/// What an observation brought.
#[derive(Clone)]
struct Cause(Rc<HashMap<(ClusterName, ObjectKey), Change>>, Presence);

/// What a host finds in its store when it starts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found {
    /// What it left.
    Same,
    /// A backup.
    Older(usize),
    /// Nothing.
    Nothing,
}

/// How a member answers a host that starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answers {
    /// Its history goes back to before the rewound log.
    WithHistory,
    /// Its history goes back to the log's head only.
    WithLittleHistory,
    /// With a list of now.
    WithListOnly,
    /// Not at all.
    Not,
}

// === impl World: making and moving ===

impl World {
    pub(crate) fn new(naming: Naming) -> Self {
        let names = ["east", "north", "west"];
        let mut world = Self {
            naming,
            members: names.iter().zip(1..).map(|(name, identity)| Member::new(name, identity)).collect(),
            links: names.iter().map(|_| Link::new()).collect(),
            runtime: tokio::runtime::Builder::new_current_thread().build().unwrap(),
            store: Faulty::scripted(MemoryStore::new(), []),
            copies: Vec::new(),
            log: Log::new(naming),
            segments: Vec::new(),
            waiting: Vec::new(),
            view: View::default(),
            told: BTreeMap::new(),
            effects: Vec::new(),
            highest: None,
            folded: None,
            now: 1_000_000,
            latest_now: 1_000_000,
            fresh: 1,
        };
        world.start([Answers::WithListOnly; 3], Duration::ZERO);
        world
    }

    /// A number that was never there before.
    pub(crate) fn fresh(&mut self) -> u64 {
        self.fresh += 1;
        self.fresh
    }

    /// Moves the wall clock: forward, or back.
    pub(crate) fn move_clock(&mut self, micros: i64) {
        self.now = self.now.saturating_add_signed(micros);
        self.latest_now = self.latest_now.max(self.now);
    }

    pub(crate) fn add_fault(&mut self, fault: Fault) {
        self.store.add_fault(fault);
    }

    pub(crate) fn crash_after(&mut self, writes: usize, outcome: Outcome) {
        self.store.crash_after(writes, outcome);
    }

    fn name(&self, member: usize) -> ClusterName {
        self.members[member].name.clone()
    }

    fn is_loaded(log: &Log) -> impl Fn(&ClusterName) -> bool + '_ {
        |cluster| log.cluster(cluster).is_some_and(|part| part.presence() == Presence::Joined)
    }

    fn has_joined(&self, member: usize) -> bool {
        Self::is_loaded(&self.log)(&self.members[member].name)
    }
}

// === impl World: observing ===

impl World {
    /// Brings the next `count` events of the member's watch.
    pub(crate) fn deliver(&mut self, member: usize, count: usize) {
        for _ in 0..count {
            let Some(place) = self.links[member].place else { return };
            let Some(event) = self.members[member].history.get(place) else { return };
            let (change, uid, version) = (event.change(), event.object.uid, event.version);
            self.links[member].place = Some(place + 1);
            let before = self.log.head();
            self.stage(member, vec![change.clone()], |log, cluster, effects| {
                log.change(cluster, change, effects);
            });
            if self.log.head() > before {
                let told = self.links[member].streamed.insert(uid, version);
                assert!(told.is_none_or(|told| told < version), "{uid} went from {told:?} to {version} in the stream");
            }
        }
    }

    /// Brings a bookmark, where the watch has brought everything.
    pub(crate) fn bookmark(&mut self, member: usize) {
        if self.links[member].place != Some(self.members[member].history.len()) || !self.has_joined(member) {
            return;
        }
        let version = MemberVersion::from_number(self.members[member].version);
        self.stage(member, Vec::new(), |log, cluster, effects| {
            log.progress(cluster, version, effects);
        });
    }

    /// The watch ends cleanly and is resumed from the last complete version, so some events come again.
    pub(crate) fn resume(&mut self, member: usize) {
        let complete = self.log.cluster(&self.name(member)).and_then(|part| part.clock()).map(|clock| clock.complete);
        let (Some(_), Some(complete)) = (self.links[member].place, complete) else { return };
        self.links[member].place = Some(self.members[member].place_after(complete.number()));
    }

    /// Lists the member, holds the list against the log, and checks that only differences are sequenced.
    pub(crate) fn relist(&mut self, member: usize) {
        if !self.links[member].is_member {
            return;
        }
        let listed = self.members[member].list_at(self.members[member].version);
        let name = self.name(member);
        let identity: Rc<str> = format!("identity {}", self.members[member].identity).into();
        let known = self.log.cluster(&name).and_then(|part| part.identity().cloned());
        if known.is_some_and(|known| *known != *identity) {
            self.leave_log(member);
        }
        let differences = self.differences(&name, &listed);
        let staged = self.waiting.len();
        let version = MemberVersion::from_number(self.members[member].version);
        let joins = !self.has_joined(member);
        self.stage(member, listed.clone(), |log, cluster, effects| {
            log.relisted(cluster, version, &listed, effects);
            if joins {
                log.joined(cluster, (*identity).into(), effects);
            }
        });
        if !joins {
            let sequenced = self.waiting[staged..].iter().filter(|(effect, _)| effect.what != Sight::Nothing).count();
            assert!(sequenced >= differences, "{sequenced} effects for {differences} differences");
            assert!(differences > 0 || sequenced == 0, "{sequenced} effects for a list that differs in nothing");
        }
        let link = &mut self.links[member];
        link.place = Some(self.members[member].history.len());
        link.streamed.clear();
    }

    /// Reads one object by itself, ahead of the watch.
    pub(crate) fn look(&mut self, member: usize, key: &ObjectKey) {
        if self.links[member].place.is_none() || !self.has_joined(member) {
            return;
        }
        // The log is ahead of the watch from here on, so a host that starts soon may have to list.
        self.links[member].is_faithful = false;
        let listed = self.members[member].list_at(self.members[member].version);
        match listed.into_iter().find(|change| change.key == *key) {
            Some(change) => {
                self.stage(member, vec![change.clone()], |log, cluster, effects| log.looked(cluster, change, effects));
            }
            None => {
                let known = self.log.cluster(&self.name(member)).and_then(|part| part.object_at(key));
                if let Some(uid) = known.map(|(uid, _)| uid.clone()) {
                    self.stage(member, Vec::new(), |log, cluster, effects| log.lost(cluster, &uid, effects));
                }
            }
        }
    }

    /// The watch is lost, so that only a list helps.
    pub(crate) fn cut(&mut self, member: usize) {
        self.links[member].place = None;
    }

    /// The member goes back to an earlier state; the host notices at its next list.
    pub(crate) fn restore(&mut self, member: usize, events: usize) {
        self.members[member].restore(events);
        self.links[member].place = None;
        self.links[member].is_faithful = false;
    }

    /// Another cluster stands under the member's name.
    pub(crate) fn replace(&mut self, member: usize) {
        let identity = self.fresh();
        let name = self.name(member);
        self.members[member] = Member::new(name.as_str(), identity);
        self.links[member].place = None;
        self.links[member].is_faithful = true;
    }

    pub(crate) fn join(&mut self, member: usize) {
        self.links[member].is_member = true;
        self.relist(member);
    }

    pub(crate) fn leave(&mut self, member: usize) {
        let link = &mut self.links[member];
        (link.is_member, link.place) = (false, None);
        self.leave_log(member);
    }

    fn leave_log(&mut self, member: usize) {
        self.stage(member, Vec::new(), |log, cluster, effects| log.left(cluster, effects));
    }

    /// How many objects of `cluster` the log has otherwise than `listed`.
    fn differences(&self, cluster: &ClusterName, listed: &[Change]) -> usize {
        let Some(part) = self.log.cluster(cluster) else { return listed.len() };
        let same = |change: &Change| {
            let entry = part.object(&change.uid);
            entry.is_some_and(|entry| entry.version == change.version && entry.digest == change.digest)
        };
        let gone = part.keys().filter(|key| {
            let (uid, _) = part.object_at(key).expect("keys and objects of a log belong together");
            !listed.iter().any(|change| change.uid == *uid)
        });
        listed.iter().filter(|change| !same(change)).count() + gone.count()
    }

    fn stage(
        &mut self,
        member: usize,
        changes: Vec<Change>,
        stage: impl FnOnce(&mut Log, &ClusterName, &mut Vec<Effect>),
    ) {
        let cluster = self.name(member);
        let presence = self.log.cluster(&cluster).map_or(Presence::Joined, |part| part.presence());
        let mut effects = Vec::new();
        stage(&mut self.log, &cluster, &mut effects);
        let changes = changes.into_iter().map(|change| ((cluster.clone(), change.key.clone()), change));
        let cause = Cause(Rc::new(changes.collect()), presence);
        self.waiting.extend(effects.into_iter().map(|effect| (effect, cause.clone())));
        self.move_clock(1000);
    }
}

// === impl World: storing ===

impl World {
    /// Packs what is staged into a segment of its own.
    pub(crate) fn pack(&mut self) {
        self.segments.extend(self.log.pack(UnixMicros(self.now)));
    }

    /// Makes all durable and tells it to clients. `false` where the host died in it.
    pub(crate) fn commit(&mut self) -> bool {
        self.pack();
        for segment in std::mem::take(&mut self.segments) {
            if !self.append(&segment) {
                return false;
            }
        }
        for (effect, cause) in std::mem::take(&mut self.waiting) {
            self.tell(effect, &cause);
        }
        self.view.forget_gone(&self.log);
        let log = self.view.of_log(&self.log, Self::is_loaded(&self.log));
        assert_eq!(self.view.shown, log, "clients were told what the log says");
        true
    }

    fn append(&self, segment: &Segment) -> bool {
        loop {
            match self.runtime.block_on(self.store.append(LOG, segment)) {
                Ok(()) => return true,
                Err(AppendError::Superseded(seq)) => panic!("nobody else writes, yet {seq:?} is taken"),
                Err(AppendError::Failed(_) | AppendError::Unknown(_)) if self.store.is_crashed() => return false,
                Err(AppendError::Failed(_) | AppendError::Unknown(_)) => {}
            }
        }
    }

    fn tell(&mut self, effect: Effect, cause: &Cause) {
        let last = self.effects.last().map(|last| &last.what);
        let shares = matches!(last, Some(Sight::Hold { .. })) && Some(effect.marker) == self.highest;
        assert!(shares || Some(effect.marker) > self.highest, "{} after {:?}", effect.marker, self.highest);
        let Cause(changes, presence) = cause;
        self.view.apply(&effect, changes, *presence);
        self.highest = Some(effect.marker);
        self.told.insert(effect.marker, self.view.shown.clone());
        self.effects.push(effect);
    }

    /// Keeps a backup of the store.
    pub(crate) fn copy(&mut self) {
        let store = self.store.inner().copy();
        self.copies.push(Copy { store, effects: self.effects.clone(), folded: self.folded });
    }

    fn load(&self) -> StoredLog {
        self.runtime.block_on(self.store.inner().load(LOG)).unwrap()
    }

    /// Forgets deletions that were told `markers` ago.
    pub(crate) fn expire(&mut self, markers: usize) {
        let Some((&before, _)) = self.told.iter().rev().nth(markers) else { return };
        self.stage(0, Vec::new(), |log, _, effects| log.expire(before, effects));
    }

    /// Folds all segments but those of the last `micros`, and checks that nothing else changed by it.
    pub(crate) fn fold(&mut self, micros: u64) {
        let whole = self.load();
        let before = UnixMicros(self.now.saturating_sub(micros));
        let Some((upto, parts)) = Log::fold(&whole, self.naming, before).unwrap() else { return };
        // Done or not, and whatever was told of it, the log is whole.
        let _ = self.runtime.block_on(self.store.fold(LOG, upto, parts));
        let folded = self.load();
        let oldest = recover(&folded, self.naming, Duration::MAX).log;
        self.folded = oldest.head();
        check_same(&head_of(&folded, self.naming), &head_of(&whole, self.naming));
        let at = |stored, marker| Log::recover_at(stored, self.naming, marker).unwrap();
        for marker in self.told.keys().filter(|marker| Some(**marker) >= oldest.head()) {
            check_same(&at(&folded, *marker), &at(&whole, *marker));
        }
        if self.store.is_crashed() {
            self.restart(Found::Same, [Answers::WithHistory; 3], Duration::ZERO);
        }
    }
}

fn recover(stored: &StoredLog, naming: Naming, rewind: Duration) -> Recovered {
    Log::recover(stored, naming, rewind).unwrap()
}

fn head_of(stored: &StoredLog, naming: Naming) -> Log {
    let Recovered { mut log, tail } = recover(stored, naming, Duration::ZERO);
    tail.into_iter().for_each(|record| log.replay(record, &mut Vec::new()));
    log
}

/// That two logs answer alike.
fn check_same(one: &Log, other: &Log) {
    assert_eq!((one.head(), one.terms()), (other.head(), other.terms()));
    let shown = |log: &Log| {
        let mut shown: Vec<_> = log.shown().into_iter().map(|shown| format!("{shown:?}")).collect();
        shown.sort();
        shown
    };
    assert_eq!(shown(one), shown(other));
    let parts = |log: &Log| -> Vec<_> {
        let part = |(name, part): (&ClusterName, &orrery_markers::ClusterLog)| {
            let mut objects: Vec<_> = part.keys().map(|key| format!("{:?}", part.object_at(key))).collect();
            objects.sort();
            (name.clone(), part.identity().cloned(), part.presence(), part.clock(), objects)
        };
        log.clusters().map(part).collect()
    };
    assert_eq!(parts(one), parts(other));
}

// === impl World: starting ===

impl World {
    /// Ends the host, wherever it is, and starts it on what it finds.
    pub(crate) fn restart(&mut self, found: Found, answers: [Answers; 3], rewind: Duration) {
        self.store.restart();
        match found {
            Found::Same => {}
            Found::Older(copy) if !self.copies.is_empty() => {
                let Copy { store, effects, folded } = &self.copies[copy % self.copies.len()];
                (self.store, self.folded) = (Faulty::scripted(store.copy(), []), *folded);
                self.effects = effects.clone();
                self.waiting.clear();
            }
            Found::Older(_) | Found::Nothing => {
                (self.store, self.folded) = (Faulty::scripted(MemoryStore::new(), []), None);
                self.effects.clear();
                self.waiting.clear();
            }
        }
        if !matches!(found, Found::Same) {
            // A store that is not the last one, under a clock that is not right, is more than the laws promise.
            self.now = self.latest_now;
        }
        self.segments.clear();
        self.links.iter_mut().for_each(|link| link.streamed.clear());
        self.move_clock(1000);
        self.start(answers, rewind);
    }

    fn start(&mut self, answers: [Answers; 3], rewind: Duration) {
        let stored = self.load();
        let Recovered { log, tail } = recover(&stored, self.naming, rewind);
        let at_head = head_of(&stored, self.naming);
        self.check_durable(&log, &at_head, &tail);
        let replayed: Vec<Option<Vec<usize>>> =
            (0..3).map(|member| self.replay(member, answers[member], &log, &tail, &at_head)).collect();
        self.log = at_head;

        let is_away = |world: &Self, member: usize| world.links[member].is_member && answers[member] == Answers::Not;
        let lists: Vec<usize> = (0..3)
            .filter(|&member| self.links[member].is_member && !is_away(self, member) && replayed[member].is_none())
            .collect();
        let (known, joining): (Vec<_>, Vec<_>) = lists.into_iter().partition(|&member| self.has_joined(member));
        let now = UnixMicros(self.now);
        self.stage(0, Vec::new(), |log, _, effects| log.begin_term(now, effects));
        for &member in &known {
            self.relist(member);
        }
        // What was found by these lists has no bodies before it: the cache begins after it.
        let staged = std::mem::take(&mut self.waiting);
        self.view = View::base(&self.log, |cluster| {
            let member = self.members.iter().position(|member| member.name == *cluster);
            Self::is_loaded(&self.log)(cluster) && member.is_some_and(|member| !is_away(self, member))
        });
        if known.is_empty() && answers.iter().all(|answers| *answers != Answers::Not) {
            self.check_resumed();
        }
        for (effect, _) in staged {
            self.skip(effect);
        }
        for member in 0..3 {
            if is_away(self, member) {
                self.links[member].place = None;
                if self.has_joined(member) {
                    self.stage(member, Vec::new(), |log, cluster, effects| log.away(cluster, effects));
                }
            }
        }
        self.stage(0, Vec::new(), |log, _, effects| log.pass_on(|_| false, effects));
        for member in 0..3 {
            if !self.links[member].is_member && self.log.cluster(&self.name(member)).is_some() {
                self.leave_log(member);
            }
        }
        let begins_at = self.log.head();
        for member in joining {
            self.relist(member);
        }
        for (member, new) in replayed.into_iter().enumerate() {
            for place in new.into_iter().flatten() {
                self.links[member].place = Some(place);
                self.deliver(member, 1);
            }
            if answers[member] != Answers::Not && self.links[member].is_member {
                self.links[member].place = Some(self.members[member].history.len());
            }
        }
        let old_head = self.highest;
        if !self.commit() {
            return self.restart(Found::Same, answers, rewind);
        }
        // Nobody is served before the start is over.
        self.told.retain(|&marker, _| Some(marker) <= old_head || Some(marker) >= begins_at);
    }

    /// An effect that no client sees, since every client begins after it.
    fn skip(&mut self, effect: Effect) {
        assert!(Some(effect.marker) >= self.highest, "{} after {:?}", effect.marker, self.highest);
        self.highest = Some(effect.marker);
        self.effects.push(effect);
    }

    /// That the store has all that clients were told, and gives it back as it was.
    fn check_durable(&mut self, log: &Log, at_head: &Log, tail: &[orrery_markers::Record]) {
        let last = self.effects.last().map(|last| last.marker);
        assert!(at_head.head() >= last, "the log ends at {:?}, clients were told up to {last:?}", at_head.head());
        let pending = std::mem::take(&mut self.waiting);
        let all = std::mem::take(&mut self.effects).into_iter().chain(pending.into_iter().map(|(effect, _)| effect));
        self.effects = all.filter(|effect| Some(effect.marker) <= at_head.head()).collect();
        let (mut replaying, mut replayed) = (log.clone(), Vec::new());
        tail.iter().cloned().for_each(|record| replaying.replay(record, &mut replayed));
        let seen = |effects: &[Effect]| -> Vec<_> {
            let seen =
                effects.iter().filter(|effect| Some(effect.marker) > log.head() && effect.what != Sight::Nothing);
            seen.cloned().collect()
        };
        assert_eq!(seen(&replayed), seen(&self.effects), "records read back mean what they meant");
        self.check_past(at_head);
    }

    /// That every marker of the past gives what clients were told there, or is not known any more.
    fn check_past(&self, at_head: &Log) {
        let stored = self.load();
        for (&marker, told) in &self.told {
            if !at_head.contains(marker) || self.folded.is_some_and(|folded| marker < folded) {
                continue;
            }
            let log = Log::recover_at(&stored, self.naming, marker).unwrap();
            let found: BTreeMap<_, _> = log.shown().into_iter().map(|shown| (shown.served, shown.marker)).collect();
            for (served, was) in told {
                assert_eq!(found.get(served), Some(&was.marker), "{served} at {marker}");
            }
            let loaded = Self::is_loaded(&log);
            // The last state of what is gone is shown only as long as somebody has it.
            let is_held = |shown: &Shown| shown.holders.as_ref().is_none_or(|holders| holders.contains(&shown.cluster));
            for shown in log.shown().into_iter().filter(|shown| loaded(&shown.cluster) && is_held(shown)) {
                assert!(told.contains_key(&shown.served), "{shown:?} at {marker}");
            }
        }
    }

    /// That a start without a list shows what clients were told at the head.
    fn check_resumed(&self) {
        let Some(told) = self.told.get(&self.effects.last().map_or(Marker::MAX, |last| last.marker)) else { return };
        for (served, was) in told {
            let ghost = self.log.cluster(&was.cluster).is_none_or(|part| part.object_at(&was.key).is_none());
            assert!(
                ghost || self.view.shown.get(served) == Some(was),
                "{served} was {was:?}, is {:?}",
                self.view.shown.get(served)
            );
        }
        assert!(self.view.shown.len() <= told.len());
    }

    /// Holds the member's old state and events against the log. Gives the places of the events that came after it, or
    /// nothing where a list is needed.
    fn replay(
        &self,
        member: usize,
        answers: Answers,
        log: &Log,
        tail: &[orrery_markers::Record],
        at_head: &Log,
    ) -> Option<Vec<usize>> {
        let link = &self.links[member];
        let member = &self.members[member];
        let (part, tail) = match answers {
            Answers::WithHistory => {
                let (part, since) = log.settled(&member.name, tail);
                (part, &tail[since..])
            }
            Answers::WithLittleHistory => (at_head.cluster(&member.name)?.clone(), &[][..]),
            Answers::WithListOnly | Answers::Not => return None,
        };
        if !link.is_member || part.presence() != Presence::Joined {
            return None;
        }
        let from = part.clock()?.complete;
        if **part.identity()? != format!("identity {}", member.identity) || from.number() > member.version {
            return None;
        }
        let mut replay = Replay::new(&part, tail, &member.name, from);
        let settled = settle(&mut replay, member, from);
        assert!(settled.is_ok() || !link.is_faithful, "a faithful member is resumed: {settled:?}");
        settled.ok()
    }

    /// Brings everything that is under way, and checks that clients then see just what the members hold.
    pub(crate) fn quiesce(&mut self) {
        self.store.restart();
        for member in 0..3 {
            match self.links[member].place {
                Some(_) => self.deliver(member, usize::MAX),
                None => self.relist(member),
            }
        }
        assert!(self.commit(), "the store does not fail any more");
    }
}

fn settle(replay: &mut Replay, member: &Member, from: MemberVersion) -> Result<Vec<usize>, String> {
    let listed = member.list_at(from.number());
    replay.list(from, &listed).map_err(|mismatch| mismatch.to_string())?;
    let mut new = Vec::new();
    for (place, event) in member.history.iter().enumerate().skip(member.place_after(from.number())) {
        match replay.event(&event.change()).map_err(|mismatch| mismatch.to_string())? {
            Step::New => new.push(place),
            Step::Recorded | Step::Superseded => {}
        }
    }
    replay.progress(MemberVersion::from_number(member.version)).map_err(|mismatch| mismatch.to_string())?;
    if replay.is_done() { Ok(new) } else { Err("the watch lacks what the log has".to_owned()) }
}

// === impl Link ===

impl Link {
    fn new() -> Self {
        Self { is_member: true, place: None, is_faithful: true, streamed: HashMap::new() }
    }
}
