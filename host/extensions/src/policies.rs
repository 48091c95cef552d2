use std::sync::{Arc, PoisonError, RwLock};

use orrery_api::placement::{ExtendedStage, PlacementStage, Policy, Unit};

use crate::Registry;
use crate::stage::Extended;

/// The placement policies of now, and the extensions that they ask. A cheap handle: clones are the same set.
#[derive(Clone, Default)]
pub struct Policies {
    policies: Arc<RwLock<Arc<[Arc<Policy>]>>>,
    registry: Option<Registry>,
}

// === impl Policies ===

impl Policies {
    /// No policies, for ever.
    pub fn none() -> Self {
        Self::default()
    }

    /// No policies yet; those that come may ask the extensions of `registry`.
    pub(crate) fn asking(registry: Registry) -> Self {
        Self { policies: Arc::default(), registry: Some(registry) }
    }

    /// The extensions that policies may ask; `None` where none can be loaded.
    pub fn registry(&self) -> Option<&Registry> {
        self.registry.as_ref()
    }

    /// What judges for a stage that an extension answers.
    pub fn stage(&self, stage: &ExtendedStage) -> Box<dyn PlacementStage> {
        let slot = self.registry.as_ref().and_then(|registry| registry.slot(&stage.by));
        Box::new(Extended::new(stage, slot))
    }

    /// The policy that `unit` is placed by: of its namespace before those for all, and by name where several are for it.
    pub fn for_unit(&self, unit: &Unit) -> Option<Arc<Policy>> {
        self.all().iter().find(|policy| policy.selects(unit)).cloned()
    }

    pub(crate) fn all(&self) -> Arc<[Arc<Policy>]> {
        self.policies.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes these the policies, in one step.
    pub(crate) fn set(&self, mut policies: Vec<Arc<Policy>>) {
        policies.sort_by(|a, b| (a.namespace.is_none(), &a.name).cmp(&(b.namespace.is_none(), &b.name)));
        *self.policies.write().unwrap_or_else(PoisonError::into_inner) = policies.into();
    }
}

#[cfg(test)]
mod tests {
    use orrery_api::Gvr;
    use serde_json::json;

    use super::*;

    fn policy(kind: &str, metadata: &str, selector: &str) -> Arc<Policy> {
        let text = format!(
            "apiVersion: orrery.dev/v1alpha1\nkind: {kind}\nmetadata: {metadata}\n\
             spec: {{selector: {selector}, stages: [{{stage: taints}}]}}"
        );
        Arc::new(Policy::parse(&text).unwrap().remove(0))
    }

    fn chosen(policies: &Policies, resource: &str, namespace: &str) -> String {
        let unit = Unit::read(Gvr::new("", "v1", resource), namespace, &json!({}));
        policies.for_unit(&unit).map_or_else(String::new, |policy| policy.to_string())
    }

    #[test]
    fn the_policy_of_the_namespace_goes_first_then_by_name() {
        let policies = Policies::none();
        assert_eq!(chosen(&policies, "pods", "shop"), "");
        policies.set(vec![
            policy("ClusterPlacementPolicy", "{name: b}", "{}"),
            policy("ClusterPlacementPolicy", "{name: a}", "{resources: [services]}"),
            policy("PlacementPolicy", "{name: y, namespace: shop}", "{}"),
            policy("PlacementPolicy", "{name: x, namespace: shop}", "{resources: [pods]}"),
            policy("PlacementPolicy", "{name: w, namespace: bank}", "{}"),
        ]);
        assert_eq!(chosen(&policies, "pods", "shop"), "PlacementPolicy shop/x");
        assert_eq!(chosen(&policies, "services", "shop"), "PlacementPolicy shop/y");
        assert_eq!(chosen(&policies, "services", "other"), "ClusterPlacementPolicy a");
        assert_eq!(chosen(&policies, "pods", ""), "ClusterPlacementPolicy b");
    }
}
