//! The start, first half: what each member holds, and whether its history is the one that the log recorded.
//!
//! ```text
//!            ┌── Resumed ──▶ Replaying ── all recorded events came ──▶ Replayed
//!  Waiting ──┤                   └── not the recorded history ──▶ Waiting (for a fresh list)
//!            ├── Listed ──▶ Listed
//!            └── Away ──▶ Away (a Listed that still comes in time counts)
//! ```

use std::sync::Arc;
use std::time::Duration;

use orrery_api::ClusterName;
use orrery_fleet::{AwayReason, Member, Observation, Start};
use orrery_markers::{
    Change, ChangeKind, ClusterLog, Log, MemberObject, MemberVersion, Mismatch, Presence, Record, Replay, Step,
};
use tokio::time::Instant;
use tracing::warn;

/// How long a replayed watch may take to bring what the log has.
const REPLAY_MAX: Duration = Duration::from_secs(10);
/// What may come after a cluster's base while others still load; beyond it the cluster is listed anew when they are done.
const AFTER_MAX: usize = 65_536;

/// One cluster on its way to be served.
pub(super) struct Gathering {
    pub(super) member: Member,
    pub(super) state: State,
    /// What came after the base.
    pub(super) after: Vec<Observation>,
    resume: Option<Resume>,
}

#[derive(Clone)]
struct Resume {
    identity: Arc<str>,
    from: MemberVersion,
    at_head: MemberVersion,
}

pub(super) enum State {
    Waiting,
    Replaying(Replaying, Instant),
    Replayed(Replaying),
    Listed(Listed),
    Away(AwayReason),
}

/// A cluster's state at an earlier version, and the events from there.
pub(super) struct Replaying {
    replay: Replay,
    /// The place in the log's tail from which there are bodies.
    pub(super) since: usize,
    /// What list and watch brought of what the log has.
    pub(super) bodies: Vec<MemberObject>,
}

/// Where a replay begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    /// Where the recovered log begins, or where the cluster joined after that: the ring can be filled from there.
    Tail,
    /// At the log's head: without history.
    Head,
}

/// A cluster's latest state.
pub(super) struct Listed {
    pub(super) version: MemberVersion,
    pub(super) identity: Arc<str>,
    pub(super) objects: Vec<MemberObject>,
}

/// What is to be done about a cluster after it said something.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Nothing,
    /// Its observation is to begin anew, at its latest.
    Restart,
}

/// The log that is being recovered.
pub(super) struct Recovering<'a> {
    pub(super) log: &'a Log,
    pub(super) tail: &'a [Record],
}

// === impl Gathering ===

impl Gathering {
    /// `member` on its way, and where its observation begins.
    pub(super) fn begin(member: Member, recovering: &Recovering<'_>) -> (Self, Start) {
        let resume = recovering.resume(member.name());
        let start = match &resume {
            Some(Resume { from, at_head, .. }) => {
                Start::Resume { from: *from, or_from: (at_head != from).then_some(*at_head) }
            }
            None => Start::Fresh,
        };
        (Self { member, state: State::Waiting, after: Vec::new(), resume }, start)
    }

    /// A cluster that is away from the start.
    pub(super) fn away(member: Member, reason: AwayReason) -> Self {
        Self { member, state: State::Away(reason), after: Vec::new(), resume: None }
    }

    pub(super) fn is_settled(&self) -> bool {
        matches!(self.state, State::Replayed(_) | State::Listed(_) | State::Away(_))
    }

    /// Whether it was asked to resume, and is away.
    pub(super) fn has_failed_to_resume(&self) -> bool {
        self.resume.is_some() && matches!(self.state, State::Away(_))
    }

    /// When a replay has taken too long.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.state {
            State::Replaying(_, since) => Some(*since + REPLAY_MAX),
            _ => None,
        }
    }

    pub(super) fn check_deadline(&mut self, now: Instant) -> Next {
        if self.deadline().is_none_or(|deadline| deadline > now) {
            return Next::Nothing;
        }
        self.give_up(&"its watch did not bring all that was recorded in time")
    }

    /// Takes one observation.
    pub(super) fn take(&mut self, observation: Observation, recovering: &Recovering<'_>) -> Next {
        match (&mut self.state, observation) {
            (State::Waiting | State::Away(_), Observation::Resumed { at, identity, objects }) => {
                match self.resumed(at, &identity, objects, recovering) {
                    Ok(state) => self.state = state,
                    Err(mismatch) => return self.give_up(&mismatch),
                }
            }
            (_, Observation::Listed { version, identity, objects, why: _ }) => {
                self.after.clear();
                self.state = State::Listed(Listed { version, identity, objects });
            }
            (State::Waiting, Observation::Away { reason }) => self.state = State::Away(reason),
            (State::Replaying(replaying, _), observation) => match replaying.take(observation) {
                Ok(later) => self.after.extend(later),
                Err(mismatch) => return self.give_up(&mismatch),
            },
            (State::Replayed(_) | State::Listed(_), observation) if self.after.len() < AFTER_MAX => {
                self.after.push(observation);
            }
            (State::Replayed(_) | State::Listed(_), _) => {
                return self.give_up(&"more came than is kept while others load");
            }
            (State::Waiting | State::Away(_), _) => {}
        }
        self.settle();
        Next::Nothing
    }

    fn resumed(
        &self,
        at: MemberVersion,
        identity: &Arc<str>,
        objects: Vec<MemberObject>,
        recovering: &Recovering<'_>,
    ) -> Result<State, String> {
        let resume = self.resume.as_ref().ok_or("it was not asked to resume")?;
        if resume.identity != *identity {
            return Err("it is another cluster now".to_owned());
        }
        let from = if at == resume.from { From::Tail } else { From::Head };
        let (replay, since) = recovering.replay(self.member.name(), from, at);
        let changes: Vec<Change> = objects.iter().map(|object| object.change(ChangeKind::Modified)).collect();
        let recorded = replay.list(at, &changes).map_err(|mismatch| mismatch.to_string())?;
        let bodies =
            objects.into_iter().zip(recorded).filter_map(|(object, recorded)| recorded.then_some(object)).collect();
        Ok(State::Replaying(Replaying { replay, since, bodies }, Instant::now()))
    }

    fn settle(&mut self) {
        if !matches!(&self.state, State::Replaying(replaying, _) if replaying.replay.is_done()) {
            return;
        }
        if let State::Replaying(replaying, _) = std::mem::replace(&mut self.state, State::Waiting) {
            self.state = State::Replayed(replaying);
        }
    }

    fn give_up(&mut self, reason: &dyn std::fmt::Display) -> Next {
        warn!(cluster = %self.member.name(), %reason, "cannot resume; listing anew");
        (self.state, self.resume) = (State::Waiting, None);
        self.after.clear();
        Next::Restart
    }
}

// === impl Replaying ===

impl Replaying {
    /// Takes one observation; gives it back where it came after the log.
    fn take(&mut self, observation: Observation) -> Result<Option<Observation>, Mismatch> {
        match observation {
            Observation::Changed { object, kind } => {
                let step = self.replay.event(&object.change(kind))?;
                if step == Step::New {
                    return Ok(Some(Observation::Changed { object, kind }));
                }
                if step == Step::Recorded && kind != ChangeKind::Deleted {
                    self.bodies.push(object);
                }
                Ok(None)
            }
            Observation::Progress { version } => {
                self.replay.progress(version)?;
                Ok(Some(Observation::Progress { version }))
            }
            later => Ok(Some(later)),
        }
    }
}

// === impl Recovering ===

impl Recovering<'_> {
    /// Where `cluster` can be resumed; nowhere if the log does not have all of it.
    fn resume(&self, cluster: &ClusterName) -> Option<Resume> {
        let (part, since) = self.log.settled(cluster, self.tail);
        let (clock, identity) = (part.clock()?, part.identity()?.clone());
        let joined = part.presence() == Presence::Joined;
        let at_head = at_head(part, &self.tail[since..], cluster).clock()?.complete;
        joined.then_some(Resume { identity, from: clock.complete, at_head })
    }

    /// A replay of `cluster` from `at`, and the place in the tail from which it brings bodies.
    fn replay(&self, cluster: &ClusterName, from: From, at: MemberVersion) -> (Replay, usize) {
        let (part, since) = self.log.settled(cluster, self.tail);
        match from {
            From::Tail => (Replay::new(&part, &self.tail[since..], cluster, at), since),
            From::Head => {
                (Replay::new(&at_head(part, &self.tail[since..], cluster), &[], cluster, at), self.tail.len())
            }
        }
    }
}

fn at_head(mut part: ClusterLog, tail: &[Record], cluster: &ClusterName) -> ClusterLog {
    for record in tail.iter().filter(|record| record.cluster() == Some(cluster)) {
        part.replay(record);
    }
    part
}
