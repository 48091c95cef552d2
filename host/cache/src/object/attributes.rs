//! What selectors read of an object, in one block each, shared between objects that have the same.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use super::BodyError;

/// Labels of an object, the virtual one too: `(key length, value length, key, value)` after each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Labels(Arc<[u8]>);

/// Values of an object's selectable fields, in the order of its kind's table: `(length, value)` after each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldValues(Arc<[u8]>);

/// Keeps one copy of what repeats between the objects of a resource.
#[derive(Default)]
pub(crate) struct Interner {
    texts: Pool<Arc<str>>,
    blocks: Pool<Arc<[u8]>>,
}

struct Pool<T> {
    known: HashSet<T>,
    /// Looked through for what only the pool still holds when it has grown to this size.
    sweep_at: usize,
}

// === impl Labels ===

impl Labels {
    pub(super) fn new<'a>(
        pairs: impl Iterator<Item = (&'a str, &'a str)>,
        interner: &mut Interner,
    ) -> Result<Self, BodyError> {
        let mut block = Vec::with_capacity(256);
        for (key, value) in pairs {
            block.extend_from_slice(&length_of(key, "metadata.labels")?);
            block.extend_from_slice(&length_of(value, "metadata.labels")?);
            block.extend_from_slice(key.as_bytes());
            block.extend_from_slice(value.as_bytes());
        }
        Ok(Self(interner.block(&block)))
    }

    pub(crate) fn get(&self, wanted: &str) -> Option<&str> {
        self.iter_bytes().find(|(key, _)| *key == wanted.as_bytes()).map(|(_, value)| text(value))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter_bytes().map(|(key, value)| (text(key), text(value)))
    }

    fn iter_bytes(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let (lengths, after) = rest.split_at_checked(4)?;
            let key_length = usize::from(u16::from_le_bytes([lengths[0], lengths[1]]));
            let value_length = usize::from(u16::from_le_bytes([lengths[2], lengths[3]]));
            let (key, after) = after.split_at_checked(key_length)?;
            let (value, after) = after.split_at_checked(value_length)?;
            rest = after;
            Some((key, value))
        })
    }
}

// === impl FieldValues ===

impl FieldValues {
    pub(super) fn new<'a>(values: impl Iterator<Item = &'a str>, interner: &mut Interner) -> Result<Self, BodyError> {
        let mut block = Vec::with_capacity(128);
        for value in values {
            block.extend_from_slice(&length_of(value, "a selectable field")?);
            block.extend_from_slice(value.as_bytes());
        }
        Ok(Self(interner.block(&block)))
    }

    /// The value of the table's field number `index`; empty where the object lacks it.
    pub(crate) fn get(&self, index: usize) -> &str {
        let mut rest = &self.0[..];
        for _ in 0..index {
            rest = split_value(rest).1;
        }
        text(split_value(rest).0)
    }
}

// === impl Interner ===

impl Interner {
    /// The one copy of `wanted`, or `wanted` from now on.
    pub(super) fn text(&mut self, wanted: &Arc<str>) -> Arc<str> {
        if let Some(known) = self.texts.known.get(wanted) {
            return known.clone();
        }
        self.texts.add(wanted.clone(), |text| Arc::strong_count(text) > 1)
    }

    fn block(&mut self, wanted: &[u8]) -> Arc<[u8]> {
        if let Some(known) = self.blocks.known.get(wanted) {
            return known.clone();
        }
        self.blocks.add(wanted.into(), |block| Arc::strong_count(block) > 1)
    }
}

// === impl Pool ===

impl<T: Clone + Eq + Hash> Pool<T> {
    fn add(&mut self, new: T, is_used: impl Fn(&T) -> bool) -> T {
        if self.known.len() >= self.sweep_at {
            self.known.retain(is_used);
            self.sweep_at = (self.known.len() * 2).max(1024);
            self.known.shrink_to(self.sweep_at);
        }
        self.known.insert(new.clone());
        new
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { known: HashSet::new(), sweep_at: 1024 }
    }
}

fn length_of(text: &str, what: &'static str) -> Result<[u8; 2], BodyError> {
    u16::try_from(text.len()).map(u16::to_le_bytes).map_err(|_| BodyError::TooLong { what })
}

fn split_value(block: &[u8]) -> (&[u8], &[u8]) {
    let Some((lengths, after)) = block.split_at_checked(2) else { return (b"", b"") };
    after.split_at_checked(usize::from(u16::from_le_bytes([lengths[0], lengths[1]]))).unwrap_or_default()
}

/// Blocks are made of `str`s only.
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}
