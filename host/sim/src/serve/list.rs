use std::collections::BTreeMap;

use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};
use orrery_api::ObjectKey;

use super::{Asked, json_answer, status};
use crate::body::{Body, Broken, pieces};
use crate::cluster::{Cluster, State, World};
use crate::history::Table;
use crate::kind::Kind;

/// Where a list stands.
struct Listing {
    cluster: Cluster,
    kind: Kind,
    partial: bool,
    items: std::vec::IntoIter<(ObjectKey, State)>,
    head: Option<String>,
    is_first: bool,
    ended: bool,
    cuts: u64,
}

/// A list is sent in pieces of about so many bytes.
const PIECE_BYTES: usize = 32 << 10;

// === impl Cluster ===

impl Cluster {
    /// One page of a list, at the latest version, exactly at one, or where a token says.
    pub(super) fn list(&self, world: &World, table: &Table, asked: &Asked) -> Response<Body> {
        let (version, after) = match asked.query.get("continue").map(read_token) {
            None => match version_asked(world, asked) {
                Some(version) => (version, None),
                None => {
                    let message = format!("Too large resource version, current: {}", world.revision);
                    return status(504, "Timeout", &message, Some("ResourceVersionTooLarge"));
                }
            },
            Some(Some((version, after))) => (version, Some(after)),
            Some(None) => return status(400, "BadRequest", "continue key is not valid", None),
        };
        if version < table.list_floor {
            return status(410, "Expired", "The provided resource version is too old.", None);
        }
        let limit =
            asked.query.number("limit").and_then(|limit| usize::try_from(limit).ok()).filter(|limit| *limit > 0);
        let page = Page::of(&table.at(version), asked, after.as_ref(), limit.unwrap_or(usize::MAX));
        let mut response = json_answer(String::new());
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        *response.body_mut() = self.listing(world, table, asked, page, version);
        response
    }

    fn listing(&self, world: &World, table: &Table, asked: &Asked, page: Page, version: u64) -> Body {
        let Kind { kind, gvr, .. } = &table.kind;
        let more = page.more.map_or_else(String::new, |(last, remaining)| {
            let token = format!("{version}|{}|{}", last.namespace, last.name);
            format!(r#","continue":"{token}","remainingItemCount":{remaining}"#)
        });
        let (list_kind, api_version) = if asked.partial {
            ("PartialObjectMetadataList".to_owned(), "meta.k8s.io/v1".to_owned())
        } else {
            (format!("{kind}List"), gvr.api_version())
        };
        let head = format!(
            r#"{{"kind":"{list_kind}","apiVersion":"{api_version}","metadata":{{"resourceVersion":"{version}"{more}}},"items":["#
        );
        let listing = Listing {
            cluster: self.clone(),
            kind: table.kind.clone(),
            partial: asked.partial,
            items: page.items.into_iter(),
            head: Some(head),
            is_first: true,
            ended: false,
            cuts: world.faults.counts.cuts,
        };
        pieces(listing, Listing::next)
    }
}

/// The objects of one answer, and what comes behind them: the last key here and how many are left.
struct Page {
    items: Vec<(ObjectKey, State)>,
    more: Option<(ObjectKey, usize)>,
}

// === impl Page ===

impl Page {
    fn of(objects: &BTreeMap<ObjectKey, State>, asked: &Asked, after: Option<&ObjectKey>, limit: usize) -> Self {
        let mut wanted = objects.iter().filter(|(key, _)| asked.selects(key) && after.is_none_or(|after| *key > after));
        let items: Vec<_> = wanted.by_ref().take(limit).map(|(key, state)| (key.clone(), state.clone())).collect();
        let left = wanted.count();
        let more = items.last().filter(|_| left > 0).map(|(last, _)| (last.clone(), left));
        Self { items, more }
    }
}

// === impl Listing ===

impl Listing {
    async fn next(mut self) -> Option<(Result<Bytes, Broken>, Self)> {
        if self.ended {
            return None;
        }
        let pace = self.cluster.world().faults.pace.list;
        if !pace.is_zero() {
            tokio::time::sleep(pace).await;
        }
        if let Err(broken) = self.cluster.until_it_answers(self.cuts).await {
            self.ended = true;
            return Some((Err(broken), self));
        }
        let mut text = self.head.take().unwrap_or_default();
        while text.len() < PIECE_BYTES {
            let Some((key, state)) = self.items.next() else {
                text.push_str("]}\n");
                self.ended = true;
                break;
            };
            if !std::mem::take(&mut self.is_first) {
                text.push(',');
            }
            if self.partial {
                self.kind.template.write_partial(&key, &state, &mut text);
            } else {
                self.kind.template.write(&self.kind, self.kind.custom, &key, &state, &mut text);
            }
        }
        Some((Ok(text.into()), self))
    }
}

/// The version that a list without a token is at; none where it is above the cluster's.
fn version_asked(world: &World, asked: &Asked) -> Option<u64> {
    let version = asked.query.number("resourceVersion").unwrap_or(0);
    let exact = version > 0 && asked.query.get("resourceVersionMatch") == Some("Exact");
    (version <= world.revision).then_some(if exact { version } else { world.revision })
}

fn read_token(token: &str) -> Option<(u64, ObjectKey)> {
    let mut parts = token.splitn(3, '|');
    let version = parts.next()?.parse().ok()?;
    let (namespace, name) = (parts.next()?, parts.next()?);
    Some((version, ObjectKey::new(namespace, name)))
}
