//! What holds of every decision.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::executor::block_on;
use orrery_api::placement::{
    Candidate, ClusterAttributes, FailurePolicy, Free, FreeCapacity, Label, Policy, Reason, Selector, Spread, Stage,
    StageKind, Taint, TaintEffect, Unit,
};
use orrery_api::{ClusterName, Gvr};
use orrery_placement::{Decision, Outcome, Pipeline, PlacementError};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::json;

fn attributes() -> impl Strategy<Value = ClusterAttributes> {
    let effects = select(vec![TaintEffect::NoSchedule, TaintEffect::PreferNoSchedule, TaintEffect::NoExecute]);
    let taint = (select(vec!["a", "b"]), effects);
    let taints = prop::collection::vec(taint, 0..3);
    (prop::option::of(select(vec!["eu", "us"])), taints).prop_map(|(region, taints)| ClusterAttributes {
        labels: region.map(|region| Label::new("region", region).unwrap()).into_iter().collect(),
        taints: taints
            .into_iter()
            .map(|(key, effect)| Taint { key: key.into(), value: String::new(), effect })
            .collect(),
    })
}

fn free() -> impl Strategy<Value = Free> {
    let amount = || prop::option::of(0..8u64);
    (amount(), amount(), amount()).prop_map(|(cpu, memory, pods)| Free {
        cpu_milli: cpu.map(|cpu| cpu * 1000),
        memory_bytes: memory.map(|gib| gib << 30),
        pods,
    })
}

fn fleet() -> impl Strategy<Value = Vec<Candidate>> {
    let one = (attributes(), free(), prop::option::of(0..4u64), prop::bool::weighted(0.2));
    prop::collection::vec(one, 0..7).prop_map(|fleet| {
        let named = fleet.into_iter().enumerate().map(|(at, (attributes, free, objects, is_away))| Candidate {
            attributes: Arc::new(attributes),
            free,
            objects,
            unfit: is_away.then(|| Reason::new("ClusterAway", "it is away")),
            ..Candidate::named(ClusterName::new(&format!("c{at}")).unwrap())
        });
        named.collect()
    })
}

fn unit() -> impl Strategy<Value = Unit> {
    let tolerations = subsequence(vec!["a", "b"], 0..=2);
    (prop::bool::ANY, 0..4u64, select(vec!["1", "2", "lots"]), tolerations).prop_map(
        |(makes_pods, replicas, cpu, keys)| {
            let tolerations: Vec<_> = keys.iter().map(|key| json!({"key": key, "operator": "Exists"})).collect();
            let requests = json!({"requests": {"cpu": cpu, "memory": "1Gi"}});
            let pod = json!({"containers": [{"resources": requests}], "tolerations": tolerations});
            let object = json!({"spec": {"replicas": replicas, "template": {"spec": pod}}});
            let resource = if makes_pods { "deployments" } else { "gateways" };
            Unit::read(Gvr::new("apps", "v1", resource), "shop", &object)
        },
    )
}

fn pipeline() -> impl Strategy<Value = Pipeline> {
    let eu = serde_saphyr::from_str("matchLabels: {region: eu}").unwrap();
    let kinds = vec![
        StageKind::ClusterSelector(eu),
        StageKind::Taints,
        StageKind::FreeCapacity(FreeCapacity { required: true }),
        StageKind::Spread(Spread::default()),
    ];
    let failure_policy = select(vec![FailurePolicy::Reject, FailurePolicy::Skip]);
    (subsequence(kinds, 0..=4).prop_shuffle(), failure_policy).prop_map(|(kinds, failure_policy)| {
        let stages = kinds.into_iter().map(|kind| Stage { kind, failure_policy }).collect();
        Pipeline::of(&Policy { namespace: None, name: "p".into(), selector: Selector::default(), stages }, |stage| {
            panic!("no extension is asked: {stage}")
        })
    })
}

fn decide(unit: &Unit, fleet: &[Candidate], pipeline: &Pipeline) -> Result<Decision, PlacementError> {
    block_on(orrery_placement::decide(unit, fleet, pipeline, 0))
}

/// What was found of each cluster, in no order; `None` where a stage failed.
fn found(decision: &Result<Decision, PlacementError>) -> Option<BTreeMap<ClusterName, Outcome>> {
    match decision {
        Ok(decision) => {
            Some(decision.clusters.iter().map(|judged| (judged.cluster.clone(), judged.outcome.clone())).collect())
        }
        Err(PlacementError::NoneFits { dropped }) => {
            let outcome =
                |(cluster, dropped): &(ClusterName, _)| (cluster.clone(), Outcome::Dropped(Clone::clone(dropped)));
            Some(dropped.iter().map(outcome).collect())
        }
        Err(PlacementError::Failed { .. }) => None,
    }
}

proptest! {
    #[test]
    fn the_same_is_decided_again(unit in unit(), fleet in fleet(), pipeline in pipeline()) {
        prop_assert_eq!(decide(&unit, &fleet, &pipeline), decide(&unit, &fleet, &pipeline));
    }

    #[test]
    fn the_chosen_cluster_is_the_first_of_the_best_that_no_stage_dropped(
        unit in unit(), fleet in fleet(), pipeline in pipeline()
    ) {
        let Ok(decision) = decide(&unit, &fleet, &pipeline) else { return Ok(()) };
        let names: Vec<_> = decision.clusters.iter().map(|judged| &judged.cluster).collect();
        prop_assert_eq!(names, fleet.iter().map(|candidate| &candidate.name).collect::<Vec<_>>());
        let scores = decision.clusters.iter().filter_map(|judged| match judged.outcome {
            Outcome::Stays { score } => Some((&judged.cluster, score)),
            Outcome::Dropped(_) => None,
        });
        let most = scores.clone().map(|(_, score)| score).max();
        let first = scores.clone().find(|(_, score)| Some(*score) == most).map(|(cluster, _)| cluster);
        prop_assert_eq!(Some(&decision.cluster), first);
    }

    #[test]
    fn what_is_found_of_a_cluster_does_not_depend_on_the_order_of_the_fleet(
        unit in unit(),
        (fleet, shuffled) in fleet().prop_flat_map(|fleet| (Just(fleet.clone()), Just(fleet).prop_shuffle())),
        pipeline in pipeline()
    ) {
        prop_assert_eq!(found(&decide(&unit, &fleet, &pipeline)), found(&decide(&unit, &shuffled, &pipeline)));
    }

    #[test]
    fn none_fits_exactly_where_every_cluster_is_dropped_and_each_is_named(
        unit in unit(), fleet in fleet(), pipeline in pipeline()
    ) {
        let decision = decide(&unit, &fleet, &pipeline);
        let Some(found) = found(&decision) else { return Ok(()) };
        prop_assert_eq!(found.len(), fleet.len());
        let all_dropped = found.values().all(|outcome| matches!(outcome, Outcome::Dropped(_)));
        prop_assert_eq!(decision.is_err(), all_dropped);
    }

    #[test]
    fn a_cluster_that_is_out_beforehand_changes_nothing_for_the_others(
        unit in unit(), fleet in fleet(), pipeline in pipeline()
    ) {
        let in_use: Vec<Candidate> = fleet.iter().filter(|candidate| candidate.unfit.is_none()).cloned().collect();
        let (with, without) = (decide(&unit, &fleet, &pipeline), decide(&unit, &in_use, &pipeline));
        prop_assert_eq!(with.map(|decision| decision.cluster).ok(), without.map(|decision| decision.cluster).ok());
    }
}
