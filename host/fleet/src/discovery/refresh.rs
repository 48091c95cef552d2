use std::collections::HashMap;
use std::time::Duration;

use http::StatusCode;
use http::header::{ETAG, HeaderValue};
use orrery_api::{ClusterName, GroupResource, Gvr};
use orrery_markers::{ChangeKind, MemberObject};
use serde::Deserialize;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use twox_hash::XxHash3_64;

use super::{Discovery, Group, aggregated, legacy};
use crate::fault::Fault;
use crate::member::Status;
use crate::observe::Feed;
use crate::{AwayClass, Member, Observation, Start};

/// For each custom resource a hash that changes with its schema.
pub(crate) type Schemas = HashMap<GroupResource, u64>;

/// Longest discovery document. One of a cluster with 1,000 CRDs has about 2 MB.
const DOCUMENT_MAX: usize = 64 << 20;

/// After a sign of a change the documents are read so often, for so long: an API server shows a new CRD in them some
/// tenths of a second after the CRD's own event, and an aggregated server's whenever it has reached it.
const QUICK: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(3));
const SLOW: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));

/// Keeps what is known of a member's resources fresh: reads it when the member answers again, within 2 s of a change
/// of a CustomResourceDefinition or APIService, and now and then in any case.
pub(crate) async fn keep_fresh(member: &Member) {
    let mut reader = Reader::default();
    let mut signs = Signs::new(member);
    let mut changed_at = Instant::now();
    loop {
        if let Err(fault) = reader.refresh(member).await {
            tracing::debug!(cluster = %member.name(), reason = %fault.reason(), "discovery was not read");
        }
        let next = Instant::now() + signs.interval(member, changed_at);
        tokio::select! {
            () = sleep_until(next) => {}
            () = signs.next(member) => changed_at = Instant::now(),
        }
    }
}

/// Reads the two documents of aggregated discovery, or the many of the legacy form.
#[derive(Default)]
struct Reader {
    core: Cached,
    named: Cached,
}

#[derive(Default)]
struct Cached {
    etag: Option<HeaderValue>,
    groups: Option<Vec<Group>>,
}

/// Says when something may have changed.
struct Signs {
    crds: Source,
    services: Source,
    up: watch::Receiver<Status>,
    was_down: bool,
    schemas: Schemas,
    _feeds: JoinSet<()>,
}

/// A kind whose changes are signs.
struct Source {
    rx: mpsc::Receiver<(ClusterName, Observation)>,
    /// Its changes cannot be watched.
    blind: bool,
}

// === impl Reader ===

impl Reader {
    async fn refresh(&mut self, member: &Member) -> Result<(), Fault> {
        let before = member.discovery();
        let core = self.core.read(member, "/api", before.as_deref()).await?;
        let named = self.named.read(member, "/apis", before.as_deref()).await?;
        let read = match (core, named) {
            (Form::Aggregated(core), Form::Aggregated(named)) => {
                Discovery { groups: core.iter().chain(named).cloned().collect() }
            }
            _ => legacy::read(member, before.as_deref()).await?,
        };
        member.update(|status| {
            let changed = status.discovery.as_deref() != Some(&read);
            if changed {
                status.discovery = Some(read.into());
            }
            changed
        });
        Ok(())
    }
}

enum Form<'a> {
    Aggregated(&'a [Group]),
    Legacy,
}

// === impl Cached ===

impl Cached {
    async fn read(&mut self, member: &Member, path: &str, before: Option<&Discovery>) -> Result<Form<'_>, Fault> {
        let response = member.get_unless(path, aggregated::ACCEPT, self.etag.as_ref()).await?;
        if response.status() != StatusCode::NOT_MODIFIED {
            let etag = response.headers().get(ETAG).cloned();
            let raw = member.whole(response.into_body(), DOCUMENT_MAX).await?;
            match aggregated::parse(&raw, before) {
                Ok(groups) => *self = Self { etag, groups: Some(groups) },
                Err(_) => *self = Self::default(),
            }
        }
        Ok(self.groups.as_deref().map_or(Form::Legacy, Form::Aggregated))
    }
}

// === impl Signs ===

impl Signs {
    fn new(member: &Member) -> Self {
        let mut feeds = JoinSet::new();
        let mut source = |gvr| {
            let (tx, rx) = mpsc::channel(64);
            feeds.spawn(Feed::new(member.clone(), gvr, Start::Fresh).metadata_only().run(tx));
            Source { rx, blind: false }
        };
        let crds = source(Gvr::new("apiextensions.k8s.io", "v1", "customresourcedefinitions"));
        let services = source(Gvr::new("apiregistration.k8s.io", "v1", "apiservices"));
        Self { crds, services, up: member.status(), was_down: false, schemas: Schemas::new(), _feeds: feeds }
    }

    /// How long until the documents are read again if nothing happens.
    fn interval(&self, member: &Member, changed_at: Instant) -> Duration {
        let (blind, calm) = member.settings().discovery;
        match changed_at.elapsed() {
            since if since < QUICK.1 => QUICK.0,
            since if since < SLOW.1 => SLOW.0,
            _ if member.discovery().is_none() => SLOW.0,
            _ if self.crds.blind || self.services.blind => blind,
            _ => calm,
        }
    }

    /// Waits for a sign.
    async fn next(&mut self, member: &Member) {
        loop {
            tokio::select! {
                Some((_, said)) = self.crds.rx.recv() => {
                    if self.crds.is_sign(&said) {
                        self.take_schemas(member, said);
                        return;
                    }
                }
                Some((_, said)) = self.services.rx.recv() => if self.services.is_sign(&said) { return },
                Ok(()) = self.up.changed() => {
                    let is_down = self.up.borrow_and_update().is_down();
                    let came_back = std::mem::replace(&mut self.was_down, is_down) && !is_down;
                    if came_back {
                        return;
                    }
                }
            }
        }
    }

    fn take_schemas(&mut self, member: &Member, said: Observation) {
        match said {
            Observation::Listed { objects, .. } | Observation::Resumed { objects, .. } => {
                self.schemas = objects.iter().filter_map(schema).collect();
            }
            Observation::Changed { object, kind } => match (schema(&object), kind) {
                (Some((resource, _)), ChangeKind::Deleted) => drop(self.schemas.remove(&resource)),
                (Some((resource, hash)), _) => drop(self.schemas.insert(resource, hash)),
                (None, _) => {}
            },
            _ => {}
        }
        member.set_schemas(self.schemas.clone());
    }
}

// === impl Source ===

impl Source {
    /// Whether what was observed is a sign of a change.
    fn is_sign(&mut self, said: &Observation) -> bool {
        match said {
            Observation::Listed { .. } | Observation::Resumed { .. } | Observation::Changed { .. } => {
                self.blind = false;
                true
            }
            Observation::Away { reason } | Observation::Stale { reason } => {
                self.blind |=
                    matches!(reason.class, AwayClass::Forbidden | AwayClass::NotServed | AwayClass::BadAnswer);
                false
            }
            Observation::Progress { .. } | Observation::Live => false,
        }
    }
}

/// The custom resource that a CustomResourceDefinition defines, and a hash that changes with its schema.
fn schema(crd: &MemberObject) -> Option<(GroupResource, u64)> {
    #[derive(Deserialize)]
    struct Object {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        #[serde(default)]
        generation: i64,
    }
    let object: Object = serde_json::from_slice(&crd.body).ok()?;
    let text = format!("{} {}", crd.uid, object.metadata.generation);
    Some((crd.key.name.parse().ok()?, XxHash3_64::oneshot(text.as_bytes())))
}
