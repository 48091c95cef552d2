use std::collections::VecDeque;

use http_body_util::BodyExt as _;
use tokio::time::Instant;

use crate::fault::Fault;
use crate::metrics::Held;
use crate::transport::{Body, chain};
use crate::wire::{Event, Frames, Scheme, WireError};
use crate::{AwayClass, Member};

/// An open watch.
pub(super) struct Stream {
    body: Body,
    frames: Frames,
    scheme: Scheme,
    /// Events that were read while a list was loading.
    backlog: VecDeque<Event>,
    backlog_bytes: usize,
    /// How the body ended while a list was loading.
    ended: Option<Result<(), Fault>>,
    pub(super) opened: Instant,
    /// When the last byte came.
    pub(super) last: Instant,
    /// Whether a bookmark ever came on it.
    pub(super) bookmarked: bool,
    _open: Held,
}

// === impl Stream ===

impl Stream {
    pub(super) fn new(member: &Member, body: Body, scheme: Scheme) -> Self {
        let now = Instant::now();
        Self {
            body,
            frames: Frames::default(),
            scheme,
            backlog: VecDeque::new(),
            backlog_bytes: 0,
            ended: None,
            opened: now,
            last: now,
            bookmarked: false,
            _open: Held::one(&member.metrics().watches),
        }
    }

    /// The next event; none at a clean end. Safe to be cancelled.
    ///
    /// # Errors
    /// A stream that broke or made no sense, and the error that the server ends it with.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, Fault> {
        if let Some(event) = self.backlog.pop_front() {
            self.backlog_bytes -= event.length();
            return Ok(Some(event));
        }
        match self.ended.take() {
            Some(Ok(())) => return Ok(None),
            Some(Err(fault)) => return Err(fault),
            None => {}
        }
        self.read().await
    }

    /// Reads ahead until `limit` bytes are kept, or the stream ends. Safe to be cancelled.
    pub(super) async fn read_ahead(&mut self, limit: usize) {
        while self.wants_more(limit) {
            match self.read().await {
                Ok(Some(event)) => {
                    self.backlog_bytes += event.length();
                    self.backlog.push_back(event);
                }
                Ok(None) => self.ended = Some(Ok(())),
                Err(fault) => self.ended = Some(Err(fault)),
            }
        }
    }

    /// Whether [`Self::read_ahead`] would read.
    pub(super) fn wants_more(&self, limit: usize) -> bool {
        self.ended.is_none() && self.backlog_bytes < limit
    }

    /// The fault that the server began the stream with, if it did: it refuses the version of the watch so.
    pub(super) fn refusal(&self) -> Option<Fault> {
        match &self.ended {
            Some(Err(fault)) if self.backlog.is_empty() => Some(fault.clone()),
            _ => None,
        }
    }

    async fn read(&mut self) -> Result<Option<Event>, Fault> {
        loop {
            if let Some(line) = self.frames.next().map_err(|error| wire_fault(&error))? {
                let event = Event::read(&line, self.scheme).map_err(|error| wire_fault(&error))?;
                return self.noted(event).map(Some);
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    self.last = Instant::now();
                    if let Some(data) = frame.data_ref() {
                        self.frames.push(data);
                    }
                }
                Some(Err(error)) => return Err(Fault::Broken(format!("the watch broke: {}", chain(&error)))),
                None if self.frames.is_between() => return Ok(None),
                None => return Err(Fault::Broken("the watch ended within an event".to_owned())),
            }
        }
    }

    fn noted(&mut self, event: Event) -> Result<Event, Fault> {
        match event {
            Event::Error(status) => {
                let code = http::StatusCode::from_u16(status.code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
                Err(Fault::of_status(code, &status, None))
            }
            Event::Bookmark { .. } => {
                self.bookmarked = true;
                Ok(event)
            }
            Event::Changed(..) => Ok(event),
        }
    }
}

/// The fault that bytes are which cannot be read.
pub(super) fn wire_fault(error: &WireError) -> Fault {
    match error {
        WireError::Unclocked(..) => Fault::away(AwayClass::Unclocked, chain(error)),
        WireError::Cut => Fault::Broken(chain(error)),
        _ => Fault::away(AwayClass::BadAnswer, chain(error)),
    }
}
