//! Writes on names that are one object in several clusters: Namespaces, CustomResourceDefinitions (design 2.6).

use futures::stream::{self, StreamExt as _};
use http::header::WARNING;
use http::{Response, StatusCode};
use orrery_api::{ClusterName, ObjectKey};
use orrery_markers::MemberVersion;
use orrery_sequencer::{Resource, Written};

use super::send::Sent;
use super::{Call, Role, Target, route};
use crate::body::Body;
use crate::front::Service;
use crate::read::warning;
use crate::status::Status;
use crate::translate::{Facts, Head, Members};

/// Clusters that are written to at a time.
const WRITTEN_AT_ONCE: usize = 32;

/// Clusters that did not take a write, and in words why.
type Refusals = Vec<(ClusterName, String)>;

// === impl Service ===

impl Service {
    /// Writes to the cluster whose object is shown, and then to all others that hold it.
    pub(super) async fn write_everywhere(
        &self,
        call: &Call<'_>,
        resource: &Resource,
        served: &ObjectKey,
    ) -> Result<Response<Body>, Status> {
        let object = resource.reader().get(served);
        let shown = object.as_ref().map(|object| object.cluster().clone());
        let mut holders = resource.holders_of(served);
        // What is shown may be the last state of one that is gone.
        holders.sort_by_key(|holder| Some(holder) != shown.as_ref());
        let Some((first, others)) = holders.split_first() else { return Err(call.not_found()) };
        let since = resource.reader().head();
        let (key, served) = (served.clone(), served.clone());
        let target = Target { cluster: first.clone(), key, served, object, since, role: Role::First };
        self.write_all(call, resource, target, others, Vec::new()).await
    }

    /// Makes an object in every cluster that serves its kind, or in the one that is named.
    pub(super) async fn create_everywhere(
        &self,
        call: &Call<'_>,
        resource: &Resource,
        facts: &Facts,
    ) -> Result<Response<Body>, Status> {
        let name = call.new_name(facts).to_owned();
        let named = route::named(facts).map(|name| self.member_named(call, name)).transpose()?;
        let key = ObjectKey::new("", &name);
        if named.is_none() && !name.is_empty() && !resource.holders_of(&key).is_empty() {
            return Err(call.already_exists(&name));
        }
        let (mut clusters, mut refused) = (Vec::new(), Vec::new());
        for member in self.front.fleet.members().iter() {
            match self.unfit(&call.asked.gvr, &call.asked.namespace, member).await {
                _ if named.as_ref().is_some_and(|named| named != member.name()) => {}
                None => clusters.push(member.name().clone()),
                Some(reason) => refused.push((member.name().clone(), reason)),
            }
        }
        let Some((first, others)) = clusters.split_first() else {
            let reasons: Vec<_> = refused.iter().map(|(cluster, reason)| format!("{cluster}: {reason}")).collect();
            return Err(Status::unavailable(format!("no cluster takes it: {}", reasons.join("; ")), 5));
        };
        let target = self.target_of_new(call, resource, first, &key);
        self.write_all(call, resource, target, others, refused).await
    }

    /// The first cluster's answer is the client's; what others refuse is a Warning.
    async fn write_all(
        &self,
        call: &Call<'_>,
        resource: &Resource,
        target: Target,
        others: &[ClusterName],
        mut refused: Refusals,
    ) -> Result<Response<Body>, Status> {
        let sent = self.send_to(call, resource, &target).await?;
        if !sent.code.is_success() {
            return self.shown(call, resource, &target, sent, None);
        }
        let written = self.settled(call, resource, &target, &sent).await?;
        let head = Head::read(&sent.bytes).unwrap_or_default();
        let writes: Vec<_> = others
            .iter()
            .map(|cluster| {
                let (made, answer) = (head.metadata.name.clone(), sent.bytes.clone());
                let role = Role::Other { first: target.cluster.clone(), made, answer };
                let other = Target { cluster: cluster.clone(), role, ..target.clone() };
                async move { (other.cluster.clone(), self.write_other(call, resource, &other).await) }
            })
            .collect();
        let results: Vec<_> = stream::iter(writes).buffer_unordered(WRITTEN_AT_ONCE).collect().await;
        refused.extend(results.into_iter().filter_map(|(cluster, result)| Some((cluster, result.err()?))));
        let written = written.map(|written| latest(resource, written, head.version()));
        let mut response = self.shown(call, resource, &target, sent, written.as_ref())?;
        for (cluster, reason) in refused {
            if let Some(header) = warning(&format!("cluster {cluster} did not take this: {reason}")) {
                response.headers_mut().append(WARNING, header);
            }
        }
        Ok(response)
    }

    /// Writes to one more cluster; in words why it did not take it.
    async fn write_other(&self, call: &Call<'_>, resource: &Resource, target: &Target) -> Result<(), String> {
        let words = |status: Status| status.to_string();
        let sent = self.send_to(call, resource, target).await.map_err(words)?;
        if !sent.code.is_success() {
            return Err(message_of(&sent));
        }
        self.settled(call, resource, target, &sent).await.map(drop).map_err(words)
    }
}

/// The answer's marker: other holders may have moved what is shown to a later one, and who goes on from the answer goes on
/// from there.
fn latest(resource: &Resource, written: Written, version: Option<MemberVersion>) -> Written {
    let shown = resource.reader().get(&written.served).filter(|object| Some(object.version()) == version);
    let marker = shown.map_or(written.marker, |object| object.marker().max(written.marker));
    Written { marker, ..written }
}

/// A refusal in a member's words.
pub(super) fn message_of(sent: &Sent) -> String {
    message_in(sent.text(), sent.code)
}

/// The words of a Status, or else of its code.
pub(super) fn message_in(status: &str, code: StatusCode) -> String {
    let status = Members::parse(status).ok();
    status.and_then(|status| status.text("message")).unwrap_or_else(|| code.to_string())
}
