use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::document::{metadata_inward, object_inward, strip};
use super::members::{Members, quoted};
use super::{Border, Extent, Pairs, Refused, Versions, selector};

/// A JSON patch (RFC 6902).
#[derive(Clone, Debug)]
pub(crate) struct JsonPatch(Vec<Operation>);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Operation {
    op: String,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<Box<RawValue>>,
}

/// What a path leads to, of what is translated.
enum Place {
    /// The whole object.
    Object,
    Metadata,
    Name,
    Version,
    /// A whole map.
    Map(Pairs),
    /// A key of a map that may be the stamp's.
    Key(Pairs, &'static str),
    Spec,
    /// The selector of a Service.
    Selector,
    /// What it has under the stamp's key.
    SelectorKey,
    Other,
}

// === impl JsonPatch ===

impl JsonPatch {
    /// Reads a patch; what is none is the member's to refuse.
    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        serde_json::from_slice(body).ok().map(Self)
    }

    /// The patch for the member.
    pub(crate) fn inward(self, border: &Border<'_>) -> Result<Self, Refused> {
        let mut operations = Vec::with_capacity(self.0.len());
        for operation in self.0 {
            operations.extend(operation.inward(border)?);
        }
        Ok(Self(operations))
    }

    /// The same for an object that has no map of these pairs itself: one that the client sees is the stamp's alone. The
    /// first step fails where the object has got one meanwhile.
    pub(crate) fn with_map(&self, pairs: Pairs) -> Self {
        let path = format!("/metadata/{}", pairs.as_str());
        let step = |op: &str, json: &str| Operation {
            op: op.to_owned(),
            path: path.clone(),
            from: None,
            value: RawValue::from_string(json.to_owned()).ok(),
        };
        let mut operations = vec![step("test", "null"), step("add", "{}")];
        operations.extend(self.0.iter().cloned());
        Self(operations)
    }

    /// Whether it goes into the map of these pairs.
    pub(crate) fn enters(&self, pairs: Pairs) -> bool {
        let prefix = format!("/metadata/{}/", pairs.as_str());
        self.0.iter().any(|operation| operation.path.starts_with(&prefix))
    }

    /// Values that it would put in place of ownerReferences, or into them.
    pub(crate) fn owner_references(&self) -> impl Iterator<Item = &str> {
        let names = |operation: &&Operation| operation.path.starts_with("/metadata/ownerReferences");
        self.0.iter().filter(names).filter_map(|operation| operation.value.as_deref().map(RawValue::get))
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.0).expect("operations are JSON")
    }
}

// === impl Operation ===

impl Operation {
    /// The operation for the member; nothing where it is about the stamp alone.
    fn inward(mut self, border: &Border<'_>) -> Result<Option<Self>, Refused> {
        let path = self.path.clone();
        match Place::of(&path) {
            Place::Key(pairs, key) if pairs.stamped(border.stamp).contains(&key) => {
                self.check_stamp(pairs, key, border)?;
                return Ok(None);
            }
            Place::Name => self.edit_text(|name| Ok(border.name(name).map(str::to_owned)))?,
            Place::Version if border.versions == Versions::Dropped => return Ok(None),
            Place::Version => self.edit_text(|version| border.version(version))?,
            Place::Metadata => self.edit_members(|metadata| metadata_inward(metadata, border))?,
            Place::Object => self.edit_members(|object| object_inward(object, border))?,
            Place::SelectorKey if self.puts_selected_stamp(border)? => return Ok(None),
            Place::Spec => self.edit_members(|spec| selector::spec_inward(spec, Extent::Whole, border))?,
            Place::Selector => self.edit_members(|map| selector::strip(map, Extent::Whole, border))?,
            Place::Map(pairs) => self.edit_members(|map| {
                strip(map, pairs, border)?;
                border.own.pairs(pairs).iter().for_each(|(key, value)| map.set_text(key, value));
                Ok(())
            })?,
            Place::Key(..) | Place::SelectorKey | Place::Other => {}
        }
        Ok(Some(self))
    }

    /// A test of the stamp holds or fails here; what else is done to it means nothing, or contradicts it.
    fn check_stamp(&self, pairs: Pairs, key: &str, border: &Border<'_>) -> Result<(), Refused> {
        let value = self.value.as_deref().and_then(|value| serde_json::from_str::<String>(value.get()).ok());
        match self.op.as_str() {
            "remove" => Ok(()),
            "test" if value.as_deref() == Some(border.cluster.as_str()) => Ok(()),
            "test" | "move" | "copy" => Err(Refused::TestFailed(self.path.clone())),
            _ => border.is_stamp(pairs, key, value.as_deref()).map(drop),
        }
    }

    /// Whether all that it does is to put the stamp into a Service's selector. Tests and removals are the member's.
    fn puts_selected_stamp(&self, border: &Border<'_>) -> Result<bool, Refused> {
        let value = self.value.as_deref().and_then(|value| serde_json::from_str::<String>(value.get()).ok());
        let value = value.filter(|_| matches!(self.op.as_str(), "add" | "replace"));
        border.is_selected_stamp(orrery_api::CLUSTER_KEY, value.as_deref())
    }

    fn edit_text(&mut self, edit: impl FnOnce(&str) -> Result<Option<String>, Refused>) -> Result<(), Refused> {
        let text = self.value.as_deref().and_then(|value| serde_json::from_str::<String>(value.get()).ok());
        if let Some(edited) = text.as_deref().map(edit).transpose()?.flatten() {
            self.value = RawValue::from_string(quoted(&edited)).ok();
        }
        Ok(())
    }

    fn edit_members(&mut self, edit: impl FnOnce(&mut Members<'_>) -> Result<(), Refused>) -> Result<(), Refused> {
        let Some(value) = &self.value else { return Ok(()) };
        let Ok(mut members) = Members::parse(value.get()) else { return Ok(()) };
        edit(&mut members)?;
        self.value = RawValue::from_string(members.to_string()).ok();
        Ok(())
    }
}

// === impl Place ===

impl Place {
    fn of(path: &str) -> Self {
        match path {
            "" => return Self::Object,
            "/metadata" => return Self::Metadata,
            "/metadata/name" => return Self::Name,
            "/metadata/resourceVersion" => return Self::Version,
            "/spec" => return Self::Spec,
            "/spec/selector" => return Self::Selector,
            "/spec/selector/orrery.dev~1cluster" => return Self::SelectorKey,
            _ => {}
        }
        for pairs in Pairs::BOTH {
            let rest = path.strip_prefix("/metadata/").and_then(|rest| rest.strip_prefix(pairs.as_str()));
            match rest {
                Some("") => return Self::Map(pairs),
                // The stamp's keys have a slash, which a pointer spells `~1`.
                Some("/orrery.dev~1cluster") => return Self::Key(pairs, orrery_api::CLUSTER_KEY),
                Some("/orrery.dev~1clusters") => return Self::Key(pairs, orrery_api::CLUSTERS_KEY),
                Some(_) | None => {}
            }
        }
        Self::Other
    }
}
