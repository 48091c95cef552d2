//! Bodies in protobuf, rewritten without their schemas: over all of Kubernetes' types ObjectMeta is field 1 of an object,
//! and only field numbers of metadata and of options are known here (upstream: apimachinery meta/v1/generated.proto).

use prost::bytes::Buf;
use prost::{decode_length_delimiter, encode_length_delimiter};

use super::document::{Facts, Owner, Shape};
use super::mention::{Mention, Place, ReferenceField, Renamed, SERVICE_LABEL};
use super::{Border, Pairs, Refused, Versions};

/// What stands before every document (upstream: apimachinery runtime/serializer/protobuf).
const MAGIC: &[u8] = b"k8s\0";
/// Of `runtime.Unknown`: the document.
const RAW: u64 = 2;

/// The spec of a Service or a pod, and of that the selector or the node's name (upstream: api core/v1/generated.proto).
const SPEC: u64 = 2;
const SELECTOR: u64 = 2;
const NODE_NAME: u64 = 10;

mod metadata {
    pub(super) const NAME: u64 = 1;
    pub(super) const GENERATE_NAME: u64 = 2;
    pub(super) const NAMESPACE: u64 = 3;
    pub(super) const RESOURCE_VERSION: u64 = 6;
    pub(super) const LABELS: u64 = 11;
    pub(super) const ANNOTATIONS: u64 = 12;
    pub(super) const OWNER_REFERENCES: u64 = 13;
}

/// A message as its fields in their order, whatever they mean.
#[derive(Clone, Debug, Default, PartialEq)]
struct Message(Vec<Field>);

#[derive(Clone, Debug, PartialEq)]
struct Field {
    number: u64,
    value: Value,
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(usize),
    Fixed64([u8; 8]),
    Bytes(Vec<u8>),
    Fixed32([u8; 4]),
}

/// What is read of an object's metadata; `None` where the bytes are no such document.
pub(super) fn facts(bytes: &[u8]) -> Option<Facts> {
    let object = document(bytes)?;
    let metadata = object.message(1)?;
    let pairs = |number| metadata.all(number).filter_map(pair).collect();
    let owner = |bytes: &[u8]| {
        let owner = Message::parse(bytes)?;
        let [kind, name, uid, api_version] = [1, 3, 4, 5].map(|number| owner.text(number));
        Some(Owner { api_version, kind, name, uid })
    };
    Some(Facts {
        name: metadata.text(metadata::NAME),
        generate_name: metadata.text(metadata::GENERATE_NAME),
        namespace: metadata.text(metadata::NAMESPACE),
        labels: pairs(metadata::LABELS),
        annotations: pairs(metadata::ANNOTATIONS),
        owner_references: metadata.all(metadata::OWNER_REFERENCES).filter_map(owner).collect(),
    })
}

/// What a document names in `place`.
pub(super) fn mention(bytes: &[u8], place: Place) -> Option<Mention> {
    let object = document(bytes)?;
    let said = match place {
        Place::Reference(reference) => {
            let message = object.message(reference.number)?;
            reference.mention(|field| message.text(field as u64))
        }
        Place::NodeName => Mention::node(object.message(SPEC)?.text(NODE_NAME)),
        Place::ServiceLabel => {
            let labels = object.message(1)?.all(metadata::LABELS).filter_map(pair).collect::<Vec<_>>();
            Mention::service(labels.into_iter().rfind(|(key, _)| key == SERVICE_LABEL)?.1)
        }
    };
    said.named()
}

/// The document as the member gets it.
pub(super) fn inward(bytes: &[u8], shape: Shape, border: &Border<'_>) -> Result<Vec<u8>, Refused> {
    let malformed = || Refused::Malformed("the body is no protobuf of the Kubernetes API".to_owned());
    let mut unknown = bytes.strip_prefix(MAGIC).and_then(Message::parse).ok_or_else(malformed)?;
    unknown.edit(RAW, |object| match shape {
        Shape::Object => {
            object.edit(1, |metadata| metadata_inward(metadata, border))?;
            border.renamed.iter().try_for_each(|renamed| renamed_inward(object, renamed))?;
            if border.service.is_some() { object.edit(SPEC, |spec| selector_inward(spec, border)) } else { Ok(()) }
        }
        Shape::Deletion => options_inward(object, border),
        Shape::Eviction => {
            object.edit(1, |metadata| metadata_inward(metadata, border))?;
            object.edit(2, |options| options_inward(options, border))
        }
    })?;
    let mut out = MAGIC.to_vec();
    unknown.write(&mut out);
    Ok(out)
}

fn metadata_inward(metadata: &mut Message, border: &Border<'_>) -> Result<(), Refused> {
    metadata.edit_text(metadata::NAME, |name| Ok(border.name(name).map(str::to_owned)))?;
    metadata.edit_text(metadata::RESOURCE_VERSION, |version| border.version(version))?;
    if border.names_what_is_made() && metadata.text(metadata::NAME).is_empty() {
        metadata.0.push(Field::text(metadata::NAME, border.name));
    }
    for (pairs, number) in [(Pairs::Labels, metadata::LABELS), (Pairs::Annotations, metadata::ANNOTATIONS)] {
        metadata.retain(|field| {
            let entry = field.bytes().filter(|_| field.number == number).and_then(pair);
            let is_stamp = entry.map(|(key, value)| border.is_stamp(pairs, &key, Some(&value)));
            Ok(!is_stamp.transpose()?.unwrap_or(false))
        })?;
        for (key, value) in border.own.pairs(pairs) {
            let entry = Message(vec![Field::text(1, key), Field::text(2, value)]);
            metadata.0.push(Field { number, value: Value::Bytes(entry.to_bytes()) });
        }
    }
    metadata.edit(metadata::OWNER_REFERENCES, |reference| {
        let uid = reference.text(4);
        let name = border.owners.iter().find(|(known, _)| *known == uid).map(|(_, name)| name.clone());
        reference.edit_text(3, |_| Ok(name.clone()))
    })
}

fn renamed_inward(object: &mut Message, renamed: &Renamed) -> Result<(), Refused> {
    let named = |number, holder: &mut Message| holder.edit_text(number, |name| Ok(renamed.to(name)));
    match renamed.place {
        Place::Reference(reference) => {
            object.edit(reference.number, |message| named(ReferenceField::Name as u64, message))
        }
        Place::NodeName => object.edit(SPEC, |spec| named(NODE_NAME, spec)),
        Place::ServiceLabel => object.edit(1, |metadata| {
            metadata.edit(
                metadata::LABELS,
                |entry| {
                    if entry.text(1) == SERVICE_LABEL { named(2, entry) } else { Ok(()) }
                },
            )
        }),
    }
}

fn selector_inward(spec: &mut Message, border: &Border<'_>) -> Result<(), Refused> {
    let mut is_stripped = false;
    spec.retain(|field| {
        let entry = field.bytes().filter(|_| field.number == SELECTOR).and_then(pair);
        let is_stamp = entry.map(|(key, value)| border.is_selected_stamp(&key, Some(&value)));
        let is_stamp = is_stamp.transpose()?.unwrap_or(false);
        is_stripped |= is_stamp;
        Ok(!is_stamp)
    })?;
    if is_stripped && spec.all(SELECTOR).next().is_none() { Err(Refused::OnlyCluster) } else { Ok(()) }
}

fn options_inward(options: &mut Message, border: &Border<'_>) -> Result<(), Refused> {
    if border.versions == Versions::Dropped {
        options.0.retain(|field| field.number != 2);
    }
    options.edit(2, |preconditions| preconditions.edit_text(2, |version| border.version(version)))
}

/// The object in its envelope.
fn document(bytes: &[u8]) -> Option<Message> {
    Message::parse(bytes.strip_prefix(MAGIC)?)?.message(RAW)
}

/// An entry of a map of texts.
fn pair(bytes: &[u8]) -> Option<(String, String)> {
    let entry = Message::parse(bytes)?;
    Some((entry.text(1), entry.text(2)))
}

// === impl Message ===

impl Message {
    fn parse(mut bytes: &[u8]) -> Option<Self> {
        let mut fields = Vec::new();
        while bytes.has_remaining() {
            let tag = decode_length_delimiter(&mut bytes).ok()? as u64;
            let value = match tag & 7 {
                0 => Value::Number(decode_length_delimiter(&mut bytes).ok()?),
                1 => Value::Fixed64(taken(&mut bytes, 8)?.try_into().ok()?),
                2 => {
                    let length = decode_length_delimiter(&mut bytes).ok()?;
                    Value::Bytes(taken(&mut bytes, length)?.to_vec())
                }
                5 => Value::Fixed32(taken(&mut bytes, 4)?.try_into().ok()?),
                _ => return None,
            };
            fields.push(Field { number: tag >> 3, value });
        }
        Some(Self(fields))
    }

    fn all(&self, number: u64) -> impl Iterator<Item = &[u8]> {
        self.0.iter().filter(move |field| field.number == number).filter_map(Field::bytes)
    }

    /// The text of a field; of several the last counts.
    fn text(&self, number: u64) -> String {
        self.all(number).last().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
    }

    fn message(&self, number: u64) -> Option<Self> {
        self.all(number).last().and_then(Self::parse)
    }

    /// Keeps the fields that `is_kept`.
    fn retain(&mut self, mut is_kept: impl FnMut(&Field) -> Result<bool, Refused>) -> Result<(), Refused> {
        let mut kept = Vec::with_capacity(self.0.len());
        for field in self.0.drain(..) {
            if is_kept(&field)? {
                kept.push(field);
            }
        }
        self.0 = kept;
        Ok(())
    }

    /// Puts what `edit` makes of it in the place of each message of field `number`.
    fn edit(&mut self, number: u64, mut edit: impl FnMut(&mut Self) -> Result<(), Refused>) -> Result<(), Refused> {
        for field in self.0.iter_mut().filter(|field| field.number == number) {
            if let Some(mut message) = field.bytes().and_then(Self::parse) {
                edit(&mut message)?;
                field.value = Value::Bytes(message.to_bytes());
            }
        }
        Ok(())
    }

    /// As [`Self::edit`], of texts; `None` leaves one.
    fn edit_text(
        &mut self,
        number: u64,
        mut edit: impl FnMut(&str) -> Result<Option<String>, Refused>,
    ) -> Result<(), Refused> {
        for field in self.0.iter_mut().filter(|field| field.number == number) {
            let text = field.bytes().and_then(|bytes| std::str::from_utf8(bytes).ok());
            if let Some(edited) = text.map(&mut edit).transpose()?.flatten() {
                field.value = Value::Bytes(edited.into());
            }
        }
        Ok(())
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut Vec<u8>) {
        let varint = |number: usize, out: &mut Vec<u8>| {
            encode_length_delimiter(number, out).expect("a Vec takes as much as there is");
        };
        for Field { number, value } in &self.0 {
            let kind = match value {
                Value::Number(_) => 0,
                Value::Fixed64(_) => 1,
                Value::Bytes(_) => 2,
                Value::Fixed32(_) => 5,
            };
            varint((number << 3 | kind) as usize, out);
            match value {
                Value::Number(number) => varint(*number, out),
                Value::Fixed64(bytes) => out.extend_from_slice(bytes),
                Value::Fixed32(bytes) => out.extend_from_slice(bytes),
                Value::Bytes(bytes) => {
                    varint(bytes.len(), out);
                    out.extend_from_slice(bytes);
                }
            }
        }
    }
}

fn taken<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

// === impl Field ===

impl Field {
    fn text(number: u64, text: &str) -> Self {
        Self { number, value: Value::Bytes(text.into()) }
    }

    fn bytes(&self) -> Option<&[u8]> {
        match &self.value {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}
