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
    let ask = filter("cluster.labels.get('zone', '') == params.zone").params(json!({"zone": "a"})).candidates([
        cluster("east", json!({"labels": {"zone": "a"}})),
        cluster("west", json!({"labels": {"zone": "b"}})),
    ]);
    assert_eq!(
        ask.filtered(),
        ["east kept", "west PolicyFalse: cluster.labels.get('zone', '') == params.zone is false"]
    );
}

#[test]
fn a_missing_key_concerns_its_cluster_alone_and_is_named() {
    let clusters = [cluster("east", json!({"labels": {"x": "1"}})), cluster("west", json!({"labels": {"gpu": "8"}}))];
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
fn what_goes_over_too_many_elements_is_out_alone_and_the_part_is_named() {
    let ten = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]";
    let thousand = format!("{ten}.all(a, {ten}.all(b, {ten}.all(c, true)))");
    let ask = |expression: &str, fuel: u64| {
        let clusters = ["east", "west"].map(|name| cluster(name, json!({})));
        filter(expression).with("limits", json!({"fuel": fuel})).candidates(clusters).filtered()
    };
    let only_east = format!("cluster.name == 'west' || {thousand}");
    let place = only_east.find(&format!("{ten}.all(c")).unwrap() + 1;
    let spent = |place: usize, part: &str| {
        format!(
            "it goes over too many elements for one cluster or object, in {part} at line 1, column {place}; limits.fuel \
             says how many there may be"
        )
    };
    // 10 + 100 + 1,000 elements, each for 10,000 of fuel.
    assert_eq!(ask(&only_east, 11_100_000), ["east kept", "west kept"]);
    let part = format!("{ten}.all(c, true)");
    assert_eq!(
        ask(&only_east, 11_090_000),
        [format!("east PolicyError: cluster east: expression gpu: {}", spent(place, &part)), "west kept".to_owned()]
    );
    // Every cluster has the whole of it.
    assert_eq!(ask(&thousand, 11_100_000), ["east kept", "west kept"]);
    // In a variable, in a list that is made, and where the other side of an or decides.
    let variables = json!([{"name": "all", "expression": format!("lists.range(100).map(x, x)")}]);
    let ask_with = |expression: &str| {
        let ask = filter(expression).with("limits", json!({"fuel": 500_000})).with("variables", variables.clone());
        ask.candidates([cluster("east", json!({}))]).filtered()
    };
    let in_variable = spent(1, "lists.range(100).map(x, x)");
    assert_eq!(
        ask_with("variables.all.size() == 100"),
        [format!(
            "east PolicyError: cluster east: expression gpu: variables.all: {in_variable}, in variables.all at line 1, column 1"
        )]
    );
    assert_eq!(ask_with("variables.all.size() == 100 || true"), ["east kept"]);
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
        assert_eq!(
            score(expressions).candidates([cluster("east", json!({}))]).scored(),
            Ok(vec![sum]),
            "{expressions:?}"
        );
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
    assert_eq!(ask.scored(), Ok(vec![105, 105, 109]));
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
        [
            "east PolicyError: cluster east: expression gpu: variables.broken: no such key: none, in variables.broken at line 1, \
          column 1"
        ]
    );
}

#[test]
fn now_is_the_moment_of_the_call() {
    let ask = filter("now == timestamp('2026-11-30T18:00:00Z') && now.getHours('Europe/Berlin') == 19");
    let ask = ask.now_ms(1_796_061_600_000).candidates([cluster("east", json!({}))]);
    assert_eq!(ask.filtered(), ["east kept"]);
}

#[test]
fn a_spread_counts_the_units_replicas_by_label() {
    let zone = |zone: &str| json!({"labels": {"zone": zone}});
    let ask = score(&["spread('zone')"]).candidates([
        cluster("a1", zone("a")),
        cluster("a2", zone("a")),
        cluster("b1", zone("b")),
        cluster("c", json!({})),
    ]);
    assert_eq!(ask.scored(), Ok(vec![0, 0, 0, 0]));
    assert_eq!(ask.current(&[("a1", 2), ("a2", 1), ("c", 7), ("gone", 9)]).scored(), Ok(vec![3, 3, 0, 0]));
}

fn decide(stage: &str, expression: &str) -> Ask {
    let clusters = [
        cluster("east", json!({"labels": {"zone": "a"}})),
        cluster("west", json!({"labels": {"zone": "a"}})),
        cluster("north", json!({"labels": {"zone": "b"}})),
    ];
    Ask::new(json!({"target": {"stage": stage}, "expressions": [{"name": "x", "expression": expression}]}))
        .candidates(clusters)
}

#[test]
fn a_selection_is_the_places_of_the_names_that_it_gives() {
    let ask = |expression: &str| decide("select", expression).scores(&[10, 30, 20]);
    assert_eq!(
        ask("clusters.sortBy(c, -scores[c.name]).map(c, c.name)").selected(),
        Ok(vec!["west".to_owned(), "north".into(), "east".into()])
    );
    assert_eq!(ask("[]").selected(), Ok(vec![]));
    for (expression, failure) in [
        ("['nowhere']", "InvalidResult: \"nowhere\" is the name of no candidate"),
        ("['east', 'east']", "InvalidResult: cluster east is selected twice"),
        ("[params.x]", "PolicyError: expression x: no such key: x, in params.x at line 1, column 2"),
        ("params.y[0]", "PolicyError: expression x: no such key: y, in params.y at line 1, column 1"),
        ("dyn(1)", "InvalidResult: it gives 1, not a list of names"),
    ] {
        assert_eq!(ask(expression).selected(), Err(failure.to_owned()), "{expression}");
    }
    assert_eq!(ask("params.y[0]").failure_policy("Skip").selected().map(|all| all.len()), Ok(3));
}

#[test]
fn a_split_is_a_number_for_each_cluster_and_adds_up() {
    let ask = |expression: &str| decide("split", expression).replicas(5);
    assert_eq!(ask("[3, 2, 0]").split(), Ok(vec![3, 2, 0]));
    assert_eq!(ask("{'north': 4, 'east': 1}").split(), Ok(vec![1, 0, 4]));
    for (expression, failure) in [
        ("[1, 1, 1]", "InvalidResult: it gives 3 replicas in all, where 5 are to be placed"),
        ("[5]", "InvalidResult: it gives 1 numbers for 3 clusters"),
        ("[6, -1, 0]", "InvalidResult: -1 is no number of replicas"),
        ("{'south': 5}", "InvalidResult: south is the name of no candidate"),
        ("dyn('x')", "InvalidResult: it gives \"x\", not a map or a list"),
    ] {
        assert_eq!(ask(expression).split(), Err(failure.to_owned()), "{expression}");
    }
    // Where the policy does not decide, the same for all.
    let ask = ask("[5, 0, 0]").with("matchConditions", json!([{"name": "no", "expression": "false"}]));
    assert_eq!(ask.split(), Ok(vec![2, 2, 1]));
}

#[test]
fn an_object_has_the_labels_that_expressions_give_and_no_others() {
    let ask = Ask::new(json!({"target": {"stage": "virtual-label"}, "expressions": [
        {"name": "team", "expression": "object.metadata.?labels[?'team']"},
        {"name": "tier", "expression": "object.spec.priority > 10 ? 'gold' : null"},
        {"name": "bad", "expression": "object.metadata.name + '!'"},
    ]}));
    let objects = [
        json!({"metadata": {"name": "a", "labels": {"team": "shop"}}, "spec": {"priority": 11}}),
        json!({"metadata": {"name": "b"}, "spec": {"priority": 1}}),
        json!({"metadata": {"name": "c", "labels": {"team": "-no-"}}}),
    ];
    assert_eq!(
        ask.objects(objects).labelled(),
        Ok(vec![vec!["team=shop".to_owned(), "tier=gold".into()], vec![], vec![]])
    );
}

#[test]
fn an_object_that_cannot_be_told_is_not_selected_unless_errors_are_skipped() {
    let ask = Ask::new(json!({"target": {"stage": "named-selector", "name": "mine"}, "expressions": [
        {"expression": "object.metadata.annotations.owner == request.user || request.arg in request.groups"},
    ]}))
    .objects([json!({"metadata": {"annotations": {"owner": "ann"}}}), json!({"metadata": {}})]);
    assert_eq!(ask.matched("ann", &["dev"], "x"), Ok(vec![true, false]));
    assert_eq!(ask.matched("bob", &["dev"], "dev"), Ok(vec![true, true]));
    assert_eq!(ask.matched("bob", &["dev"], "x"), Ok(vec![false, false]));
    assert_eq!(ask.failure_policy("Skip").matched("bob", &[], "x"), Ok(vec![false, true]));
}

#[test]
fn an_object_that_cannot_be_read_concerns_itself_alone() {
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    let objects = [deep, json!({"metadata": {"name": "a"}})];
    let ask = Ask::new(
        json!({"target": {"stage": "virtual-label"}, "expressions": [{"name": "n", "expression": "object.metadata.name"}]}),
    );
    assert_eq!(ask.objects(objects.clone()).labelled(), Ok(vec![vec![], vec!["n=a".to_owned()]]));
    let ask =
        Ask::new(json!({"target": {"stage": "named-selector", "name": "x"}, "expressions": [{"expression": "true"}]}));
    assert_eq!(ask.objects(objects).matched("ann", &[], ""), Ok(vec![false, true]));
}

#[test]
fn a_request_that_is_no_json_fails_as_a_whole_and_says_where() {
    let mut request = filter("true").candidates([cluster("east", json!({}))]).request();
    request.candidates[0].doc = "{".to_owned();
    let failure = super::filter(&request).unwrap_err();
    assert_eq!(
        (failure.code.as_str(), failure.message.contains("the document of cluster east is not JSON")),
        ("InvalidRequest", true)
    );
    request.call.params = "nonsense".to_owned();
    assert_eq!(super::filter(&request).unwrap_err().code, "InvalidParams");
    assert_eq!(score(&["1"]).candidates([]).verdicts().unwrap_err().message, "the policy is for another stage");
}

#[test]
fn of_a_cluster_only_what_the_policy_uses_is_read_and_all_of_that() {
    let doc =
        json!({"labels": {"zone": "a"}, "objects": 5, "scores": {"cost": {"value": 2, "ageMs": 0, "expired": false}}});
    for (expression, sum) in [
        ("cluster.objects", 5),
        ("cluster.labels.size()", 1),
        ("cluster.score('cost')", 2),
        ("cluster.score('x', cluster.objects)", 5),
        ("spread('zone')", 3),
        ("cluster['objects'] == 5 ? 1 : 0", 1),
        ("cel.bind(c, cluster, c.objects)", 5),
        ("{'a': cluster}.a.objects", 5),
        ("cluster.size()", 4),
        ("cluster.name.size()", 4),
    ] {
        let ask = score(&[expression]).candidates([cluster("east", doc.clone())]).current(&[("east", 3)]);
        assert_eq!(ask.scored(), Ok(vec![sum]), "{expression}");
    }
}
