//! Fields of an object as the printers read them: only what is printed, borrowed from the body, and absent or null is
//! the field's zero value, as in Go.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::cells::UNKNOWN;

/// A string field; null is empty, and any other kind of value unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Text<'a>(Cow<'a, str>);

/// A field that may be null.
#[derive(Clone, Debug, Default)]
pub(super) struct Maybe<T>(T);

/// What every printer needs of `metadata`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
pub(super) struct Metadata<'a> {
    pub(super) name: Text<'a>,
    pub(super) creation_timestamp: Text<'a>,
    pub(super) deletion_timestamp: Option<Text<'a>>,
}

/// A condition of any kind.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
pub(super) struct Condition<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) status: Text<'a>,
    pub(super) reason: Text<'a>,
}

/// The status of the first condition of `kind`, as hasPodReadyCondition and its like read it.
pub(super) fn status_of<'c>(conditions: &'c [Condition<'_>], kind: &str) -> Option<&'c str> {
    conditions.iter().find(|condition| &*condition.kind == kind).map(|condition| &*condition.status)
}

// === impl Text ===

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor).map(Self)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(UNKNOWN))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(UNKNOWN))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(UNKNOWN))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(UNKNOWN))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Cow::Borrowed(UNKNOWN))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Cow::Borrowed(UNKNOWN))
    }
}

// === impl Maybe ===

impl<T> Deref for Maybe<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Maybe<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Option::<T>::deserialize(deserializer)?.unwrap_or_default()))
    }
}
