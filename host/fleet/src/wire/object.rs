use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use orrery_api::{ObjectKey, Uid};
use orrery_markers::{Digest, MemberObject, MemberVersion};
use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use twox_hash::XxHash3_64;

/// In which form objects are read: digests of two forms are not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scheme(u64);

/// What a member sent that cannot be an object, a list or an event.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    #[error("an object is not JSON of the Kubernetes API")]
    Object(#[source] serde_json::Error),
    #[error("object {0} has resourceVersion {1:?}, which is not a decimal number")]
    Unclocked(String, String),
    #[error("a list is not JSON of the Kubernetes API: {0}")]
    List(&'static str),
    #[error("a list's {0} cannot be read")]
    ListPart(&'static str, #[source] serde_json::Error),
    #[error("a watch event is not JSON of the Kubernetes API")]
    Event(#[source] serde_json::Error),
    #[error("a watch event is of the unknown type {0:?}")]
    EventType(String),
    #[error("one item or event is longer than {0} bytes")]
    TooLong(usize),
    #[error("the stream ended within an item or event")]
    Cut,
}

/// What is read of `metadata`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Cow<'a, str>,
    #[serde(borrow, default)]
    uid: Cow<'a, str>,
    #[serde(borrow, default)]
    resource_version: Cow<'a, str>,
    #[serde(default)]
    deletion_timestamp: Option<IgnoredAny>,
}

/// An object's fields but kind and apiVersion hashed, and its metadata.
struct Read<'a> {
    metadata: Option<&'a RawValue>,
    content: u64,
}

// === impl Scheme ===

impl Scheme {
    /// The form of objects in `version` (as `v1`) from a server that calls itself `git_version`.
    pub(crate) fn new(version: &str, git_version: &str) -> Self {
        Self(XxHash3_64::oneshot(format!("{version}|{git_version}").as_bytes()))
    }
}

/// Reads one object. `json` is copied, so that it does not hold the buffer it is a part of.
///
/// # Errors
/// What is not a JSON object with metadata, and versions that are not decimal.
pub(crate) fn read_object(json: &[u8], scheme: Scheme) -> Result<MemberObject, WireError> {
    let read: Read<'_> = serde_json::from_slice(json).map_err(WireError::Object)?;
    let metadata = read.metadata.map_or("{}", RawValue::get);
    let metadata: Metadata<'_> = serde_json::from_str(metadata).map_err(WireError::Object)?;
    let key = ObjectKey::new(&metadata.namespace, &metadata.name);
    let Some(version) = MemberVersion::parse(&metadata.resource_version) else {
        return Err(WireError::Unclocked(key.to_string(), metadata.resource_version.into_owned()));
    };
    Ok(MemberObject {
        uid: Uid::new(&metadata.uid),
        version,
        digest: Digest::new(scheme.0, read.content),
        terminating: metadata.deletion_timestamp.is_some(),
        body: Bytes::copy_from_slice(json),
        key,
    })
}

/// The version of a bookmark, and whether it ends the initial events.
pub(crate) fn bookmark(json: &[u8]) -> Result<(MemberVersion, bool), WireError> {
    #[derive(Deserialize)]
    struct Bookmark<'a> {
        #[serde(borrow)]
        metadata: BookmarkMetadata<'a>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct BookmarkMetadata<'a> {
        #[serde(borrow)]
        resource_version: Cow<'a, str>,
        #[serde(default)]
        annotations: Option<BookmarkAnnotations>,
    }
    #[derive(Deserialize)]
    struct BookmarkAnnotations {
        #[serde(rename = "k8s.io/initial-events-end", default)]
        initial_events_end: Option<String>,
    }
    let metadata = serde_json::from_slice::<Bookmark<'_>>(json).map_err(WireError::Event)?.metadata;
    let ends = metadata.annotations.and_then(|annotations| annotations.initial_events_end).as_deref() == Some("true");
    match MemberVersion::parse(&metadata.resource_version) {
        Some(version) => Ok((version, ends)),
        None => Err(WireError::Unclocked("of a bookmark".to_owned(), metadata.resource_version.into_owned())),
    }
}

// === impl Read ===

impl<'de: 'a, 'a> Deserialize<'de> for Read<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ReadFields)
    }
}

struct ReadFields;

impl<'de> Visitor<'de> for ReadFields {
    type Value = Read<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Read<'de>, A::Error> {
        let mut content = XxHash3_64::default();
        let mut metadata = None;
        while let Some(key) = fields.next_key::<Key<'de>>()? {
            let value: &'de RawValue = fields.next_value()?;
            let key = &*key.0;
            if key == "metadata" {
                metadata = Some(value);
            }
            if key != "kind" && key != "apiVersion" {
                std::hash::Hasher::write(&mut content, key.as_bytes());
                std::hash::Hasher::write(&mut content, value.get().as_bytes());
            }
        }
        Ok(Read { metadata, content: std::hash::Hasher::finish(&content) })
    }
}

/// A key, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEME: Scheme = Scheme(7);

    fn read(json: &str) -> MemberObject {
        read_object(json.as_bytes(), SCHEME).unwrap()
    }

    #[test]
    fn metadata_is_read_and_the_bytes_are_kept() {
        let json = r#"{"metadata":{"name":"a","namespace":"b","uid":"u","resourceVersion":"12","deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{ "x" : 1 }}"#;
        let object = read(json);
        assert_eq!(object.key, ObjectKey::new("b", "a"));
        assert_eq!((object.uid, object.version.number(), object.terminating), (Uid::new("u"), 12, true));
        assert_eq!(object.body, json);
    }

    #[test]
    fn names_with_escapes_are_read_as_what_they_spell() {
        let object = read(r#"{"metadata":{"name":"a\u002db\"","namespace":"\u00e9","resourceVersion":"\u0031"}}"#);
        assert_eq!((object.key, object.version.number()), (ObjectKey::new("é", "a-b\""), 1));
        assert!(!read(r#"{"metadata":{"resourceVersion":"1","deletionTimestamp":null}}"#).terminating);
    }

    #[test]
    fn kind_and_api_version_do_not_count_in_the_digest_wherever_they_stand() {
        let rest = r#""metadata":{"name":"a","resourceVersion":"1"},"spec":{"kind":"inner"}"#;
        let digests = [
            format!("{{{rest}}}"),
            format!(r#"{{"kind":"Pod","apiVersion":"v1",{rest}}}"#),
            format!(r#"{{"apiVersion":"v1",{rest},"kind":"Pod"}}"#),
        ]
        .map(|json| read(&json).digest);
        assert!(digests.iter().all(|digest| *digest == digests[0]));
        let other = read(&format!("{{{}}}", rest.replace("inner", "other"))).digest;
        assert!(other.differs_from(digests[0]));
    }

    #[test]
    fn digests_of_two_server_versions_are_not_compared() {
        let json = br#"{"metadata":{"resourceVersion":"1"}}"#;
        let of = |git_version| read_object(json, Scheme::new("v1", git_version)).unwrap().digest;
        assert_eq!(of("v1.37.2"), of("v1.37.2"));
        assert!(!of("v1.37.2").differs_from(of("v1.36.3")));
    }

    #[test]
    fn what_is_no_object_is_an_error_and_what_has_no_decimal_version_says_so() {
        for json in ["", "1", "[]", "{", r#"{"metadata":1}"#, r#"{"metadata":{"name":1}}"#, "{\"a\":\"\u{1}\"}"] {
            assert!(matches!(read_object(json.as_bytes(), SCHEME), Err(WireError::Object(_))), "{json}");
        }
        assert!(matches!(read_object(b"{\"a\":\"\xff\"}", SCHEME), Err(WireError::Object(_))));
        for json in ["{}", r#"{"metadata":{"resourceVersion":"1/2/3"}}"#] {
            assert!(matches!(read_object(json.as_bytes(), SCHEME), Err(WireError::Unclocked(..))), "{json}");
        }
    }

    #[test]
    fn only_the_annotated_bookmark_ends_the_initial_events() {
        let ending = br#"{"kind":"Pod","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"containers":null}}"#;
        assert_eq!(bookmark(ending).unwrap(), (MemberVersion::from_number(9), true));
        let plain = br#"{"metadata":{"resourceVersion":"9","annotations":null}}"#;
        assert_eq!(bookmark(plain).unwrap(), (MemberVersion::from_number(9), false));
    }
}
