//! deletecollection over all clusters that hold something of it.

use futures::stream::{self, StreamExt as _};
use http::header::WARNING;
use http::{Response, StatusCode};
use orrery_api::{ClusterName, Naming, ObjectKey, Stamp, Uid};
use orrery_cache::{FieldSelector, LabelSelector};
use orrery_fleet::AwayClass;
use orrery_markers::Marker;
use orrery_sequencer::{ClusterPhase, Owner, Resource, Told};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Call;
use super::everywhere::message_of;
use super::send::Sent;
use crate::body::{Body, json};
use crate::front::Service;
use crate::front::resource::get::fetch;
use crate::options::ListOptions;
use crate::query::Query;
use crate::status::{Cause, Status};
use crate::translate::{Border, Head, Own, Showing, Versions};

/// Clusters that are written to at a time.
pub(super) const WRITTEN_AT_ONCE: usize = 32;
/// Asks for a list without the objects' specs.
const METADATA_ONLY: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";

/// A member's list, its items as they came.
#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

/// What is deleted in one cluster.
struct Part {
    cluster: ClusterName,
    label_selector: String,
    field_selector: String,
}

// === impl Service ===

impl Service {
    /// Deletes what the selectors select, in every cluster; what one cluster refuses is named, and the others' part is done.
    pub(super) async fn delete_collection(
        &self,
        call: &Call<'_>,
        resource: &Resource,
    ) -> Result<Response<Body>, Status> {
        let options = ListOptions::parse(&call.info.query, false)?;
        let options = self.through_claims(call.asked, options).await;
        if let Some(selection) = self.selected_by_extensions(call, resource, &options).await? {
            return self.delete_selected(call, resource, &selection).await;
        }
        let since = resource.reader().head();
        let parts = self.parts(call, resource, &options)?;
        let deleting: Vec<_> = parts
            .iter()
            .map(|part| async move {
                let items = self.delete_part(call, resource, part, since).await;
                (part.cluster.clone(), items)
            })
            .collect();
        let results: Vec<_> = stream::iter(deleting).buffered(WRITTEN_AT_ONCE).collect().await;
        let (mut items, mut failed, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
        for (cluster, result) in results {
            match result {
                Ok((deleted, said)) => {
                    items.extend(deleted);
                    warnings.extend(said);
                }
                Err(status) => failed.push((cluster, status)),
            }
        }
        if let Some((_, first)) = failed.first() {
            return Err(in_part(call, items.len(), &failed, first.code()));
        }
        Ok(call.collection(resource, &items, warnings))
    }

    /// The clusters that are asked, each with the selectors as it knows them.
    fn parts(&self, call: &Call<'_>, resource: &Resource, options: &ListOptions) -> Result<Vec<Part>, Status> {
        let bad = |error: orrery_cache::SelectorError| Status::bad_request(error.to_string());
        let shape = resource.reader().shape();
        let labels = LabelSelector::parse(&options.label_selector).map_err(bad)?;
        let fields = FieldSelector::parse(&options.field_selector, &shape.fields).map_err(bad)?;
        let is_virtual = self.settings().stamp == Stamp::Label;
        let label_selector = if is_virtual { labels.without_cluster().to_string() } else { labels.to_string() };
        let named = match fields.name() {
            Some(name) => {
                let namespace = fields.namespace().unwrap_or(&call.asked.namespace);
                match resource.owner_of(&ObjectKey::new(namespace, name)) {
                    Owner::Held { cluster, key } | Owner::Away { cluster, key, .. } => {
                        Some((cluster, options.field_selector.replace(name, &key.name)))
                    }
                    Owner::Nobody => return Ok(Vec::new()),
                }
            }
            None => None,
        };
        let field_selector = |cluster: &ClusterName| match named.as_ref().filter(|_| resource.naming() != Naming::Same)
        {
            Some((holder, selector)) => (holder == cluster).then(|| selector.clone()),
            None => Some(options.field_selector.clone()),
        };
        let serves = |phase: &ClusterPhase| !matches!(phase, ClusterPhase::Away { reason } if reason.class == AwayClass::NotServed);
        let clusters = resource.clusters().into_iter().filter(|(_, state)| serves(&state.phase));
        let meant = clusters.filter(|(cluster, _)| !is_virtual || labels.admits_cluster(cluster));
        let part = |(cluster, _): (ClusterName, _)| {
            let field_selector = field_selector(&cluster)?;
            Some(Part { cluster, label_selector: label_selector.clone(), field_selector })
        };
        Ok(meant.filter_map(part).collect())
    }

    async fn delete_part(
        &self,
        call: &Call<'_>,
        resource: &Resource,
        part: &Part,
        since: Marker,
    ) -> Result<(Vec<String>, Vec<http::HeaderValue>), Status> {
        let cluster = &part.cluster;
        let member = self.reachable(call, cluster)?;
        let border = Border {
            stamp: self.settings().stamp,
            cluster,
            served: "",
            name: "",
            versions: Versions::Of(None),
            own: Own::default(),
            service: None,
            owners: &[],
            renamed: &[],
        };
        let outgoing = call.inward(&border, part.path(call, true))?;
        let sent = self.send(call, &member, outgoing).await?;
        if !sent.code.is_success() {
            return Err(Status::passed_on(sent.code, message_of(&sent)));
        }
        let present = self.present(call, part, &member).await?;
        let mut shown = Vec::new();
        for item in items_of(&sent) {
            shown.extend(self.deleted(call, resource, cluster, item, &present, since).await);
        }
        Ok((shown, sent.warnings))
    }

    /// What the cluster still has of the collection: objects whose finalizers hold them back.
    async fn present(&self, call: &Call<'_>, part: &Part, member: &orrery_fleet::Member) -> Result<Vec<Head>, Status> {
        let unread = |reason: String| Status::timeout(format!("cluster {}: {reason}", part.cluster));
        let (code, bytes) = fetch(member, &part.path(call, false), METADATA_ONLY).await.map_err(unread)?;
        if !code.is_success() {
            return Err(unread(format!("it has deleted the collection, but its list is answered {code}")));
        }
        let list: List<'_> = serde_json::from_slice(&bytes).map_err(|error| unread(error.to_string()))?;
        let items = list.items.unwrap_or_default().into_iter();
        Ok(items.filter_map(|item| Head::read(item.get().as_bytes())).collect())
    }

    /// One deleted object as clients see it, once the log has what became of it.
    async fn deleted(
        &self,
        call: &Call<'_>,
        resource: &Resource,
        cluster: &ClusterName,
        item: &str,
        present: &[Head],
        since: Marker,
    ) -> Option<String> {
        let head = Head::read(item.as_bytes())?;
        let uid = Uid::new(&head.metadata.uid);
        let key = ObjectKey::new(&head.metadata.namespace, &head.metadata.name);
        let there = present.iter().find(|there| there.metadata.uid == head.metadata.uid);
        let told = match (call.is_dry_run(), there.and_then(Head::version)) {
            (true, _) => Told::Version(&uid, head.version()?),
            (false, Some(version)) => Told::Version(&uid, version),
            (false, None) => Told::Gone(&uid),
        };
        let written = if call.is_dry_run() {
            resource.sequenced(cluster, &key, &told, since)
        } else {
            let look = || self.look_again(resource, cluster, &key, uid.clone());
            resource.written(cluster, &key, &told, since, look).await
        };
        let served = written.as_ref().map_or(&key, |written| &written.served);
        let showing = Showing {
            stamp: self.settings().stamp,
            cluster,
            holders: &resource.holders_shown(served),
            served: &served.name,
            name: &key.name,
            marker: written.as_ref().map(|written| written.marker),
        };
        showing.object(item)
    }
}

// === impl Call ===

impl Call<'_> {
    /// The answer: what was deleted.
    pub(super) fn collection(
        &self,
        resource: &Resource,
        items: &[String],
        warnings: Vec<http::HeaderValue>,
    ) -> Response<Body> {
        let list = format!(
            "{{\"kind\":\"{}List\",\"apiVersion\":\"{}\",\"metadata\":{{\"resourceVersion\":\"{}\"}},\"items\":[{}]}}\n",
            self.served.kind,
            self.asked.gvr.api_version(),
            resource.reader().head(),
            items.join(",")
        );
        let mut response = json(StatusCode::OK, list.into_bytes(), self.encoding);
        for warning in warnings {
            response.headers_mut().append(WARNING, warning);
        }
        response
    }
}

// === impl Part ===

impl Part {
    /// The collection's path, with all other parameters of the client's where it is to be deleted.
    fn path(&self, call: &Call<'_>, deletes: bool) -> String {
        let mut pairs: Vec<String> = Vec::new();
        if deletes {
            pairs.extend(own_pairs(&call.info.query).map(str::to_owned));
        }
        for (name, value) in [("labelSelector", &self.label_selector), ("fieldSelector", &self.field_selector)] {
            if !value.is_empty() {
                pairs.push(format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)));
            }
        }
        let separator = if pairs.is_empty() { "" } else { "?" };
        format!("{}{separator}{}", call.asked.gvr.path_in(&call.asked.namespace), pairs.join("&"))
    }
}

/// The parameters of a deletion, without those that say of what.
pub(super) fn own_pairs(query: &Query) -> impl Iterator<Item = &str> {
    const SELECTING: [&str; 4] = ["labelSelector", "fieldSelector", "limit", "continue"];
    let pairs = query.raw().split('&').filter(|pair| !pair.is_empty());
    pairs.filter(|pair| !SELECTING.contains(&pair.split('=').next().unwrap_or_default()))
}

fn items_of(sent: &Sent) -> Vec<&str> {
    let list = serde_json::from_slice::<List<'_>>(&sent.bytes).ok();
    list.and_then(|list| list.items).unwrap_or_default().into_iter().map(RawValue::get).collect()
}

/// The answer where some clusters did not do their part.
pub(super) fn in_part(call: &Call<'_>, done: usize, failed: &[(ClusterName, Status)], code: StatusCode) -> Status {
    let causes: Vec<_> = failed
        .iter()
        .map(|(cluster, status)| Cause { reason: "", message: format!("cluster {cluster}: {status}"), field: "" })
        .collect();
    let words: Vec<_> = causes.iter().map(|cause| cause.message.as_str()).collect();
    let message = format!(
        "{done} {} of other clusters were deleted, but not those of: {}",
        call.asked.group_resource(),
        words.join("; ")
    );
    Status::passed_on(code, message).with_causes(causes)
}
