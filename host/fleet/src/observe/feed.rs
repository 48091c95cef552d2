use std::sync::Arc;
use std::time::Duration;

use orrery_api::{ClusterName, Gvr};
use orrery_markers::{MemberObject, MemberVersion};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::course::{Course, Happened, Load, Pause, State};
use super::load::{Loaded, Reads};
use super::requests::Paths;
use super::stream::Stream;
use super::{ListReason, Observation, Start};
use crate::discovery::Schemas;
use crate::fault::Fault;
use crate::jitter::{Backoff, Random};
use crate::member::{Confirmed, Status};
use crate::wire::{Event, Scheme};
use crate::{AwayClass, FleetSettings, Member};

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

/// What is asked for of each object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Accept {
    /// The whole.
    Objects,
    /// Its metadata only (`PartialObjectMetadata`).
    Metadata,
}

/// The receiver is gone.
pub(super) struct Closed;

type Sender = mpsc::Sender<(ClusterName, Observation)>;

/// From this minor version on members are asked for WatchList (on by default since 1.34).
const WATCH_LIST_MINOR: u32 = 34;

/// How long the resuming of a watch may take.
const AT_ONCE: Duration = Duration::from_secs(3);

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
        let _turn = member.turn().await;
        if self.status.borrow().is_down() {
            return Err(Fault::away(AwayClass::NoAnswer, "the member stopped answering"));
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

    async fn open(&mut self, after: MemberVersion) -> Result<Happened, Fault> {
        let version = self.member.version().map_or_else(|| Arc::from(""), |version| version.git_version.clone());
        let seconds = self.watch_seconds();
        let stream = self.reads.watch(Scheme::new(&self.gvr.version, &version), seconds, after).await?;
        self.at_once()?;
        self.stream = Some(stream);
        Ok(Happened::Opened)
    }

    /// After a clean end: the same cluster as before, and not below what was seen.
    async fn check(&mut self) -> Result<Happened, Fault> {
        let confirmed = self.member.confirm().await?;
        if self.identity.as_ref() != Some(&confirmed.identity) {
            return Err(Fault::Broken("the member is another cluster now".to_owned()));
        }
        let version = self.reads.version_now().await?;
        self.at_once()?;
        Ok(Happened::Checked(version))
    }

    /// A watch is resumed only at once after its end. In a longer time an etcd may have been restored, and have grown
    /// past what was seen.
    fn at_once(&self) -> Result<(), Fault> {
        match self.ended.map(|ended| ended.elapsed()) {
            Some(since) if since > AT_ONCE => {
                Err(Fault::Broken(format!("the watch could not be resumed for {} s", since.as_secs())))
            }
            _ => Ok(()),
        }
    }

    /// Takes events and tells them, until something else happens.
    async fn watch(&mut self, tx: &Sender) -> Result<Happened, Closed> {
        loop {
            let event = match self.next_event().await {
                Ok(Some(event)) => event,
                Ok(None) => return Ok(Happened::Ended),
                Err(Interrupt::Fault(fault)) => return Ok(Happened::Failed(fault)),
                Err(Interrupt::SchemaChanged) => return Ok(Happened::SchemaChanged),
            };
            self.member.metrics().event();
            let (happened, say) = match event {
                Event::Changed(object, kind) => {
                    (Happened::Event(object.version), Observation::Changed { object, kind })
                }
                Event::Bookmark { version, .. } => (Happened::Bookmark(version), Observation::Progress { version }),
                Event::Error(_) => continue,
            };
            self.course.step(happened);
            self.say(tx, say).await?;
        }
    }

    /// The next event, unless the stream is to be cut: the member is down and this stream was silent as long as a
    /// probe waits, its server is another, the kind's schema changed, or bookmarks stay away.
    async fn next_event(&mut self) -> Result<Option<Event>, Interrupt> {
        loop {
            let Some(stream) = &mut self.stream else { return Ok(None) };
            let patience = patience(self.member.settings(), self.status.borrow().is_down(), stream.bookmarked);
            let cut = stream.last + patience;
            // Events before the silence: while the receiver did not read, they have waited.
            tokio::select! {
                biased;
                Ok(()) = self.status.changed() => {
                    if self.status.borrow().epoch != self.epoch {
                        return Err(Interrupt::Fault(Fault::Broken("the member's server is another now".to_owned())));
                    }
                }
                Ok(()) = self.schemas.changed() => {
                    if self.schema_changed() {
                        return Err(Interrupt::SchemaChanged);
                    }
                }
                event = stream.next() => return event.map_err(Interrupt::Fault),
                () = sleep_until(cut) => {
                    let text = format!("the watch was silent for {} s", patience.as_secs());
                    return Err(Interrupt::Fault(Fault::away(AwayClass::NoAnswer, text)));
                }
            }
        }
    }

    fn schema_now(&mut self) -> Option<u64> {
        self.schemas.borrow_and_update().get(&self.gvr.group_resource()).copied()
    }

    /// Whether the schema is another than when the kind was loaded. The first that is heard of is the one it was loaded
    /// in.
    fn schema_changed(&mut self) -> bool {
        let now = self.schema_now();
        let changed = now.is_some() && self.schema.is_some() && now != self.schema;
        self.schema = now.or(self.schema);
        changed
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

/// How long a stream may bring nothing: a member that does not answer gets as long as a probe; one that has sent
/// bookmarks until one is missed; any other until its own deadline is over.
fn patience(settings: &FleetSettings, is_down: bool, bookmarked: bool) -> Duration {
    match (is_down, bookmarked) {
        (true, _) => settings.first_byte,
        (false, true) => settings.silence,
        (false, false) => settings.silence.max(Duration::from_secs(settings.watch_seconds.1 + 60)),
    }
}

/// Why a stream is left.
enum Interrupt {
    Fault(Fault),
    SchemaChanged,
}

// === impl Accept ===

impl Accept {
    pub(super) fn list(self) -> &'static str {
        match self {
            Self::Objects => "application/json",
            Self::Metadata => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
        }
    }

    pub(super) fn watch(self) -> &'static str {
        match self {
            Self::Objects => "application/json",
            Self::Metadata => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
        }
    }
}
