use std::fmt;

use serde::{Deserialize, Serialize};

/// A kind of extension that is asked something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ExtensionKind {
    /// A component.
    Plugin,
    /// A rule in CEL.
    CelPolicy,
}

/// Which extension. Prints as `Plugin NAME`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ExtensionName {
    /// Its kind.
    pub kind: ExtensionKind,
    /// Its name.
    pub name: String,
}

/// A text that names no extension.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is no name of an extension; write up to 63 of a-z, 0-9 and -, a letter first")]
pub struct ExtensionNameError(String);

// === impl ExtensionName ===

impl ExtensionName {
    /// The extension `name` of this kind.
    ///
    /// # Errors
    /// `name` is none: it goes into file names and label keys.
    pub fn new(kind: ExtensionKind, name: &str) -> Result<Self, ExtensionNameError> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let begins_well = name.starts_with(|c: char| c.is_ascii_lowercase());
        if begins_well && name.len() <= 63 && name.chars().all(is_plain) && !name.ends_with('-') {
            return Ok(Self { kind, name: name.to_owned() });
        }
        Err(ExtensionNameError(name.to_owned()))
    }
}

impl ExtensionName {
    /// The plugin of this name, which was checked.
    pub fn plugin(name: &str) -> Self {
        Self { kind: ExtensionKind::Plugin, name: name.to_owned() }
    }

    /// The plugin of this name, if that is one.
    pub fn plugin_if_valid(name: &str) -> Option<Self> {
        Self::new(ExtensionKind::Plugin, name).ok()
    }
}

impl fmt::Display for ExtensionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plugin => "Plugin",
            Self::CelPolicy => "CelPolicy",
        })
    }
}

impl fmt::Display for ExtensionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_that_files_and_labels_can_have() {
        let is_name = |name: &str| ExtensionName::new(ExtensionKind::Plugin, name).is_ok();
        assert!(is_name("a") && is_name("prefer-cheap-2") && is_name(&"a".repeat(63)));
        for odd in ["", "-a", "a-", "2a", "A", "a.b", "a/b", "a_b", "é", &"a".repeat(64)] {
            assert!(!is_name(odd), "{odd}");
        }
    }
}
