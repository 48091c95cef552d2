//! Decisions, by example.

use std::sync::Arc;

use async_trait::async_trait;
use futures::executor::block_on;
use orrery_api::placement::{
    Candidate, FailurePolicy, Free, PlacementRequest, PlacementStage, Policy, Reason, Score, StageFailure, StageKind,
    Unit, Verdict,
};
use orrery_api::{ClusterName, Gvr};
use orrery_placement::{Decision, FLEET, Outcome, Pipeline, PlacementError, Step};
use serde_json::{Value, json};

fn cluster(name: &str) -> Candidate {
    Candidate::named(ClusterName::new(name).unwrap())
}

fn labelled(name: &str, region: &str) -> Candidate {
    attributed(name, &format!("labels: {{region: {region}}}"))
}

fn tainted(name: &str, taint: &str) -> Candidate {
    attributed(name, &format!("taints: [{taint}]"))
}

fn attributed(name: &str, yaml: &str) -> Candidate {
    Candidate { attributes: Arc::new(serde_saphyr::from_str(yaml).unwrap()), ..cluster(name) }
}

fn with_free(name: &str, cpu_milli: u64, memory_gib: u64, pods: u64) -> Candidate {
    let free = Free { cpu_milli: Some(cpu_milli), memory_bytes: Some(memory_gib << 30), pods: Some(pods) };
    Candidate { free, ..cluster(name) }
}

fn holding(name: &str, objects: u64) -> Candidate {
    Candidate { objects: Some(objects), ..cluster(name) }
}

fn config_map() -> Unit {
    Unit::read(Gvr::new("", "v1", "configmaps"), "shop", &json!({"metadata": {"name": "c"}}))
}

fn deployment(replicas: u64, cpu: &str, tolerations: &Value) -> Unit {
    let pod =
        json!({"containers": [{"resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}], "tolerations": tolerations});
    let object = json!({"metadata": {"name": "web", "labels": {"app": "web"}}, "spec": {"replicas": replicas, "template": {"spec": pod}}});
    Unit::read(Gvr::new("apps", "v1", "deployments"), "shop", &object)
}

fn pipeline(stages: &str) -> Pipeline {
    let yaml = format!(
        "apiVersion: orrery.dev/v1alpha1\nkind: ClusterPlacementPolicy\nmetadata: {{name: a}}\nspec: {{stages: {stages}}}"
    );
    Pipeline::of(&Policy::parse(&yaml).unwrap()[0], |stage| panic!("no extension is asked: {stage}"))
}

fn decide(unit: &Unit, fleet: &[Candidate], pipeline: &Pipeline) -> Result<Decision, PlacementError> {
    block_on(orrery_placement::decide(unit, fleet, pipeline, 0))
}

fn by_default(unit: &Unit, fleet: &[Candidate]) -> String {
    chosen(decide(unit, fleet, &Pipeline::default()))
}

fn chosen(decision: Result<Decision, PlacementError>) -> String {
    decision.map_or_else(|error| error.to_string(), |decision| decision.cluster.to_string())
}

#[test]
fn equals_go_to_the_first_of_the_fleet() {
    assert_eq!(by_default(&config_map(), &[cluster("west"), cluster("east")]), "west");
    assert_eq!(by_default(&config_map(), &[]), "no cluster fits: there is none");
}

#[test]
fn a_selector_keeps_clusters_with_its_labels_and_says_what_others_have() {
    let fleet = [labelled("us-1", "us"), labelled("eu-1", "eu"), cluster("bare")];
    let decide_by = |stages: &str| chosen(decide(&config_map(), &fleet, &pipeline(stages)));
    assert_eq!(decide_by("[{stage: clusterSelector, params: {matchLabels: {region: eu}}}]"), "eu-1");
    assert_eq!(decide_by("[{stage: clusterSelector, params: {matchLabels: {orrery.dev/cluster: bare}}}]"), "bare");
    assert_eq!(
        decide_by(
            "[{stage: clusterSelector, params: {matchExpressions: [{key: region, operator: In, values: [ap, af]}]}}]"
        ),
        "no cluster fits: us-1 (clusterSelector: its label region is \"us\", and region in (ap, af) is asked for), \
         eu-1 (clusterSelector: its label region is \"eu\", and region in (ap, af) is asked for), \
         bare (clusterSelector: it has no label region, and region in (ap, af) is asked for)"
    );
}

#[test]
fn a_cluster_under_maintenance_gets_only_what_tolerates_it() {
    let taint = "{key: orrery.dev/maintenance, value: 'true', effect: NoSchedule}";
    let fleet = [tainted("east", taint), cluster("west")];
    assert_eq!(by_default(&config_map(), &fleet), "west");
    assert_eq!(by_default(&deployment(1, "1", &json!([])), &fleet), "west");
    let tolerant = deployment(1, "1", &json!([{"key": "orrery.dev/maintenance", "operator": "Exists"}]));
    assert_eq!(by_default(&tolerant, &fleet), "east");
    assert_eq!(
        by_default(&config_map(), &fleet[..1]),
        "no cluster fits: east (taints: it has the taint orrery.dev/maintenance=true:NoSchedule, which is not tolerated)"
    );
}

#[test]
fn each_effect_of_a_taint_keeps_off_what_upstream_would() {
    let with = |effect: &str| [tainted("east", &format!("{{key: k, effect: {effect}}}")), cluster("west")];
    assert_eq!(by_default(&config_map(), &with("NoExecute")), "west");
    assert_eq!(by_default(&config_map(), &with("PreferNoSchedule")), "west");
    assert_eq!(by_default(&config_map(), &with("PreferNoSchedule")[..1]), "east", "it is only not preferred");
}

#[test]
fn a_workload_goes_where_most_is_left_of_what_fits_all_its_pods() {
    let fleet = [with_free("small", 2000, 64, 10), with_free("large", 9000, 64, 10), with_free("full", 9000, 64, 1)];
    assert_eq!(by_default(&deployment(2, "1", &json!([])), &fleet), "large");
    assert_eq!(by_default(&deployment(1, "1", &json!([])), &fleet), "large");
    assert_eq!(
        by_default(&deployment(10, "1", &json!([])), &fleet),
        "no cluster fits: small (freeCapacity: cpu: 10 asked for, 2 free), large (freeCapacity: cpu: 10 asked for, 9 free), \
         full (freeCapacity: cpu: 10 asked for, 9 free; pods: 10 asked for, 1 free)"
    );
}

#[test]
fn a_cluster_of_which_nothing_is_known_is_the_last_choice_but_one() {
    let fleet = [cluster("unknown"), with_free("known", 4000, 64, 10)];
    assert_eq!(by_default(&deployment(2, "1", &json!([])), &fleet), "known");
    assert_eq!(by_default(&deployment(5, "1", &json!([])), &fleet), "unknown");
}

#[test]
fn too_little_capacity_may_be_the_last_choice_instead_of_none() {
    let fleet = [with_free("small", 1000, 64, 10), with_free("large", 3000, 64, 10)];
    let prefers = pipeline("[{stage: freeCapacity, params: {required: false}}]");
    assert_eq!(chosen(decide(&deployment(2, "1", &json!([])), &fleet, &prefers)), "large");
    assert_eq!(chosen(decide(&deployment(9, "1", &json!([])), &fleet, &prefers)), "small");
}

#[test]
fn what_makes_no_pods_asks_for_no_capacity() {
    assert_eq!(by_default(&config_map(), &[with_free("full", 0, 0, 0), with_free("empty", 9, 9, 9)]), "full");
}

#[test]
fn objects_are_spread() {
    assert_eq!(by_default(&config_map(), &[holding("a", 2), holding("b", 1), holding("c", 1)]), "b");
    assert_eq!(by_default(&config_map(), &[cluster("unknown"), holding("b", 7), holding("c", 9)]), "b");
}

#[test]
fn what_is_counted_is_of_the_units_namespace_and_labels() {
    let unit = deployment(1, "1", &json!([]));
    let counted = Pipeline::default().counted(&unit).unwrap();
    assert_eq!((counted.namespace.as_deref(), counted.labels.len()), (Some("shop"), 0));
    let by_app = pipeline("[{stage: spread, params: {matchLabelKeys: [app, tier]}}]").counted(&unit).unwrap();
    assert_eq!(by_app.labels.into_iter().collect::<Vec<_>>(), [("app".to_owned(), "web".to_owned())]);
    assert_eq!(pipeline("[{stage: taints}]").counted(&unit), None);
}

#[test]
fn a_cluster_that_is_out_beforehand_stays_out() {
    let away = Candidate { unfit: Some(Reason::new("ClusterAway", "it is away since 12:00")), ..cluster("east") };
    let decision = decide(&config_map(), &[away.clone(), cluster("west")], &Pipeline::default()).unwrap();
    assert_eq!(decision.cluster.as_str(), "west");
    assert!(matches!(&decision.clusters[0].outcome, Outcome::Dropped(dropped) if dropped.stage == FLEET));
    assert_eq!(by_default(&config_map(), &[away]), "no cluster fits: east (fleet: it is away since 12:00)");
}

/// A stage that answers as it is told.
#[derive(Debug)]
struct Told(Result<Vec<Verdict>, StageFailure>);

#[async_trait]
impl PlacementStage for Told {
    fn name(&self) -> &'static str {
        "told"
    }

    async fn judge(&self, _: &PlacementRequest<'_>) -> Result<Vec<Verdict>, StageFailure> {
        self.0.clone()
    }
}

fn told(answer: Result<Vec<Verdict>, StageFailure>, failure_policy: FailurePolicy) -> Result<Decision, PlacementError> {
    let pipeline = Pipeline::new(vec![Step::new(Box::new(Told(answer)), &StageKind::Taints, failure_policy)]);
    decide(&config_map(), &[cluster("east"), cluster("west")], &pipeline)
}

#[test]
fn a_stage_that_fails_or_miscounts_fails_the_decision_or_is_skipped() {
    let stays = Verdict::Stays(Score::MAX);
    let failures = [
        (Err(StageFailure::new("out of fuel")), "out of fuel"),
        (Ok(vec![stays.clone()]), "it gave 1 verdicts on 2 clusters"),
        (Ok(vec![stays.clone(), stays.clone(), stays]), "it gave 3 verdicts on 2 clusters"),
    ];
    for (answer, wanted) in failures {
        let failure = StageFailure::new(wanted);
        let error = told(answer.clone(), FailurePolicy::Reject).unwrap_err();
        assert_eq!(error, PlacementError::Failed { stage: "told".into(), source: failure.clone() });
        let decision = told(answer, FailurePolicy::Skip).unwrap();
        assert_eq!((decision.cluster.as_str(), &decision.skipped[0].failure), ("east", &failure));
    }
}

#[test]
fn requests_that_are_no_quantity_are_left_to_the_cluster_unless_a_policy_says_otherwise() {
    let fleet = [with_free("east", 1, 1, 1)];
    let odd = deployment(1, "lots", &json!([]));
    let decision = decide(&odd, &fleet, &Pipeline::default()).unwrap();
    assert_eq!((decision.cluster.as_str(), decision.skipped[0].stage.as_str()), ("east", "freeCapacity"));
    let error = decide(&odd, &fleet, &pipeline("[{stage: freeCapacity}]")).unwrap_err();
    assert!(
        matches!(&error, PlacementError::Failed { source, .. } if source.message.contains("\"lots\"")),
        "{error:?}"
    );
}
