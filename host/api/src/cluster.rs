use std::fmt;
use std::sync::Arc;

/// A cluster's name in the fleet: a DNS label (RFC 1123) of at most 50 characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct ClusterName(Arc<str>);

/// Why a text is no cluster name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "cluster name {name:?} is not valid: {reason}; use at most {} lower-case letters, digits and '-', first and last a letter or digit",
    ClusterName::CHARS_MAX
)]
pub struct ClusterNameError {
    name: String,
    reason: &'static str,
}

// === impl ClusterName ===

impl ClusterName {
    /// Longest name, in characters: what is left of a DNS label of 63 once a qualified name has had its part.
    pub const CHARS_MAX: usize = 50;

    /// The cluster named `name`, which must be a name already.
    pub fn new(name: &str) -> Result<Self, ClusterNameError> {
        let fail = |reason| Err(ClusterNameError { name: name.to_owned(), reason });
        let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        if name.is_empty() {
            return fail("it is empty");
        }
        if name.len() > Self::CHARS_MAX {
            return fail("it is too long");
        }
        if !name.chars().all(|c| alphanumeric(c) || c == '-') {
            return fail("it has other characters");
        }
        if !name.starts_with(alphanumeric) || !name.ends_with(alphanumeric) {
            return fail("it starts or ends with '-'");
        }
        Ok(Self(name.into()))
    }

    /// The name made from a kubeconfig context's: lower-cased, other characters turned into `-`, cut to length.
    /// Two contexts may meet in one name; the fleet tells them apart (design 1).
    pub fn from_context(context: &str) -> Result<Self, ClusterNameError> {
        let mapped: String = context
            .chars()
            .map(|c| c.to_ascii_lowercase())
            .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' })
            .take(Self::CHARS_MAX)
            .collect();
        Self::new(mapped.trim_matches('-')).map_err(|_| ClusterNameError {
            name: context.to_owned(),
            reason: "no character of it can stand in a name",
        })
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClusterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> serde::Deserialize<'de> for ClusterName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dns_label_of_fifty_characters_is_a_name_and_one_more_is_not() {
        assert!(ClusterName::new(&"a".repeat(50)).is_ok());
        assert!(ClusterName::new(&"a".repeat(51)).is_err());
    }

    #[test]
    fn names_that_dns_refuses_are_refused_with_the_reason() {
        for (name, reason) in
            [("", "empty"), ("-a", "starts or ends"), ("a-", "starts or ends"), ("A", "other"), ("a.b", "other")]
        {
            let error = ClusterName::new(name).unwrap_err().to_string();
            assert!(error.contains(reason), "{name:?}: {error}");
        }
    }

    #[test]
    fn a_context_name_becomes_a_cluster_name() {
        let made = |context| ClusterName::from_context(context).unwrap().to_string();
        assert_eq!(made("Kind_East"), "kind-east");
        assert_eq!(made("arn:aws:eks:eu-1:12:cluster/West"), "arn-aws-eks-eu-1-12-cluster-west");
        assert!(ClusterName::from_context("///").is_err());
    }
}
