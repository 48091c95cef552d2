use super::*;

fn info(method: &str, uri: &str) -> RequestInfo {
    RequestInfo::new(&method.parse().unwrap(), &uri.parse().unwrap())
}

/// A target in one line: `verb resource ns=… name=… sub=…`.
fn seen(method: &str, uri: &str) -> String {
    match info(method, uri).target {
        Target::Resource(request) => {
            let ResourceRequest { verb, gvr, namespace, name, subresource } = request;
            let name = name.unwrap_or_default();
            let sub = subresource.map(|sub| format!("{}|{}", sub.name, sub.rest)).unwrap_or_default();
            format!("{} {gvr} ns={namespace} name={name} sub={sub}", verb.as_str())
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn paths_mean_what_they_mean_upstream() {
    for (method, uri, expected) in [
        ("GET", "/api/v1/namespaces", "list namespaces.v1 ns= name= sub="),
        ("GET", "/api/v1/namespaces/other", "get namespaces.v1 ns= name=other sub="),
        ("GET", "/api/v1/namespaces/other/pods", "list pods.v1 ns=other name= sub="),
        ("GET", "/api/v1/namespaces/other/pods/foo", "get pods.v1 ns=other name=foo sub="),
        ("HEAD", "/api/v1/namespaces/other/pods/foo", "get pods.v1 ns=other name=foo sub="),
        ("GET", "/api/v1/pods", "list pods.v1 ns= name= sub="),
        ("GET", "/api/v1/pods/", "list pods.v1 ns= name= sub="),
        ("GET", "/api/v1/pods?watch=true", "watch pods.v1 ns= name= sub="),
        ("GET", "/api/v1/pods?watch", "watch pods.v1 ns= name= sub="),
        ("GET", "/api/v1/pods?watch=0", "list pods.v1 ns= name= sub="),
        ("GET", "/api/v1/watch/pods", "watch pods.v1 ns= name= sub="),
        ("GET", "/api/v1/watch/namespaces/other/pods/foo", "watch pods.v1 ns=other name=foo sub="),
        ("GET", "/api/v1/watch/namespaces/other", "watch namespaces.v1 ns= name=other sub="),
        ("GET", "/api/v1/watch/namespaces/other/pods/foo/log", "watch pods.v1 ns=other name=foo sub=log|"),
        ("GET", "/apis/apps/v1/watch/deployments", "watch deployments.v1.apps ns= name= sub="),
        ("POST", "/api/v1/watch/pods", "other pods.v1 ns= name= sub="),
        ("GET", "/api/v1/namespaces/other/pods/foo/log", "get pods.v1 ns=other name=foo sub=log|"),
        ("POST", "/api/v1/namespaces/other/pods/foo/proxy/a/b", "create pods.v1 ns=other name=foo sub=proxy|a/b"),
        ("PUT", "/api/v1/namespaces/other/finalize", "update namespaces.v1 ns= name=other sub=finalize|"),
        ("GET", "/api/v1/namespaces/other/status", "get namespaces.v1 ns= name=other sub=status|"),
        ("DELETE", "/api/v1/namespaces/other/pods", "deletecollection pods.v1 ns=other name= sub="),
        ("DELETE", "/apis/apps/v1/namespaces/o/deployments/d", "delete deployments.v1.apps ns=o name=d sub="),
        ("PATCH", "/apis/apps/v1/namespaces/o/deployments/d/scale", "patch deployments.v1.apps ns=o name=d sub=scale|"),
        ("OPTIONS", "/api/v1/pods", "other pods.v1 ns= name= sub="),
        ("GET", "/api/v1/namespaces/o/pods/a%2Fb", "get pods.v1 ns=o name=a sub=b|"),
        ("GET", "/api", "CoreVersions"),
        ("GET", "/apis/", "Groups"),
        ("GET", "/apis/apps", "Group(\"apps\")"),
        ("GET", "/apis/apps/v1", "GroupVersion(\"apps\", \"v1\")"),
        ("GET", "/api/v1/", "GroupVersion(\"\", \"v1\")"),
        ("GET", "/clusters/east/api/v1/pods?x=y", "Cluster(\"east\", \"/api/v1/pods\")"),
        ("GET", "/clusters/east/a%2Fb/", "Cluster(\"east\", \"/a%2Fb/\")"),
        ("GET", "/clusters/east", "Cluster(\"east\", \"/\")"),
        ("GET", "/orrery/v1/status", "Own(\"status\")"),
        ("GET", "/", "Other"),
        ("GET", "/version", "Other"),
    ] {
        assert_eq!(seen(method, uri), expected, "{method} {uri}");
    }
}

#[test]
fn a_request_on_no_resource_has_its_method_as_verb() {
    assert_eq!(info("GET", "/version").verb(), "get");
    assert_eq!(info("POST", "/clusters/a/b").verb(), "post");
    assert_eq!(info("GET", "/api/v1/pods").verb(), "list");
}
