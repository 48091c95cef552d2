use http::header::{RETRY_AFTER, WARNING};
use http::{Response, StatusCode};
use orrery_api::{ClusterName, ObjectKey, Uid};
use orrery_markers::Marker;
use orrery_sequencer::{Looked, Resource, Told, Written};

use super::send::Sent;
use super::{Call, Target};
use crate::body::{Body, json};
use crate::front::Service;
use crate::front::resource::get::{Look, fetch, path_in};
use crate::read::Rendering;
use crate::request::Verb;
use crate::status::Status;
use crate::translate::{Head, Showing};

// === impl Service ===

impl Service {
    /// The member's answer as the client's: once it stands in the log, and with the marker that it has there.
    pub(super) async fn answer_write(
        &self,
        call: &Call<'_>,
        resource: &Resource,
        target: &Target,
        sent: Sent,
    ) -> Result<Response<Body>, Status> {
        let written = self.settled(call, resource, target, &sent).await?;
        self.shown(call, resource, target, sent, written.as_ref())
    }

    /// What the log has of a write that a member answered so; nothing of one that it refused.
    pub(super) async fn settled(
        &self,
        call: &Call<'_>,
        resource: &Resource,
        target: &Target,
        sent: &Sent,
    ) -> Result<Option<Written>, Status> {
        if !sent.code.is_success() {
            return Ok(None);
        }
        let Some(head) = Head::read(&sent.bytes) else { return Ok(None) };
        let uid = Uid::new(&head.metadata.uid);
        let key = target.key_of(&head);
        if call.is_dry_run() {
            let version = head.version();
            return Ok(version.and_then(|version| {
                resource.sequenced(&target.cluster, &key, &Told::Version(&uid, version), target.since)
            }));
        }
        // Of some kinds the answer to a deletion is the object as it last was, with nothing in it that says that it is gone.
        let deleted = call.asked.verb == Verb::Delete && !head.is_held();
        if head.is_status() || head.is_going() || deleted {
            return self.gone_or_kept(call, resource, target, &key, &head).await;
        }
        let Some(version) = head.version() else { return Ok(None) };
        self.written(call, resource, target, &key, &Told::Version(&uid, version)).await.map(Some)
    }

    /// Of a deletion, an eviction or a binding the answer does not tell what became of the object: the member is asked.
    async fn gone_or_kept(
        &self,
        call: &Call<'_>,
        resource: &Resource,
        target: &Target,
        key: &ObjectKey,
        head: &Head,
    ) -> Result<Option<Written>, Status> {
        let told = head.details.as_ref().map(|details| details.uid.as_str()).filter(|uid| !uid.is_empty());
        let told = told.or(Some(head.metadata.uid.as_str()).filter(|uid| !uid.is_empty())).map(Uid::new);
        let Some(uid) = told.or_else(|| target.object.as_ref().map(|object| object.uid().clone())) else {
            return Ok(None);
        };
        let told = match self.look(call.asked, &target.cluster, key).await {
            Look::There { uid: there, version } if there == uid => Told::Version(&uid, version),
            Look::There { .. } | Look::Gone => Told::Gone(&uid),
            // Nobody says, so the stream tells what it will; a deletion is what was asked for.
            Look::Nothing(_) if call.asked.verb == Verb::Delete => Told::Gone(&uid),
            Look::Nothing(_) => return Ok(None),
        };
        self.written(call, resource, target, key, &told).await.map(Some)
    }

    async fn written(
        &self,
        call: &Call<'_>,
        resource: &Resource,
        target: &Target,
        key: &ObjectKey,
        told: &Told<'_>,
    ) -> Result<Written, Status> {
        let (Told::Version(uid, _) | Told::Gone(uid)) = told;
        let uid = (*uid).clone();
        let look = || self.look_again(resource, &target.cluster, key, uid);
        let written = resource.written(&target.cluster, key, told, target.since, look).await;
        let late = || {
            Status::timeout(format!(
                "cluster {} has done the {} of {} {}, but has not shown it in time; read it before trying again",
                target.cluster,
                call.asked.verb.as_str(),
                call.asked.group_resource(),
                key
            ))
        };
        written.ok_or_else(late)
    }

    /// Reads an object for the log, whose stream is silent.
    pub(super) async fn look_again(
        &self,
        resource: &Resource,
        cluster: &ClusterName,
        key: &ObjectKey,
        uid: Uid,
    ) -> Option<Looked> {
        let member = self.front.fleet.member(cluster)?;
        let leading = resource.leading();
        let (code, bytes) = fetch(&member, &path_in(leading, key), "application/json").await.ok()?;
        match code {
            StatusCode::NOT_FOUND => Some(Looked::Gone(uid)),
            StatusCode::OK => member.object(&leading.version, &bytes).map(Looked::There),
            _ => None,
        }
    }

    /// The member's bytes as the client gets them.
    pub(super) fn shown(
        &self,
        call: &Call<'_>,
        resource: &Resource,
        target: &Target,
        sent: Sent,
        written: Option<&Written>,
    ) -> Result<Response<Body>, Status> {
        let served = written.map_or(&target.served, |written| &written.served);
        let head = Head::read(&sent.bytes).unwrap_or_default();
        let key = target.key_of(&head);
        let holders = resource.holders_shown(served);
        let showing = Showing {
            stamp: self.settings().stamp,
            cluster: &target.cluster,
            holders: &holders,
            served: if served.name.is_empty() { &head.metadata.name } else { &served.name },
            name: &key.name,
            marker: written.map(|written| written.marker),
        };
        let is_object = *head.kind == *call.served.kind && *call.served.kind != *"Status";
        let body = if head.is_status() {
            showing.status(sent.text())
        } else if is_object && sent.code.is_success() {
            showing.object(sent.text())
        } else {
            showing.part(sent.text())
        };
        let body = body.unwrap_or_else(|| sent.text().to_owned());
        let body = self.rendered(call, resource, target, served, is_object && sent.code.is_success(), body)?;
        let mut response = json(sent.code, body, call.encoding);
        for warning in sent.warnings {
            response.headers_mut().append(WARNING, warning);
        }
        if let Some(retry_after) = sent.retry_after {
            response.headers_mut().insert(RETRY_AFTER, retry_after);
        }
        Ok(response)
    }

    /// The answer in the form that was asked for.
    fn rendered(
        &self,
        call: &Call<'_>,
        resource: &Resource,
        target: &Target,
        served: &ObjectKey,
        is_object: bool,
        shown: String,
    ) -> Result<Vec<u8>, Status> {
        let line = |shown: String| [shown.trim_end().as_bytes(), b"\n"].concat();
        // A Status is never a row, and who asked for one gets it as it is.
        if matches!(call.rendering, Rendering::Plain) || !is_object {
            return Ok(line(shown));
        }
        let member = self.front.fleet.member(&target.cluster);
        let object = member.and_then(|member| member.object(&call.asked.gvr.version, shown.as_bytes()));
        let Some(object) = object else { return Ok(line(shown)) };
        let marker = Marker::new(object.version.number()).unwrap_or_else(|_| resource.reader().head());
        let holders = resource.holders_shown(served);
        let holders = (!holders.is_empty()).then(|| holders.into());
        let object = resource.reader().show(&object, served, marker, &target.cluster, holders.as_ref());
        let object = object.map_err(|error| Status::internal(&error.to_string()))?;
        let mut out = Vec::new();
        call.rendering.write_object(&object, &mut out);
        out.push(b'\n');
        Ok(out)
    }
}

// === impl Target ===

impl Target {
    /// The object's key in the member: where that chose the name, the answer tells it.
    fn key_of(&self, head: &Head) -> ObjectKey {
        if self.key.name.is_empty() && !head.metadata.name.is_empty() {
            return ObjectKey::new(&head.metadata.namespace, &head.metadata.name);
        }
        self.key.clone()
    }
}
