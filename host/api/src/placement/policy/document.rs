use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_saphyr::Spanned;

use super::{ExtendedStage, FailurePolicy, PlacementQuestion, Policy, Selector, Stage, StageKind};
use crate::extension::{ExtensionKind, ExtensionName};
use crate::placement::labels::check_key;
use crate::{Place, YamlError, yaml};

/// A policy as it stands in YAML.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Document {
    #[serde(rename = "apiVersion")]
    _api_version: ApiVersion,
    kind: Kind,
    metadata: Spanned<Metadata>,
    spec: Spec,
}

#[derive(Deserialize)]
enum ApiVersion {
    #[serde(rename = "orrery.dev/v1alpha1")]
    V1Alpha1,
}

#[derive(Clone, Copy, Debug, Deserialize)]
enum Kind {
    PlacementPolicy,
    ClusterPlacementPolicy,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Metadata {
    name: String,
    namespace: Option<String>,
    #[serde(default, rename = "labels")]
    _labels: BTreeMap<String, String>,
    #[serde(default, rename = "annotations")]
    _annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    selector: Option<Spanned<Selector>>,
    stages: Spanned<Vec<Spanned<Step>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Step {
    stage: Name,
    plugin: Option<String>,
    cel_policy: Option<String>,
    params: Option<Spanned<Value>>,
    #[serde(default)]
    failure_policy: FailurePolicy,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Name {
    ClusterSelector,
    Taints,
    FreeCapacity,
    Spread,
    Filter,
    Score,
    Select,
    Split,
}

/// The policy that the one document of `text` is.
pub(super) fn parse(text: &str) -> Result<Policy, YamlError> {
    yaml::parse::<Document>(text)?.policy()
}

// === impl Document ===

impl Document {
    fn policy(self) -> Result<Policy, YamlError> {
        let place = Place::of(self.metadata.referenced);
        let Metadata { name, namespace, .. } = self.metadata.value;
        if name.is_empty() {
            return Err(wrong(place, "`name` is empty"));
        }
        match (self.kind, namespace.as_deref()) {
            (Kind::PlacementPolicy, None | Some("")) => {
                let hint = "a PlacementPolicy is for one namespace: write it as `namespace`, or make this a ClusterPlacementPolicy";
                return Err(wrong(place, hint));
            }
            (Kind::ClusterPlacementPolicy, Some(_)) => {
                let hint = "a ClusterPlacementPolicy has no `namespace`; where it is for some only, name them in `selector.namespaces`";
                return Err(wrong(place, hint));
            }
            _ => {}
        }
        let selector = self.spec.selector.map(|selector| checked(self.kind, selector)).transpose()?.unwrap_or_default();
        Ok(Policy { namespace, name, selector, stages: stages(self.spec.stages)? })
    }
}

// === impl Step ===

impl Step {
    fn stage(self, place: Place) -> Result<Stage, YamlError> {
        let failure_policy = self.failure_policy;
        let kind = match self.question() {
            Some(question) => StageKind::Extended(self.extended(question, place)?),
            None => self.built_in(place)?,
        };
        let is_built_in = !matches!(kind, StageKind::Extended(_));
        if is_built_in && matches!(failure_policy, FailurePolicy::UseBuiltin | FailurePolicy::UseLastKnown) {
            let hint = format!("{} is built in; its `failurePolicy` is Reject or Skip", kind.name());
            return Err(wrong(place, hint));
        }
        Ok(Stage { kind, failure_policy })
    }

    fn question(&self) -> Option<PlacementQuestion> {
        match self.stage {
            Name::Filter => Some(PlacementQuestion::Filter),
            Name::Score => Some(PlacementQuestion::Score),
            Name::Select => Some(PlacementQuestion::Select),
            Name::Split => Some(PlacementQuestion::Split),
            Name::ClusterSelector | Name::Taints | Name::FreeCapacity | Name::Spread => None,
        }
    }

    fn extended(self, stage: PlacementQuestion, place: Place) -> Result<ExtendedStage, YamlError> {
        let what = stage.as_str();
        let (kind, name) = match (self.plugin, self.cel_policy) {
            (Some(name), None) => (ExtensionKind::Plugin, name),
            (None, Some(name)) => (ExtensionKind::CelPolicy, name),
            _ => {
                let hint =
                    format!("{what} is answered by an extension; name one, as `plugin: NAME` or `celPolicy: NAME`");
                return Err(wrong(place, hint));
            }
        };
        if let Some(params) = self.params {
            let hint =
                format!("the params of an extension stand in the {kind} itself: write them in its `spec.params`");
            return Err(wrong(Place::of(params.referenced), hint));
        }
        let by = ExtensionName::new(kind, &name).map_err(|error| wrong(place, error.to_string()))?;
        Ok(ExtendedStage { stage, by })
    }

    fn built_in(self, place: Place) -> Result<StageKind, YamlError> {
        if self.plugin.is_some() || self.cel_policy.is_some() {
            let hint = "this stage is built in; an extension answers filter, score, select or split";
            return Err(wrong(place, hint));
        }
        let params = self.params;
        Ok(match self.stage {
            Name::ClusterSelector => match params {
                Some(params) => StageKind::ClusterSelector(read(&params)?),
                None => {
                    return Err(wrong(
                        place,
                        "clusterSelector needs `params`, as `params: {matchLabels: {region: eu}}`",
                    ));
                }
            },
            Name::FreeCapacity => StageKind::FreeCapacity(params.as_ref().map(read).transpose()?.unwrap_or_default()),
            Name::Spread => StageKind::Spread(params.as_ref().map(read_spread).transpose()?.unwrap_or_default()),
            _ => match params.filter(|params| !is_empty(&params.value)) {
                Some(params) => return Err(wrong(Place::of(params.referenced), "taints takes no `params`")),
                None => StageKind::Taints,
            },
        })
    }
}

fn checked(kind: Kind, selector: Spanned<Selector>) -> Result<Selector, YamlError> {
    let (place, selector) = (Place::of(selector.referenced), selector.value);
    if matches!(kind, Kind::PlacementPolicy) && selector.namespaces.is_some() {
        return Err(wrong(place, "a PlacementPolicy is for its own namespace; leave `namespaces` out"));
    }
    let is_plain =
        |name: &&String| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    match selector.resources.iter().flatten().find(|name| !is_plain(name)) {
        Some(odd) => {
            let hint = format!(
                "{odd:?} is no resource; write it as URLs do, `deployments`, and its group, if need be, in `groups`"
            );
            Err(wrong(place, hint))
        }
        None => Ok(selector),
    }
}

fn stages(steps: Spanned<Vec<Spanned<Step>>>) -> Result<Vec<Stage>, YamlError> {
    if steps.value.is_empty() {
        let hint = "`stages` is empty; name at least one of clusterSelector, taints, freeCapacity, spread, or filter, score, select, split of an extension";
        return Err(wrong(Place::of(steps.referenced), hint));
    }
    let mut named = BTreeSet::new();
    let mut stages = Vec::with_capacity(steps.value.len());
    for step in steps.value {
        let place = Place::of(step.referenced);
        let stage = step.value.stage(place)?;
        let name = match &stage.kind {
            StageKind::Extended(extended) => extended.to_string(),
            built_in => built_in.name().to_owned(),
        };
        if !named.insert(name.clone()) {
            return Err(wrong(place, format!("{name} stands here twice; a stage judges once")));
        }
        stages.push(stage);
    }
    Ok(stages)
}

fn read_spread(params: &Spanned<Value>) -> Result<super::Spread, YamlError> {
    let place = Place::of(params.referenced);
    let spread: super::Spread = read(params)?;
    let checked = spread.match_label_keys.iter().try_for_each(|key| check_key(key));
    checked.map_err(|error| wrong(place, error.to_string()))?;
    Ok(spread)
}

/// The params that `written` spells. JSON is YAML, so it is read as all of the file is, with its hints; the place is that
/// of the params.
fn read<T: DeserializeOwned>(written: &Spanned<Value>) -> Result<T, YamlError> {
    let place = Place::of(written.referenced);
    yaml::parse(&written.value.to_string()).map_err(|error| wrong(place, error.problem))
}

fn is_empty(params: &Value) -> bool {
    params.is_null() || params.as_object().is_some_and(serde_json::Map::is_empty)
}

fn wrong(place: Place, problem: impl Into<String>) -> YamlError {
    YamlError { place, problem: problem.into() }
}
