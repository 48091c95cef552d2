//! The loop of one list and watch: it does what the course decides, and tells the course what came of it.

mod watching;

use std::sync::Arc;
use std::time::Duration;

use orrery_api::{ClusterName, Gvr};
use orrery_markers::{MemberObject, MemberVersion};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::course::{Course, Happened, Load, Pause, State};
use super::load::{Loaded, Reads};
use super::requests::{Accept, Paths};
use super::stream::Stream;
use super::{ListReason, Observation, Start};
use crate::discovery::Schemas;
use crate::fault::Fault;
use crate::jitter::{Backoff, Random};
use crate::member::{Confirmed, Status};
use crate::wire::Scheme;
use crate::{AwayClass, Member};

/// One list and watch, kept going: does what its [`Course`] says.
pub(crate) struct Feed {
    member: Member,
    gvr: Gvr,
    reads: Reads,
    course: Course,
    stream: Option<Stream>,
    /// When a watch ended cleanly that is to be resumed.
    ended: Option<Instant>,
    /// Who the member was when it was last loaded.
    identity: Option<Arc<str>>,
    /// Which server the streams are from.
    epoch: u64,
    status: watch::Receiver<Status>,
    schemas: watch::Receiver<Arc<Schemas>>,
    /// The kind's schema when it was last loaded.
    schema: Option<u64>,
    backoff: Backoff,
    random: Random,
}

/// The receiver is gone.
pub(super) struct Closed;

type Sender = mpsc::Sender<(ClusterName, Observation)>;

/// From this minor version on members are asked for WatchList (on by default since 1.34).
const WATCH_LIST_MINOR: u32 = 34;

/// How long a member takes to serve a changed CustomResourceDefinition.
const SETTLE: Duration = Duration::from_millis(500);

/// A watch that lived as long as this was a success: the next wait is the first again.
const STEADY: Duration = Duration::from_secs(2);

/// A watch that lives shorter than this is not opened again at once.
const SHORT: Duration = Duration::from_secs(1);

// === impl Feed ===

impl Feed {
    pub(crate) fn new(member: Member, gvr: Gvr, start: Start) -> Self {
        Self::within(member, gvr, start, None)
    }

    /// The resource in one namespace.
    pub(super) fn within(member: Member, gvr: Gvr, start: Start, namespace: Option<&str>) -> Self {
        let who = format!("{} {gvr} {}", member.name(), namespace.unwrap_or(""));
        Self {
            reads: Reads { member: member.clone(), paths: Paths::new(&gvr, namespace), accept: Accept::Objects },
            course: Course::new(start),
            stream: None,
            ended: None,
            identity: None,
            epoch: 0,
            status: member.status(),
            schemas: member.schemas(),
            schema: None,
            backoff: Backoff::new(member.settings(), &who),
            random: Random::new(member.settings(), &who),
            member,
            gvr,
        }
    }

    /// Only the objects' metadata.
    pub(crate) fn metadata_only(mut self) -> Self {
        self.reads.accept = Accept::Metadata;
        self
    }

    /// Runs until the receiver is gone.
    pub(crate) async fn run(mut self, tx: Sender) {
        while self.advance(&tx).await.is_ok() {}
    }

    async fn advance(&mut self, tx: &Sender) -> Result<(), Closed> {
        let happened = match self.course.state() {
            State::Loading(load) => self.load(load, tx).await?,
            State::Opening(at) => self.open(at.complete).await.unwrap_or_else(Happened::Failed),
            State::Watching(_) => self.watch(tx).await?,
            State::Checking(_) => self.check().await.unwrap_or_else(Happened::Failed),
        };
        let lived = self.stream.as_ref().map(|stream| stream.opened.elapsed());
        if let Some(reason) = self.ends_the_watch(&happened) {
            self.member.metrics().reconnected(reason);
            tracing::debug!(cluster = %self.member.name(), resource = %self.gvr, reason, "watch ended");
            self.stream = None;
            self.ended = matches!(happened, Happened::Ended).then(Instant::now);
        }
        let (say, pause) = self.course.step(happened);
        if let Some(say) = say {
            self.say(tx, say).await?;
        }
        let lived = lived.unwrap_or_default();
        if lived >= STEADY {
            self.backoff.reset();
        }
        self.pause(pause, lived).await;
        Ok(())
    }

    fn ends_the_watch(&self, happened: &Happened) -> Option<&'static str> {
        self.stream.as_ref()?;
        match happened {
            Happened::Ended => Some("ended"),
            Happened::Failed(fault) => Some(fault.as_str()),
            Happened::SchemaChanged => Some("schema_changed"),
            _ => None,
        }
    }

    /// Loads all objects and tells them.
    async fn load(&mut self, load: Load, tx: &Sender) -> Result<Happened, Closed> {
        self.stream = None;
        self.ended = None;
        self.epoch = self.status.borrow_and_update().epoch;
        self.schema = self.schema_now().or(self.schema);
        let confirmed = match self.member.confirm().await {
            Ok(confirmed) => confirmed,
            Err(fault) => return Ok(Happened::Failed(fault)),
        };
        let loaded = match self.load_in_turn(load, &confirmed).await {
            Ok(Some(loaded)) => loaded,
            Ok(None) => return Ok(Happened::NeverEnding),
            Err(fault) => return Ok(Happened::Failed(fault)),
        };
        let version = loaded.version;
        let watching = loaded.stream.is_some();
        self.stream = loaded.stream;
        self.member.metrics().event();
        let say = self.loaded(load, loaded.objects, version, confirmed.identity);
        self.say(tx, say).await?;
        Ok(Happened::Loaded { version, watching })
    }

    fn loaded(
        &mut self,
        load: Load,
        objects: Vec<MemberObject>,
        version: MemberVersion,
        identity: Arc<str>,
    ) -> Observation {
        let is_other = self.identity.as_ref().is_some_and(|known| *known != identity);
        self.identity = Some(identity.clone());
        match load {
            Load::At { version: at, .. } => Observation::Resumed { at, identity, objects },
            Load::Latest { why } => {
                let why = if is_other { ListReason::IdentityChanged } else { why };
                self.member.metrics().relisted(why.as_str());
                Observation::Listed { version, identity, objects, why }
            }
        }
    }

    /// Loads when it is this list's turn: a member's lists are few at a time, for its sake and for our memory's. None
    /// where the initial events of a WatchList stop coming.
    async fn load_in_turn(&mut self, load: Load, confirmed: &Confirmed) -> Result<Option<Loaded>, Fault> {
        let member = self.member.clone();
        let asked = Instant::now();
        let _turn = member.turn().await;
        if self.status.borrow().is_down() {
            return Err(Fault::away(AwayClass::NoAnswer, "the member stopped answering"));
        }
        if asked.elapsed() > SHORT && self.member.confirm().await? != *confirmed {
            return Err(Fault::Broken("the member is another than before the wait".to_owned()));
        }
        let scheme = Scheme::new(&self.gvr.version, &confirmed.version.git_version);
        let (seconds, minor) = (self.watch_seconds(), confirmed.version.minor);
        match load {
            Load::At { version, .. } => self.reads.resume(scheme, seconds, minor, version).await.map(Some),
            Load::Latest { .. } if minor >= WATCH_LIST_MINOR && self.course.may_stream_lists() => {
                self.reads.stream_list(scheme, seconds).await
            }
            Load::Latest { .. } => self.reads.list(scheme, minor).await.map(Some),
        }
    }

    fn watch_seconds(&mut self) -> u64 {
        self.random.between(self.member.settings().watch_seconds)
    }

    async fn say(&mut self, tx: &Sender, say: Observation) -> Result<(), Closed> {
        tx.send((self.member.name().clone(), say)).await.map_err(|_| Closed)
    }

    /// Waits before the next try, but not longer than until the member answers again.
    async fn pause(&mut self, pause: Pause, lived: Duration) {
        let wait = match pause {
            Pause::None => return,
            Pause::IfShort if lived >= SHORT => return,
            Pause::IfShort if self.ended.is_some() => self.backoff.next().min(SHORT),
            Pause::IfShort | Pause::Backoff => self.backoff.next(),
            Pause::Settle => SETTLE,
            Pause::For(wait) => wait,
        };
        let until = Instant::now() + wait;
        let was_down = self.status.borrow_and_update().is_down();
        let back = async {
            while self.status.changed().await.is_ok() {
                if was_down && !self.status.borrow().is_down() {
                    return;
                }
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = sleep_until(until) => {}
            () = back => sleep(Duration::from_millis(1)).await,
        }
    }
}
