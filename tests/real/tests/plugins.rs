//! Plugins and rules in CEL in a running host: edited, broken, swapped and rolled back while it serves.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use orrery_harness::{Client, Cluster, Host, Lines, eventually, repository};
use orrery_real::{Kind, extension, host_over_tiers, replace_file};
use serde_json::{Value, json};
use tempfile::TempDir;

const SOON: Duration = Duration::from_secs(30);

/// How long an unoptimised compiler may take for the component of CEL while others keep both cores busy.
const LOADED: Duration = Duration::from_secs(150);
const JSON: (&str, &str) = ("content-type", "application/json");

const STAGES: &str = "
apiVersion: orrery.dev/v1alpha1
kind: ClusterPlacementPolicy
metadata: {name: all}
spec:
  stages:
  - {stage: filter, celPolicy: maintenance}
";

/// Two members, the first of them under maintenance, and a host that reads `folder`, once it has loaded what is there.
fn host_over(folder: &TempDir) -> Result<([Cluster; 2], Host)> {
    let taint = "--cluster-taint=east:maintenance.orrery.dev/upgrade=true:NoSchedule";
    let (clusters, host) = host_over_tiers(folder.path(), &[taint])?;
    let client = host.client()?;
    // Where nothing was compiled before, the component of CEL takes longer than a create waits.
    eventually("what the folder has is loaded", LOADED, || {
        let all = client.json("/orrery/v1/extensions")?;
        let is_loading = |extension: &Value| extension["state"] == "Loading";
        ensure!(!all["extensions"].as_array().into_iter().flatten().any(is_loading), "{all}");
        Ok(())
    })?;
    Ok((clusters, host))
}

fn shipped(policy: &str) -> Result<String> {
    Ok(fs::read_to_string(repository().join("policies").join(policy))?)
}

/// Makes a ConfigMap that nothing ties to a cluster; the cluster that it went to.
fn placed(client: &Client, name: &str) -> Result<String> {
    orrery_real::placed(client, name, &json!({}))
}

fn is(client: &Client, name: &str, state: &str) -> Result<Value> {
    let status = extension(client, name)?;
    ensure!(status["state"] == state, "{status}");
    Ok(status)
}

#[test]
fn a_rule_decides_the_next_create_and_a_broken_one_never_does() -> Result<()> {
    let folder = tempfile::tempdir()?;
    replace_file(folder.path(), "stages.yaml", STAGES)?;
    replace_file(folder.path(), "maintenance.yaml", shipped("maintenance.yaml")?)?;
    let (_clusters, mut host) = host_over(&folder)?;
    let client = host.client()?;
    ensure!(placed(&client, "kept-off")? == "west", "a cluster under maintenance got new work");
    is(&client, "CelPolicy/maintenance", "Serving")?;

    replace_file(
        folder.path(),
        "maintenance.yaml",
        shipped("maintenance.yaml")?.replace("cluster.taints.filter", "cluster.tants.filter"),
    )?;
    let stale = eventually("the broken rule is refused", SOON, || is(&client, "CelPolicy/maintenance", "Stale"))?;
    let reason = stale["refusal"]["reason"].as_str().unwrap_or_default();
    ensure!(reason.contains("tants") && reason.contains("did you mean"), "{reason}");
    ensure!(placed(&client, "still-kept-off")? == "west", "a rule that does not serve decided");

    // A rule whose tests fail does not serve either, and after a restart what served last does.
    replace_file(
        folder.path(),
        "maintenance.yaml",
        shipped("maintenance.yaml")?.replace("kept: [west, bare]", "kept: [east]"),
    )?;
    eventually("the failing test is named", SOON, || {
        let stale = is(&client, "CelPolicy/maintenance", "Stale")?;
        let reason = stale["refusal"]["reason"].as_str().unwrap_or_default();
        ensure!(stale["refusal"]["step"] == "self-test" && reason.contains("new work stays off"), "{stale}");
        Ok(())
    })?;
    host.kill9()?;
    host.restart()?;
    let client = host.client()?;
    ensure!(placed(&client, "after-the-restart")? == "west", "after a restart the last good rule does not serve");
    is(&client, "CelPolicy/maintenance", "Stale")?;

    // Its tests are of its own params, so they go with them.
    let rule = shipped("maintenance.yaml")?;
    let rule = rule.split("  tests:").next().context("it is empty")?.replace("prefix: maintenance", "prefix: other");
    replace_file(folder.path(), "maintenance.yaml", rule)?;
    let mut at = 0;
    eventually("the edited rule decides", SOON, || {
        at += 1;
        ensure!(placed(&client, &format!("let-in-{at}"))? == "east", "east is kept off");
        Ok(())
    })
}

#[test]
fn a_component_that_is_dropped_into_the_folder_scores_and_the_next_one_replaces_it() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let scorer = fs::read(repository().join("plugins/example-scorer/example-scorer.wasm"))?;
    replace_file(folder.path(), "prefer.wasm", &scorer)?;
    let plugin = |label: &str, weights: &str| {
        format!(
            "apiVersion: orrery.dev/v1alpha1\nkind: Plugin\nmetadata: {{name: prefer}}\nspec:\n  component: {{path: prefer.wasm}}\n  \
             params: {{{label}: tier, weights: {weights}}}\n---\napiVersion: orrery.dev/v1alpha1\nkind: ClusterPlacementPolicy\n\
             metadata: {{name: all}}\nspec:\n  stages: [{{stage: score, plugin: prefer}}]\n"
        )
    };
    replace_file(folder.path(), "prefer.yaml", plugin("label", "{gold: 100}"))?;
    let (_clusters, mut host) = host_over(&folder)?;
    let client = host.client()?;
    ensure!(placed(&client, "to-gold")? == "east", "the label was not preferred");
    let first = is(&client, "Plugin/prefer", "Serving")?["generation"]["number"].clone();

    replace_file(folder.path(), "prefer.yaml", plugin("label", "{silver: 100}"))?;
    let mut at = 0;
    eventually("the new params decide", SOON, || {
        at += 1;
        ensure!(placed(&client, &format!("from-gold-{at}"))? == "west", "gold is still preferred");
        Ok(())
    })?;
    ensure!(
        extension(&client, "Plugin/prefer")?["generation"]["number"].as_u64() > first.as_u64(),
        "it is the same generation"
    );

    // Half a component, and params that it does not take, change nothing.
    replace_file(folder.path(), "prefer.wasm", &scorer[..scorer.len() / 2])?;
    replace_file(folder.path(), "prefer.yaml", plugin("lable", "{silver: 100}"))?;
    eventually("the wrong params are refused", SOON, || is(&client, "Plugin/prefer", "Stale"))?;
    ensure!(placed(&client, "as-before")? == "west", "what does not serve decided");

    let back = client.send("POST", "/orrery/v1/extensions/Plugin/prefer/rollback", &[JSON], b"")?.success()?;
    ensure!(back["generation"]["number"] == first, "{back}");
    ensure!(placed(&client, "rolled-back")? == "east", "the generation before does not decide");

    // What was rolled back is what the files ask for again, and stays out; also after a restart.
    replace_file(folder.path(), "prefer.wasm", &scorer)?;
    replace_file(folder.path(), "prefer.yaml", plugin("label", "{silver: 100}"))?;
    eventually("what was rolled back is refused", SOON, || {
        let status = is(&client, "Plugin/prefer", "Stale")?;
        ensure!(status["refusal"]["reason"] == "it was rolled back by hand", "{status}");
        Ok(())
    })?;
    host.kill9()?;
    host.restart()?;
    let client = host.client()?;
    ensure!(placed(&client, "still-rolled-back")? == "east", "what was rolled back decides after a restart");
    is(&client, "Plugin/prefer", "Stale")?;
    Ok(())
}

#[test]
fn what_users_ask_of_plugins_is_printed() -> Result<()> {
    let folder = tempfile::tempdir()?;
    replace_file(folder.path(), "stages.yaml", STAGES)?;
    replace_file(folder.path(), "maintenance.yaml", shipped("maintenance.yaml")?)?;
    let (_clusters, host) = host_over(&folder)?;
    let client = host.client()?;
    placed(&client, "a")?;
    let run = |args: &[&str]| -> Result<String> {
        let output = host.command(args)?.output()?;
        Ok([output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat())
    };
    let listed = run(&["plugin", "list"])?;
    ensure!(listed.lines().any(|line| line.starts_with("CelPolicy   maintenance   Serving   1 ")), "{listed}");
    let shown = run(&["plugin", "show", "maintenance", "--cel"])?;
    ensure!(shown.contains("generation 1") && shown.contains("placement-filter"), "{shown}");

    let object = folder.path().join("object.json");
    fs::write(&object, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}).to_string())?;
    let object = object.to_str().context("the path is no text")?;
    let place = run(&["place", "--dry-run", "-f", object])?;
    ensure!(place.starts_with("configmaps default/b goes to west\nby ClusterPlacementPolicy all\n"), "{place}");
    ensure!(place.contains("filter by CelPolicy maintenance: the cluster is under maintenance"), "{place}");
    ensure!(client.get("/api/v1/namespaces/default/configmaps/b")?.status == 404, "a dry run made it");

    let policies = repository().join("policies");
    for entry in fs::read_dir(policies)? {
        let path = entry?.path();
        let tried = run(&["policy", "test", path.to_str().context("the path is no text")?])?;
        ensure!(tried.contains("would serve, "), "{}: {tried}", path.display());
    }
    let scorer = repository().join("plugins/example-scorer/example-scorer.wasm");
    let checked = run(&["plugin", "check", scorer.to_str().context("the path is no text")?])?;
    ensure!(checked.starts_with("example-scorer: would serve, 3 cases passed"), "{checked}");
    let missing = run(&["plugin", "show", "nobody"])?;
    ensure!(missing.contains("there is no Plugin nobody"), "{missing}");
    Ok(())
}

#[test]
fn what_something_outside_says_of_clusters_counts() -> Result<()> {
    let folder = tempfile::tempdir()?;
    replace_file(folder.path(), "stages.yaml", STAGES.replace("celPolicy: maintenance", "celPolicy: cheap"))?;
    let rule = "apiVersion: orrery.dev/v1alpha1\nkind: CelPolicy\nmetadata: {name: cheap}\nspec:\n  target: {stage: filter}\n  \
                expressions:\n  - {name: cheap, expression: \"has(cluster.scores.cost) && cluster.scores.cost.value < 10\"}\n";
    replace_file(folder.path(), "cheap.yaml", rule)?;
    let (_clusters, host) = host_over(&folder)?;
    let client = host.client()?;
    let score = |cluster: &str, value: i64| {
        let score = json!([{"cluster": cluster, "name": "cost", "value": value}]);
        client.send("POST", "/orrery/v1/scores", &[JSON], score.to_string().as_bytes())
    };
    score("east", 5)?.success()?;
    score("west", 50)?.success()?;
    ensure!(placed(&client, "a")? == "east", "the cheap cluster was not taken");
    score("east", 50)?.success()?;
    score("west", 5)?.success()?;
    ensure!(placed(&client, "b")? == "west", "the last word does not count");
    let unknown = score("nowhere", 5)?;
    ensure!(unknown.status == 400 && unknown.text().contains("no cluster is called nowhere"), "{}", unknown.text());
    Ok(())
}

/// Names of what a list shows.
fn names(list: &Value) -> BTreeSet<&str> {
    list["items"].as_array().into_iter().flatten().filter_map(|item| item["metadata"]["name"].as_str()).collect()
}

/// The next event: its type, and the object's name and value.
fn told(events: &mut Lines) -> Result<String> {
    let event = events.next_json()?.context("the watch ended")?;
    let object = &event["object"];
    let words = [&event["type"], &object["metadata"]["name"], &object["data"]["value"]];
    Ok(words.map(|text| text.as_str().unwrap_or_default()).join(" "))
}

#[test]
fn virtual_labels_select_in_lists_and_watches_until_the_rule_changes() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let rule = |expression: &str| {
        format!(
            "apiVersion: orrery.dev/v1alpha1\nkind: CelPolicy\nmetadata: {{name: sizes}}\nspec:\n  target: {{stage: virtual-label, \
             resources: [configmaps]}}\n  expressions:\n  - {{name: size, expression: \"{expression}\"}}\n"
        )
    };
    let by_value = "has(object.data) && has(object.data.value) && int(object.data.value) > 10 ? 'large' : 'small'";
    replace_file(folder.path(), "sizes.yaml", rule(by_value))?;
    let (_clusters, host) = host_over(&folder)?;
    let client = host.client()?;
    let maps = Kind::ConfigMaps.in_default();
    let make = |name: &str, cluster: &str, value: &str| -> Result<()> {
        let labels = json!({"orrery.dev/cluster": cluster, "of": "test"});
        let map = json!({"metadata": {"name": name, "labels": labels}, "data": {"value": value}});
        client.create(maps, &map).map(drop)
    };
    make("a", "east", "5")?;
    make("b", "west", "50")?;
    make("c", "west", "7")?;
    let large = format!("{maps}?labelSelector=of%3Dtest,labels.orrery.dev/size%3Dlarge");
    let small = format!("{maps}?labelSelector=of%3Dtest,labels.orrery.dev/size%21%3Dlarge&limit=1");
    ensure!(names(&client.json(&large)?) == BTreeSet::from(["b"]), "{}", client.json(&large)?);
    let page = client.json(&small)?;
    let next = format!("{small}&continue={}", page["metadata"]["continue"].as_str().context("there is one page")?);
    ensure!(client.get(&next)?.status == 200, "the next page is not there");

    let mut events = client.lines(&format!(
        "{large}&watch=true&resourceVersion={}",
        client.json(&large)?["metadata"]["resourceVersion"].as_str().unwrap_or_default()
    ))?;
    let set = |name: &str, value: &str| -> Result<()> {
        let patch = json!({"data": {"value": value}}).to_string();
        let kind = ("content-type", "application/merge-patch+json");
        client.send("PATCH", &format!("{maps}/{name}"), &[kind], patch.as_bytes())?.success().map(drop)
    };
    set("a", "11")?;
    set("a", "12")?;
    set("b", "1")?;
    set("c", "8")?;
    set("a", "3")?;
    for wanted in ["ADDED a 11", "MODIFIED a 12", "DELETED b 50", "DELETED a 12"] {
        ensure!(told(&mut events)? == wanted, "it is not {wanted}");
    }

    // Members do not know such labels: to send them on would delete everything that has none.
    let delete = |selector: &str, options: &Value| -> Result<Value> {
        let path = format!("{maps}?labelSelector=of%3Dtest,labels.orrery.dev/size{selector}");
        client.send("DELETE", &path, &[JSON], options.to_string().as_bytes())?.success()
    };
    set("b", "90")?;
    let tried = delete("%3Dlarge", &json!({"dryRun": ["All"]}))?;
    ensure!(names(&tried) == BTreeSet::from(["b"]), "{tried}");
    let gone = delete("%3Dlarge", &json!({"kind": "DeleteOptions", "apiVersion": "v1"}))?;
    ensure!(names(&gone) == BTreeSet::from(["b"]), "{gone}");
    ensure!(names(&client.json(&format!("{maps}?labelSelector=of%3Dtest"))?) == BTreeSet::from(["a", "c"]));
    for wanted in ["ADDED b 90", "DELETED b 90"] {
        ensure!(told(&mut events)? == wanted, "it is not {wanted}");
    }

    // Another rule selects others: what was selected has to be listed anew, pages too.
    replace_file(folder.path(), "sizes.yaml", rule("'large'"))?;
    let event = events.next_json()?.context("the watch ended without a word")?;
    ensure!(event["type"] == "ERROR" && event["object"]["code"] == 410, "{event}");
    ensure!(names(&client.json(&large)?) == BTreeSet::from(["a", "c"]), "{}", client.json(&large)?);
    ensure!(client.get(&next)?.status == 410, "a page of another rule was served");
    let none = client.get(&format!("{}?labelSelector=labels.orrery.dev/size", Kind::Pods.everywhere()))?;
    ensure!(none.status == 400 && none.text().contains("no extension gives labels to pods"), "{}", none.text());
    Ok(())
}
