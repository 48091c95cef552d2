use serde_json::{Value, json};

/// Kinds of objects that tests write: two namespaced ones, one whose names meet in every fleet, and a custom one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Pods that nothing runs.
    Pods,
    /// Nodes that nothing stands behind.
    Nodes,
    /// ConfigMaps.
    ConfigMaps,
    /// Objects of the custom kind [`COMETS`].
    Comets,
}

/// The CustomResourceDefinition of [`Kind::Comets`].
pub const COMETS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: comets.sky.example.com}
spec:
  group: sky.example.com
  scope: Namespaced
  names: {plural: comets, singular: comet, kind: Comet, shortNames: [cm2]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {period: {type: integer}, tail: {type: string}}
    additionalPrinterColumns:
    - {name: Period, type: integer, jsonPath: .spec.period}
    - {name: Tail, type: string, jsonPath: .spec.tail, priority: 1}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
";

// === impl Kind ===

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Pods, Self::Nodes, Self::ConfigMaps, Self::Comets];

    /// The resource's name.
    pub fn resource(self) -> &'static str {
        match self {
            Self::Pods => "pods",
            Self::Nodes => "nodes",
            Self::ConfigMaps => "configmaps",
            Self::Comets => "comets",
        }
    }

    /// Path of all its objects.
    pub fn everywhere(self) -> &'static str {
        match self {
            Self::Pods => "/api/v1/pods",
            Self::Nodes => "/api/v1/nodes",
            Self::ConfigMaps => "/api/v1/configmaps",
            Self::Comets => "/apis/sky.example.com/v1/comets",
        }
    }

    /// Path of those in namespace `default`, or of all where there are no namespaces.
    pub fn in_default(self) -> &'static str {
        match self {
            Self::Pods => "/api/v1/namespaces/default/pods",
            Self::Nodes => "/api/v1/nodes",
            Self::ConfigMaps => "/api/v1/namespaces/default/configmaps",
            Self::Comets => "/apis/sky.example.com/v1/namespaces/default/comets",
        }
    }

    /// A new object.
    pub fn object(self, name: &str, tier: &str) -> Value {
        let metadata = json!({"name": name, "labels": {"tier": tier}});
        match self {
            Self::Pods => json!({
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": metadata,
                "spec": {"containers": [{"name": "main", "image": "main"}]},
            }),
            Self::Nodes => json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata}),
            Self::ConfigMaps => json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}),
            Self::Comets => json!({
                "apiVersion": "sky.example.com/v1",
                "kind": "Comet",
                "metadata": metadata,
                "spec": {"period": 76, "tail": "long"},
            }),
        }
    }

    /// A merge patch that changes one.
    pub fn change(self, tier: &str, number: u64) -> Value {
        let labels = json!({"labels": {"tier": tier}, "annotations": {"number": number.to_string()}});
        match self {
            Self::Pods => json!({"metadata": labels}),
            Self::Nodes => json!({"metadata": labels, "spec": {"unschedulable": number.is_multiple_of(2)}}),
            Self::ConfigMaps => json!({"metadata": labels, "data": {"number": number.to_string()}}),
            Self::Comets => json!({"metadata": labels, "spec": {"period": number}}),
        }
    }
}
