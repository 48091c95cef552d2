//! Reads JSON.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use cel::common::types::CelNull;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Node;

/// Reads a document; `what` names it in the error.
pub(crate) fn read(what: &str, text: &str) -> Result<Node, String> {
    serde_json::from_str(text).map_err(|error| format!("{what} is not JSON: {error}"))
}

/// Reads an object, of its fields only those in `wanted`: what nobody asks for need not be built, which is most of a cluster.
pub(crate) fn read_some(what: &str, text: &str, wanted: &BTreeSet<String>) -> Result<Node, String> {
    let mut json = serde_json::Deserializer::from_str(text);
    let read = Wanted(wanted).deserialize(&mut json).and_then(|node| json.end().map(|()| node));
    read.map_err(|error| format!("{what} is not JSON: {error}"))
}

/// Fields that are wanted.
struct Wanted<'a>(&'a BTreeSet<String>);

impl<'de> DeserializeSeed<'de> for Wanted<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Wanted<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Node, A::Error> {
        let mut map = Vec::new();
        while let Some(name) = fields.next_key::<Cow<'de, str>>()? {
            if self.0.contains(name.as_ref()) {
                map.push((name.into_owned(), fields.next_value()?));
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Node::map(map))
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(i64::try_from(value).map_or_else(|_| Node::Double((value as f64).into()), Node::int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Double(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::text(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Node, E> {
        Ok(Node::Text(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null(CelNull))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element()? {
            list.push(element);
        }
        Ok(Node::list(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Node, A::Error> {
        let mut map = Vec::new();
        while let Some(field) = fields.next_entry::<String, Node>()? {
            map.push(field);
        }
        Ok(Node::map(map))
    }
}
