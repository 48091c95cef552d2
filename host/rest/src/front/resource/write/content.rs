use http::Method;
use serde_json::Value;

use super::send::Outgoing;
use super::{Call, Target};
use crate::request::{ResourceRequest, Verb};
use crate::status::Status;
use crate::translate::{Border, Document, Extent, Facts, JsonPatch, Shape, Syntax, merge_patch};

/// What the body of a write is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// It stands for an object, or for options.
    Document(Syntax, Shape),
    /// A server-side apply.
    Apply,
    /// A JSON patch.
    JsonPatch,
    /// Something that no member takes, or is written in what none reads: theirs to refuse.
    Opaque,
}

// === impl Content ===

impl Content {
    /// What a body of this Content-Type is.
    pub(super) fn of(asked: &ResourceRequest, content_type: Option<&str>) -> Self {
        let media = content_type.map_or("application/json", |text| text.split(';').next().unwrap_or_default().trim());
        if asked.verb == Verb::Patch {
            return match media {
                "application/json-patch+json" => Self::JsonPatch,
                "application/merge-patch+json" | "application/strategic-merge-patch+json" => {
                    Self::Document(Syntax::Json, Shape::Object)
                }
                "application/apply-patch+yaml" => Self::Apply,
                _ => Self::Opaque,
            };
        }
        let shape = match (asked.verb, asked.subresource.as_ref().map(|subresource| &*subresource.name)) {
            (Verb::Delete | Verb::DeleteCollection, _) => Shape::Deletion,
            (_, Some("eviction")) => Shape::Eviction,
            _ => Shape::Object,
        };
        match media {
            "application/json" | "" => Self::Document(Syntax::Json, shape),
            "application/yaml" => Self::Document(Syntax::Yaml, shape),
            "application/vnd.kubernetes.protobuf" => Self::Document(Syntax::Protobuf, shape),
            _ => Self::Opaque,
        }
    }
}

// === impl Call ===

impl Call<'_> {
    /// The body as what it stands for.
    pub(super) fn document(&self) -> Option<Document> {
        let (syntax, shape) = match self.content {
            Content::Document(syntax, shape) => (syntax, shape),
            Content::Apply => (Syntax::Yaml, Shape::Object),
            Content::JsonPatch | Content::Opaque => return None,
        };
        Some(Document::new(self.body.to_vec(), syntax, shape))
    }

    /// What the body says of its object.
    pub(super) fn facts(&self) -> Facts {
        self.document().map(|document| document.facts()).unwrap_or_default()
    }

    /// How much of its object the body says.
    pub(super) fn extent(&self) -> Extent {
        let changes = self.asked.verb == Verb::Patch && self.content != Content::Apply;
        if changes { Extent::Change } else { Extent::Whole }
    }

    /// The body as a JSON patch, where it is one.
    pub(super) fn patch(&self) -> Option<JsonPatch> {
        (self.content == Content::JsonPatch).then(|| JsonPatch::parse(&self.body)).flatten()
    }

    /// The request for a member.
    pub(super) fn inward(&self, border: &Border<'_>, path: String) -> Result<Outgoing, Status> {
        let Some(document) = self.document() else { return Ok(Outgoing::of(self, path, self.body.to_vec())) };
        let (body, written) = document.inward(border).map_err(|refused| self.refusal(&refused))?;
        let is_converted = self.content.is_yaml() && written == Syntax::Json;
        let content_type = is_converted.then_some("application/json");
        Ok(Outgoing { content_type, ..Outgoing::of(self, path, body) })
    }

    /// A replacement of the object that is shown, as another holder of its name gets it: what differs between them. Of a body
    /// in protobuf or YAML the `answer` of the first holder tells what it says.
    pub(super) fn replacing_elsewhere(
        &self,
        border: &Border<'_>,
        target: &Target,
        answer: &[u8],
        path: String,
    ) -> Result<Outgoing, Status> {
        let value = |bytes: &[u8]| -> Result<Value, Status> {
            let unread = |error| Status::internal(&format!("what another cluster is to get cannot be read: {error}"));
            serde_json::from_slice(bytes).map_err(unread)
        };
        let inward = |document: Document| -> Result<Value, Status> {
            let (bytes, _) = document.inward(border).map_err(|refused| self.refusal(&refused))?;
            value(&bytes)
        };
        let shown = target.object.as_ref().map(|object| object.body().to_bytes().to_vec()).unwrap_or_default();
        let from = inward(Document::new(shown, Syntax::Json, Shape::Object))?;
        let to = match (self.content, self.document()) {
            (Content::Document(Syntax::Json, _), Some(document)) => inward(document)?,
            _ => value(answer)?,
        };
        let body = merge_patch(&from, &to).to_string().into();
        let (method, content_type) = (Method::PATCH, Some("application/merge-patch+json"));
        Ok(Outgoing { method, path, body, content_type })
    }

    /// Whether the request makes the object where there is none: a server-side apply, and a PUT of the few kinds that take
    /// one so.
    pub(super) fn creates_absent(&self) -> bool {
        self.asked.subresource.is_none() && (self.content == Content::Apply || self.asked.verb == Verb::Update)
    }
}

impl Content {
    /// Whether it is JSON.
    pub(super) fn is_json(self) -> bool {
        matches!(self, Self::Document(Syntax::Json, _))
    }

    /// Whether it is YAML that says so: an apply patch may hold JSON as well.
    fn is_yaml(self) -> bool {
        matches!(self, Self::Document(Syntax::Yaml, _))
    }
}
