//! An example of a plugin: scores clusters by what one of their labels is worth and by their free CPU.
//!
//! Its params are `{"label": "topology.kubernetes.io/region", "weights": {"eu-1": 100, "eu-2": 50}, "cpuWeight": 1}`: a
//! cluster has the weight of its label's value (none is 0), and `cpuWeight` for each whole CPU that is free. The host makes
//! scores of 0 to 100 of that, as the manifest says `normalize: minmax`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Params {
    label: String,
    #[serde(default)]
    weights: BTreeMap<String, i64>,
    #[serde(default)]
    cpu_weight: i64,
}

/// What the manifest's inputs bring of a candidate. Anything may be missing: the host knows it only of a cluster in reach.
#[derive(Deserialize)]
struct Facts {
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    free: Free,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Free {
    #[serde(default)]
    cpu_milli: Option<i64>,
}

impl lifecycle::Guest for Scorer {
    fn check_params(params: String) -> Result<(), Failure> {
        read::<Params>("InvalidParams", "params", &params).map(|_| ())
    }
}

impl placement_score::Guest for Scorer {
    fn score(req: Request) -> Result<Vec<i64>, Failure> {
        let params = read("InvalidParams", "params", &req.call.params)?;
        req.candidates.iter().map(|candidate| worth(&params, candidate)).collect()
    }
}

fn worth(params: &Params, candidate: &Candidate) -> Result<i64, Failure> {
    let facts: Facts = read("InvalidRequest", &candidate.name, &candidate.doc)?;
    let weight = facts.labels.get(&params.label).and_then(|value| params.weights.get(value));
    let cpus = facts.free.cpu_milli.unwrap_or_default() / 1000;
    Ok(weight.copied().unwrap_or_default().saturating_add(cpus.saturating_mul(params.cpu_weight)))
}

fn read<T: DeserializeOwned>(code: &str, what: &str, json: &str) -> Result<T, Failure> {
    let failure = |error| Failure { code: code.to_owned(), message: format!("{what}: {error}"), retry_after_ms: None };
    serde_json::from_str(json).map_err(failure)
}

#[cfg(target_arch = "wasm32")]
export!(Scorer);

#[cfg(test)]
mod tests {
    use super::*;

    fn worth_of(params: &str, doc: &str) -> Result<i64, String> {
        let params = read("InvalidParams", "params", params).map_err(|failure| failure.message)?;
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
        assert!(refused.message.contains("unknown field `wieghts`"), "{}", refused.message);
    }
}
