use orrery_api::CLUSTER_KEY;

use super::members::Members;
use super::{Border, Extent, Pairs, Refused};

/// What a Service's selector says of the cluster, which is its own: no pod there has the stamp. Clients copy it from the
/// labels of a pod that they were shown (`kubectl expose`).
pub(super) const FIELD: &str = "spec.selector";

// === impl Border ===

impl Border<'_> {
    /// Whether `key` in a Service's selector is the host's own, and what stands there names the Service's cluster. One that
    /// the member's Service has itself, and one that is taken out, are the member's.
    pub(super) fn is_selected_stamp(&self, key: &str, value: Option<&str>) -> Result<bool, Refused> {
        let is_stamp = self.service.is_some() && Pairs::Labels.stamped(self.stamp).contains(&key);
        match value.filter(|_| is_stamp) {
            Some(value) if self.own.selector.as_deref() == Some(value) => Ok(false),
            Some(value) if value == self.cluster.as_str() => Ok(true),
            Some(value) => Err(Refused::OtherCluster {
                field: format!("{FIELD}[{key}]"),
                value: value.to_owned(),
                cluster: self.cluster.clone(),
            }),
            None => Ok(false),
        }
    }
}

/// What `object`, as it is shown, has in its selector under the stamp's key.
pub(super) fn of_object(object: &str) -> Option<String> {
    Members::parse(object).ok()?.object("spec")?.object("selector")?.text(CLUSTER_KEY)
}

/// Turns a Service into what the member has.
pub(super) fn inward(service: &mut Members<'_>, border: &Border<'_>) -> Result<(), Refused> {
    match border.service {
        Some(extent) => service.edit_object("spec", |spec| spec_inward(spec, extent, border)),
        None => Ok(()),
    }
}

pub(super) fn spec_inward(spec: &mut Members<'_>, extent: Extent, border: &Border<'_>) -> Result<(), Refused> {
    spec.edit_object("selector", |map| strip(map, extent, border))
}

/// Takes the stamp out of a selector. A whole one that is left empty would choose no pods where it chose all of a cluster.
pub(super) fn strip(map: &mut Members<'_>, extent: Extent, border: &Border<'_>) -> Result<(), Refused> {
    let stripped =
        map.take_out(|key, json| border.is_selected_stamp(key, serde_json::from_str::<String>(json).ok().as_deref()))?;
    if stripped && map.is_empty() && extent == Extent::Whole { Err(Refused::OnlyCluster) } else { Ok(()) }
}
