use std::fmt;
use std::str::FromStr;

use crate::placement::{Label, LabelError, ParseTaintError, Taint};
use crate::{ClusterName, ClusterNameError};

/// A label of a cluster; as a flag `CLUSTER:KEY=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterLabel {
    /// The cluster.
    pub cluster: ClusterName,
    /// The label.
    pub label: Label,
}

/// A taint of a cluster; as a flag `CLUSTER:KEY[=VALUE]:EFFECT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterTaint {
    /// The cluster.
    pub cluster: ClusterName,
    /// The taint.
    pub taint: Taint,
}

/// Why a text is no label or taint of a cluster.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ParseClusterError {
    /// It is written otherwise.
    #[error("{0:?} is no label of a cluster; write CLUSTER:KEY=VALUE, as east:region=eu")]
    Label(String),
    /// It is written otherwise.
    #[error(
        "{0:?} is no taint of a cluster; write CLUSTER:KEY=VALUE:EFFECT, as east:orrery.dev/maintenance=true:NoSchedule"
    )]
    Taint(String),
    /// The cluster's name is none.
    #[error(transparent)]
    Name(#[from] ClusterNameError),
    /// The key or value is none.
    #[error(transparent)]
    LabelText(#[from] LabelError),
    /// The taint is none.
    #[error(transparent)]
    TaintText(#[from] ParseTaintError),
}

// === impl ClusterLabel ===

impl FromStr for ClusterLabel {
    type Err = ParseClusterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = || ParseClusterError::Label(text.to_owned());
        let (cluster, label) = text.split_once(':').ok_or_else(fail)?;
        let (key, value) = label.split_once('=').ok_or_else(fail)?;
        Ok(Self { cluster: ClusterName::new(cluster)?, label: Label::new(key, value)? })
    }
}

impl fmt::Display for ClusterLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.cluster, self.label)
    }
}

// === impl ClusterTaint ===

impl FromStr for ClusterTaint {
    type Err = ParseClusterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = || ParseClusterError::Taint(text.to_owned());
        let (cluster, taint) = text.split_once(':').filter(|(_, taint)| taint.contains(':')).ok_or_else(fail)?;
        Ok(Self { cluster: ClusterName::new(cluster)?, taint: taint.parse()? })
    }
}

impl fmt::Display for ClusterTaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.cluster, self.taint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_taints_are_read_back_from_what_they_print() {
        for text in ["east:region=eu", "east:topology.kubernetes.io/region=", "a:b.c/d=e"] {
            assert_eq!(text.parse::<ClusterLabel>().unwrap().to_string(), text);
        }
        for text in ["east:gpu:NoExecute", "east:orrery.dev/maintenance=true:NoSchedule"] {
            assert_eq!(text.parse::<ClusterTaint>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_none_is_refused_with_the_right_form() {
        let label = |text: &str| text.parse::<ClusterLabel>().unwrap_err().to_string();
        assert!(label("region=eu").contains("write CLUSTER:KEY=VALUE"));
        assert!(label("east:region").contains("write CLUSTER:KEY=VALUE"));
        assert!(label("East:region=eu").contains("cluster name \"East\" is not valid"));
        assert!(label("east:a b=eu").contains("is no label key"));
        let taint = |text: &str| text.parse::<ClusterTaint>().unwrap_err().to_string();
        assert!(taint("east:NoSchedule").contains("write CLUSTER:KEY=VALUE:EFFECT"));
        assert!(taint("east:a:Never").contains("is no effect"));
    }
}
