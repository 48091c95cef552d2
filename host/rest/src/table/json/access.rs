use std::borrow::Cow;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::scan::Quoted;
use super::{Reader, Result, Unreadable};

/// The members of an object, those that are null left out.
pub(super) struct Members<'r, 'a> {
    reader: &'r mut Reader<'a>,
    first: bool,
}

/// The items of an array.
pub(super) struct Items<'r, 'a> {
    reader: &'r mut Reader<'a>,
    first: bool,
}

// === impl Members ===

impl<'r, 'a> Members<'r, 'a> {
    pub(super) fn enter(reader: &'r mut Reader<'a>) -> Result<Self> {
        reader.scan.take(b'{')?;
        Ok(Self { reader, first: true })
    }
}

impl<'a> MapAccess<'a> for Members<'_, 'a> {
    type Error = Unreadable;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        let scan = &mut self.reader.scan;
        while scan.next(b'}', std::mem::take(&mut self.first))? {
            let key = scan.string()?;
            scan.take(b':')?;
            if scan.null() {
                continue;
            }
            return seed.deserialize(Key(key)).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value> {
        seed.deserialize(&mut *self.reader)
    }
}

// === impl Items ===

impl<'r, 'a> Items<'r, 'a> {
    pub(super) fn enter(reader: &'r mut Reader<'a>) -> Result<Self> {
        reader.scan.take(b'[')?;
        Ok(Self { reader, first: true })
    }
}

impl<'a> SeqAccess<'a> for Items<'_, 'a> {
    type Error = Unreadable;

    fn next_element_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if !self.reader.scan.next(b']', std::mem::take(&mut self.first))? {
            return Ok(None);
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

/// The name of a member. Those of structs are compared as bytes, without a look at their encoding.
struct Key<'a>(Quoted<'a>);

// === impl Key ===

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Unreadable;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0.decode()? {
            Cow::Borrowed(key) => visitor.visit_borrowed_str(key),
            Cow::Owned(key) => visitor.visit_string(key),
        }
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0.plain() {
            Some(key) => visitor.visit_borrowed_bytes(key),
            None => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum ignored_any
    }
}
