use std::collections::BTreeSet;

use orrery_api::Gvr;
use orrery_api::extension::{
    Capability, Case, CelPolicy, CelTarget, ExtensionKind, ExtensionName, Limits, Normalize, Plugin,
};
use orrery_api::placement::PlacementQuestion;
use serde_json::{Value, json};

use crate::runtime::{Code, digest};

/// What a generation is made of. Two with one [`Self::id`] answer alike.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Revision {
    pub(crate) name: ExtensionName,
    pub(crate) code: Code,
    /// `call.params`.
    pub(crate) params: Value,
    pub(crate) limits: Limits,
    /// What is granted.
    pub(crate) capabilities: BTreeSet<Capability>,
    /// What it has to answer before it goes live.
    pub(crate) cases: Vec<Case>,
    /// What a rule in CEL answers; a plugin answers what it exports.
    pub(crate) target: Option<CelTarget>,
}

// === impl Revision ===

impl Revision {
    pub(crate) fn of_plugin(plugin: &Plugin, code: Code) -> Self {
        Self {
            name: ExtensionName { kind: ExtensionKind::Plugin, name: plugin.name.clone() },
            params: plugin.params.clone(),
            limits: plugin.limits,
            capabilities: plugin.capabilities.iter().copied().collect(),
            cases: code.cases.clone(),
            target: None,
            code,
        }
    }

    /// `evaluator` is the component that evaluates rules.
    pub(crate) fn of_cel(policy: &CelPolicy, evaluator: Code) -> Self {
        Self {
            name: ExtensionName { kind: ExtensionKind::CelPolicy, name: policy.name.clone() },
            params: json!({"policy": rule(&policy.spec), "params": {}}),
            limits: policy.limits,
            capabilities: BTreeSet::new(),
            cases: policy.tests.clone(),
            target: Some(policy.target),
            code: evaluator,
        }
    }

    /// `call.params` if a user had written `params`.
    pub(crate) fn params_with(&self, params: &Value) -> Value {
        match self.target {
            Some(_) => json!({"policy": self.params["policy"], "params": params}),
            None => params.clone(),
        }
    }

    /// Digest of all that its answers depend on.
    pub(crate) fn id(&self) -> String {
        let Self { name: _, code, params, limits, capabilities, cases: _, target } = self;
        let target = target.map(CelTarget::as_str);
        let all = json!([code.digest, params, limits, capabilities, target]);
        digest(all.to_string().as_bytes())
    }

    /// Whether its document is for selecting objects of `gvr` in this way.
    pub(crate) fn selects(&self, target: CelTarget, gvr: &Gvr) -> bool {
        let Some(own) = self.target else { return true };
        let resources = self.params["policy"]["target"]["resources"].as_array();
        let name = gvr.group_resource().to_string();
        own == target && resources.is_none_or(|all| all.iter().any(|resource| *resource == *name))
    }

    /// What it is called as a selector: a rule may give itself another name.
    pub(crate) fn selector_name(&self) -> &str {
        self.params["policy"]["target"]["name"].as_str().filter(|_| self.target.is_some()).unwrap_or(&self.name.name)
    }

    /// How its scores become 0 to 100. Those of rules are as large as their author likes.
    pub(crate) fn normalize(&self) -> Normalize {
        if self.target.is_some() { Normalize::Minmax } else { self.code.manifest.normalize }
    }

    /// Whether it is to answer `question` as far as its document says.
    pub(crate) fn is_for(&self, question: PlacementQuestion) -> bool {
        let target = match question {
            PlacementQuestion::Filter => CelTarget::Filter,
            PlacementQuestion::Score => CelTarget::Score,
            PlacementQuestion::Select => CelTarget::Select,
            PlacementQuestion::Split => CelTarget::Split,
        };
        self.target.is_none_or(|own| own == target)
    }
}

/// What the evaluator has to know of the spec of a rule; the rest is for the host.
fn rule(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Value::Object(fields) = &mut spec {
        fields.retain(|key, _| !matches!(key.as_str(), "tests" | "limits"));
    }
    spec
}
