use orrery_markers::MemberVersion;

use super::{AwayReason, ListReason, Observation, Start};
use crate::fault::Fault;

/// The course of one observation: what is known, and what is to be done next. Pure; the feed does what [`State`] says
/// and reports what happened.
#[derive(Debug)]
pub(crate) struct Course {
    state: State,
    told: Told,
    /// Whether anything was ever loaded.
    loaded: bool,
    /// Whether the member refused WatchList for this resource, or never ended its initial events.
    plain: bool,
    /// Answers in a row that asked to wait.
    waits: u32,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Load all objects.
    Loading(Load),
    /// Open a watch behind what is known.
    Opening(Position),
    /// Take the next event.
    Watching(Position),
    /// The watch ended cleanly: see that the member's version is not below what was seen.
    Checking(Position),
}

/// What is loaded, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// The exact state at a version, with a watch from it.
    At { version: MemberVersion, or: Option<MemberVersion> },
    /// The latest state.
    Latest { why: ListReason },
}

/// How far a watch has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// The last version of which certainly all events were seen: a watch resumes here. Events may share a version, so
    /// it is complete only once a later one was seen.
    pub(crate) complete: MemberVersion,
    /// The last version seen.
    pub(crate) seen: MemberVersion,
}

/// What happened.
#[derive(Debug)]
pub(crate) enum Happened {
    /// The objects are there; with a watch that is already open, or without.
    Loaded { version: MemberVersion, watching: bool },
    /// What the state asked for failed.
    Failed(Fault),
    /// The initial events of a WatchList stopped coming, though the member answers.
    NeverEnding,
    /// The watch is open.
    Opened,
    /// An event of this version came.
    Event(MemberVersion),
    /// A bookmark of this version came.
    Bookmark(MemberVersion),
    /// The watch ended as the member meant it to.
    Ended,
    /// The member's version is this.
    Checked(MemberVersion),
    /// The CustomResourceDefinition of the kind changed.
    SchemaChanged,
}

/// What the receiver was last told of the state of the observation.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Nothing,
    Away(AwayReason),
    Stale(AwayReason),
}

/// A member that only ever asks to wait is away after so many times.
const WAITS_MAX: u32 = 10;

// === impl Course ===

impl Course {
    pub(crate) fn new(start: Start) -> Self {
        let load = match start {
            Start::Fresh => Load::Latest { why: ListReason::Fresh },
            // Version 0 means "any" to a member, not a version.
            Start::Resume { from, or_from } => load_at([Some(from), or_from].into_iter().flatten()),
        };
        Self { state: State::Loading(load), told: Told::Nothing, loaded: false, plain: false, waits: 0 }
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// Whether WatchList may be asked for.
    pub(crate) fn may_stream_lists(&self) -> bool {
        !self.plain
    }

    /// Goes on by what happened; what is to be told of it, and whether to pause before the next try.
    pub(crate) fn step(&mut self, happened: Happened) -> (Option<Observation>, Pause) {
        match (happened, self.state) {
            (Happened::Loaded { version, watching }, _) => {
                let at = Position { complete: version, seen: version };
                self.loaded = true;
                self.state = if watching { State::Watching(at) } else { State::Opening(at) };
                (if watching { self.live() } else { None }, Pause::None)
            }
            (Happened::Opened, State::Opening(at)) => {
                self.state = State::Watching(at);
                (self.live(), Pause::None)
            }
            (Happened::Event(version), State::Watching(at)) => {
                self.state = State::Watching(at.after_event(version));
                (None, Pause::None)
            }
            (Happened::Bookmark(version), State::Watching(at)) => {
                self.state = State::Watching(at.after_event(version));
                (None, Pause::None)
            }
            (Happened::Ended, State::Watching(at)) => {
                self.state = State::Checking(at);
                (None, Pause::IfShort)
            }
            (Happened::Checked(version), State::Checking(at)) => {
                let went_back = at.seen.is_after(version);
                self.state = if went_back { latest(ListReason::WentBack) } else { State::Opening(at) };
                (None, Pause::None)
            }
            (Happened::SchemaChanged, _) => {
                self.state = latest(self.why(ListReason::SchemaChanged));
                (None, Pause::Settle)
            }
            (Happened::NeverEnding, _) => {
                self.plain = true;
                (None, Pause::None)
            }
            (Happened::Failed(fault), state) => self.failed(&fault, state),
            (happened, state) => {
                debug_assert!(false, "{happened:?} cannot happen in {state:?}");
                (None, Pause::Backoff)
            }
        }
    }

    fn failed(&mut self, fault: &Fault, state: State) -> (Option<Observation>, Pause) {
        self.waits = if matches!(fault, Fault::Wait(..)) { self.waits + 1 } else { 0 };
        let refused = matches!(fault, Fault::Expired(_) | Fault::Ahead(_) | Fault::NotUnderstood(_));
        match state {
            State::Loading(Load::At { or, .. }) if refused => {
                self.state = State::Loading(load_at(or.into_iter()));
                return (None, Pause::None);
            }
            State::Loading(Load::Latest { .. }) if matches!(fault, Fault::NotUnderstood(_)) && !self.plain => {
                self.plain = true;
                return (None, Pause::None);
            }
            State::Loading(_) => {}
            State::Opening(_) | State::Watching(_) | State::Checking(_) => {
                let expired = matches!(fault, Fault::Expired(_));
                let why = if expired { ListReason::Expired } else { ListReason::Reconnected };
                self.state = latest(why);
                if expired {
                    return (None, Pause::IfShort);
                }
            }
        }
        match fault {
            Fault::Wait(wait, _) if self.waits < WAITS_MAX => (None, Pause::For(*wait)),
            Fault::Wait(wait, _) => (self.down(fault.reason()), Pause::For(*wait)),
            _ => (self.down(fault.reason()), Pause::Backoff),
        }
    }

    /// The reason of a list that was not asked for at the beginning: what was never loaded stays fresh.
    fn why(&self, why: ListReason) -> ListReason {
        if self.loaded { why } else { ListReason::Fresh }
    }

    fn live(&mut self) -> Option<Observation> {
        let was_stale = matches!(self.told, Told::Stale(_));
        self.told = Told::Nothing;
        was_stale.then_some(Observation::Live)
    }

    fn down(&mut self, reason: AwayReason) -> Option<Observation> {
        let (told, say) = if self.loaded {
            (Told::Stale(reason.clone()), Observation::Stale { reason })
        } else {
            (Told::Away(reason.clone()), Observation::Away { reason })
        };
        let is_new = !self.told.is_alike(&told);
        self.told = told;
        is_new.then_some(say)
    }
}

/// How long to wait before the next try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Not at all.
    None,
    /// Until the backoff says so.
    Backoff,
    /// As the backoff says if the watch lived shorter than a second.
    IfShort,
    /// Until the member serves what it announced.
    Settle,
    /// As the member asked.
    For(std::time::Duration),
}

// === impl Position ===

impl Position {
    /// A bookmark counts like an event: of a transaction whose events share its version some may still follow it.
    fn after_event(self, version: MemberVersion) -> Self {
        if version.is_after(self.seen) { Self { complete: self.seen, seen: version } } else { self }
    }
}

// === impl Told ===

impl Told {
    /// Whether both say the same; texts of one class may differ (ports, times) where a try fails in a new way.
    fn is_alike(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Away(a), Self::Away(b)) | (Self::Stale(a), Self::Stale(b)) => a.class == b.class,
            _ => self == other,
        }
    }
}

fn latest(why: ListReason) -> State {
    State::Loading(Load::Latest { why })
}

fn load_at(mut versions: impl Iterator<Item = MemberVersion>) -> Load {
    match versions.find(|version| version.number() > 0) {
        Some(version) => Load::At { version, or: versions.find(|other| other.number() > 0) },
        None => Load::Latest { why: ListReason::ResumeRefused },
    }
}

#[cfg(test)]
mod tests;
