use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};
use serde_saphyr::Spanned;

use super::limits::Written;
use super::{Capability, Case, CelPolicy, CelTarget, ComponentSource, ExtensionKind, ExtensionName, Limits, Plugin};
use crate::placement::Policy;
use crate::{Place, YamlError, yaml};

/// One document of a file of extensions.
#[derive(Clone, Debug, PartialEq)]
pub enum Document {
    /// A PlacementPolicy or ClusterPlacementPolicy.
    Placement(Policy),
    /// A component.
    Plugin(Plugin),
    /// A rule in CEL.
    Cel(CelPolicy),
}

/// What every document says.
#[derive(Deserialize)]
struct Head {
    kind: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Whole<S> {
    #[serde(rename = "apiVersion")]
    _api_version: ApiVersion,
    #[serde(rename = "kind")]
    _kind: String,
    metadata: Spanned<Metadata>,
    spec: Spanned<S>,
}

#[derive(Deserialize)]
enum ApiVersion {
    #[serde(rename = "orrery.dev/v1alpha1")]
    V1Alpha1,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Metadata {
    name: String,
    #[serde(default, rename = "labels")]
    _labels: Map<String, Value>,
    #[serde(default, rename = "annotations")]
    _annotations: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct PluginSpec {
    component: Spanned<Component>,
    #[serde(default)]
    params: Map<String, Value>,
    #[serde(default)]
    capabilities: Vec<Capability>,
    #[serde(default)]
    limits: Option<Spanned<Written>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Component {
    path: Option<String>,
    oci: Option<String>,
    digest: Option<String>,
}

/// Of a CelPolicy only what the host itself has to know.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CelSpec {
    target: Target,
    #[serde(default)]
    limits: Option<Spanned<Written>>,
    #[serde(default)]
    tests: Vec<Case>,
}

#[derive(Deserialize)]
struct Target {
    stage: CelTarget,
}

const KINDS: [&str; 4] = ["PlacementPolicy", "ClusterPlacementPolicy", "Plugin", "CelPolicy"];

// === impl Document ===

impl Document {
    /// The documents of `text`; empty ones are none.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn parse(text: &str) -> Result<Vec<Self>, YamlError> {
        let mut documents: Vec<Self> = Vec::new();
        for text in yaml::documents(text)? {
            let document = Self::one(&text)?;
            let name = document.to_string();
            if documents.iter().any(|other| other.to_string() == name) {
                let line = text.bytes().take_while(|byte| *byte == b'\n').count() as u64 + 1;
                let hint = format!("{name} stands in this file twice; give one another name");
                return Err(wrong(Place { line, column: 1 }, hint));
            }
            documents.push(document);
        }
        Ok(documents)
    }

    fn one(text: &str) -> Result<Self, YamlError> {
        let Head { kind } = yaml::parse(text)?;
        match kind.value.as_str() {
            "PlacementPolicy" | "ClusterPlacementPolicy" => Policy::of_document(text).map(Self::Placement),
            "Plugin" => plugin(yaml::parse(text)?).map(Self::Plugin),
            "CelPolicy" => cel_policy(yaml::parse(text)?, yaml::parse(text)?).map(Self::Cel),
            other => Err(wrong(Place::of(kind.referenced), yaml::unknown("kind", other, &KINDS))),
        }
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Placement(policy) => policy.fmt(f),
            Self::Plugin(plugin) => write!(f, "{} {}", ExtensionKind::Plugin, plugin.name),
            Self::Cel(policy) => write!(f, "{} {}", ExtensionKind::CelPolicy, policy.name),
        }
    }
}

fn plugin(written: Whole<PluginSpec>) -> Result<Plugin, YamlError> {
    let name = named(ExtensionKind::Plugin, &written.metadata)?;
    let spec = written.spec.value;
    let place = Place::of(spec.component.referenced);
    let component = spec.component.value.source().map_err(|hint| wrong(place, hint))?;
    Ok(Plugin {
        name,
        component,
        params: Value::Object(spec.params),
        capabilities: spec.capabilities,
        limits: limits(spec.limits)?,
    })
}

/// `whole` is the same document, with all that stands in `spec`.
fn cel_policy(written: Whole<CelSpec>, whole: Value) -> Result<CelPolicy, YamlError> {
    let name = named(ExtensionKind::CelPolicy, &written.metadata)?;
    let spec = written.spec.value;
    let mut whole = whole;
    Ok(CelPolicy {
        name,
        target: spec.target.stage,
        spec: whole["spec"].take(),
        tests: spec.tests,
        limits: limits(spec.limits)?,
    })
}

fn named(kind: ExtensionKind, metadata: &Spanned<Metadata>) -> Result<String, YamlError> {
    let name = ExtensionName::new(kind, &metadata.value.name);
    name.map(|name| name.name).map_err(|error| wrong(Place::of(metadata.referenced), error.to_string()))
}

fn limits(written: Option<Spanned<Written>>) -> Result<Limits, YamlError> {
    let Some(written) = written else { return Ok(Limits::default()) };
    written.value.limits().map_err(|error| wrong(Place::of(written.referenced), error.to_string()))
}

fn wrong(place: Place, problem: impl Into<String>) -> YamlError {
    YamlError { place, problem: problem.into() }
}

// === impl Component ===

impl Component {
    fn source(self) -> Result<ComponentSource, String> {
        if let Some(digest) = &self.digest
            && !is_digest(digest)
        {
            return Err(format!("{digest:?} is no digest; write sha256: and 64 hexadecimal digits"));
        }
        match (self.path, self.oci, self.digest) {
            (Some(path), None, digest) if is_file_name(&path) => Ok(ComponentSource::File { path, digest }),
            (Some(path), None, _) => {
                Err(format!("{path:?} is no file of the directory of extensions; put the component there and name it"))
            }
            (None, Some(reference), Some(digest)) => Ok(ComponentSource::Oci { reference, digest }),
            (None, Some(_), None) => Err("an OCI reference needs the `digest` that its manifest has".to_owned()),
            _ => Err("`component` has either `path` or `oci`".to_owned()),
        }
    }
}

fn is_digest(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn is_file_name(path: &str) -> bool {
    !path.is_empty() && !path.starts_with('.') && !path.contains(['/', '\0'])
}

#[cfg(test)]
mod tests;
