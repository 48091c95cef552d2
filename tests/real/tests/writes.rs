//! Writes through the host: each goes to the member that holds the object, and its answer says what watches show.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use orrery_harness::{Client, Cluster, ClusterSpec, Host, HostSpec, Lines, Response, eventually, start_all};
use orrery_real::{Kind, config_map, warnings};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(20);
const JSON: (&str, &str) = ("content-type", "application/json");
const MERGE: (&str, &str) = ("content-type", "application/merge-patch+json");
const JSON_PATCH: (&str, &str) = ("content-type", "application/json-patch+json");
const APPLY: (&str, &str) = ("content-type", "application/apply-patch+yaml");

/// Two members and the host over them.
fn two() -> Result<([Cluster; 2], Host)> {
    let clusters = start_all(["east", "west"].map(ClusterSpec::bare))?;
    let host = HostSpec::new().member(&clusters[0]).member(&clusters[1]).start()?;
    Ok((clusters, host))
}

fn maps() -> &'static str {
    Kind::ConfigMaps.in_default()
}

/// A ConfigMap that is to be made in `cluster`.
fn map_in(cluster: &str, name: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"orrery.dev/cluster": cluster}}, "data": {"value": "0"}})
}

fn send(client: &Client, method: &str, path: &str, kind: (&str, &str), body: &Value) -> Result<Response> {
    client.send(method, path, &[kind], body.to_string().as_bytes())
}

/// A write that every cluster takes.
fn written(client: &Client, method: &str, path: &str, kind: (&str, &str), body: &Value) -> Result<Value> {
    let answer = send(client, method, path, kind, body)?;
    ensure!(warnings(&answer).is_empty(), "{method} {path}: {:?}", warnings(&answer));
    answer.success()
}

fn version(object: &Value) -> &str {
    object["metadata"]["resourceVersion"].as_str().unwrap_or_default()
}

fn watch(client: &Client, path: &str) -> Result<Lines> {
    let head = client.json(path)?;
    client.lines(&format!("{path}?watch=true&resourceVersion={}", version(&head)))
}

fn next(watch: &mut Lines) -> Result<Value> {
    watch.next_json()?.context("the watch ended")
}

#[test]
fn the_answer_to_a_write_has_the_version_under_which_watches_show_it() -> Result<()> {
    let (clusters, host) = two()?;
    let (client, east) = (host.client()?, clusters[0].client()?);
    let mut events = watch(&client, maps())?;
    let path = config_map("a");
    let mut seen = |what: &str, kind: &str, answer: &Value| -> Result<()> {
        let event = next(&mut events)?;
        ensure!(
            event["type"] == kind && version(&event["object"]) == version(answer),
            "{what}: {event} is not {answer}"
        );
        let read = client.get(&path)?;
        if kind != "DELETED" {
            ensure!(read.success()? == *answer, "{what}: a GET is not what was answered: {answer}");
        }
        Ok(())
    };
    let created = client.create(maps(), &map_in("east", "a"))?;
    ensure!(created["metadata"]["labels"]["orrery.dev/cluster"] == "east", "{created}");
    let there = east.json(&path)?;
    ensure!(there["metadata"].get("labels").is_none(), "the stamp was written: {there}");
    seen("create", "ADDED", &created)?;

    let mut replaced = created.clone();
    replaced["data"]["value"] = "1".into();
    let answer = written(&client, "PUT", &path, JSON, &replaced)?;
    seen("update", "MODIFIED", &answer)?;
    let stale = send(&client, "PUT", &path, JSON, &replaced)?;
    ensure!(stale.status == 409 && stale.text().contains("\"reason\":\"Conflict\""), "{}", stale.text());
    let theirs = json!({"metadata": {"resourceVersion": version(&east.json(&path)?)}, "data": {"value": "x"}});
    ensure!(send(&client, "PATCH", &path, MERGE, &theirs)?.status == 409, "a member's version was taken");

    let lock = json!({"metadata": {"resourceVersion": version(&answer)}, "data": {"value": "2"}});
    let answer = written(&client, "PATCH", &path, MERGE, &lock)?;
    seen("merge patch", "MODIFIED", &answer)?;
    let unchanged = written(&client, "PATCH", &path, MERGE, &json!({"data": {"value": "2"}}))?;
    ensure!(version(&unchanged) == version(&answer), "a write that changed nothing has another version: {unchanged}");
    let tried = written(&client, "PATCH", &format!("{path}?dryRun=All"), MERGE, &json!({"data": {"value": "9"}}))?;
    ensure!(version(&tried) == version(&answer) && tried["data"]["value"] == "9", "{tried}");

    let steps = json!([
        {"op": "test", "path": "/metadata/resourceVersion", "value": version(&answer)},
        {"op": "add", "path": "/metadata/labels/x", "value": "y"}
    ]);
    let answer = written(&client, "PATCH", &path, JSON_PATCH, &steps)?;
    ensure!(answer["metadata"]["labels"]["x"] == "y", "{answer}");
    seen("JSON patch into a map that is the stamp's", "MODIFIED", &answer)?;
    let applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"applied": "z"}});
    let answer = written(&client, "PATCH", &format!("{path}?fieldManager=t"), APPLY, &applied)?;
    seen("apply", "MODIFIED", &answer)?;

    let wrong = json!({"preconditions": {"resourceVersion": version(&created)}});
    ensure!(send(&client, "DELETE", &path, JSON, &wrong)?.status == 409, "an old version was deleted");
    let right = json!({"preconditions": {"resourceVersion": version(&answer)}});
    let gone = written(&client, "DELETE", &path, JSON, &right)?;
    ensure!(gone["status"] == "Success" && gone["details"]["name"] == "a", "{gone}");
    ensure!(client.get(&path)?.status == 404, "it is still there after the answer");
    let event = next(&mut events)?;
    ensure!(event["type"] == "DELETED", "{event}");
    ensure!(east.get(&path)?.status == 404, "it is still there in the member");
    Ok(())
}

#[test]
fn names_of_one_member_alone_and_its_own_labels_are_translated_both_ways() -> Result<()> {
    let (clusters, host) = two()?;
    let (east, west) = (clusters[0].client()?, clusters[1].client()?);
    east.create(maps(), &json!({"metadata": {"name": "db"}}))?;
    let own = json!({"orrery.dev/cluster": "mine", "a": "b"});
    west.create(maps(), &json!({"metadata": {"name": "db", "labels": own}}))?;
    let client = host.client()?;
    let path = config_map("db.west");
    let mut shown = eventually("the second one is shown", SOON, || client.get(&path)?.success())?;
    ensure!(shown["metadata"]["labels"] == json!({"orrery.dev/cluster": "west", "a": "b"}), "{shown}");

    shown["data"] = json!({"x": "1"});
    let answer = written(&client, "PUT", &path, JSON, &shown)?;
    ensure!(answer["metadata"]["name"] == "db.west" && answer["data"]["x"] == "1", "{answer}");
    let there = west.json(&config_map("db"))?;
    ensure!(there["metadata"]["labels"] == own && there["data"]["x"] == "1", "its own label did not survive: {there}");
    let moved = send(&client, "PATCH", &path, MERGE, &json!({"metadata": {"labels": {"orrery.dev/cluster": "east"}}}))?;
    ensure!(moved.status == 422 && moved.text().contains("objects do not move"), "{}", moved.text());
    let removed =
        written(&client, "PATCH", &path, MERGE, &json!({"metadata": {"labels": {"orrery.dev/cluster": null}}}))?;
    ensure!(version(&removed) == version(&answer), "the stamp's removal was a change: {removed}");

    let taken = client.send("POST", maps(), &[JSON], json!({"metadata": {"name": "db"}}).to_string().as_bytes())?;
    ensure!(taken.status == 409 && taken.text().contains("AlreadyExists"), "{}", taken.text());
    written(&client, "DELETE", &config_map("db"), JSON, &json!({}))?;
    ensure!(
        east.get(&config_map("db"))?.status == 404 && west.get(&config_map("db"))?.status == 200,
        "the wrong one went"
    );
    let again = client.create(maps(), &map_in("west", "other"))?;
    ensure!(again["metadata"]["annotations"]["orrery.dev/cluster"] == "west", "{again}");
    let qualified = client.create(maps(), &map_in("east", "other"))?;
    ensure!(qualified["metadata"]["name"] == "other.east", "{qualified}");
    // The name of what is gone belongs to whoever makes it next.
    written(&client, "DELETE", &config_map("other"), JSON, &json!({}))?;
    let plain = client.create(maps(), &map_in("east", "new"))?;
    ensure!(plain["metadata"]["name"] == "new", "{plain}");
    written(&client, "DELETE", &config_map("new"), JSON, &json!({}))?;
    let plain = client.create(maps(), &map_in("west", "new"))?;
    ensure!(plain["metadata"]["name"] == "new", "the name was not free: {plain}");
    Ok(())
}

#[test]
fn names_of_other_objects_in_a_body_are_those_that_clients_see() -> Result<()> {
    let (clusters, host) = two()?;
    let [east, west] = [clusters[0].client()?, clusters[1].client()?];
    let client = host.client()?;
    let nodes = "/api/v1/nodes";
    for member in [&east, &west] {
        member.create(nodes, &json!({"metadata": {"name": "node-1"}}))?;
        member.create(maps(), &json!({"metadata": {"name": "db"}}))?;
        // The first to come has the plain name.
        let suffix = if std::ptr::eq(member, &west) { ".west" } else { "" };
        for path in [format!("{nodes}/node-1{suffix}"), config_map(&format!("db{suffix}"))] {
            eventually("the host shows it", SOON, || client.get(&path)?.success())?;
        }
    }
    let pods = Kind::Pods.in_default();
    let pod = |name: &str, more: Value| {
        let mut spec = json!({"containers": [{"name": "c", "image": "i"}]});
        if let Value::Object(more) = more {
            spec.as_object_mut().expect("it is an object").extend(more);
        }
        json!({"metadata": {"name": name}, "spec": spec})
    };
    // As `kubectl debug node/node-1.west` makes one.
    for (name, node, member, cluster) in
        [("of-west", "node-1.west", &west, "west"), ("of-east", "node-1", &east, "east")]
    {
        let made = client.create(pods, &pod(name, json!({"nodeName": node})))?;
        ensure!(made["metadata"]["labels"]["orrery.dev/cluster"] == cluster, "it went elsewhere: {made}");
        let there = member.json(&format!("{pods}/{name}"))?;
        ensure!(there["spec"]["nodeName"] == "node-1", "{there}");
        // What reads say can be written back.
        let mut shown = client.json(&format!("{pods}/{name}"))?;
        shown["metadata"]["labels"]["a"] = "b".into();
        written(&client, "PUT", &format!("{pods}/{name}"), JSON, &shown)?;
    }
    let mut unbound = pod("unbound", json!({}));
    unbound["metadata"]["labels"] = json!({"orrery.dev/cluster": "west"});
    client.create(pods, &unbound)?;
    let target = json!({"apiVersion": "v1", "kind": "Node", "name": "node-1.west"});
    client.create(&format!("{pods}/unbound/binding"), &json!({"metadata": {"name": "unbound"}, "target": target}))?;
    ensure!(west.json(&format!("{pods}/unbound"))?["spec"]["nodeName"] == "node-1", "bound to a node that is none");

    let about = json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "db.west"});
    let core =
        json!({"metadata": {"name": "core"}, "involvedObject": about, "reason": "R", "message": "m", "type": "Normal"});
    let newer = json!({
        "metadata": {"name": "newer"}, "regarding": about, "related": about, "reason": "R", "action": "A", "type": "Normal",
        "reportingController": "c", "reportingInstance": "i", "eventTime": "2026-01-01T00:00:00.000000Z"
    });
    let lists = ["/api/v1", "/apis/events.k8s.io/v1"].map(|version| format!("{version}/namespaces/default/events"));
    for (list, event) in lists.iter().zip([core, newer]) {
        let made = client.create(list, &event)?;
        ensure!(made["metadata"]["labels"]["orrery.dev/cluster"] == "west", "it went elsewhere: {made}");
    }
    let there = west.json(&lists[0])?;
    let names = |list: &Value, field: &str| -> BTreeSet<String> {
        let items = list["items"].as_array().cloned().unwrap_or_default();
        items.iter().map(|item| item[field]["name"].to_string()).collect()
    };
    ensure!(names(&there, "involvedObject") == BTreeSet::from(["\"db\"".to_owned()]), "{there}");
    // The other one's events are not this one's (`kubectl describe`, `kubectl events --for`).
    for (name, count) in [("db.west", 2), ("db", 0)] {
        let fields =
            format!("involvedObject.kind=ConfigMap,involvedObject.namespace=default,involvedObject.name={name}");
        let found = client.json(&format!("{}?fieldSelector={}", lists[0], fields.replace('=', "%3D")))?;
        ensure!(names(&found, "metadata").len() == count, "{name}: {found}");
    }
    Ok(())
}

#[test]
fn a_service_selects_pods_of_its_own_cluster_whether_it_says_so_or_not() -> Result<()> {
    let (clusters, host) = two()?;
    let (client, west) = (host.client()?, clusters[1].client()?);
    let services = "/api/v1/namespaces/default/services";
    let path = format!("{services}/web");
    // As `kubectl expose pod` makes it of a pod's labels, and as nobody says where it goes.
    let selector = json!({"app": "web", "orrery.dev/cluster": "west"});
    let service = json!({"metadata": {"name": "web"}, "spec": {"selector": selector, "ports": [{"port": 80}]}});
    let mut shown = written(&client, "POST", services, JSON, &service)?;
    ensure!(shown["metadata"]["labels"]["orrery.dev/cluster"] == "west", "it went elsewhere: {shown}");
    let selects = |expected: Value| -> Result<()> {
        for (side, client) in [("here", &client), ("there", &west)] {
            let found = client.json(&path)?;
            ensure!(found["spec"]["selector"] == expected, "{side}: {found}");
        }
        Ok(())
    };
    selects(json!({"app": "web"}))?;
    shown["spec"]["selector"] = json!({"app": "other", "orrery.dev/cluster": "west"});
    written(&client, "PUT", &path, JSON, &shown)?;
    selects(json!({"app": "other"}))?;
    let patch = |kind, body: Value| send(&client, "PATCH", &path, kind, &body);
    patch(MERGE, json!({"spec": {"selector": {"app": "web", "orrery.dev/cluster": "west"}}}))?.success()?;
    selects(json!({"app": "web"}))?;
    let key = "/spec/selector/orrery.dev~1cluster";
    patch(JSON_PATCH, json!([{"op": "add", "path": key, "value": "west"}]))?.success()?;
    selects(json!({"app": "web"}))?;
    // As kubectl applies a manifest once more that has the key.
    patch(MERGE, json!({"spec": {"selector": {"orrery.dev/cluster": "west"}}}))?.success()?;
    selects(json!({"app": "web"}))?;
    let replace = |selector: Value| json!([{"op": "replace", "path": "/spec/selector", "value": selector}]);
    for (kind, body, why) in [
        (MERGE, json!({"spec": {"selector": {"orrery.dev/cluster": "east"}}}), "is another cluster than west"),
        (JSON_PATCH, replace(json!({"orrery.dev/cluster": "west"})), "name a label"),
    ] {
        let answer = patch(kind, body)?;
        ensure!(answer.status == 422 && answer.text().contains(why), "{}", answer.text());
    }
    // What a member's own Service selects by is the member's.
    let own = json!({"app": "web", "orrery.dev/cluster": "mine"});
    west.create(services, &json!({"metadata": {"name": "own"}, "spec": {"selector": own, "ports": [{"port": 80}]}}))?;
    let path = format!("{services}/own");
    let mut shown = eventually("it is shown", SOON, || client.get(&path)?.success())?;
    shown["metadata"]["labels"] = json!({"a": "b"});
    written(&client, "PUT", &path, JSON, &shown)?;
    let there = west.json(&path)?;
    ensure!(there["spec"]["selector"] == own && there["metadata"]["labels"]["a"] == "b", "{there}");
    Ok(())
}

#[test]
fn a_namespace_is_written_in_every_member_that_holds_it() -> Result<()> {
    let (clusters, host) = two()?;
    let client = host.client()?;
    let spaces = "/api/v1/namespaces";
    let made = client.create(spaces, &json!({"metadata": {"name": "team"}}))?;
    ensure!(made["metadata"]["annotations"]["orrery.dev/clusters"] == "east,west", "{made}");
    let members = [clusters[0].client()?, clusters[1].client()?];
    for member in &members {
        member.json("/api/v1/namespaces/team")?;
    }
    ensure!(send(&client, "POST", spaces, JSON, &json!({"metadata": {"name": "team"}}))?.status == 409, "twice");
    let path = "/api/v1/namespaces/team";
    let mut shown = client.json(path)?;
    shown["metadata"]["labels"]["tier"] = "1".into();
    let answer = written(&client, "PUT", path, JSON, &shown)?;
    let answer = written(
        &client,
        "PATCH",
        path,
        MERGE,
        &json!({"metadata": {"resourceVersion": version(&answer), "annotations": {"x": "y"}}}),
    )?;
    ensure!(answer["metadata"]["labels"]["tier"] == "1", "{answer}");
    for member in &members {
        let there = member.json(path)?;
        ensure!(there["metadata"]["labels"]["tier"] == "1" && there["metadata"]["annotations"]["x"] == "y", "{there}");
        ensure!(there["metadata"]["labels"].get("orrery.dev/cluster").is_none(), "{there}");
    }
    // What is made in it may go anywhere, and a pin says where.
    let pin = json!({"metadata": {"labels": {"placement.orrery.dev/cluster": "west"}}});
    written(&client, "PATCH", path, MERGE, &pin)?;
    let pinned = client.create(&format!("{path}/configmaps"), &json!({"metadata": {"generateName": "g-"}}))?;
    ensure!(pinned["metadata"]["labels"]["orrery.dev/cluster"] == "west", "{pinned}");
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": pinned["metadata"]["name"], "uid": pinned["metadata"]["uid"]});
    let foreign =
        json!({"metadata": {"name": "o", "labels": {"orrery.dev/cluster": "east"}, "ownerReferences": [owner]}});
    let refused = send(&client, "POST", &format!("{path}/configmaps"), JSON, &foreign)?;
    ensure!(refused.status == 422 && refused.text().contains("is in cluster west"), "{}", refused.text());
    let deleted = written(&client, "DELETE", path, JSON, &json!({}))?;
    ensure!(deleted["status"]["phase"] == "Terminating" || deleted["status"] == "Success", "{deleted}");
    for member in &members {
        let there = member.get(path)?;
        ensure!(there.status == 404 || there.success()?["metadata"].get("deletionTimestamp").is_some(), "it stays");
    }
    Ok(())
}

#[test]
fn a_collection_is_deleted_in_all_clusters_that_the_selector_means() -> Result<()> {
    let (clusters, host) = two()?;
    let client = host.client()?;
    for (cluster, name) in [("east", "a"), ("east", "b"), ("west", "c"), ("west", "d")] {
        let mut map = map_in(cluster, name);
        map["metadata"]["labels"]["group"] = if name == "d" { "kept" } else { "gone" }.into();
        client.create(maps(), &map)?;
    }
    let delete = |selector: &str| -> Result<BTreeSet<String>> {
        let path = format!("{}?labelSelector={selector}", maps());
        let list = written(&client, "DELETE", &path, JSON, &json!({}))?;
        ensure!(list["kind"] == "ConfigMapList", "{list}");
        let names = list["items"].as_array().into_iter().flatten();
        Ok(names.filter_map(|item| item["metadata"]["name"].as_str().map(str::to_owned)).collect())
    };
    ensure!(delete("group%3Dgone,orrery.dev%2Fcluster%3Dwest")? == BTreeSet::from(["c".to_owned()]), "west's alone");
    ensure!(delete("group%3Dgone")? == BTreeSet::from(["a".to_owned(), "b".to_owned()]), "what is left of the group");
    let left = client.json(maps())?;
    let left: Vec<_> = left["items"].as_array().into_iter().flatten().map(|item| &item["metadata"]["name"]).collect();
    ensure!(left.contains(&&json!("d")) && !left.contains(&&json!("a")), "{left:?}");
    let refused = send(&client, "DELETE", "/api/v1/namespaces", JSON, &json!({}))?;
    ensure!(refused.status == 405, "{}", refused.text());
    clusters[1].pause()?;
    let partly = eventually("west is known to be away", SOON, || {
        let answer = send(&client, "DELETE", &format!("{}?labelSelector=group", maps()), JSON, &json!({}))?;
        ensure!(answer.status >= 500, "{}", answer.text());
        Ok(answer)
    })?;
    ensure!(partly.text().contains("cluster west"), "{}", partly.text());
    clusters[1].resume()
}

#[test]
fn a_write_to_a_member_that_is_away_is_503_and_names_it() -> Result<()> {
    let (mut clusters, host) = two()?;
    let client = host.client()?;
    for cluster in ["east", "west"] {
        client.create(maps(), &map_in(cluster, cluster))?;
    }
    clusters[1].kill_apiserver()?;
    let change = json!({"data": {"value": "1"}});
    let refused = eventually("a write is refused", SOON, || {
        let answer = send(&client, "PATCH", &config_map("west"), MERGE, &change)?;
        ensure!(answer.status == 503, "it was answered {}: {}", answer.status, answer.text());
        Ok(answer)
    })?;
    ensure!(refused.header("retry-after").is_some() && refused.text().contains("cluster west"), "{}", refused.text());
    written(&client, "PATCH", &config_map("east"), MERGE, &change)?;
    // What nothing ties to a cluster goes to one that answers.
    let placed = client.create(maps(), &json!({"metadata": {"name": "anywhere"}}))?;
    ensure!(placed["metadata"]["labels"]["orrery.dev/cluster"] == "east", "{placed}");
    let made = send(&client, "POST", "/api/v1/namespaces", JSON, &json!({"metadata": {"name": "half"}}))?;
    ensure!(made.status == 201, "{}", made.text());
    ensure!(warnings(&made).iter().any(|text| text.contains("cluster west did not take this")), "{:?}", made.headers);
    clusters[1].start_apiserver()?;
    let answer =
        eventually("west takes writes again", SOON, || written(&client, "PATCH", &config_map("west"), MERGE, &change))?;
    if answer["data"]["value"] != "1" {
        bail!("{answer}");
    }
    Ok(())
}

#[test]
fn reviews_are_answered_by_all_members() -> Result<()> {
    let (_clusters, host) = two()?;
    let client = host.client()?;
    let spec = json!({"resourceAttributes": {"verb": "create", "resource": "pods", "namespace": "default"}});
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec});
    let answer = written(&client, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", JSON, &review)?;
    ensure!(answer["status"]["allowed"] == true, "{answer}");
    let who = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let answer = written(&client, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", JSON, &who)?;
    ensure!(answer["status"]["userInfo"]["groups"].is_array(), "{answer}");
    Ok(())
}

#[test]
fn who_asks_to_be_somebody_else_is_refused() -> Result<()> {
    let cluster = ClusterSpec::bare("east").start()?;
    let host = HostSpec::new().member(&cluster).start()?;
    let client = host.client()?;
    let answer = client.send("GET", maps(), &[("impersonate-user", "nobody")], &[])?;
    ensure!(answer.status == 403 && answer.text().contains("does not impersonate"), "{}", answer.text());
    Ok(())
}

#[test]
fn what_nothing_ties_to_a_cluster_goes_where_taints_and_policies_say() -> Result<()> {
    let clusters = start_all(["east", "west"].map(ClusterSpec::bare))?;
    let folder = tempfile::tempdir()?;
    let stages = "[{stage: clusterSelector, params: {matchLabels: {orrery.dev/cluster: east}}}]";
    let policy = format!(
        "apiVersion: orrery.dev/v1alpha1\nkind: ClusterPlacementPolicy\nmetadata: {{name: p}}\nspec: {{selector: \
         {{resources: [secrets]}}, stages: {stages}}}\n"
    );
    std::fs::write(folder.path().join("p.yaml"), policy)?;
    let host = HostSpec::new()
        .member(&clusters[0])
        .member(&clusters[1])
        .flag("--cluster-taint=east:orrery.dev/maintenance=true:NoSchedule")
        .flag(format!("--extensions={}", folder.path().display()))
        .start()?;
    let client = host.client()?;
    let place = |path: &str, name: &str| -> Result<Value> {
        let made = client.create(path, &json!({"metadata": {"name": name}}))?;
        Ok(made["metadata"]["labels"]["orrery.dev/cluster"].clone())
    };
    ensure!(place(maps(), "kept-off")? == "west", "a cluster under maintenance got a new object");
    ensure!(place("/api/v1/namespaces/default/secrets", "by-policy")? == "east", "the policy was not asked");
    // A policy that leaves nothing says so.
    let nowhere = stages.replace("east", "nowhere");
    let policy = format!(
        "apiVersion: orrery.dev/v1alpha1\nkind: ClusterPlacementPolicy\nmetadata: {{name: q}}\nspec: {{selector: \
         {{resources: [serviceaccounts]}}, stages: {nowhere}}}\n"
    );
    std::fs::write(folder.path().join("q.yaml"), policy)?;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let mut at = 0;
    let refused = eventually("the new policy is asked", SOON, || {
        at += 1;
        let answer = send(&client, "POST", accounts, JSON, &json!({"metadata": {"name": format!("a{at}")}}))?;
        ensure!(answer.status == 422, "it was answered {}", answer.status);
        Ok(answer)
    })?;
    ensure!(
        refused.text().contains("east (clusterSelector:") && refused.text().contains("west ("),
        "{}",
        refused.text()
    );
    Ok(())
}

#[test]
fn an_object_that_is_the_answer_to_its_deletion_is_in_no_list_after_it() -> Result<()> {
    let (_clusters, host) = two()?;
    let client = host.client()?;
    let all = "/api/v1/namespaces/default/podtemplates";
    let mut events = watch(&client, all)?;
    for turn in 0..20 {
        let containers = json!([{"name": "c", "image": "c"}]);
        let body = json!({
            "metadata": {"name": "t", "labels": {"orrery.dev/cluster": "east"}},
            "template": {"spec": {"containers": containers}},
        });
        client.create(all, &body)?;
        let deleted = written(&client, "DELETE", &format!("{all}/t"), JSON, &json!({}))?;
        ensure!(deleted["kind"] == "PodTemplate", "{deleted}");
        let listed = client.json(all)?;
        ensure!(listed["items"] == json!([]), "turn {turn}: {listed}");
        ensure!(next(&mut events)?["type"] == "ADDED");
        let event = next(&mut events)?;
        ensure!(
            event["type"] == "DELETED" && version(&event["object"]) == version(&deleted),
            "{event} is not {deleted}"
        );
    }
    Ok(())
}
