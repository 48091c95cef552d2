//! deletecollection of what extensions select: members do not know such selectors, so each object is deleted by itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, StreamExt as _};
use http::header::{CONTENT_TYPE, HeaderValue, WARNING};
use http::{Response, StatusCode};
use orrery_api::ClusterName;
use orrery_cache::{Object, Selection};
use orrery_sequencer::Resource;
use serde_json::{Map, Value};

use super::collection::{WRITTEN_AT_ONCE, in_part, own_pairs};
use super::content::Content;
use super::everywhere::message_in;
use super::send::BODY_WAIT;
use super::{BODY_BYTES_MAX, Call, whole};
use crate::body::Body;
use crate::front::Service;
use crate::options::ListOptions;
use crate::query::Query;
use crate::read::{Rendering, Scope, unselected};
use crate::request::{RequestInfo, ResourceRequest, Verb};
use crate::status::Status;

/// DeleteOptions of one object.
struct Options {
    body: Map<String, Value>,
    /// Whether the client itself said which state is meant.
    has_preconditions: bool,
}

// === impl Service ===

impl Service {
    /// What the request selects, where extensions have a say in it.
    pub(super) async fn selected_by_extensions(
        &self,
        call: &Call<'_>,
        resource: &Resource,
        options: &ListOptions,
    ) -> Result<Option<Selection>, Status> {
        let shape = resource.reader().shape();
        let selection = Scope::new(call.asked, shape).selection(options, shape)?;
        let selection = self.extended(call.info, &call.asked.gvr, selection).await?;
        Ok(selection.extended.is_some().then_some(selection))
    }

    /// Deletes each object that a LIST shows now, in the state of its identity: one that has taken the name since is spared.
    pub(super) async fn delete_selected(
        &self,
        call: &Call<'_>,
        resource: &Resource,
        selection: &Selection,
    ) -> Result<Response<Body>, Status> {
        let options = Options::of(call)?;
        let snapshot = resource.reader().latest();
        let admitted = snapshot.range(selection.namespace.as_deref(), None).filter(|object| selection.selects(object));
        let objects = selection.filtered(admitted.cloned().collect()).await.map_err(|failure| unselected(&failure))?;
        let query = own_pairs(&call.info.query).collect::<Vec<_>>().join("&");
        let info = RequestInfo { query: Query::parse(&query), ..call.info.clone() };
        let deleting: Vec<_> = objects
            .into_iter()
            .map(|object| {
                let (info, options) = (&info, &options);
                async move { (self.delete_one(call, info, resource, &object, options).await, object) }
            })
            .collect();
        let results: Vec<_> = stream::iter(deleting).buffered(WRITTEN_AT_ONCE).collect().await;
        let (mut items, mut failed, mut warnings) = (Vec::new(), BTreeMap::new(), Vec::new());
        for (result, object) in results {
            match result {
                Ok(said) => {
                    items.push(String::from_utf8_lossy(&object.body().to_bytes()).into_owned());
                    warnings.extend(said);
                }
                Err(status) => drop(failed.entry(object.cluster().clone()).or_insert(status)),
            }
        }
        let failed: Vec<(ClusterName, Status)> = failed.into_iter().collect();
        match failed.first() {
            Some((_, first)) => Err(in_part(call, items.len(), &failed, first.code())),
            None => Ok(call.collection(resource, &items, warnings)),
        }
    }

    /// Deletes one object as a DELETE of its name does; the member's warnings.
    async fn delete_one(
        &self,
        call: &Call<'_>,
        info: &RequestInfo,
        resource: &Resource,
        object: &Arc<Object>,
        options: &Options,
    ) -> Result<Vec<HeaderValue>, Status> {
        let served = object.served();
        let asked = ResourceRequest {
            verb: Verb::Delete,
            namespace: served.namespace.to_string(),
            name: Some(served.name.to_string()),
            ..call.asked.clone()
        };
        let mut headers = call.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let content = Content::of(&asked, Some("application/json"));
        let one = Call {
            info,
            asked: &asked,
            served: call.served,
            headers,
            body: options.of_object(object),
            content,
            rendering: Rendering::Plain,
            encoding: call.encoding,
        };
        let answer = match self.write_named(&one, resource).await {
            Err(status) if status.code() == StatusCode::NOT_FOUND => return Ok(Vec::new()),
            answer => answer?,
        };
        let code = answer.status();
        if code.is_success() {
            return Ok(answer.headers().get_all(WARNING).iter().cloned().collect());
        }
        let bytes = whole(answer.into_body(), BODY_BYTES_MAX, BODY_WAIT).await?;
        match code {
            StatusCode::NOT_FOUND => Ok(Vec::new()),
            StatusCode::CONFLICT if !options.has_preconditions => Ok(Vec::new()),
            _ => Err(Status::passed_on(code, message_in(&String::from_utf8_lossy(&bytes), code))),
        }
    }
}

// === impl Options ===

impl Options {
    fn of(call: &Call<'_>) -> Result<Self, Status> {
        let unread = |why: &str| {
            Status::bad_request(format!(
                "where extensions select what is deleted, the DeleteOptions have to be JSON: {why}"
            ))
        };
        let body: Map<String, Value> = match (call.body.is_empty(), call.content.is_json()) {
            (true, _) => Map::new(),
            (false, true) => serde_json::from_slice(&call.body).map_err(|error| unread(&error.to_string()))?,
            (false, false) => return Err(unread("send them with Content-Type application/json")),
        };
        let has_preconditions = body.get("preconditions").is_some_and(|preconditions| !preconditions.is_null());
        Ok(Self { body, has_preconditions })
    }

    /// The body of the deletion of `object`, and of no other one of its name.
    fn of_object(&self, object: &Object) -> Bytes {
        let mut body = self.body.clone();
        body.entry("kind").or_insert_with(|| "DeleteOptions".into());
        body.entry("apiVersion").or_insert_with(|| "v1".into());
        if !self.has_preconditions {
            let uid = Map::from_iter([("uid".to_owned(), Value::from(object.uid().to_string()))]);
            body.insert("preconditions".to_owned(), uid.into());
        }
        Value::from(body).to_string().into()
    }
}
