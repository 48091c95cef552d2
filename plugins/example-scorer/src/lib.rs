//! An example of a plugin: scores clusters by what one of their labels is worth and by their free CPU.
//!
//! Its params are `{"label": "topology.kubernetes.io/region", "weights": {"eu-1": 100, "eu-2": 50}, "cpuWeight": 1}`: a
//! cluster has the weight of its label's value (none is 0), and `cpuWeight` for each whole CPU that is free. The host makes
//! scores of 0 to 100 of that, as the manifest says `normalize: minmax`.

use serde_json::{Map, Value};

wit_bindgen::generate!({
    path: "../../wit/plugin/0.1.0",
    inline: "
        package example:scorer;
        world scorer {
            export orrery:plugin/lifecycle@0.1.0;
            export orrery:plugin/placement-score@0.1.0;
        }
    ",
    world: "example:scorer/scorer",
    generate_all,
});

use exports::orrery::plugin::{lifecycle, placement_score};
use orrery::plugin::placement_types::{Candidate, Request};
use orrery::plugin::types::Failure;

struct Scorer;

/// What the user sets.
struct Params {
    label: String,
    weights: Map<String, Value>,
    cpu_weight: i64,
}

impl lifecycle::Guest for Scorer {
    fn check_params(params: String) -> Result<(), Failure> {
        Params::read(&params).map(|_| ())
    }
}

impl placement_score::Guest for Scorer {
    fn score(req: Request) -> Result<Vec<i64>, Failure> {
        let params = Params::read(&req.call.params)?;
        req.candidates.iter().map(|candidate| worth(&params, candidate)).collect()
    }
}

// === impl Params ===

impl Params {
    fn read(json: &str) -> Result<Self, Failure> {
        let invalid = |message: &str| failure("InvalidParams", message);
        let params = read("InvalidParams", "params", json)?;
        let fields = params.as_object().ok_or_else(|| invalid("params: not a map"))?;
        if let Some(other) = fields.keys().find(|name| !["label", "weights", "cpuWeight"].contains(&name.as_str())) {
            return Err(invalid(&["params: there is no ", other, "; there are label, weights and cpuWeight"].concat()));
        }
        let label = fields.get("label").and_then(Value::as_str).ok_or_else(|| invalid("params: a label is needed"))?;
        let weights = fields.get("weights").and_then(Value::as_object).cloned().unwrap_or_default();
        if weights.values().any(|weight| weight.as_i64().is_none()) {
            return Err(invalid("params: weights are whole numbers"));
        }
        let cpu_weight = fields.get("cpuWeight").map_or(Some(0), Value::as_i64);
        let cpu_weight = cpu_weight.ok_or_else(|| invalid("params: cpuWeight is a whole number"))?;
        Ok(Self { label: label.to_owned(), weights, cpu_weight })
    }
}

/// Anything may be missing in what the host sends: it knows it only of a cluster in reach.
fn worth(params: &Params, candidate: &Candidate) -> Result<i64, Failure> {
    let facts = read("InvalidRequest", &candidate.name, &candidate.doc)?;
    let value = facts["labels"][params.label.as_str()].as_str();
    let weight = value.and_then(|value| params.weights.get(value)).and_then(Value::as_i64).unwrap_or_default();
    let cpus = facts["free"]["cpuMilli"].as_i64().unwrap_or_default() / 1000;
    Ok(weight.saturating_add(cpus.saturating_mul(params.cpu_weight)))
}

fn read(code: &str, what: &str, json: &str) -> Result<Value, Failure> {
    serde_json::from_str(json).map_err(|_| failure(code, &[what, ": not JSON"].concat()))
}

fn failure(code: &str, message: &str) -> Failure {
    Failure { code: code.to_owned(), message: message.to_owned(), retry_after_ms: None }
}

#[cfg(target_arch = "wasm32")]
export!(Scorer);

#[cfg(test)]
mod tests {
    use super::*;

    fn worth_of(params: &str, doc: &str) -> Result<i64, String> {
        let params = Params::read(params).map_err(|failure| failure.message)?;
        worth(&params, &Candidate { name: "east".to_owned(), doc: doc.to_owned() }).map_err(|failure| failure.message)
    }

    #[test]
    fn a_cluster_is_worth_its_label_and_its_free_cpus() {
        let params = r#"{"label": "zone", "weights": {"a": 100}, "cpuWeight": 2}"#;
        for (doc, score) in [
            (r#"{"labels": {"zone": "a"}, "free": {"cpuMilli": 2500}}"#, 104),
            (r#"{"labels": {"zone": "b"}, "free": {"cpuMilli": null}}"#, 0),
            ("{}", 0),
        ] {
            assert_eq!(worth_of(params, doc), Ok(score), "{doc}");
        }
    }

    #[test]
    fn params_with_a_field_that_is_not_known_are_refused() {
        use lifecycle::Guest as _;
        let refused = Scorer::check_params(r#"{"label": "zone", "wieghts": {}}"#.to_owned()).unwrap_err();
        assert_eq!(refused.code, "InvalidParams");
        assert_eq!(refused.message, "params: there is no wieghts; there are label, weights and cpuWeight");
    }
}
