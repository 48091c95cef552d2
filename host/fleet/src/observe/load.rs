use http_body_util::BodyExt as _;
use orrery_markers::{ChangeKind, MemberObject, MemberVersion};
use tokio::time::timeout;

use super::requests::{Accept, Paths};
use super::stream::{Stream, wire_fault};
use crate::fault::Fault;
use crate::transport::{Body, chain};
use crate::wire::{Event, ListEnd, ListItems, Scheme, read_object};
use crate::{AwayClass, Member};

/// All objects of a member, and the watch that goes on behind them if it is open already.
pub(super) struct Loaded {
    pub(super) version: MemberVersion,
    pub(super) objects: Vec<MemberObject>,
    pub(super) stream: Option<Stream>,
}

/// The requests that read one resource of one member.
#[derive(Clone, Debug)]
pub(super) struct Reads {
    pub(super) member: Member,
    pub(super) paths: Paths,
    pub(super) accept: Accept,
}

/// Pages of servers that serve pages from their cache are so many times as long.
const CACHED_PAGE_FACTOR: usize = 10;

/// A list whose token expires on its way is begun anew so often, then asked for without pages.
const RESTARTS_MAX: u32 = 2;

// === impl Reads ===

impl Reads {
    /// The latest state from a WatchList; the watch goes on behind it. None where its initial events stop coming.
    pub(super) async fn stream_list(&self, scheme: Scheme, seconds: u64) -> Result<Option<Loaded>, Fault> {
        let mut stream = self.open(&self.paths.watch_list(seconds), scheme).await?;
        let mut objects = Vec::new();
        loop {
            let Ok(event) = timeout(self.member.settings().watch_list_pause, stream.next()).await else {
                return Ok(None);
            };
            match event? {
                Some(Event::Changed(object, ChangeKind::Added)) => objects.push(object),
                Some(Event::Bookmark { version, ends_initial: true }) => {
                    return Ok(Some(Loaded { version, objects, stream: Some(stream) }));
                }
                Some(Event::Bookmark { .. }) => {}
                // A member that streams changes before the end has ignored what was asked for.
                Some(Event::Changed(..)) => return Ok(None),
                Some(Event::Error(_)) | None => {
                    return Err(Fault::Broken("the watch ended within its initial events".to_owned()));
                }
            }
        }
    }

    /// The latest state from a list, page by page.
    pub(super) async fn list(&self, scheme: Scheme, minor: u32) -> Result<Loaded, Fault> {
        for _ in 0..RESTARTS_MAX {
            match self.list_pages(scheme, self.page(minor), None).await {
                Err(Fault::Expired(text)) => {
                    tracing::debug!(cluster = %self.member.name(), text, "a list expired on its way");
                }
                result => return result,
            }
        }
        self.list_pages(scheme, 0, None).await
    }

    /// The state exactly at `version`, and a watch from it that was opened before, so that it cannot be too late.
    pub(super) async fn resume(
        &self,
        scheme: Scheme,
        seconds: u64,
        minor: u32,
        version: MemberVersion,
    ) -> Result<Loaded, Fault> {
        let mut stream = self.watch(scheme, seconds, version).await?;
        let limit = self.member.settings().replay_bytes;
        let mut list = std::pin::pin!(self.list_pages(scheme, self.page(minor), Some(version)));
        let listed = loop {
            tokio::select! {
                listed = &mut list => break listed?,
                () = stream.read_ahead(limit), if stream.wants_more(limit) => {
                    if let Some(fault) = stream.refusal() {
                        return Err(fault);
                    }
                }
            }
        };
        // The list may be quicker than the refusal of the watch, which the next event then is.
        Ok(Loaded { stream: Some(stream), ..listed })
    }

    /// A watch of what follows a version.
    pub(super) async fn watch(&self, scheme: Scheme, seconds: u64, after: MemberVersion) -> Result<Stream, Fault> {
        self.open(&self.paths.watch(after, seconds), scheme).await
    }

    async fn open(&self, path: &str, scheme: Scheme) -> Result<Stream, Fault> {
        let response = self.member.get(path, self.accept.watch()).await?;
        Ok(Stream::new(&self.member, response.into_body(), scheme))
    }

    /// The member's version now, from the shortest list.
    pub(super) async fn version_now(&self) -> Result<MemberVersion, Fault> {
        let response = self.member.get(&self.paths.list(1, None), self.accept.list()).await?;
        self.read_page(response.into_body(), None).await.map(|(end, _)| end.version)
    }

    async fn list_pages(&self, scheme: Scheme, limit: usize, at: Option<MemberVersion>) -> Result<Loaded, Fault> {
        let mut objects = Vec::new();
        let mut path = self.paths.list(limit, at);
        loop {
            let response = self.member.get(&path, self.accept.list()).await?;
            let (end, page) = self.read_page(response.into_body(), Some(scheme)).await?;
            objects.extend(page);
            if end.next.is_empty() {
                return Ok(Loaded { version: end.version, objects, stream: None });
            }
            path = self.paths.next_page(limit, &end.next);
        }
    }

    /// One page; its objects only if they are asked for in a form.
    async fn read_page(&self, mut body: Body, scheme: Option<Scheme>) -> Result<(ListEnd, Vec<MemberObject>), Fault> {
        let wait = self.member.settings().first_byte;
        let mut items = ListItems::default();
        let mut objects = Vec::new();
        let stalled = || Fault::away(AwayClass::NoAnswer, format!("a list stopped for {} s", wait.as_secs()));
        while let Some(frame) = timeout(wait, body.frame()).await.map_err(|_| stalled())? {
            let frame = frame.map_err(|error| Fault::Broken(format!("the list broke: {}", chain(&error))))?;
            let Some(data) = frame.data_ref() else { continue };
            items.push(data);
            while let Some(item) = items.next().map_err(|error| wire_fault(&error))? {
                if let Some(scheme) = scheme {
                    objects.push(read_object(&item, scheme).map_err(|error| wire_fault(&error))?);
                }
            }
        }
        let end = items.end().map_err(|error| wire_fault(&error))?;
        Ok((end, objects))
    }

    fn page(&self, minor: u32) -> usize {
        let page = self.member.settings().page;
        if minor >= 34 { page.saturating_mul(CACHED_PAGE_FACTOR) } else { page }
    }
}
