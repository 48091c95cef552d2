use http::{Request, Response};
use orrery_fleet::{Member, ResourceInfo};

use super::get::{Found, add_warning, fetch, path_of};
use super::{accepted, not_here};
use crate::body::{Body, Encoding, json};
use crate::front::Service;
use crate::proxy;
use crate::request::{RequestInfo, ResourceRequest, Subresource};
use crate::status::Status;

// === impl Service ===

impl Service {
    /// Answers a GET of a part of an object.
    pub(super) async fn get_subresource(
        &self,
        info: &RequestInfo,
        asked: &ResourceRequest,
        served: &ResourceInfo,
        subresource: &Subresource,
        request: Request<Body>,
        encoding: Encoding,
    ) -> Result<Response<Body>, Status> {
        let known =
            served.subresources.iter().find(|sub| *sub.name == *subresource.name && subresource.rest.is_empty());
        let Some(known) = known else { return self.absent(&asked.gvr.group) };
        if known.gvk.kind == served.kind && known.verbs.iter().any(|verb| &**verb == "get") {
            // The whole object, as `status` and `resize` are.
            return self.get(info, asked, request.headers(), encoding).await;
        }
        match &*known.name {
            "scale" => self.scale(info, asked, accepted(request.headers())?.encoding(encoding)).await,
            _ => Err(not_here(asked, served)),
        }
    }

    /// A Scale is made by the member; only its resourceVersion is the host's, and it is the object's own.
    async fn scale(
        &self,
        info: &RequestInfo,
        asked: &ResourceRequest,
        encoding: Encoding,
    ) -> Result<Response<Body>, Status> {
        let resource = self.begun(asked).await?;
        let found = self.find(info, asked, &resource).await?;
        let member = self.holder_of(&found)?;
        let path = format!("{}/scale", path_of(asked, &found.key));
        let (code, bytes) =
            fetch(&member, &path, "application/json").await.map_err(|reason| Status::unavailable(reason, 1))?;
        let mut scale: serde_json::Value = serde_json::from_slice(&bytes)
            .map_err(|error| Status::unavailable(format!("the member's Scale is no JSON: {error}"), 1))?;
        if code.is_success() {
            let metadata = scale.get_mut("metadata").and_then(serde_json::Value::as_object_mut);
            let metadata = metadata.ok_or_else(|| Status::unavailable("the member's Scale has no metadata", 1))?;
            metadata.insert("resourceVersion".to_owned(), found.object.marker().to_string().into());
            metadata.insert("name".to_owned(), asked.name.as_deref().unwrap_or_default().into());
        }
        let mut bytes = serde_json::to_vec(&scale).expect("it was JSON");
        bytes.push(b'\n');
        let mut response = json(code, bytes, encoding);
        add_warning(&mut response, found.warning.as_deref());
        Ok(response)
    }

    /// The member that holds what was found.
    fn holder_of(&self, found: &Found) -> Result<Member, Status> {
        let member = self.front.fleet.member(&found.member);
        member.ok_or_else(|| proxy::no_such_member(&self.front.fleet, found.member.as_str()))
    }
}
