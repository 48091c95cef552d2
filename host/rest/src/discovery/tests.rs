use std::sync::Arc;

use expect_test::expect;
use http_body_util::BodyExt as _;
use orrery_api::Gvr;
use orrery_fleet::{Discovery, Group, GroupVersion, Gvk, ResourceInfo, Subresource};

use super::*;

fn texts(all: &str) -> Vec<Arc<str>> {
    all.split_whitespace().map(Arc::from).collect()
}

/// `plural/Kind/verbs[/subresources]` of one group and version.
fn resource(group: &str, version: &str, text: &str) -> ResourceInfo {
    let parts: Vec<_> = text.split('/').collect();
    let gvk = |kind: &str| Gvk { group: group.into(), version: version.into(), kind: kind.into() };
    let subresources = parts.get(3).copied().unwrap_or_default();
    ResourceInfo {
        gvr: Gvr::new(group, version, parts[0]),
        kind: parts[1].into(),
        singular: parts[1].to_lowercase().into(),
        short_names: texts(&parts[0][..2]),
        categories: Vec::new(),
        namespaced: true,
        verbs: texts(parts[2]),
        subresources: texts(subresources)
            .into_iter()
            .map(|name| Subresource { name, gvk: gvk(parts[1]), verbs: texts("get") })
            .collect(),
        raw: Bytes::from(format!(r#"{{"raw":"{}"}}"#, parts[0])),
    }
}

fn discovery(versions: &[(&str, &str, &[&str])]) -> Discovery {
    let mut groups: Vec<Group> = Vec::new();
    for (group, version, resources) in versions {
        let resources = resources.iter().map(|text| resource(group, version, text)).collect();
        let version = GroupVersion { version: (*version).into(), resources };
        match groups.iter_mut().find(|known| &*known.name == *group) {
            Some(known) => known.versions.push(version),
            None => groups.push(Group { name: (*group).into(), versions: vec![version] }),
        }
    }
    Discovery { groups }
}

fn documents() -> Documents {
    let east = discovery(&[
        ("", "v1", &["pods/Pod/get list watch/status"]),
        ("apps", "v1", &["deployments/Deployment/get list watch"]),
    ]);
    let west = discovery(&[
        ("apps", "v1beta1", &["deployments/Deployment/list"]),
        ("apps", "v2", &["deployments/Deployment/list"]),
        ("example.com", "v1", &["widgets/Widget/list watch"]),
        ("", "v1", &["pods/Pod/get list watch delete/status log"]),
    ]);
    Documents::new(Catalog::union([&east, &west].into_iter()))
}

fn headers(all: &[(http::HeaderName, &str)]) -> HeaderMap {
    all.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect()
}

async fn body(response: Response<Body>) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

async fn legacy_of(entry: Entry) -> String {
    body(documents().entry(entry, &HeaderMap::new(), "127.0.0.1:6443", Encoding::default()).unwrap()).await
}

#[tokio::test]
async fn aggregated_discovery_is_the_union_in_priority_order() {
    let accept = headers(&[(ACCEPT, AGGREGATED_TYPE)]);
    let answer = documents().entry(Entry::Groups, &accept, "", Encoding::default()).unwrap();
    assert_eq!(answer.headers()[CONTENT_TYPE], AGGREGATED_TYPE);
    assert_eq!(answer.headers()[VARY], "Accept");
    assert_eq!(answer.headers()[CACHE_CONTROL], "public");
    expect![[r#"
        {"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[{"metadata":{"name":"apps"},"versions":[{"version":"v2","resources":[{"raw":"deployments"}],"freshness":"Current"},{"version":"v1","resources":[{"raw":"deployments"}],"freshness":"Current"},{"version":"v1beta1","resources":[{"raw":"deployments"}],"freshness":"Current"}]},{"metadata":{"name":"example.com"},"versions":[{"version":"v1","resources":[{"raw":"widgets"}],"freshness":"Current"}]}]}
    "#]]
    .assert_eq(&body(answer).await);
}

#[tokio::test]
async fn verbs_and_subresources_that_only_a_later_member_has_are_added() {
    let accept = headers(&[(ACCEPT, AGGREGATED_TYPE)]);
    let answer = documents().entry(Entry::Core, &accept, "", Encoding::default()).unwrap();
    let parsed: serde_json::Value = serde_json::from_str(&body(answer).await).unwrap();
    let pods = &parsed["items"][0]["versions"][0]["resources"][0];
    assert_eq!(pods["verbs"], serde_json::json!(["get", "list", "watch", "delete"]));
    assert_eq!(pods["subresources"][1]["subresource"], "log");
    assert_eq!(pods["responseKind"], serde_json::json!({"group": "", "version": "v1", "kind": "Pod"}));
}

#[tokio::test]
async fn who_has_the_document_already_gets_304() {
    let first =
        documents().entry(Entry::Core, &headers(&[(ACCEPT, AGGREGATED_TYPE)]), "", Encoding::default()).unwrap();
    let tag = first.headers()[ETAG].to_str().unwrap().to_owned();
    assert_eq!(tag.len(), 130);
    assert_eq!(tag, tag.to_uppercase());
    let again = headers(&[(ACCEPT, AGGREGATED_TYPE), (IF_NONE_MATCH, &tag)]);
    let answer = documents().entry(Entry::Core, &again, "", Encoding::default()).unwrap();
    assert_eq!(answer.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(body(answer).await, "");
}

#[tokio::test]
async fn legacy_discovery_says_the_same_in_parts() {
    expect![[r#"
        {"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":"127.0.0.1:6443"}]}
    "#]]
    .assert_eq(&legacy_of(Entry::Core).await);
    expect![[r#"
        {"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"apps","versions":[{"groupVersion":"apps/v2","version":"v2"},{"groupVersion":"apps/v1","version":"v1"},{"groupVersion":"apps/v1beta1","version":"v1beta1"}],"preferredVersion":{"groupVersion":"apps/v2","version":"v2"}},{"name":"example.com","versions":[{"groupVersion":"example.com/v1","version":"v1"}],"preferredVersion":{"groupVersion":"example.com/v1","version":"v1"}}]}
    "#]]
    .assert_eq(&legacy_of(Entry::Groups).await);
    let documents = documents();
    let core = documents.group_version("", "v1", &HeaderMap::new(), Encoding::default()).unwrap().unwrap();
    expect![[r#"
        {"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["get","list","watch","delete"],"shortNames":["po"]},{"name":"pods/status","singularName":"","namespaced":true,"kind":"Pod","verbs":["get"]},{"name":"pods/log","singularName":"","namespaced":true,"kind":"Pod","verbs":["get"]}]}
    "#]]
    .assert_eq(&body(core).await);
    assert!(documents.group("nobody.serves.it", &HeaderMap::new(), Encoding::default()).is_none());
    assert!(documents.group_version("apps", "v9", &HeaderMap::new(), Encoding::default()).is_none());
}

#[test]
fn a_resource_is_found_by_what_people_type() {
    let documents = documents();
    let found = |text: &str| documents.catalog.resolve(text).map(|info| info.gvr.to_string()).unwrap_or_default();
    for (text, expected) in [
        ("pods", "pods.v1"),
        ("Pod", "pods.v1"),
        ("po", "pods.v1"),
        ("deployments", "deployments.v2.apps"),
        ("deployments.apps", "deployments.v2.apps"),
        ("deployments.v1.apps", "deployments.v1.apps"),
        ("pods.v1", "pods.v1"),
        ("widgets.example.com", "widgets.v1.example.com"),
        ("widgets.example", "widgets.v1.example.com"),
        ("widgets.apps", ""),
        ("nothing", ""),
    ] {
        assert_eq!(found(text), expected, "{text:?}");
    }
}
