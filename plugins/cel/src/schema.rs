//! What is known of the documents that expressions see: the one description of them, from which the JSON Schemas in
//! `wit/schema` are made and which the checker knows fields and types by.

#![cfg_attr(target_arch = "wasm32", allow(dead_code))] // the component does not describe itself

use serde_json::{Value, json};

/// The type of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Bool,
    Int,
    Text,
    /// Anything.
    Any,
    List(&'static Shape),
    /// A map from texts.
    Map(&'static Shape),
    Object(&'static Object),
    Nullable(&'static Shape),
}

/// An object with fields that are known.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) fields: &'static [Field],
    /// Fields that are always there.
    pub(crate) required: &'static [&'static str],
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) about: &'static str,
}

const fn field(name: &'static str, shape: Shape, about: &'static str) -> Field {
    Field { name, shape, about }
}

const TEXTS: Shape = Shape::Map(&Shape::Text);

static REQUESTS: Object = Object {
    name: "requests",
    about: "What one pod of the unit asks for.",
    fields: &[
        field("cpuMilli", Shape::Int, "Thousandths of a CPU."),
        field("memoryBytes", Shape::Int, "Bytes of memory."),
    ],
    required: &[],
};

static TOLERATION: Object = Object {
    name: "toleration",
    about: "A toleration of the unit's pods.",
    fields: &[
        field("key", Shape::Text, "The key of taints; empty for all."),
        field("operator", Shape::Text, "Exists or Equal."),
        field("value", Shape::Text, "The value of taints, for Equal."),
        field("effect", Shape::Text, "The effect of taints; empty for all."),
    ],
    required: &[],
};

/// What is to be placed.
pub(crate) static UNIT: Object = Object {
    name: "unit",
    about: "What is to be placed: an object of a client and what of it matters to placement.",
    fields: &[
        field("group", Shape::Text, "The API group, empty for the core group."),
        field("version", Shape::Text, "The API version."),
        field("resource", Shape::Text, "The resource, such as deployments."),
        field("namespace", Shape::Text, "The namespace, empty for a cluster-scoped resource."),
        field("name", Shape::Text, "The name, empty where generateName makes it."),
        field("generateName", Shape::Text, "What a made-up name begins with."),
        field("labels", TEXTS, "Its labels."),
        field("annotations", TEXTS, "Its annotations."),
        field("replicas", Shape::Nullable(&Shape::Int), "How many pods it asks for; null where it has no such number."),
        field(
            "requests",
            Shape::Nullable(&Shape::Object(&REQUESTS)),
            "What one of its pods asks for; null where it has no pods.",
        ),
        field("tolerations", Shape::List(&Shape::Object(&TOLERATION)), "The tolerations of its pods."),
        field("object", Shape::Any, "The whole manifest."),
    ],
    required: &["resource"],
};

/// A taint of a cluster.
pub(crate) static TAINT: Object = Object {
    name: "taint",
    about: "A taint of a cluster.",
    fields: &[
        field("key", Shape::Text, "Its key."),
        field("value", Shape::Text, "Its value."),
        field("effect", Shape::Text, "NoSchedule, PreferNoSchedule or NoExecute."),
    ],
    required: &["key"],
};

static RESOURCES: Object = Object {
    name: "resources",
    about: "Amounts, summed over a cluster's nodes. One that is not known is not there.",
    fields: &[
        field("cpuMilli", Shape::Int, "Thousandths of a CPU."),
        field("memoryBytes", Shape::Int, "Bytes of memory."),
        field("pods", Shape::Int, "Pods."),
    ],
    required: &[],
};

static SCORE: Object = Object {
    name: "pushed score",
    about: "What something outside has said of a cluster: a ClusterScore.",
    fields: &[
        field("value", Shape::Int, "The number."),
        field("ageMs", Shape::Int, "How long ago it was said, in milliseconds."),
        field("expired", Shape::Bool, "Whether it is older than it says that it may be."),
    ],
    required: &["value"],
};

/// A cluster that something can be placed in.
pub(crate) static CANDIDATE: Object = Object {
    name: "cluster",
    about: "A cluster that something can be placed in, and what is known of it.",
    fields: &[
        field("name", Shape::Text, "Its name in the fleet."),
        field("labels", TEXTS, "Its labels."),
        field("taints", Shape::List(&Shape::Object(&TAINT)), "Its taints."),
        field("version", Shape::Text, "The version of its API server, such as v1.37.0."),
        field("region", Shape::Text, "Its region, empty where it has none."),
        field("ready", Shape::Bool, "Whether it answers and its caches are filled."),
        field("lagMs", Shape::Int, "How far what the host knows of it may be behind, in milliseconds."),
        field("capacity", Shape::Object(&RESOURCES), "What its nodes have."),
        field("allocatable", Shape::Object(&RESOURCES), "What its nodes have for pods."),
        field("requested", Shape::Object(&RESOURCES), "What its pods ask for."),
        field("free", Shape::Object(&RESOURCES), "What is allocatable and not requested."),
        field("objects", Shape::Nullable(&Shape::Int), "How many objects the host knows in it."),
        field("scores", Shape::Map(&Shape::Object(&SCORE)), "Its ClusterScores by name."),
    ],
    required: &["name"],
};

/// Where a unit is now.
pub(crate) static CURRENT: Object = Object {
    name: "current",
    about: "Where the unit is now.",
    fields: &[
        field("cluster", Shape::Text, "The cluster's name."),
        field("replicas", Shape::Int, "How many replicas it has there."),
    ],
    required: &["cluster", "replicas"],
};

/// Who lists with a named selector.
pub(crate) static REQUEST: Object = Object {
    name: "request",
    about: "A list or watch with a named selector.",
    fields: &[
        field("user", Shape::Text, "The user."),
        field("groups", Shape::List(&Shape::Text), "The user's groups."),
        field("name", Shape::Text, "The selector's name."),
        field("arg", Shape::Text, "What stands behind its = sign."),
    ],
    required: &["user", "groups", "name", "arg"],
};

/// The JSON Schema of an object, as it stands in `wit/schema/0.1.0/NAME.json`.
pub fn json_schema(name: &str) -> Option<Value> {
    let mut schema = match name {
        "unit" => object(&UNIT),
        "candidate" => object(&CANDIDATE),
        "hints" => json!({
            "type": "object",
            "description": "What was added to calls after their record was released. Whoever does not know a field ignores it.",
        }),
        "plan" => json!({
            "description": "What prepare of a named selector gave as its state, for matches of the same plugin. Nobody else reads it.",
        }),
        _ => return None,
    };
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["$id"] = format!("https://orrery.dev/schema/0.1.0/{name}.json").into();
    schema["title"] = name.into();
    Some(schema)
}

fn object(object: &Object) -> Value {
    let fields = object.fields.iter().map(|field| {
        let mut schema = shape(field.shape);
        schema["description"] = field.about.into();
        (field.name.to_owned(), schema)
    });
    let mut schema =
        json!({"type": "object", "description": object.about, "properties": fields.collect::<serde_json::Map<_, _>>()});
    if !object.required.is_empty() {
        schema["required"] = object.required.into();
    }
    schema
}

fn shape(of: Shape) -> Value {
    match of {
        Shape::Bool => json!({"type": "boolean"}),
        Shape::Int => json!({"type": "integer"}),
        Shape::Text => json!({"type": "string"}),
        Shape::Any => json!({}),
        Shape::List(element) => json!({"type": "array", "items": shape(*element)}),
        Shape::Map(value) => json!({"type": "object", "additionalProperties": shape(*value)}),
        Shape::Object(of) => object(of),
        Shape::Nullable(of) => {
            let mut schema = shape(*of);
            schema["type"] = json!([schema["type"], "null"]);
            schema
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schemas_of_the_contract_are_what_the_checker_knows() {
        for name in ["unit", "candidate", "hints", "plan"] {
            let text = serde_json::to_string_pretty(&json_schema(name).unwrap()).unwrap() + "\n";
            let file = format!("{}/../../wit/schema/0.1.0/{name}.json", env!("CARGO_MANIFEST_DIR"));
            expect_test::expect_file![file].assert_eq(&text);
        }
        assert_eq!(json_schema("other"), None);
    }
}
