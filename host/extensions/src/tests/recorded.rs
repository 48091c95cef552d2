//! Decisions are the same in every process: those of a component of this repository, as another process recorded them.

use std::fs;
use std::sync::Arc;

use orrery_api::extension::{Limits, Plugin};
use orrery_api::placement::{Candidate, Free, PlacementQuestion, PlacementRequest, Unit, Verdict};
use orrery_api::{ClusterName, Gvr};
use serde_json::{Value, json};

use crate::generation::Generation;
use crate::load::Runtime;
use crate::revision::Revision;
use crate::runtime::{Code, Engines};

const SCORER: &[u8] = include_bytes!("../../../../plugins/example-scorer/example-scorer.wasm");
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/recorded.json");

/// The example of this repository, with params that make most of what it can.
async fn example(is_pooling: bool) -> Generation {
    let runtime = Runtime::of(Engines::with(is_pooling).unwrap(), None);
    let plugin = Plugin {
        params: json!({"label": "tier", "weights": {"gold": 100, "silver": -30, "bronze": 7}, "cpuWeight": 3}),
        limits: Limits::default(),
        ..Plugin::of_file("example", "example.wasm")
    };
    runtime.load(Revision::of_plugin(&plugin, Code::read(SCORER).unwrap()), 1).await.unwrap()
}

/// Fleets of one to twenty clusters, some with labels, some whose nodes nobody knows.
fn fleet(number: u64) -> Vec<Candidate> {
    let cluster = |at: u64| {
        let dice = (number * 31 + at).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let tier = ["gold", "silver", "bronze", "none"][usize::try_from(dice % 4).unwrap()];
        let attributes = json!({"labels": {"tier": tier, "region": format!("r{}", dice % 3)}});
        let name = ClusterName::new(&format!("c{at}")).unwrap();
        let cpu_milli = (!dice.is_multiple_of(5)).then_some(dice % 64_000);
        Candidate {
            attributes: Arc::new(serde_json::from_value(attributes).unwrap()),
            free: Free { cpu_milli, memory_bytes: None, pods: Some(dice % 110) },
            ..Candidate::named(name)
        }
    };
    (0..=number).map(cluster).collect()
}

async fn decisions(generation: &Generation) -> Value {
    let unit = Unit::read(Gvr::new("", "v1", "configmaps"), "shop", &json!({"metadata": {"name": "web"}}));
    let mut decisions = Vec::new();
    for number in 0..20 {
        let fleet = fleet(number);
        let scores = vec![0; fleet.len()];
        let request = PlacementRequest::new(&unit, &fleet, (&fleet, &scores), 1_000);
        let asked = generation.asked(PlacementQuestion::Score, &request);
        let verdicts = generation.judge(&generation.caller(), &asked).await.unwrap();
        let scores = verdicts.iter().map(|verdict| match verdict {
            Verdict::Stays(score) => score.value(),
            Verdict::Dropped(reason) => panic!("{reason:?}"),
        });
        decisions.push(json!({"seed": asked.request.call.seed, "scores": scores.collect::<Vec<_>>()}));
    }
    decisions.into()
}

#[tokio::test]
async fn decisions_are_those_that_were_recorded_with_memory_from_a_pool_or_not() {
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let lines: Vec<String> =
            decisions(&example(true).await).await.as_array().unwrap().iter().map(Value::to_string).collect();
        fs::write(RECORDED, format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
    }
    let recorded: Value = serde_json::from_str(&fs::read_to_string(RECORDED).unwrap()).unwrap();
    assert_eq!(recorded.as_array().map(Vec::len), Some(20));
    for is_pooling in [true, false] {
        assert_eq!(decisions(&example(is_pooling).await).await, recorded, "with a pool: {is_pooling}");
    }
}
