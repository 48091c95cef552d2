//! Tables of the host against those of kube-apiserver for the same objects: every column and every cell.

#[path = "tables/objects.rs"]
mod objects;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use orrery_harness::{Client, ClusterSpec, HostSpec, eventually};
use serde_json::Value;

/// Ages differ while a second turns, and a new object is a moment away; what is wrong stays wrong.
const SOON: Duration = Duration::from_secs(20);

fn table(client: &Client, path: &str) -> Result<Value> {
    let accept = [("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")];
    let table = client.send("GET", path, &accept, b"")?.success()?;
    ensure!(table["kind"] == "Table", "{path} is answered with a {}", table["kind"]);
    Ok(table)
}

fn list<'t>(table: &'t Value, field: &str) -> Result<&'t [Value]> {
    table[field].as_array().map(Vec::as_slice).with_context(|| format!("a table has {field}"))
}

/// Takes the CLUSTER column out, and gives the cells that stood in it.
fn take_cluster(table: &mut Value) -> Result<Vec<Value>> {
    let columns = table["columnDefinitions"].as_array_mut().context("a table has columns")?;
    let at = columns.iter().position(|column| column["name"] == "Cluster").context("the host's table has CLUSTER")?;
    ensure!(columns[at]["priority"] == 0 && columns[at + 1..].iter().all(|later| later["priority"] != 0));
    ensure!(at > 0 && columns[at - 1]["priority"] == 0, "CLUSTER is the last column that is always shown");
    columns.remove(at);
    let rows = table["rows"].as_array_mut().context("a table has rows")?;
    let cells = |row: &mut Value| row["cells"].as_array_mut().map(|cells| cells.remove(at)).context("a row has cells");
    rows.iter_mut().map(cells).collect()
}

fn same_columns(host: &Value, member: &Value) -> Result<()> {
    let (host, member) = (list(host, "columnDefinitions")?, list(member, "columnDefinitions")?);
    ensure!(host.len() == member.len(), "columns: host {host:?}\nmember {member:?}");
    for (ours, theirs) in host.iter().zip(member) {
        for key in ["name", "type", "format", "priority"] {
            ensure!(ours[key] == theirs[key], "{key} of a column: host {ours}, member {theirs}");
        }
        // Descriptions are the host's own words.
        ensure!(ours["description"].as_str().is_some_and(|text| !text.is_empty()), "no description: {ours}");
    }
    Ok(())
}

/// All rows in their order, with their cells and conditions.
fn same_rows(host: &Value, member: &Value) -> Result<()> {
    let (host, member) = (list(host, "rows")?, list(member, "rows")?);
    ensure!(host.len() == member.len(), "the host has {} rows, the member {}", host.len(), member.len());
    for (ours, theirs) in host.iter().zip(member) {
        let name = &theirs["object"]["metadata"]["name"];
        let uids = [ours, theirs].map(|row| &row["object"]["metadata"]["uid"]);
        ensure!(uids[0] == uids[1], "the member has {name} where the host has {}", ours["object"]["metadata"]["name"]);
        ensure!(ours["cells"] == theirs["cells"], "{name}: host {}\nmember {}", ours["cells"], theirs["cells"]);
        let conditions = (ours.get("conditions"), theirs.get("conditions"));
        ensure!(conditions.0 == conditions.1, "conditions of {name}: {conditions:?}");
    }
    Ok(())
}

/// The table at `path` of host and member, equal in every column and cell; the member's.
fn same_table(host: &Client, member: &Client, path: &str) -> Result<Value> {
    let (mut ours, theirs) = (table(host, path)?, table(member, path)?);
    let clusters = take_cluster(&mut ours)?;
    ensure!(clusters.iter().all(|cluster| cluster == "east"), "CLUSTER says {clusters:?}");
    same_columns(&ours, &theirs)?;
    same_rows(&ours, &theirs)?;
    Ok(theirs)
}

/// The list at `path`, and the last of its objects alone.
fn same_tables(host: &Client, member: &Client, path: &str) -> Result<()> {
    let listed = same_table(host, member, path)?;
    let last = list(&listed, "rows")?.last().context("there is nothing to compare")?;
    let metadata = &last["object"]["metadata"];
    let name = metadata["name"].as_str().context("an object has a name")?;
    let (root, resource) = path.rsplit_once('/').context("a path has parts")?;
    let one = match metadata["namespace"].as_str() {
        Some(namespace) => format!("{root}/namespaces/{namespace}/{resource}/{name}"),
        None => format!("{path}/{name}"),
    };
    same_table(host, member, &one).map(drop)
}

#[test]
fn every_cell_is_what_kube_apiserver_prints() -> Result<()> {
    // Custom resources kept as CBOR are printed by a type of number that their JSON does not tell.
    let everything =
        ["--runtime-config=api/all=true", "--feature-gates=AllAlpha=true,AllBeta=true,CBORServingAndStorage=false"];
    let bare = ClusterSpec::bare("east");
    let east = everything.into_iter().fold(bare, ClusterSpec::apiserver_flag).start()?;
    let member = east.client()?;
    let lists = objects::make(&member)?;
    let host = HostSpec::new().member(&east).start()?;
    let client = host.client()?;
    let wrong = |path: &String| eventually(path, SOON, || same_tables(&client, &member, path)).err();
    let wrong: Vec<_> = lists.iter().filter_map(wrong).map(|error| format!("{error:#}")).collect();
    ensure!(wrong.is_empty(), "{} of {} lists are not printed alike:\n{}", wrong.len(), lists.len(), wrong.join("\n"));
    Ok(())
}
