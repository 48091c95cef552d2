use serde_json::{Value, json};

use crate::testing::Ask;

fn problems(stage: &str, expression: &str) -> String {
    let mut target = json!({"stage": stage});
    if stage == "named-selector" {
        target["name"] = "mine".into();
    }
    Ask::new(json!({"target": target, "expressions": [{"name": "x", "expression": expression}]})).problems()
}

#[test]
fn a_slip_is_found_with_its_place_and_the_nearest_right_name() {
    let cases = [
        ("filter", "cluster.lables.has('x')", "line 1, column 9: cluster has no field lables; did you mean labels?"),
        ("filter", "clutser.ready", "line 1, column 1: there is no variable clutser; did you mean cluster?"),
        (
            "filter",
            "true &&\n  cluster.taints.exists(t, t.kye == 'a')",
            "line 2, column 30: taint has no field kye; did you mean key?",
        ),
        (
            "filter",
            "cluster.name.startWith('a')",
            "line 1, column 14: there is no function startWith; did you mean startsWith?",
        ),
        ("filter", "isSemverr('1')", "line 1, column 1: there is no function isSemverr; did you mean isSemver?"),
        (
            "filter",
            "math.flor(1.5) > 1.0",
            "line 1, column 6: there is no function math.flor; did you mean math.floor?",
        ),
        ("filter", "has(cluster.regoin)", "line 1, column 13: cluster has no field regoin; did you mean region?"),
        ("filter", "cluster['regoin'] == ''", "line 1, column 9: cluster has no field regoin; did you mean region?"),
        (
            "filter",
            "cluster.?regoin.hasValue()",
            "line 1, column 10: cluster has no field regoin; did you mean region?",
        ),
        (
            "filter",
            "cluster.free.cpu > 1",
            "line 1, column 14: resources has no field cpu; there are cpuMilli, memoryBytes, pods",
        ),
        (
            "filter",
            "unit.requests.cpuMili > 1",
            "line 1, column 15: requests has no field cpuMili; did you mean cpuMilli?",
        ),
        (
            "filter",
            "variables.x",
            "line 1, column 11: there is no variable x before this one; variables see those above them",
        ),
    ];
    for (stage, expression, problem) in cases {
        assert_eq!(problems(stage, expression), format!("expressions[0].expression: {problem}"), "{expression}");
    }
}

#[test]
fn a_wrong_type_is_an_error_before_anything_is_evaluated() {
    let cases = [
        ("cluster.objects == '5'", "line 1, column 1: == does not take int and string"),
        ("cluster.lagMs == 1.0", "line 1, column 1: == does not take int and double; write double(…) around one"),
        ("cluster.lagMs + 1.0 > 2.0", "line 1, column 1: + does not take int and double; write double(…) around one"),
        ("cluster.name + 1 == ''", "line 1, column 1: + does not take string and int"),
        (
            "cluster.name == null",
            "line 1, column 1: == does not take string and null; it is never null, test it with has()",
        ),
        ("cluster.ready && 1", "line 1, column 1: && does not take bool and int"),
        ("!cluster.name", "line 1, column 1: ! does not take string"),
        ("cluster.name.size() > '1'", "line 1, column 1: > does not take int and string"),
        (
            "cluster.name.startsWith(1)",
            "line 1, column 14: there is no string.startsWith(int); there is string.startsWith(string) -> bool",
        ),
        (
            "cluster.lagMs.startsWith('a')",
            "line 1, column 15: there is no int.startsWith(string); there is string.startsWith(string) -> bool",
        ),
        (
            "startsWith('a')",
            "line 1, column 1: there is no such startsWith: it is called on a value, but string.startsWith(string) -> bool",
        ),
        ("cluster.lagMs.exists(x, true)", "line 1, column 1: int has no elements to go over; a list or a map has"),
        ("cluster.labels[0] == ''", "line 1, column 1: map<string, string> has no element at int"),
        ("cluster.taints['a'].key == ''", "line 1, column 1: list<taint> has no element at string"),
        ("cluster.name.x == ''", "line 1, column 14: string has no fields, so no x"),
        (
            "cluster.ready ? 1 : 'a'",
            "line 1, column 17: one branch of ?: is int, the other string; both have to be of one type",
        ),
        ("cluster.name ? true : false", "line 1, column 1: what stands before ? is string, not bool"),
        ("1 in cluster.labels", "line 1, column 1: in does not take int and map<string, string>"),
        ("{1.5: true}[1.5]", "line 1, column 2: double cannot be the key of a map; string, int, uint and bool can"),
        ("quantity('1') > quantity('2')", "line 1, column 1: > does not take quantity and quantity"),
        ("now > '2026-01-01T00:00:00Z'", "line 1, column 1: > does not take timestamp and string"),
        (
            "cluster.labels.get('a', 1) == 'x'",
            "line 1, column 16: there is no map<string, string>.get(string, int); there is map<string, A>.get(string, A) -> A",
        ),
        (
            "unit.tolerates('x')",
            "line 1, column 6: there is no unit.tolerates(string); there is unit.tolerates(taint) -> bool",
        ),
    ];
    for (expression, problem) in cases {
        assert_eq!(problems("filter", expression), format!("expressions[0].expression: {problem}"), "{expression}");
    }
}

#[test]
fn each_stage_has_its_result_and_its_variables() {
    let cases = [
        ("filter", "1", "line 1, column 1: a filter is bool, this is int"),
        ("filter", "cluster.labels.zone", "line 1, column 1: a filter is bool, this is string"),
        ("filter", "null", "line 1, column 1: a filter is bool, this is null"),
        (
            "filter",
            "clusters.size() > 0",
            "line 1, column 1: clusters is not known here: a filter and a score look at one cluster at a time; it is cluster",
        ),
        ("score", "cluster.ready", "line 1, column 1: a score is int or double, this is bool"),
        ("score", "'1'", "line 1, column 1: a score is int or double, this is string"),
        ("select", "clusters", "line 1, column 1: a selection is list<string>, this is list<cluster>"),
        (
            "select",
            "[cluster.name]",
            "line 1, column 2: cluster is not known here: select and split decide over all at once; they are clusters",
        ),
        (
            "select",
            "clusters.filter(c, spread('zone') == 0).map(c, c.name)",
            "line 1, column 20: @spread is not known here: spread() is for a filter and a score, which look at one cluster",
        ),
        (
            "split",
            "clusters.map(c, c.name)",
            "line 1, column 1: a split is map<string, int> or list<int>, this is list<string>",
        ),
        ("virtual-label", "1", "line 1, column 1: a label is string, null or an optional string, this is int"),
        (
            "virtual-label",
            "unit.name",
            "line 1, column 1: unit is not known here: a label depends on the object alone; it is object",
        ),
        (
            "virtual-label",
            "string(now)",
            "line 1, column 8: now is not known here: a label depends on the object alone, whenever it is asked for",
        ),
        ("named-selector", "object.metadata.name + 'x'", "line 1, column 1: a selector is bool, this is string"),
        ("named-selector", "request.usr == ''", "line 1, column 9: request has no field usr; did you mean user?"),
    ];
    for (stage, expression, problem) in cases {
        let found = problems(stage, expression);
        let first = found.lines().next().unwrap_or_default();
        assert_eq!(first, format!("expressions[0].expression: {problem}"), "{stage}: {expression}");
    }
}

#[test]
fn what_is_right_or_cannot_be_known_is_not_refused() {
    let right = [
        ("filter", "cluster.taints.all(t, unit.tolerates(t))"),
        ("filter", "unit.replicas == null || unit.replicas > 3"),
        ("filter", "unit.requests == null || unit.requests.cpuMilli <= cluster.free.cpuMilli"),
        ("filter", "has(cluster.free.pods) && cluster.free.pods > 0"),
        ("filter", "params.regions.exists(r, r == cluster.region)"),
        ("filter", "cluster.region in params.regions"),
        ("filter", "unit.object.spec.template.spec.priority > 5"),
        ("filter", "cluster.labels[?'zone'].orValue('') == 'a'"),
        ("filter", "cluster.labels.`topology.kubernetes.io/zone` == 'a'"),
        ("filter", "type(cluster.lagMs) == int"),
        ("filter", "now - duration('1h') > timestamp(params.since)"),
        ("filter", "cluster.lagMs < 1.5"),
        ("filter", "params.strict ? cluster.ready : true"),
        ("filter", "cel.bind(x, cluster.labels, x.all(k, x[k] != ''))"),
        ("filter", "cluster.labels.exists(k, v, k == 'a' && v.startsWith('b'))"),
        ("filter", "[] == [1]"),
        ("filter", "unit == unit"),
        ("score", "cluster.free.cpuMilli / 1000"),
        ("score", "params.weights[cluster.region]"),
        ("score", "double(cluster.free.cpuMilli) / double(cluster.allocatable.cpuMilli) * 100.0"),
        ("score", "-spread('zone')"),
        ("score", "cluster.ready ? params.a : 1"),
        ("select", "clusters.filter(c, c.ready).sortBy(c, -scores[c.name]).map(c, c.name)"),
        ("select", "clusters.map(c, c.name).slice(0, 1)"),
        ("select", "[]"),
        ("split", "clusters.transformMapEntry(i, c, {c.name: i})"),
        ("split", "clusters.map(c, 1)"),
        ("virtual-label", "object.metadata.?labels[?'team']"),
        ("virtual-label", "object.metadata.namespace == 'x' ? 'a' : null"),
        ("named-selector", "object.spec.nodeName == request.arg && 'admins' in request.groups"),
    ];
    for (stage, expression) in right {
        assert_eq!(problems(stage, expression), "", "{stage}: {expression}");
    }
}

#[test]
fn a_variable_has_the_type_of_its_expression_and_sees_those_before_it() {
    let ask = |first: &str, second: &str| {
        Ask::new(json!({
            "target": {"stage": "filter"},
            "variables": [{"name": "a", "expression": first}, {"name": "b", "expression": second}],
            "expressions": [{"expression": "variables.b > 1"}],
        }))
        .problems()
    };
    assert_eq!(ask("cluster.lagMs", "variables.a + 1"), "");
    assert_eq!(
        ask("variables.b", "2"),
        "variables[0].expression: line 1, column 11: there is no variable b before this one; variables see those above them"
    );
    assert_eq!(
        ask("cluster.name", "variables.a"),
        "expressions[0].expression: line 1, column 1: > does not take string and int"
    );
}

#[test]
fn every_problem_of_a_spec_is_listed_with_its_place() {
    let policy = json!({
        "target": {"stage": "filtre"},
        "matchCondition": [],
        "variables": [{"name": "a b", "expression": "1"}, {"name": "c"}],
        "expressions": [{"expression": "cluster.ready &&"}, {"expresion": "true"}, 7],
        "failurePolicy": "Ignore",
        "limits": 1,
        "tests": [{"input": {}}],
        "params": [],
    });
    assert_eq!(
        Ask::new(policy).problems().lines().collect::<Vec<_>>(),
        [
            "there is no field matchCondition; did you mean matchConditions?",
            "target.stage: filtre is none; did you mean filter?",
            "limits: it is a number, not a map",
            "params: it is a list, not a map",
            "tests[0]: there is no field input; did you mean inputs?",
            "tests[0]: it needs a name",
            "variables[0]: a b cannot be written as variables.a b; use letters, digits and _",
            "variables[1]: it needs a expression",
            "expressions[0].expression: line 1, column 17: the expression ends here; expected a value",
            "expressions[1]: there is no field expresion; did you mean expression?",
            "expressions[1]: it needs a expression",
            "expressions[2]: it is a number, not a map",
            "failurePolicy: Ignore is none; there are Reject, Skip",
        ]
    );
    for (policy, problem) in [
        (json!({}), "it needs a target, such as target: {stage: filter}\nexpressions: there has to be one at least"),
        (json!([]), "it is a list, not a map"),
        (Value::Null, "it needs a policy"),
        (
            json!({"target": {"stage": "named-selector"}, "expressions": [{"expression": "true"}]}),
            "target: a named selector needs a name",
        ),
        (
            json!({"target": {"stage": "filter", "name": "x"}, "expressions": [{"expression": "true"}]}),
            "target.name: only a named selector has a name",
        ),
        (
            json!({"target": {"stage": "virtual-label"}, "expressions": [{"expression": "'a'"}]}),
            "expressions[0]: it needs a name: the key of the label",
        ),
        (
            json!({"target": {"stage": "score"}, "expressions": [{"expression": "1", "reason": "X"}]}),
            "expressions[0].reason: only an expression of a filter has one",
        ),
        (
            json!({"target": {"stage": "select"}, "expressions": [{"expression": "[]"}, {"expression": "[]"}]}),
            "expressions: select and split have one: it decides over all clusters",
        ),
    ] {
        assert_eq!(Ask::new(policy).problems(), problem);
    }
}
