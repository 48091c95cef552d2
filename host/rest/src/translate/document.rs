use serde::Deserialize;

use super::members::Members;
use super::mention::{Mention, Place};
use super::{Border, LAST_APPLIED, Pairs, Refused, Versions, protobuf, selector};

/// A body that stands for an object or for a part of one: an object itself, a merge, strategic-merge or apply patch,
/// options of a deletion, or what a subresource takes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Document {
    bytes: Vec<u8>,
    syntax: Syntax,
    shape: Shape,
}

/// What a body is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    Json,
    Yaml,
    Protobuf,
}

/// Where a body has what is translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// In `metadata`.
    Object,
    /// In `preconditions`: DeleteOptions.
    Deletion,
    /// In both, the options under `deleteOptions`: Eviction.
    Eviction,
}

/// What a body says of the object that it is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Facts {
    pub(crate) name: String,
    pub(crate) generate_name: String,
    pub(crate) namespace: String,
    #[serde(deserialize_with = "texts")]
    pub(crate) labels: Vec<(String, String)>,
    #[serde(deserialize_with = "texts")]
    pub(crate) annotations: Vec<(String, String)>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) owner_references: Vec<Owner>,
}

/// An ownerReference.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Owner {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) uid: String,
}

// === impl Document ===

impl Document {
    pub(crate) fn new(bytes: Vec<u8>, syntax: Syntax, shape: Shape) -> Self {
        Self { bytes, syntax, shape }
    }

    /// What it says, as far as it can be read: what cannot is the member's to refuse.
    pub(crate) fn facts(&self) -> Facts {
        match self.syntax {
            Syntax::Protobuf => protobuf::facts(&self.bytes).unwrap_or_default(),
            Syntax::Json | Syntax::Yaml => self.json().and_then(|json| facts(&json)).unwrap_or_default(),
        }
    }

    /// The object that it names in `place`.
    pub(crate) fn mention(&self, place: Place) -> Option<Mention> {
        match self.syntax {
            Syntax::Protobuf => protobuf::mention(&self.bytes, place),
            Syntax::Json | Syntax::Yaml => place.read(&Members::parse(&self.json()?).ok()?),
        }
    }

    /// The whole, where it is no protobuf.
    pub(crate) fn value(&self) -> Option<serde_json::Value> {
        serde_json::from_str(&self.json()?).ok()
    }

    /// The bytes for the member, and what they are written in: YAML stays as it came where nothing is to be changed.
    pub(crate) fn inward(self, border: &Border<'_>) -> Result<(Vec<u8>, Syntax), Refused> {
        if self.bytes.is_empty() {
            return Ok((self.bytes, self.syntax));
        }
        if self.syntax == Syntax::Protobuf {
            let inward = protobuf::inward(&self.bytes, self.shape, border)?;
            return Ok((inward, Syntax::Protobuf));
        }
        let Some(json) = self.json() else { return Ok((self.bytes, self.syntax)) };
        let Ok(mut members) = Members::parse(&json) else { return Ok((self.bytes, self.syntax)) };
        let before = members.clone();
        match self.shape {
            Shape::Object => object_inward(&mut members, border)?,
            Shape::Deletion => options_inward(&mut members, border)?,
            Shape::Eviction => {
                members.edit_object("metadata", |metadata| metadata_inward(metadata, border))?;
                members.edit_object("deleteOptions", |options| options_inward(options, border))?;
            }
        }
        if members == before { Ok((self.bytes, self.syntax)) } else { Ok((members.to_string().into(), Syntax::Json)) }
    }

    fn json(&self) -> Option<String> {
        let text = std::str::from_utf8(&self.bytes).ok()?;
        match self.syntax {
            Syntax::Json => Some(text.to_owned()),
            // JSON is YAML too, and keeps what a conversion would lose.
            Syntax::Yaml if text.trim_start().starts_with('{') && Members::parse(text).is_ok() => Some(text.to_owned()),
            Syntax::Yaml => serde_saphyr::from_str::<serde_json::Value>(text).ok().map(|value| value.to_string()),
            Syntax::Protobuf => None,
        }
    }
}

fn facts(json: &str) -> Option<Facts> {
    #[derive(Deserialize)]
    struct Whole {
        #[serde(default)]
        metadata: Option<Facts>,
    }
    serde_json::from_str::<Whole>(json).ok()?.metadata
}

/// A map of texts; what is no text is left out.
fn texts<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, String)>, D::Error> {
    let map = Option::<serde_json::Map<String, serde_json::Value>>::deserialize(deserializer)?.unwrap_or_default();
    let text = |value: serde_json::Value| value.as_str().map(str::to_owned);
    Ok(map.into_iter().filter_map(|(key, value)| Some((key, text(value)?))).collect())
}

fn or_default<'de, D: serde::Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Turns an object into what the member has.
pub(super) fn object_inward(object: &mut Members<'_>, border: &Border<'_>) -> Result<(), Refused> {
    object.edit_object("metadata", |metadata| metadata_inward(metadata, border))?;
    border.renamed.iter().try_for_each(|renamed| renamed.inward(object))?;
    selector::inward(object, border)
}

/// Turns an object's metadata into what the member has.
pub(super) fn metadata_inward(metadata: &mut Members<'_>, border: &Border<'_>) -> Result<(), Refused> {
    metadata.edit_text("name", |name| Ok(border.name(name).map(str::to_owned)))?;
    metadata.edit_text("resourceVersion", |version| border.version(version))?;
    if border.names_what_is_made() && metadata.get("name").is_none() {
        metadata.set_text("name", border.name);
    }
    for pairs in Pairs::BOTH {
        let mut is_emptied = false;
        metadata.edit_object(pairs.as_str(), |map| {
            let stripped = strip(map, pairs, border)?;
            for (key, value) in border.own.pairs(pairs) {
                map.set_text(key, value);
            }
            is_emptied = stripped && map.is_empty();
            Ok(())
        })?;
        // An empty map would say that who sends it has an opinion on it.
        if is_emptied {
            metadata.remove(pairs.as_str());
        }
        let own = border.own.pairs(pairs);
        if !own.is_empty() && metadata.get(pairs.as_str()).is_none() {
            let mut map = Members::default();
            own.iter().for_each(|(key, value)| map.set_text(key, value));
            metadata.set(pairs.as_str(), map.to_string());
        }
    }
    metadata.edit("ownerReferences", |list| Ok(owners_inward(list, border)))
}

/// Takes the stamp out of a map, and translates the manifest that was last applied.
pub(super) fn strip(map: &mut Members<'_>, pairs: Pairs, border: &Border<'_>) -> Result<bool, Refused> {
    let stripped = map.take_out(|key, json| {
        let value = serde_json::from_str::<String>(json).ok();
        border.is_stamp(pairs, key, value.as_deref())
    })?;
    if pairs == Pairs::Annotations {
        map.edit_text(LAST_APPLIED, |manifest| Ok::<_, Refused>(applied_inward(manifest, border)))?;
    }
    Ok(stripped)
}

/// The manifest that was last applied, with the names of the member and without the stamp. Its resourceVersion, if it has
/// one, is what somebody once wrote.
fn applied_inward(manifest: &str, border: &Border<'_>) -> Option<String> {
    let mut members = Members::parse(manifest).ok()?;
    let before = members.clone();
    let of_manifest = |metadata: &mut Members<'_>| -> Result<(), Refused> {
        metadata.edit_text("name", |name| Ok(border.name(name).map(str::to_owned)))?;
        for pairs in Pairs::BOTH {
            metadata.edit_object(pairs.as_str(), |map| {
                map.take_out(|key, _| Ok::<_, Refused>(pairs.stamped(border.stamp).contains(&key))).map(drop)
            })?;
        }
        Ok(())
    };
    members.edit_object("metadata", of_manifest).ok()?;
    // kubectl ends the manifest with a line feed.
    let end = if manifest.ends_with('\n') { "\n" } else { "" };
    (members != before).then(|| format!("{members}{end}"))
}

fn owners_inward(list: &str, border: &Border<'_>) -> Option<String> {
    if border.owners.is_empty() {
        return None;
    }
    let mut references: Vec<Members<'_>> = serde_json::from_str(list).ok()?;
    for reference in &mut references {
        let uid = reference.text("uid");
        if let Some((_, name)) = border.owners.iter().find(|(known, _)| Some(known) == uid.as_ref()) {
            reference.set_text("name", name);
        }
    }
    let references: Vec<_> = references.iter().map(ToString::to_string).collect();
    Some(format!("[{}]", references.join(",")))
}

fn options_inward(options: &mut Members<'_>, border: &Border<'_>) -> Result<(), Refused> {
    if border.versions == Versions::Dropped {
        options.remove("preconditions");
    }
    options.edit_object("preconditions", |preconditions| {
        preconditions.edit_text("resourceVersion", |version| border.version(version))
    })
}
