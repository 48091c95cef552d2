//! What a plugin is told: documents of the unit and of each cluster, limited to the paths that its manifest names.

use std::sync::Arc;

use orrery_api::placement::{Candidate, Free, PlacementRequest, PushedScore, Taint, Unit, UnitName};
use serde_json::{Map, Value, json};

use crate::runtime::{Pinned, PinnedCluster};

/// Paths into a document, as `labels` or `object.spec.template`; `None` for all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Paths(Option<Vec<Vec<String>>>);

/// The label of a cluster that names its region (upstream's `topology.kubernetes.io/region`), and a shorter one.
const REGIONS: [&str; 2] = ["topology.kubernetes.io/region", "region"];

// === impl Paths ===

impl Paths {
    pub(crate) fn of(written: Option<&[String]>) -> Self {
        let split = |path: &String| path.split('.').map(str::to_owned).collect();
        Self(written.map(|paths| paths.iter().map(split).collect()))
    }

    /// What the paths name of `document`.
    pub(crate) fn of_document(&self, document: &Value) -> Value {
        let Some(paths) = &self.0 else { return document.clone() };
        let mut picked = Value::Object(Map::new());
        for path in paths {
            let found = path.iter().try_fold(document, |at, key| at.get(key));
            if let Some(found) = found {
                put(&mut picked, path, found.clone());
            }
        }
        picked
    }

    /// Whether `path` is named itself, and not only something around it.
    fn names(&self, path: &[&str]) -> bool {
        self.0.iter().flatten().any(|named| named.len() >= path.len() && named.iter().zip(path).all(|(a, b)| a == b))
    }
}

fn put(into: &mut Value, path: &[String], found: Value) {
    let mut at = into;
    for key in path {
        let Value::Object(fields) = at else { return };
        at = fields.entry(key.clone()).or_insert_with(|| Value::Object(Map::new()));
    }
    *at = found;
}

/// `unit` as the schema `unit` has it.
pub(crate) fn unit(unit: &Unit, paths: &Paths) -> Value {
    let (name, generate_name) = match &unit.name {
        UnitName::Given(name) => (name.as_str(), ""),
        UnitName::Generated { prefix } => ("", prefix.as_str()),
    };
    let requests = unit.pods.as_ref().and_then(|pods| pods.requests.as_ref().ok());
    let tolerations = unit.pods.iter().flat_map(|pods| &pods.tolerations).map(
        |toleration| json!({"key": toleration.key, "operator": toleration.operator, "value": toleration.value, "effect": toleration.effect}),
    );
    let document = json!({
        "group": unit.gvr.group,
        "version": unit.gvr.version,
        "resource": unit.gvr.resource,
        "namespace": unit.namespace,
        "name": name,
        "generateName": generate_name,
        "labels": unit.labels,
        "annotations": unit.annotations,
        "replicas": unit.pods.as_ref().map(|pods| pods.replicas),
        "requests": requests.map(|requests| json!({"cpuMilli": requests.cpu_milli, "memoryBytes": requests.memory_bytes})),
        "tolerations": tolerations.collect::<Vec<_>>(),
        "object": object(unit, paths),
    });
    paths.of_document(&document)
}

/// A Secret's content is told only to who names it.
fn object(unit: &Unit, paths: &Paths) -> Value {
    let mut object = unit.object.clone();
    let is_secret = unit.gvr.group.is_empty() && &*unit.gvr.resource == "secrets";
    if let Value::Object(fields) = &mut object
        && is_secret
    {
        for key in ["data", "stringData"] {
            if !paths.names(&["object", key]) {
                fields.remove(key);
            }
        }
        // What was applied last says it again.
        if !paths.names(&["object", "metadata", "annotations"])
            && let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut)
        {
            metadata.remove("annotations");
        }
    }
    object
}

/// All of `of` that the schema `candidate` has.
pub(crate) fn candidate(of: &Candidate) -> Value {
    CANDIDATE.iter().map(|field| ((*field).to_owned(), field_of(of, field))).collect::<Map<_, _>>().into()
}

/// What `paths` name of it. Nothing else is made: a fleet of a thousand is told anew for each decision.
pub(crate) fn candidate_limited(of: &Candidate, paths: &Paths) -> Value {
    let Some(named) = &paths.0 else { return candidate(of) };
    let is_named = |field: &&&str| named.iter().any(|path| path.first().is_some_and(|first| first == **field));
    let fields = CANDIDATE.iter().filter(is_named).map(|field| ((*field).to_owned(), field_of(of, field)));
    let document = Value::Object(fields.collect());
    if named.iter().all(|path| path.len() == 1) { document } else { paths.of_document(&document) }
}

/// The fields of the schema `candidate`.
const CANDIDATE: [&str; 13] = [
    "name",
    "labels",
    "taints",
    "version",
    "region",
    "ready",
    "lagMs",
    "capacity",
    "allocatable",
    "requested",
    "free",
    "objects",
    "scores",
];

fn field_of(of: &Candidate, field: &str) -> Value {
    let attributes = &of.attributes;
    match field {
        "name" => of.name.as_str().into(),
        "labels" => {
            let label = |(key, value): (&String, &String)| (key.clone(), Value::from(value.as_str()));
            attributes.labels.iter().map(label).collect::<Map<_, _>>().into()
        }
        "taints" => attributes.taints.iter().map(taint).collect(),
        "version" => of.version.as_str().into(),
        "region" => REGIONS.iter().find_map(|key| of.label(key)).unwrap_or_default().into(),
        "ready" => of.unfit.is_none().into(),
        "lagMs" => of.lag_ms.into(),
        "capacity" => amounts(&of.capacity),
        "allocatable" => amounts(&of.allocatable),
        "requested" => amounts(&requested(of)),
        "free" => amounts(&of.free),
        "objects" => of.objects.into(),
        _ => of.scores.iter().map(|(name, score)| (name.clone(), pushed(score))).collect::<Map<_, _>>().into(),
    }
}

fn taint(taint: &Taint) -> Value {
    json!({"key": taint.key, "value": taint.value, "effect": taint.effect.as_str()})
}

fn pushed(score: &PushedScore) -> Value {
    json!({"value": score.value, "ageMs": score.age_ms, "expired": score.expired})
}

fn requested(of: &Candidate) -> Free {
    Free {
        cpu_milli: less(of.allocatable.cpu_milli, of.free.cpu_milli),
        memory_bytes: less(of.allocatable.memory_bytes, of.free.memory_bytes),
        pods: less(of.allocatable.pods, of.free.pods),
    }
}

fn less(all: Option<u64>, free: Option<u64>) -> Option<u64> {
    Some(all?.saturating_sub(free?))
}

/// What is not known does not stand there, so that a rule can ask for it with `has`.
fn amounts(of: &Free) -> Value {
    let known = [("cpuMilli", of.cpu_milli), ("memoryBytes", of.memory_bytes), ("pods", of.pods)];
    known
        .into_iter()
        .filter_map(|(key, amount)| Some((key.to_owned(), Value::from(amount?))))
        .collect::<Map<_, _>>()
        .into()
}

/// What a user gave a named selector, as the schema `args` has it.
pub(crate) fn args(arg: &str) -> Value {
    json!({"arg": arg})
}

/// The fleet of a request, for those that may ask for more than their candidates.
pub(crate) fn pinned(request: &PlacementRequest<'_>) -> Arc<Pinned> {
    let cluster = |of: &Candidate| PinnedCluster {
        name: of.name.to_string(),
        labels: of.attributes.labels.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
        doc: candidate(of),
        scores: of.scores.clone(),
    };
    Arc::new(Pinned { revision: request.now_ms, clusters: request.fleet.iter().map(cluster).collect() })
}

#[cfg(test)]
mod tests {
    use orrery_api::{ClusterName, Gvr};

    use super::*;

    fn paths(written: &[&str]) -> Paths {
        Paths::of(Some(&written.iter().map(ToString::to_string).collect::<Vec<_>>()))
    }

    #[test]
    fn only_what_the_paths_name_is_told() {
        let document = json!({"a": {"b": 1, "c": 2}, "d": [3], "e": null});
        assert_eq!(paths(&["a.b", "d", "no.such"]).of_document(&document), json!({"a": {"b": 1}, "d": [3]}));
        assert_eq!(paths(&["a", "a.b"]).of_document(&document), json!({"a": {"b": 1, "c": 2}}));
        assert_eq!(paths(&[]).of_document(&document), json!({}));
        assert_eq!(Paths::of(None).of_document(&document), document);
    }

    #[test]
    fn a_secrets_content_is_told_only_where_it_is_named() {
        let object = json!({
            "metadata": {"name": "s", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "token"}},
            "data": {"token": "dG9rZW4="}, "stringData": {"token": "token"}, "type": "Opaque",
        });
        let secret = Unit::read(Gvr::new("", "v1", "secrets"), "shop", &object);
        let told = |paths: &Paths| unit(&secret, paths)["object"].to_string();
        for around in [Paths::of(None), paths(&["object"]), paths(&["object.type"])] {
            assert!(!told(&around).contains("token") && told(&around).contains("Opaque"), "{around:?}");
        }
        assert_eq!(told(&paths(&["object.data"])), json!({"data": {"token": "dG9rZW4="}}).to_string());
        let config_map = Unit::read(Gvr::new("", "v1", "configmaps"), "shop", &object);
        assert!(unit(&config_map, &Paths::of(None))["object"].to_string().contains("dG9rZW4="));
    }

    #[test]
    fn what_is_made_for_the_paths_is_what_they_name_of_all() {
        let mut east = Candidate::named(ClusterName::new("east").unwrap());
        east.free = Free { cpu_milli: Some(5), memory_bytes: None, pods: Some(1) };
        east.scores.insert("cost".into(), PushedScore { value: 1, age_ms: 2, expired: false });
        for named in [&["free.cpuMilli", "name"][..], &["scores", "labels"], &["scores.cost.value", "no.such"], &[]] {
            let paths = paths(named);
            assert_eq!(candidate_limited(&east, &paths), paths.of_document(&candidate(&east)), "{named:?}");
        }
    }

    #[test]
    fn what_is_told_has_the_fields_that_the_schemas_have() {
        let properties = |schema: &str| -> Vec<String> {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit/schema/0.1.0").join(schema);
            let schema: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
            schema["properties"].as_object().unwrap().keys().cloned().collect()
        };
        let fields = |document: Value| -> Vec<String> { document.as_object().unwrap().keys().cloned().collect() };
        let bare = Candidate::named(ClusterName::new("east").unwrap());
        assert_eq!(fields(candidate(&bare)), properties("candidate.json"));
        let of = Unit::read(Gvr::new("", "v1", "configmaps"), "shop", &json!({}));
        assert_eq!(fields(unit(&of, &Paths::default())), properties("unit.json"));
        assert_eq!(fields(args("a")), properties("args.json"));
    }

    #[test]
    fn of_a_cluster_of_which_nothing_is_known_the_same_fields_stand_there_empty() {
        let bare = candidate(&Candidate::named(ClusterName::new("east").unwrap()));
        assert_eq!((&bare["labels"], &bare["taints"], &bare["free"]), (&json!({}), &json!([]), &json!({})));
        assert_eq!((&bare["region"], &bare["objects"]), (&json!(""), &json!(null)));
    }
}
