//! Reads the few fields of an object that a row shows, and passes over the rest of its JSON at the speed of a scan.
//!
//! It is a serde deserializer, so a printer says what it reads as a struct that borrows from the body. Two things differ
//! from serde_json: what no struct asks for is passed over by its brackets and quotes alone (the cache has checked the
//! shape of every body), and a member that is null counts as absent, as Go reads it.

mod access;
mod brackets;
mod scan;

use serde::Deserialize;
use serde::de::{Deserializer, Visitor};
use serde::forward_to_deserialize_any;

use access::{Items, Members};
use scan::Scan;

/// Why an object cannot be read: it is not JSON, or not of its kind's shape.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unreadable(String);

/// The value that `body` spells.
pub(super) fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Unreadable> {
    T::deserialize(&mut Reader { scan: Scan::new(body) })
}

/// A place in a body, before a value.
struct Reader<'a> {
    scan: Scan<'a>,
}

type Result<T, E = Unreadable> = std::result::Result<T, E>;

// === impl Unreadable ===

impl Unreadable {
    fn at(at: usize) -> Self {
        Self(format!("the object's JSON is not well-formed at byte {at}"))
    }
}

impl serde::de::Error for Unreadable {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

// === impl Reader ===

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Unreadable;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.scan.peek() {
            b'{' => visitor.visit_map(Members::enter(self)?),
            b'[' => visitor.visit_seq(Items::enter(self)?),
            b'"' => match self.scan.string()?.decode()? {
                std::borrow::Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
                std::borrow::Cow::Owned(text) => visitor.visit_string(text),
            },
            _ => match self.scan.word()? {
                "null" => visitor.visit_unit(),
                "true" => visitor.visit_bool(true),
                "false" => visitor.visit_bool(false),
                number => match (number.parse::<i64>(), number.parse::<f64>()) {
                    (Ok(number), _) => visitor.visit_i64(number),
                    (_, Ok(number)) => visitor.visit_f64(number),
                    _ => Err(Unreadable(format!("{number:?} is no JSON"))),
                },
            },
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.scan.null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    /// An array is not taken for a struct, as serde would.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_map(Members::enter(self)?)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.scan.pass()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map enum identifier
    }
}

#[cfg(test)]
mod tests;
