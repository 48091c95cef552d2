use crate::testing::{Ask, cluster};
use serde_json::json;

fn filter(expression: &str) -> Ask {
    Ask::new(json!({"target": {"stage": "filter"}, "expressions": [{"name": "gpu", "expression": expression}]}))
}

fn score(expressions: &[&str]) -> Ask {
    let expressions: Vec<_> = expressions.iter().map(|text| json!({"expression": text})).collect();
    Ask::new(json!({"target": {"stage": "score"}, "expressions": expressions}))
}

#[test]
fn a_filter_keeps_the_clusters_for_which_every_expression_is_true() {
    let ask = filter("cluster.labels.get('zone', '') == params.zone")
        .params(json!({"zone": "a"}))
        .candidates([cluster("east", json!({"labels": {"zone": "a"}})), cluster("west", json!({"labels": {"zone": "b"}}))]);
    assert_eq!(
        ask.filtered(),
        ["east kept", "west PolicyFalse: cluster.labels.get('zone', '') == params.zone is false"]
    );
}

#[test]
fn a_missing_key_concerns_its_cluster_alone_and_is_named() {
    let clusters = [
        cluster("east", json!({"labels": {"x": "1"}})),
        cluster("west", json!({"labels": {"gpu": "8"}})),
    ];
    let ask = filter("int(cluster.labels.gpu) > 4").candidates(clusters);
    assert_eq!(
        ask.filtered(),
        [
            "east PolicyError: cluster east: expression gpu: no such key: gpu, in cluster.labels.gpu at line 1, column 5",
            "west kept"
        ]
    );
    assert_eq!(ask.failure_policy("Skip").filtered(), ["east kept", "west kept"]);
}

#[test]
fn a_cluster_is_told_by_the_message_expression_before_the_message() {
    let rule = |message: &str| {
        Ask::new(json!({"target": {"stage": "filter"}, "expressions": [{
            "expression": "cluster.ready", "reason": "NotReady", "message": "it is away", "messageExpression": message,
        }]}))
        .candidates([cluster("east", json!({"ready": false}))])
        .filtered()
    };
    assert_eq!(rule("cluster.name + ' rests'"), ["east NotReady: east rests"]);
    // One that fails, or gives nothing, leaves the plain message.
    assert_eq!(rule("cluster.labels.nick"), ["east NotReady: it is away"]);
    assert_eq!(rule("' '"), ["east NotReady: it is away"]);
}

#[test]
fn where_the_conditions_do_not_match_every_cluster_is_kept_with_score_0() {
    let conditions = json!([{"name": "shop", "expression": "unit.namespace == 'shop'"}]);
    let clusters = || [cluster("east", json!({}))];
    let ask = filter("false").with("matchConditions", conditions.clone()).candidates(clusters());
    assert_eq!(ask.clone().unit(json!({"namespace": "bank"})).filtered(), ["east kept"]);
    assert_eq!(ask.unit(json!({"namespace": "shop"})).filtered(), ["east PolicyFalse: false is false"]);
    let ask = score(&["7"]).with("matchConditions", conditions).candidates(clusters());
    assert_eq!(ask.clone().unit(json!({"namespace": "bank"})).scored(), Ok(vec![0]));
    assert_eq!(ask.unit(json!({"namespace": "shop"})).scored(), Ok(vec![7]));
}

#[test]
fn scores_are_added_up_over_ints_and_doubles() {
    for (expressions, sum) in [
        (&["1", "2"][..], 3),
        (&["1", "0.6"], 2),
        (&["0.4", "0.4"], 1),
        (&["-7", "2.5u == 2u ? 1 : 0"][..1], -7),
        (&["9223372036854775807", "1"], i64::MAX),
        (&["1e300"], i64::MAX),
    ] {
        assert_eq!(score(expressions).candidates([cluster("east", json!({}))]).scored(), Ok(vec![sum]), "{expressions:?}");
    }
}

#[test]
fn a_cluster_that_cannot_be_scored_has_the_lowest_score_or_none_of_that_expression() {
    let clusters = [
        cluster("east", json!({"objects": 5})),
        cluster("west", json!({"objects": null})),
        cluster("north", json!({"objects": 9})),
    ];
    let ask = score(&["cluster.objects + 0", "100"]).candidates(clusters);
    assert_eq!(ask.clone().scored(), Ok(vec![105, 105, 109]));
    assert_eq!(ask.failure_policy("Skip").scored(), Ok(vec![105, 100, 109]));
}

#[test]
fn a_variable_is_evaluated_when_it_is_used_and_sees_those_before_it() {
    let variables = json!([
        {"name": "free", "expression": "cluster.free.cpuMilli"},
        {"name": "cpus", "expression": "variables.free / 1000"},
        {"name": "broken", "expression": "cluster.labels.none"},
    ]);
    let clusters = [cluster("east", json!({"free": {"cpuMilli": 4500}, "labels": {}}))];
    let ask = score(&["variables.cpus * 10"]).with("variables", variables.clone()).candidates(clusters.clone());
    assert_eq!(ask.scored(), Ok(vec![40]));
    let ask = filter("variables.broken == 'x'").with("variables", variables).candidates(clusters);
    assert_eq!(
        ask.filtered(),
        ["east PolicyError: cluster east: expression gpu: variables.broken: no such key: none, in variables.broken at line 1, \
          column 1"]
    );
}

#[test]
fn now_is_the_moment_of_the_call() {
    let ask = filter("now == timestamp('2026-11-30T18:00:00Z') && now.getHours('Europe/Berlin') == 19");
    let ask = ask.now_ms(1_796_061_600_000).candidates([cluster("east", json!({}))]);
    assert_eq!(ask.filtered(), ["east kept"]);
}
