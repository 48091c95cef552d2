//! Who may do what, who decides, and who is to be trusted.

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Maker, condition};

/// Made for these tests with openssl; their keys are gone.
const REQUEST: &str = include_str!("request.pem");
const CERTIFICATE: &str = include_str!("certificate.pem");

pub(super) fn make(at: &Maker<'_>) -> Result<()> {
    bindings(at)?;
    signing_requests(at)?;
    pod_requests(at)?;
    admission(at)
}

fn bindings(at: &Maker<'_>) -> Result<()> {
    let role = |kind: &str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "view"});
    let subject = |kind: &str, name: &str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name});
    let robot = |name: &str| json!({"kind": "ServiceAccount", "namespace": "default", "name": name});
    let many = json!([subject("User", "ann"), robot("r2"), subject("Group", "g"), subject("User", "bob"), robot("r1")]);
    let group = "/apis/rbac.authorization.k8s.io/v1";
    at.all(
        &format!("{group}/namespaces/default/rolebindings"),
        "RoleBinding",
        &[
            ("nobody", json!({"roleRef": role("Role")})),
            ("many", json!({"roleRef": role("ClusterRole"), "subjects": many})),
        ],
    )?;
    at.all(
        &format!("{group}/clusterrolebindings"),
        "ClusterRoleBinding",
        &[("many", json!({"roleRef": role("ClusterRole"), "subjects": many}))],
    )?;
    at.also(&format!("{group}/roles"));
    at.also(&format!("{group}/clusterroles"));
    Ok(())
}

fn signing_requests(at: &Maker<'_>) -> Result<()> {
    let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let request = |seconds: Option<u32>| {
        json!({"spec": {"request": STANDARD.encode(REQUEST), "signerName": "example.com/signer",
            "usages": ["client auth"], "expirationSeconds": seconds}})
    };
    at.all(
        path,
        "CertificateSigningRequest",
        &[
            ("pending", request(None)),
            ("short", request(Some(600))),
            ("approved", request(Some(3600 * 24 * 30))),
            ("denied", request(Some(86400))),
            ("issued", request(None)),
            ("failed", request(None)),
        ],
    )?;
    let decide = |name: &str, kind: &str| {
        let status = json!({"conditions": [condition(kind, "True", "Asked")]});
        at.patch(&format!("{path}/{name}/approval"), &json!({"status": status}))
    };
    decide("approved", "Approved")?;
    decide("denied", "Denied")?;
    decide("issued", "Approved")?;
    decide("failed", "Approved")?;
    at.patch(&format!("{path}/issued/status"), &json!({"status": {"certificate": STANDARD.encode(CERTIFICATE)}}))?;
    let failed = json!([condition("Approved", "True", "Asked"), condition("Failed", "True", "Broken")]);
    at.patch(&format!("{path}/failed/status"), &json!({"status": {"conditions": failed}}))?;
    at.all(
        "/apis/certificates.k8s.io/v1/clustertrustbundles",
        "ClusterTrustBundle",
        &[
            ("anybody", json!({"spec": {"trustBundle": CERTIFICATE}})),
            (
                "example.com:signer:one",
                json!({"spec": {"signerName": "example.com/signer", "trustBundle": CERTIFICATE}}),
            ),
        ],
    )
}

fn pod_requests(at: &Maker<'_>) -> Result<()> {
    let lines: String = REQUEST.lines().filter(|line| !line.starts_with('-')).collect();
    let request = |annotations: Value| {
        json!({"spec": {"signerName": "example.com/signer", "podName": "p", "podUID": "1", "serviceAccountName": "robot",
            "serviceAccountUID": "2", "nodeName": "ready", "nodeUID": "3", "maxExpirationSeconds": 86400,
            "stubPKCS10Request": lines, "unverifiedUserAnnotations": annotations}})
    };
    let path = "/apis/certificates.k8s.io/v1/namespaces/default/podcertificaterequests";
    let mut denied = request(json!({"example.com/b": "2", "example.com/a": "1"}));
    let since = json!({"lastTransitionTime": "2026-01-02T03:04:05Z", "message": "no"});
    let mut ended = condition("Denied", "True", "Asked");
    ended.as_object_mut().into_iter().for_each(|ended| ended.extend(since.as_object().cloned().unwrap_or_default()));
    denied["status"] = json!({"conditions": [ended]});
    at.all(path, "PodCertificateRequest", &[("pending", request(Value::Null)), ("denied", denied)])
}

/// None of them concerns a kind that there is.
fn admission(at: &Maker<'_>) -> Result<()> {
    let rules = json!([{"apiGroups": ["none.example.com"], "apiVersions": ["*"], "resources": ["*"], "operations": ["CREATE"]}]);
    let webhook = |name: &str| {
        json!({"name": format!("{name}.example.com"), "clientConfig": {"url": "https://127.0.0.1:9"}, "rules": rules,
            "admissionReviewVersions": ["v1"], "sideEffects": "None"})
    };
    let group = "/apis/admissionregistration.k8s.io/v1";
    for (path, kind) in [("mutating", "Mutating"), ("validating", "Validating")] {
        let (path, kind) = (format!("{group}/{path}webhookconfigurations"), format!("{kind}WebhookConfiguration"));
        at.all(&path, &kind, &[("none", json!({})), ("two", json!({"webhooks": [webhook("a"), webhook("b")]}))])?;
    }
    let constraints = json!({"resourceRules": rules});
    let param_kind = json!({"apiVersion": "rules.example.com/v1", "kind": "Limit"});
    let checks = json!([{"expression": "true"}, {"expression": "1 == 1"}]);
    at.all(&format!("{group}/validatingadmissionpolicies"), "ValidatingAdmissionPolicy", &[
        ("plain", json!({"spec": {"matchConstraints": constraints, "validations": checks}})),
        (
            "with-params",
            json!({"spec": {"paramKind": param_kind, "matchConstraints": constraints, "validations": [{"expression": "true"}]}}),
        ),
    ])?;
    let change = json!({"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: \"test\", path: \"/kind\", value: \"None\"}]"}});
    let spec = json!({"matchConstraints": constraints, "mutations": [change], "reinvocationPolicy": "Never", "failurePolicy": "Fail"});
    let mut with_params = spec.clone();
    with_params["paramKind"] = param_kind;
    at.all(
        &format!("{group}/mutatingadmissionpolicies"),
        "MutatingAdmissionPolicy",
        &[("plain", json!({"spec": spec})), ("with-params", json!({"spec": with_params}))],
    )?;
    policy_bindings(at, group)
}

fn policy_bindings(at: &Maker<'_>, group: &str) -> Result<()> {
    let selector = json!({"matchLabels": {"b": "1", "a": "2"}, "matchExpressions": [
        {"key": "k", "operator": "In", "values": ["x", "y"]}, {"key": "e", "operator": "Exists"}]});
    for (path, kind) in [("validating", "Validating"), ("mutating", "Mutating")] {
        let binding = |param: Value| {
            let mut spec = json!({"policyName": "with-params"});
            if kind == "Validating" {
                spec["validationActions"] = json!(["Deny"]);
            }
            if !param.is_null() {
                spec["paramRef"] = param;
                spec["paramRef"]["parameterNotFoundAction"] = json!("Allow");
            }
            json!({"spec": spec})
        };
        let (path, kind) = (format!("{group}/{path}admissionpolicybindings"), format!("{kind}AdmissionPolicyBinding"));
        at.all(
            &path,
            &kind,
            &[
                ("plain", binding(Value::Null)),
                ("named", binding(json!({"name": "p"}))),
                ("placed", binding(json!({"name": "p", "namespace": "default"}))),
                ("selected", binding(json!({"selector": selector}))),
                ("selects-all", binding(json!({"selector": {}}))),
            ],
        )?;
    }
    Ok(())
}
