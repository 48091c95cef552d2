//! Labels and taints of members, from flags, variables and file.

use std::collections::BTreeMap;

use orrery_api::config::{ClusterLabel, ClusterTaint};
use orrery_api::placement::{ClusterAttributes, Label, Taint};
use orrery_api::{CLUSTER_KEY, ClusterName};

use super::resolve::ResolveError;

/// What the file says, each as a list that a flag or variable may stand for.
pub(super) fn of_file(
    clusters: Option<BTreeMap<ClusterName, ClusterAttributes>>,
) -> (Option<Vec<ClusterLabel>>, Option<Vec<ClusterTaint>>) {
    let (mut labels, mut taints) = (Vec::new(), Vec::new());
    for (cluster, attributes) in clusters.into_iter().flatten() {
        let of_it = attributes.labels.into_iter();
        labels.extend(of_it.map(|label| ClusterLabel { cluster: cluster.clone(), label }));
        taints.extend(attributes.taints.into_iter().map(|taint| ClusterTaint { cluster: cluster.clone(), taint }));
    }
    (Some(labels), Some(taints))
}

/// Labels and taints by cluster. Of labels with one key the last one holds.
pub(super) fn joined(
    labels: Vec<ClusterLabel>,
    taints: Vec<ClusterTaint>,
) -> Result<BTreeMap<ClusterName, ClusterAttributes>, ResolveError> {
    let mut clusters: BTreeMap<ClusterName, (Vec<Label>, Vec<Taint>)> = BTreeMap::new();
    for ClusterLabel { cluster, label } in labels {
        if label.key() == CLUSTER_KEY {
            return Err(ResolveError::ReservedLabel { cluster });
        }
        clusters.entry(cluster).or_default().0.push(label);
    }
    for ClusterTaint { cluster, taint } in taints {
        clusters.entry(cluster).or_default().1.push(taint);
    }
    let attributes =
        |(labels, taints): (Vec<Label>, _)| ClusterAttributes { labels: labels.into_iter().collect(), taints };
    Ok(clusters.into_iter().map(|(cluster, both)| (cluster, attributes(both))).collect())
}
