use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;

use crate::{ClusterName, ClusterNameError};

/// A member under a name of its own; as a flag `NAME=FILE[#CONTEXT]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberSource {
    /// Its name in the fleet.
    pub name: ClusterName,
    /// The kubeconfig file that names its cluster.
    pub kubeconfig: PathBuf,
    /// The context in it; the file's current one, where left out.
    #[serde(default)]
    pub context: Option<String>,
}

/// Why a text names no member.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ParseMemberError {
    /// It is written otherwise.
    #[error("{0:?} names no member; write NAME=FILE or NAME=FILE#CONTEXT")]
    Form(String),
    /// Its name cannot be a cluster's.
    #[error(transparent)]
    Name(#[from] ClusterNameError),
}

// === impl MemberSource ===

impl FromStr for MemberSource {
    type Err = ParseMemberError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = || ParseMemberError::Form(text.to_owned());
        let (name, place) = text.split_once('=').ok_or_else(fail)?;
        let (file, context) = place.split_once('#').map_or((place, None), |(file, context)| (file, Some(context)));
        if file.is_empty() || context == Some("") {
            return Err(fail());
        }
        Ok(Self { name: ClusterName::new(name)?, kubeconfig: file.into(), context: context.map(str::to_owned) })
    }
}

impl fmt::Display for MemberSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.kubeconfig.display())?;
        self.context.as_ref().map_or(Ok(()), |context| write!(f, "#{context}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_read_back_from_what_it_prints() {
        for text in ["east=e.yaml", "west=/etc/w.yaml#admin@west"] {
            assert_eq!(text.parse::<MemberSource>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_names_no_member_is_refused() {
        for text in ["east", "east=", "east=#c", "east=f#"] {
            assert_eq!(text.parse::<MemberSource>(), Err(ParseMemberError::Form(text.to_owned())));
        }
        assert!(matches!("East=f".parse::<MemberSource>(), Err(ParseMemberError::Name(_))));
    }
}
