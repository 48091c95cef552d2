//! One observation of a few namespaces, each on a stream of its own.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use orrery_api::{ClusterName, Gvr};
use orrery_markers::{MemberObject, MemberVersion};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::feed::{Closed, Feed};
use super::{AwayReason, ListReason, Observation, Start};
use crate::Member;

type Sender = mpsc::Sender<(ClusterName, Observation)>;
type Receiver = mpsc::Receiver<(ClusterName, Observation)>;

/// Observations of one namespace that may wait for the others.
const AHEAD_MAX: usize = 64;

/// The streams of all namespaces, and how far each has come.
struct Merge {
    parts: Vec<Part>,
    /// Which part is asked first next time, so that none starves.
    turn: usize,
    progress: Option<MemberVersion>,
    _feeds: JoinSet<()>,
}

struct Part {
    namespace: String,
    rx: Receiver,
    listed: Option<(MemberVersion, Arc<str>, Vec<MemberObject>)>,
    progress: Option<MemberVersion>,
    stale: bool,
}

/// Observes `gvr` in each of the namespaces; everywhere if it is not namespaced.
pub(super) async fn observe(member: Member, gvr: Gvr, start: Start, namespaces: Vec<String>, tx: Sender) {
    if !is_namespaced(&member, &gvr).await {
        return Feed::new(member, gvr, start).run(tx).await;
    }
    let mut why = match start {
        Start::Fresh => ListReason::Fresh,
        Start::Resume { .. } => ListReason::ResumeRefused,
    };
    // A list of one namespace anew is a list of all anew: what is told is always the whole.
    while let Ok(next) = Merge::new(&member, &gvr, &namespaces).run(&member, why, &tx).await {
        why = next;
    }
}

/// Whether the member says so; waits until it has said what it serves. What it does not serve is taken as namespaced,
/// and its lists then say why.
async fn is_namespaced(member: &Member, gvr: &Gvr) -> bool {
    let mut status = member.status();
    let known = status.wait_for(|status| status.discovery.is_some()).await;
    let discovery = known.ok().and_then(|status| status.discovery.clone());
    discovery.and_then(|discovery| discovery.find(gvr).map(|info| info.namespaced)).unwrap_or(true)
}

// === impl Merge ===

impl Merge {
    fn new(member: &Member, gvr: &Gvr, namespaces: &[String]) -> Self {
        let mut feeds = JoinSet::new();
        let mut part = |namespace: &String| {
            let (tx, rx) = mpsc::channel(AHEAD_MAX);
            feeds.spawn(Feed::within(member.clone(), gvr.clone(), Start::Fresh, Some(namespace)).run(tx));
            Part { namespace: namespace.clone(), rx, listed: None, progress: None, stale: false }
        };
        let parts = namespaces.iter().map(&mut part).collect();
        Self { parts, turn: 0, progress: None, _feeds: feeds }
    }

    /// Tells the merged observations until one namespace is listed anew; why it was.
    async fn run(mut self, member: &Member, why: ListReason, tx: &Sender) -> Result<ListReason, Closed> {
        let listed = self.load(member, why, tx).await?;
        say(member, tx, listed).await?;
        loop {
            let (at, observation) = self.next(|_| true).await?;
            let merged = match observation {
                Observation::Listed { why, .. } => return Ok(why),
                Observation::Changed { .. } => Some(observation),
                Observation::Progress { version } => self.progressed(at, version),
                Observation::Stale { reason } => self.stale(at, Some(reason)),
                Observation::Live => self.stale(at, None),
                Observation::Resumed { .. } | Observation::Away { .. } => None,
            };
            if let Some(merged) = merged {
                say(member, tx, merged).await?;
            }
        }
    }

    /// Waits until all are listed. Those that are wait with their changes.
    async fn load(&mut self, member: &Member, why: ListReason, tx: &Sender) -> Result<Observation, Closed> {
        while self.parts.iter().any(|part| part.listed.is_none()) {
            let (at, observation) = self.next(|part| part.listed.is_none()).await?;
            let part = &mut self.parts[at];
            match observation {
                Observation::Listed { version, identity, objects, .. } => {
                    part.listed = Some((version, identity, objects));
                }
                Observation::Away { reason } => {
                    let text = format!("namespace {}: {}", part.namespace, reason.text);
                    say(member, tx, Observation::Away { reason: AwayReason { text, ..reason } }).await?;
                }
                _ => {}
            }
        }
        let mut version = None;
        let mut identity = Arc::from("");
        let mut objects = Vec::new();
        for (part_version, part_identity, part_objects) in self.parts.iter_mut().filter_map(|part| part.listed.take()) {
            version = lower(version, part_version);
            identity = part_identity;
            objects.extend(part_objects);
        }
        let version = version.unwrap_or(MemberVersion::from_number(0));
        Ok(Observation::Listed { version, identity, objects, why })
    }

    /// The next observation of a part that is `wanted`.
    async fn next(&mut self, wanted: impl Fn(&Part) -> bool) -> Result<(usize, Observation), Closed> {
        let count = self.parts.len();
        let (at, received) = poll_fn(|cx| {
            for at in (0..count).map(|step| (self.turn + step) % count) {
                if wanted(&self.parts[at])
                    && let Poll::Ready(received) = self.parts[at].rx.poll_recv(cx)
                {
                    return Poll::Ready((at, received));
                }
            }
            Poll::Pending
        })
        .await;
        self.turn = (at + 1) % count;
        received.map(|(_, observation)| (at, observation)).ok_or(Closed)
    }

    /// All have come at least as far as the slowest.
    fn progressed(&mut self, at: usize, version: MemberVersion) -> Option<Observation> {
        self.parts[at].progress = Some(version);
        let slowest =
            self.parts.iter().try_fold(None, |slowest, part| part.progress.map(|own| lower(slowest, own)))??;
        let rises = self.progress.is_none_or(|told| slowest.is_after(told));
        self.progress = Some(slowest);
        rises.then_some(Observation::Progress { version: slowest })
    }

    /// The whole is stale while one part is.
    fn stale(&mut self, at: usize, reason: Option<AwayReason>) -> Option<Observation> {
        let before = self.parts.iter().any(|part| part.stale);
        self.parts[at].stale = reason.is_some();
        let after = self.parts.iter().any(|part| part.stale);
        match reason {
            Some(reason) if !before => Some(Observation::Stale { reason }),
            None if before && !after => Some(Observation::Live),
            _ => None,
        }
    }
}

async fn say(member: &Member, tx: &Sender, observation: Observation) -> Result<(), Closed> {
    tx.send((member.name().clone(), observation)).await.map_err(|_| Closed)
}

fn lower(so_far: Option<MemberVersion>, version: MemberVersion) -> Option<MemberVersion> {
    Some(so_far.filter(|low| version.is_after(*low)).unwrap_or(version))
}
