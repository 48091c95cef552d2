use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::PodSet;
use super::pods::read_texts;
use crate::Gvr;

/// One object that is to be created somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Its resource.
    pub gvr: Gvr,
    /// Namespace; empty for a cluster-scoped object.
    pub namespace: String,
    /// Its name.
    pub name: UnitName,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// The pods that it is, or makes; `None` for what is no workload.
    pub pods: Option<PodSet>,
    /// The object as it was written; `null` where only its metadata can be read.
    pub object: Value,
}

/// How an object will be named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitName {
    /// So; empty where the object does not say, which its cluster will refuse.
    Given(String),
    /// By its cluster, which makes the rest of it.
    Generated {
        /// What it begins with.
        prefix: String,
    },
}

// === impl Unit ===

impl Unit {
    /// What placement has to know of `object`. Whether the object is valid is for the cluster to say that gets it: what
    /// stands there in another form than it should counts as not said.
    pub fn read(gvr: Gvr, namespace: &str, object: &Value) -> Self {
        let metadata = &object["metadata"];
        let text = |key: &str| metadata[key].as_str().unwrap_or_default().to_owned();
        let name = match (text("name"), text("generateName")) {
            (name, prefix) if name.is_empty() && !prefix.is_empty() => UnitName::Generated { prefix },
            (name, _) => UnitName::Given(name),
        };
        let pods = PodSet::read(&gvr.group_resource(), object);
        let (labels, annotations) = (read_texts(&metadata["labels"]), read_texts(&metadata["annotations"]));
        Self { gvr, namespace: namespace.to_owned(), name, labels, annotations, pods, object: object.clone() }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.gvr.group_resource())?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        match &self.name {
            UnitName::Given(name) => f.write_str(name),
            UnitName::Generated { prefix } => write!(f, "{prefix}*"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(namespace: &str, metadata: &Value) -> Unit {
        Unit::read(Gvr::new("apps", "v1", "deployments"), namespace, &json!({"metadata": metadata}))
    }

    #[test]
    fn a_unit_has_the_objects_name_labels_and_annotations() {
        let metadata = json!({"name": "web", "labels": {"app": "web", "odd": 1}, "annotations": {"a": "b"}});
        let unit = read("shop", &metadata);
        assert_eq!(unit.to_string(), "deployments.apps shop/web");
        assert_eq!(unit.labels, BTreeMap::from([("app".to_owned(), "web".to_owned())]));
        assert_eq!(unit.annotations["a"], "b");
        assert_eq!(unit.pods, None);
    }

    #[test]
    fn a_name_that_is_given_goes_before_one_that_is_generated() {
        let generated = read("", &json!({"generateName": "web-"}));
        assert_eq!(generated.to_string(), "deployments.apps web-*");
        let both = read("", &json!({"name": "web", "generateName": "web-"}));
        assert_eq!(both.name, UnitName::Given("web".into()));
        assert_eq!(read("", &json!(null)).name, UnitName::Given(String::new()));
    }
}
