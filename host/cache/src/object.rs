//! One object as it is served. A member's bytes are scanned once, when the object is applied: what is needed of its
//! metadata is kept, and the marker, the served name and the stamp are spliced in.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use orrery_api::extension::Selectable;
use orrery_api::{CLUSTER_KEY, ClusterName, ObjectKey, Uid};
use orrery_markers::{Marker, MemberObject, MemberVersion};

use crate::Shape;
use crate::fields::Meaning;

mod attributes;
mod body;
mod parse;
mod scan;
mod splice;
#[cfg(test)]
mod tests;

pub(crate) use attributes::Interner;
use attributes::{FieldValues, Labels};
pub(crate) use body::Body;
use body::BodyWriter;
pub use body::Parts;

/// One state of one object as it is served: the member's JSON with the marker as resourceVersion, the served name and the
/// stamp spliced in (design 2.7).
#[derive(Debug)]
pub struct Object {
    pub(crate) head: Head,
    body: Body,
}

/// All of an object but its bytes: what is kept whole where those are compressed.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) served: ObjectKey,
    pub(crate) marker: Marker,
    /// The key in its cluster, where it is another than `served`.
    key: Option<Box<ObjectKey>>,
    cluster: ClusterName,
    uid: Uid,
    version: MemberVersion,
    labels: Labels,
    fields: FieldValues,
    spans: Spans,
    /// Whether the object in its cluster carries a label or annotation that the stamp hides.
    hides_own: bool,
}

/// Places in an object's bytes.
#[derive(Clone, Debug)]
struct Spans {
    /// Where the object goes on after `kind` and `apiVersion`, which its list items lack; 0 where they have them.
    item: u32,
    /// The value of `metadata`.
    metadata: Range<u32>,
    /// The first digit of `metadata.resourceVersion`.
    version: u32,
    version_length: u8,
}

/// Where and in which state an object is shown.
pub(crate) struct Showing<'a> {
    pub(crate) marker: Marker,
    pub(crate) served: &'a ObjectKey,
    pub(crate) cluster: &'a ClusterName,
    pub(crate) holders: Option<&'a Arc<[ClusterName]>>,
}

/// Why an object's bytes cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// Not JSON, or not one object.
    #[error("the object's JSON is not well-formed at byte {at}")]
    Syntax {
        /// Offset in the member's bytes.
        at: usize,
    },
    /// A string that has to be read holds an escape that is none.
    #[error("the object's JSON holds a string that cannot be read")]
    Escape {
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// A member that every object has is not there.
    #[error("the object has no {what}")]
    Missing {
        /// Its path.
        what: &'static str,
    },
    /// A member that has to be read or replaced stands twice in one object.
    #[error("the object has {what} twice")]
    Twice {
        /// Its path.
        what: &'static str,
    },
    /// Longer than the API server takes.
    #[error("{what} is too long")]
    TooLong {
        /// Its path.
        what: &'static str,
    },
    /// A held object is to be shown whose bytes the cache does not have.
    #[error("no bytes of {key} in cluster {cluster} are held")]
    NotHeld {
        /// The cluster.
        cluster: ClusterName,
        /// The object there.
        key: ObjectKey,
    },
}

// === impl Object ===

impl Object {
    /// Makes `object` as it is served.
    ///
    /// # Errors
    /// Where its bytes are not one JSON object with metadata.
    pub(crate) fn new(
        object: &MemberObject,
        showing: &Showing<'_>,
        shape: &Shape,
        interner: &mut Interner,
    ) -> Result<Self, BodyError> {
        let MemberObject { key, uid, version, body, .. } = object;
        let parsed = parse::parse(body, shape.fields.reads())?;
        let (spliced, spans) = splice::splice(body, &parsed, showing, shape)?;
        let labels = Labels::new(labels_of(&parsed, showing.cluster), interner)?;
        let values = parsed.fields.iter().zip(shape.fields.reads());
        let values = values.map(|(value, read)| value.as_deref().unwrap_or(read.absent));
        let fields = FieldValues::new(values, interner)?;
        let served = interned(showing.served, interner);
        let key = (key != showing.served).then(|| Box::new(interned(key, interner)));
        let (uid, version) = (uid.clone(), *version);
        let (marker, cluster) = (showing.marker, showing.cluster.clone());
        let hides_own = [&parsed.metadata.labels, &parsed.metadata.annotations].into_iter().flatten().any(hides);
        let head = Head { served, marker, key, cluster, uid, version, labels, fields, spans, hides_own };
        Ok(Self { head, body: spliced })
    }

    /// Namespace and name under which it is served.
    pub fn served(&self) -> &ObjectKey {
        &self.head.served
    }

    /// Namespace and name in its cluster.
    pub fn key(&self) -> &ObjectKey {
        self.head.key.as_deref().unwrap_or(&self.head.served)
    }

    /// The cluster that holds it; of one that several hold, the one whose state is shown.
    pub fn cluster(&self) -> &ClusterName {
        &self.head.cluster
    }

    /// Its uid.
    pub fn uid(&self) -> &Uid {
        &self.head.uid
    }

    /// The member version of this state.
    pub fn version(&self) -> MemberVersion {
        self.head.version
    }

    /// The marker of this state: its resourceVersion. Of a deleted object, the deletion's.
    pub fn marker(&self) -> Marker {
        self.head.marker
    }

    /// Whether its cluster's own object carries a label or annotation that the stamp hides here.
    pub fn hides_own(&self) -> bool {
        self.head.hides_own
    }

    /// The whole JSON, with `kind` and `apiVersion`.
    pub fn body(&self) -> Parts<'_> {
        self.body.parts("", 0..self.body.len(), "")
    }

    /// The JSON as it stands in a list: as the member's list has it, so without `kind` and `apiVersion` for typed kinds.
    pub fn list_item(&self) -> Parts<'_> {
        let head = if self.head.spans.item == 0 { "" } else { "{" };
        self.body.parts(head, self.head.spans.item as usize..self.body.len(), "")
    }

    /// The value of `metadata`.
    pub fn metadata(&self) -> Parts<'_> {
        self.metadata_between("", "")
    }

    /// The whole PartialObjectMetadata (meta.k8s.io/v1).
    pub fn partial(&self) -> Parts<'_> {
        self.metadata_between(
            "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":",
            "}",
        )
    }

    /// The label `key`; the virtual one too.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.head.label(key)
    }

    /// All labels, the virtual one too.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.head.labels.iter()
    }

    /// Length of the JSON in bytes.
    pub(crate) fn body_len(&self) -> usize {
        self.body.len()
    }

    /// The JSON in one piece.
    pub(crate) fn whole(&self) -> Bytes {
        self.body.whole()
    }

    /// The object that `head` is the head of and `bytes` the JSON.
    pub(crate) fn restore(head: Head, bytes: &[u8]) -> Self {
        Self { head, body: Body::copy_of(bytes) }
    }

    /// The same state under another marker: what a DELETED event shows.
    pub(crate) fn at_marker(&self, marker: Marker) -> Self {
        let Head { spans, .. } = &self.head;
        let (version, after) = (spans.version as usize, spans.version as usize + usize::from(spans.version_length));
        let digits = marker.to_string();
        let mut writer = BodyWriter::new(self.body.len() - usize::from(spans.version_length) + digits.len());
        self.body.parts("", 0..version, "").slices().for_each(|slice| writer.push(slice));
        writer.push(digits.as_bytes());
        self.body.parts("", after..self.body.len(), "").slices().for_each(|slice| writer.push(slice));
        Self { head: self.head.at_marker(marker), body: writer.finish() }
    }

    /// The bytes as a member's object again: to be shown once more, in another way.
    pub(crate) fn as_member_object(&self) -> MemberObject {
        let Head { uid, version, .. } = self.head.clone();
        let key = self.key().clone();
        let digest = orrery_markers::Digest::from_bits(0);
        MemberObject { key, uid, version, digest, terminating: false, body: self.whole() }
    }

    fn metadata_between(&self, head: &'static str, tail: &'static str) -> Parts<'_> {
        let Range { start, end } = self.head.spans.metadata;
        self.body.parts(head, start as usize..end as usize, tail)
    }
}

impl Selectable for Object {
    fn identity(&self) -> (&Uid, u64) {
        (self.uid(), self.version().number())
    }

    fn json(&self) -> Vec<u8> {
        self.body().to_bytes().to_vec()
    }
}

// === impl Head ===

impl Head {
    pub(crate) fn uid(&self) -> &Uid {
        &self.uid
    }

    pub(crate) fn version(&self) -> MemberVersion {
        self.version
    }

    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key)
    }

    /// The value of a selectable field.
    pub(crate) fn field(&self, meaning: Meaning) -> &str {
        match meaning {
            Meaning::Name => &self.served.name,
            Meaning::Namespace => &self.served.namespace,
            Meaning::Value(index) => self.fields.get(index),
            Meaning::Either(first, second) => match self.fields.get(first) {
                "" => self.fields.get(second),
                value => value,
            },
            Meaning::Empty => "",
        }
    }

    fn at_marker(&self, marker: Marker) -> Self {
        let mut head = self.clone();
        let length = splice::decimal_length(marker);
        let moved = |at: u32| at + u32::from(length) - u32::from(head.spans.version_length);
        // What leads up to the version stays where it is: `item` is at the front, `metadata` begins before it.
        let Spans { item, version, ref metadata, .. } = head.spans;
        let metadata = metadata.start..moved(metadata.end);
        head.spans = Spans { item, metadata, version, version_length: length };
        head.marker = marker;
        head
    }
}

/// The object's labels with the virtual one, which is the true one where the object has a label of that name itself.
fn labels_of<'a>(parsed: &'a parse::Parsed<'_>, cluster: &'a ClusterName) -> impl Iterator<Item = (&'a str, &'a str)> {
    let own = parsed.metadata.labels.iter().flat_map(|labels| &labels.pairs);
    let own = own.map(|(key, value): &(Cow<'_, str>, Cow<'_, str>)| (&**key, &**value));
    std::iter::once((CLUSTER_KEY, cluster.as_str())).chain(own.filter(|(key, _)| *key != CLUSTER_KEY))
}

fn hides(map: &parse::Map<'_>) -> bool {
    map.cluster.is_some() || map.clusters.is_some()
}

fn interned(key: &ObjectKey, interner: &mut Interner) -> ObjectKey {
    ObjectKey { namespace: interner.text(&key.namespace), name: key.name.clone() }
}
