//! Names of other objects in bodies, beside ownerReferences: who only knows the served name of a node or a pod writes it
//! there (`kubectl debug node/node-1.west`, a recorder of events).

use super::Refused;
use super::members::Members;

/// The label of an EndpointSlice that names its Service (upstream: api discovery/v1/well_known_labels.go).
pub(crate) const SERVICE_LABEL: &str = "kubernetes.io/service-name";

/// Where a body names another object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// An ObjectReference of the object.
    Reference(Reference),
    /// A pod's `spec.nodeName`.
    NodeName,
    /// The label of an EndpointSlice.
    ServiceLabel,
}

/// An ObjectReference of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// Where it stands in JSON.
    pub(super) member: &'static str,
    /// And in protobuf.
    pub(super) number: u64,
    /// What it refers to where it says no kind.
    kind: &'static str,
}

/// A field of an ObjectReference; its value is its number in protobuf (upstream: api core/v1/generated.proto).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReferenceField {
    Kind = 1,
    Namespace = 2,
    Name = 3,
    ApiVersion = 5,
}

/// What a body names, as far as it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mention {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    /// `None` is that of the object itself.
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

/// A name in a body that the member has otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Renamed {
    pub(crate) place: Place,
    pub(crate) from: String,
    pub(crate) to: String,
}

// === impl Place ===

impl Place {
    /// Those of a resource (upstream: api core/v1, events/v1, discovery/v1 types.go).
    pub(crate) fn of(group: &str, resource: &str, subresource: Option<&str>) -> Vec<Self> {
        match (group, resource, subresource) {
            ("", "pods", None) => vec![Self::NodeName],
            ("", "pods", Some("binding")) | ("", "bindings", None) => vec![Self::reference("target", 2, "Node")],
            ("", "events", None) => vec![Self::reference("involvedObject", 2, ""), Self::reference("related", 13, "")],
            ("events.k8s.io", "events", None) => {
                vec![Self::reference("regarding", 8, ""), Self::reference("related", 9, "")]
            }
            ("discovery.k8s.io", "endpointslices", None) => vec![Self::ServiceLabel],
            _ => Vec::new(),
        }
    }

    fn reference(member: &'static str, number: u64, kind: &'static str) -> Self {
        Self::Reference(Reference { member, number, kind })
    }

    /// What `object` names there.
    pub(super) fn read(self, object: &Members<'_>) -> Option<Mention> {
        let said = match self {
            Self::Reference(reference) => {
                let of = object.object(reference.member)?;
                reference.mention(|field| of.text(field.name()).unwrap_or_default())
            }
            Self::NodeName => Mention::node(object.object("spec")?.text("nodeName")?),
            Self::ServiceLabel => Mention::service(object.object("metadata")?.object("labels")?.text(SERVICE_LABEL)?),
        };
        said.named()
    }
}

// === impl Mention ===

impl Mention {
    pub(crate) fn node(name: String) -> Self {
        Self::core("Node", name)
    }

    pub(crate) fn pod(name: String) -> Self {
        Self::core("Pod", name)
    }

    pub(crate) fn service(name: String) -> Self {
        Self::core("Service", name)
    }

    /// One of the core group, beside the object.
    fn core(kind: &str, name: String) -> Self {
        Self { api_version: "v1".to_owned(), kind: kind.to_owned(), namespace: None, name }
    }

    /// Nothing where it has no name.
    pub(super) fn named(self) -> Option<Self> {
        Some(self).filter(|mention| !mention.name.is_empty())
    }
}

// === impl Reference ===

impl Reference {
    /// What it names; `text` gives what stands in a field.
    pub(super) fn mention(&self, text: impl Fn(ReferenceField) -> String) -> Mention {
        let or = |text: String, default: &str| if text.is_empty() { default.to_owned() } else { text };
        Mention {
            api_version: or(text(ReferenceField::ApiVersion), "v1"),
            kind: or(text(ReferenceField::Kind), self.kind),
            namespace: Some(text(ReferenceField::Namespace)),
            name: text(ReferenceField::Name),
        }
    }
}

// === impl ReferenceField ===

impl ReferenceField {
    fn name(self) -> &'static str {
        match self {
            Self::Kind => "kind",
            Self::Namespace => "namespace",
            Self::Name => "name",
            Self::ApiVersion => "apiVersion",
        }
    }
}

// === impl Renamed ===

impl Renamed {
    /// The member's name where `name` is the one that is renamed.
    pub(super) fn to(&self, name: &str) -> Option<String> {
        (name == self.from).then(|| self.to.clone())
    }

    /// Puts the member's name into an object.
    pub(super) fn inward(&self, object: &mut Members<'_>) -> Result<(), Refused> {
        let named = |member: &str, holder: &mut Members<'_>| holder.edit_text(member, |name| Ok(self.to(name)));
        match self.place {
            Place::Reference(Reference { member, .. }) => {
                object.edit_object(member, |reference| named("name", reference))
            }
            Place::NodeName => object.edit_object("spec", |spec| named("nodeName", spec)),
            Place::ServiceLabel => object.edit_object("metadata", |metadata| {
                metadata.edit_object("labels", |labels| named(SERVICE_LABEL, labels))
            }),
        }
    }
}
