use std::sync::Arc;
use std::time::Duration;

use orrery_markers::MemberVersion;
use tokio::time::sleep_until;

use super::{Closed, Feed, Sender};
use crate::fault::Fault;
use crate::observe::Observation;
use crate::observe::course::Happened;
use crate::wire::{Event, Scheme};
use crate::{AwayClass, FleetSettings};

/// Why a stream is left.
enum Interrupt {
    Fault(Fault),
    SchemaChanged,
}

/// How long the resuming of a watch may take.
const AT_ONCE: Duration = Duration::from_secs(3);

// === impl Feed ===

impl Feed {
    /// Opens a watch of what follows a version.
    pub(super) async fn open(&mut self, after: MemberVersion) -> Result<Happened, Fault> {
        let version = self.member.version().map_or_else(|| Arc::from(""), |version| version.git_version.clone());
        let seconds = self.watch_seconds();
        let stream = self.reads.watch(Scheme::new(&self.gvr.version, &version), seconds, after).await?;
        self.at_once()?;
        self.stream = Some(stream);
        Ok(Happened::Opened)
    }

    /// After a clean end: the same cluster as before, and not below what was seen.
    pub(super) async fn check(&mut self) -> Result<Happened, Fault> {
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
    pub(super) async fn watch(&mut self, tx: &Sender) -> Result<Happened, Closed> {
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

    /// A hash of the kind's schema, where it is known.
    pub(super) fn schema_now(&mut self) -> Option<u64> {
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
