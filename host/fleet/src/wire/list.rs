use bytes::{Buf as _, Bytes, BytesMut};
use memchr::memchr2;
use orrery_markers::MemberVersion;
use serde::Deserialize;

use super::object::WireError;

/// Cuts the body of a list into its items while it comes, so that no more of it is held than one item.
///
/// Only the list's own structure is followed; whether an item is sound JSON is found when it is read.
#[derive(Debug, Default)]
pub(crate) struct ListItems {
    buffer: BytesMut,
    /// How far the value that `buffer` begins with was followed.
    scan: Scan,
    place: Place,
    /// The list's `metadata`, once seen.
    metadata: Option<Bytes>,
    /// Whether `items` was seen, be it null.
    items: bool,
}

/// What ends a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListEnd {
    /// The list's version.
    pub(crate) version: MemberVersion,
    /// The token of the next page; empty on the last.
    pub(crate) next: String,
}

/// Where in the list the scan stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Before the opening brace.
    #[default]
    Start,
    /// Before a key, or the closing brace.
    Key,
    /// Behind a key, before its value.
    Value(Field),
    /// Between two items, or before the first.
    Items,
    /// Behind the closing brace.
    End,
}

/// Finds the end of a JSON value that comes in parts, without reading any byte twice.
#[derive(Debug, Default)]
struct Scan {
    at: usize,
    depth: usize,
    in_string: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Metadata,
    Items,
    Other,
}

// === impl ListItems ===

impl ListItems {
    const ITEM_MAX: usize = 64 << 20;

    /// Takes a chunk of the body. Take the items with [`Self::next`] before the next one.
    pub(crate) fn push(&mut self, chunk: &Bytes) {
        self.buffer.extend_from_slice(chunk);
    }

    /// The next item; none where the rest is a part of one, or the list is at its end.
    ///
    /// # Errors
    /// What is not a list, or an item beyond the bound of 64 MiB.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, WireError> {
        loop {
            self.skip(b" \t\r\n,");
            let Some(&byte) = self.buffer.first() else { return Ok(None) };
            match (self.place, byte) {
                (Place::Start, b'{') => self.step(Place::Key),
                (Place::Key, b'}') => self.step(Place::End),
                (Place::Items, b']') => self.step(Place::Key),
                (Place::Value(_), b':') => self.buffer.advance(1),
                (Place::Value(Field::Items), b'[') => self.step(Place::Items),
                (Place::Key, b'"') => {
                    let Some(key) = self.value()? else { return Ok(None) };
                    self.place = Place::Value(Field::of(&key));
                }
                (Place::Value(field), _) => {
                    let Some(value) = self.value()? else { return Ok(None) };
                    self.take(field, value)?;
                }
                (Place::Items, _) => return self.value(),
                (Place::Start | Place::Key, _) => return Err(WireError::List("it does not begin as a JSON object")),
                (Place::End, _) => return Err(WireError::List("something follows it")),
            }
        }
    }

    /// What the list said besides its items.
    ///
    /// # Errors
    /// A body that ended early, is no list, or has no decimal version.
    pub(crate) fn end(self) -> Result<ListEnd, WireError> {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Metadata {
            resource_version: String,
            r#continue: String,
        }
        if self.place != Place::End {
            return Err(WireError::Cut);
        }
        let metadata = self.metadata.filter(|_| self.items).ok_or(WireError::List("it has no items or no metadata"))?;
        let metadata: Metadata =
            serde_json::from_slice(&metadata).map_err(|error| WireError::ListPart("metadata", error))?;
        match MemberVersion::parse(&metadata.resource_version) {
            Some(version) => Ok(ListEnd { version, next: metadata.r#continue }),
            None => Err(WireError::Unclocked("of a list".to_owned(), metadata.resource_version)),
        }
    }

    fn step(&mut self, place: Place) {
        self.buffer.advance(1);
        self.place = place;
        self.items |= place == Place::Items;
    }

    fn take(&mut self, field: Field, value: Bytes) -> Result<(), WireError> {
        self.place = Place::Key;
        match field {
            Field::Metadata => self.metadata = Some(value),
            Field::Items if &value[..] == b"null" => self.items = true,
            Field::Items => return Err(WireError::List("its items are not an array")),
            Field::Other => {}
        }
        Ok(())
    }

    /// The value that the buffer begins with, if it is there whole.
    fn value(&mut self) -> Result<Option<Bytes>, WireError> {
        match self.scan.end_in(&self.buffer)? {
            Some(end) => {
                self.scan = Scan::default();
                Ok(Some(self.buffer.split_to(end).freeze()))
            }
            None if self.buffer.len() > Self::ITEM_MAX => Err(WireError::TooLong(Self::ITEM_MAX)),
            None => Ok(None),
        }
    }

    fn skip(&mut self, set: &[u8]) {
        let skipped = self.buffer.iter().take_while(|byte| set.contains(byte)).count();
        self.buffer.advance(skipped);
    }
}

// === impl Scan ===

impl Scan {
    /// Where the value at the beginning of `bytes` ends; none where it goes on.
    fn end_in(&mut self, bytes: &[u8]) -> Result<Option<usize>, WireError> {
        while let Some(rest) = bytes.get(self.at..).filter(|rest| !rest.is_empty()) {
            if self.in_string {
                match memchr2(b'"', b'\\', rest) {
                    None => self.at = bytes.len(),
                    Some(found) if rest[found] == b'\\' => self.at += found + 2,
                    Some(found) => {
                        self.at += found + 1;
                        self.in_string = false;
                        if self.depth == 0 {
                            return Ok(Some(self.at));
                        }
                    }
                }
                continue;
            }
            match rest[0] {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b',' | b':' | b'}' | b']' if self.depth == 0 && self.at == 0 => {
                    return Err(WireError::List("a value is missing"));
                }
                b',' | b':' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n' if self.depth == 0 => {
                    return Ok(Some(self.at));
                }
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Ok(Some(self.at + 1));
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
        Ok(None)
    }
}

// === impl Field ===

impl Field {
    fn of(key: &[u8]) -> Self {
        match key {
            b"\"metadata\"" => Self::Metadata,
            b"\"items\"" => Self::Items,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests;
