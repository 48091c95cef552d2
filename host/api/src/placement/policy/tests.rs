use serde_json::json;

use super::*;
use crate::Gvr;

const WHOLE: &str = "\
apiVersion: orrery.dev/v1alpha1
kind: PlacementPolicy
metadata:
  name: web
  namespace: shop
  labels: {team: shop}
spec:
  selector:
    groups: [apps, '']
    resources: [deployments, pods]
    labelSelector:
      matchLabels: {app: web}
  stages:
  - stage: clusterSelector
    params:
      matchExpressions:
      - {key: region, operator: In, values: [eu]}
  - stage: taints
  - params: {required: false}
    failurePolicy: Skip
    stage: freeCapacity
  - stage: spread
    params: {matchLabelKeys: [app]}
---
apiVersion: orrery.dev/v1alpha1
kind: ClusterPlacementPolicy
metadata: {name: rest}
spec:
  selector: {namespaces: [shop, bank]}
  stages: [{stage: taints}]
";

fn unit(group: &str, resource: &str, namespace: &str, app: &str) -> Unit {
    Unit::read(Gvr::new(group, "v1", resource), namespace, &json!({"metadata": {"labels": {"app": app}}}))
}

/// What is wrong once `right` in [`WHOLE`] reads `wrong`.
fn problem(right: &str, wrong: &str) -> String {
    assert!(WHOLE.contains(right), "{right}");
    Policy::parse(&WHOLE.replacen(right, wrong, 1)).unwrap_err().to_string()
}

#[test]
fn policies_are_read_with_their_stages_in_order() {
    let policies = Policy::parse(WHOLE).unwrap();
    let names: Vec<String> = policies.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["PlacementPolicy shop/web", "ClusterPlacementPolicy rest"]);
    let stages: Vec<_> = policies[0].stages.iter().map(|stage| stage.kind.name()).collect();
    assert_eq!(stages, ["clusterSelector", "taints", "freeCapacity", "spread"]);
    let failure: Vec<_> = policies[0].stages.iter().map(|stage| stage.failure_policy).collect();
    assert_eq!(failure, [FailurePolicy::Reject, FailurePolicy::Reject, FailurePolicy::Skip, FailurePolicy::Reject]);
    assert_eq!(policies[0].stages[2].kind, StageKind::FreeCapacity(FreeCapacity { required: false }));
    assert_eq!(policies[0].stages[3].kind, StageKind::Spread(Spread { match_label_keys: vec!["app".into()] }));
}

#[test]
fn a_policy_selects_what_all_parts_of_its_selector_mean() {
    let policies = Policy::parse(WHOLE).unwrap();
    let selects = |at: usize, unit: &Unit| policies[at].selects(unit);
    assert!(selects(0, &unit("apps", "deployments", "shop", "web")));
    assert!(selects(0, &unit("", "pods", "shop", "web")));
    assert!(!selects(0, &unit("apps", "deployments", "bank", "web")));
    assert!(!selects(0, &unit("batch", "deployments", "shop", "web")));
    assert!(!selects(0, &unit("apps", "statefulsets", "shop", "web")));
    assert!(!selects(0, &unit("apps", "deployments", "shop", "api")));
    assert!(selects(1, &unit("batch", "jobs", "bank", "any")));
    assert!(!selects(1, &unit("batch", "jobs", "other", "any")));
}

#[test]
fn an_unknown_key_or_value_is_an_error_with_its_place_and_the_nearest_right_name() {
    let cases = [
        (
            "  selector:\n    groups",
            "  selectr:\n    groups",
            "line 8, column 3: unknown key `selectr`; did you mean `selector`?",
        ),
        ("stage: taints", "stage: taint", "line 18, column 12: unknown value `taint`; did you mean `taints`?"),
        ("stage: taints", "stge: taints", "line 18, column 5: unknown key `stge`; did you mean `stage`?"),
        ("failurePolicy: Skip", "failurePolicy: skip", "unknown value `skip`; did you mean `Skip`?"),
        (
            "kind: PlacementPolicy",
            "kind: PlacmentPolicy",
            "line 2, column 7: unknown value `PlacmentPolicy`; did you mean `PlacementPolicy`?",
        ),
        ("v1alpha1", "v1", "line 1, column 13: unknown value `orrery.dev/v1`; known here are orrery.dev/v1alpha1"),
        ("resources:", "resource:", "line 10, column 5: unknown key `resource`; did you mean `resources`?"),
    ];
    for (right, wrong, wanted) in cases {
        let problem = problem(right, wrong);
        assert!(problem.contains(wanted), "{problem}");
    }
}

#[test]
fn wrong_params_are_an_error_at_the_params() {
    let cases = [
        ("required: false", "requird: false", "line 19, column 13: unknown key `requird`; did you mean `required`?"),
        (
            "matchExpressions",
            "matchExpression",
            "line 16, column 7: unknown key `matchExpression`; did you mean `matchExpressions`?",
        ),
        ("values: [eu]", "values: []", "line 16, column 7: In of region needs `values`"),
        ("[app]}", "['a b']}", "line 23, column 13: \"a b\" is no label key"),
        ("stage: taints", "stage: taints\n    params: {a: b}", "line 19, column 13: taints takes no `params`"),
        ("stage: taints", "stage: clusterSelector", "line 18, column 5: clusterSelector needs `params`"),
        ("stage: taints", "stage: spread", "line 22, column 5: spread stands here twice"),
    ];
    for (right, wrong, wanted) in cases {
        let problem = problem(right, wrong);
        assert!(problem.contains(wanted), "{problem}");
    }
}

#[test]
fn what_would_never_select_or_decide_is_an_error() {
    let cases = [
        ("  namespace: shop\n", "", "line 4, column 3: a PlacementPolicy is for one namespace"),
        ("{name: rest}", "{name: rest, namespace: a}", "a ClusterPlacementPolicy has no `namespace`"),
        ("{name: rest}", "{name: ''}", "`name` is empty"),
        (
            "    groups",
            "    namespaces: [a]\n    groups",
            "line 9, column 5: a PlacementPolicy is for its own namespace",
        ),
        ("[deployments, pods]", "[Deployment]", "\"Deployment\" is no resource; write it as URLs do"),
        ("[{stage: taints}]", "[]", "`stages` is empty"),
    ];
    for (right, wrong, wanted) in cases {
        let problem = problem(right, wrong);
        assert!(problem.contains(wanted), "{problem}");
    }
}

#[test]
fn a_file_without_documents_has_no_policies() {
    for text in ["", "# nothing yet\n", "---\n---\n"] {
        assert_eq!(Policy::parse(text).unwrap(), [], "{text:?}");
    }
}
