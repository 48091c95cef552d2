use std::fmt;
use std::sync::Arc;

/// Namespace and name of an object within one resource. Ordered as the API orders lists: by namespace, then name, bytewise.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Namespace; empty for a cluster-scoped object.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

/// An object's uid. Nearly always a UUID, kept in 16 bytes; any other text is kept as it is.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Uid(Form);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Form {
    Uuid(u128),
    Text(Arc<str>),
}

// === impl ObjectKey ===

impl ObjectKey {
    /// The object `name` in `namespace` (empty for a cluster-scoped one).
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() { f.write_str(&self.name) } else { write!(f, "{}/{}", self.namespace, self.name) }
    }
}

// === impl Uid ===

impl Uid {
    /// The uid that `text` spells.
    pub fn new(text: &str) -> Self {
        Self(parse_uuid(text).map_or_else(|| Form::Text(text.into()), Form::Uuid))
    }

    /// Its 128 bits, where it is a UUID in canonical form.
    pub fn as_uuid(&self) -> Option<u128> {
        match self.0 {
            Form::Uuid(bits) => Some(bits),
            Form::Text(_) => None,
        }
    }

    /// The uid whose canonical form has these bits.
    pub fn from_uuid(bits: u128) -> Self {
        Self(Form::Uuid(bits))
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Text(text) => f.write_str(text),
            Form::Uuid(bits) => {
                let hex = format!("{bits:032x}");
                write!(f, "{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
            }
        }
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Only the canonical spelling (lower-case, dashes at 8, 13, 18 and 23) is packed, so that printing gives the text back.
fn parse_uuid(text: &str) -> Option<u128> {
    let bytes = text.as_bytes();
    if bytes.len() != 36 {
        return None;
    }
    let mut bits = 0u128;
    for (at, &byte) in bytes.iter().enumerate() {
        let digit = match (at, byte) {
            (8 | 13 | 18 | 23, b'-') => continue,
            (8 | 13 | 18 | 23, _) => return None,
            (_, b'0'..=b'9') => byte - b'0',
            (_, b'a'..=b'f') => byte - b'a' + 10,
            _ => return None,
        };
        bits = bits << 4 | u128::from(digit);
    }
    Some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_prints_the_text_it_was_made_from() {
        for text in [
            "123e4567-e89b-12d3-a456-426614174000",
            "123E4567-e89b-12d3-a456-426614174000",
            "x",
            "",
            "é23e4567-e89b-12d3-a456-42661417400",
        ] {
            assert_eq!(Uid::new(text).to_string(), text);
        }
        assert!(Uid::new("123e4567-e89b-12d3-a456-426614174000").as_uuid().is_some());
        assert!(Uid::new("123E4567-e89b-12d3-a456-426614174000").as_uuid().is_none());
    }

    #[test]
    fn keys_sort_by_namespace_then_name_bytewise() {
        let mut keys =
            [ObjectKey::new("b", "a"), ObjectKey::new("a", "b"), ObjectKey::new("a", "B"), ObjectKey::new("", "z")];
        keys.sort();
        assert_eq!(keys.map(|key| key.to_string()).join(" "), "z a/B a/b b/a");
    }
}
