use anyhow::{Context, Result, ensure};
use orrery_harness::{Client, ClusterSpec, HostSpec, eventually, start_all};
use serde_json::Value;

use super::{Pair, Request, SOON, same};

/// A kind that only one member has.
const MOONS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: moons.sky.example.com}
spec:
  group: sky.example.com
  scope: Cluster
  names: {plural: moons, singular: moon, kind: Moon}
  versions:
  - name: v2
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {phase: {type: string, description: How much of it shines.}}
";

#[test]
fn documents_of_one_member_are_its_own_bytes_with_its_own_headers() -> Result<()> {
    let pair = Pair::start()?;
    let [member, host] = pair.clients()?;
    let index = eventually("both have the same index, with comets", 2 * SOON, || {
        let [direct, through] = [&member, &host].map(|client| client.json("/openapi/v3"));
        let (direct, through) = (direct?, through?);
        ensure!(direct == through, "directly {direct}\nthrough {through}");
        // A kube-apiserver publishes a custom kind's document some time after it serves the kind.
        ensure!(direct["paths"]["apis/sky.example.com/v1"].is_object(), "{direct}");
        Ok(through)
    })?;
    let comets = index["paths"]["apis/sky.example.com/v1"]["serverRelativeURL"].as_str().context("comets are there")?;
    let pods = index["paths"]["api/v1"]["serverRelativeURL"].as_str().context("pods are there")?;
    let protobuf = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf";
    let whole = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let etag = member.send("GET", pods, &[], b"")?;
    let known = [("if-none-match", etag.header("etag").context("it has an ETag")?)];
    let requests: [Request<'_>; 11] = [
        ("GET", comets, &[]),
        ("GET", pods, &[("accept", "application/json")]),
        ("GET", pods, &[("accept", protobuf)]),
        ("GET", pods, &known),
        ("GET", pods, &[("accept", "text/html")]),
        ("GET", "/openapi/v3/api/v1", &[]),
        ("GET", "/openapi/v3/api/v1?hash=0", &[]),
        ("GET", "/openapi/v2", &[("accept", "application/json")]),
        ("GET", "/openapi/v2", &[("accept", whole)]),
        ("GET", "/openapi/v3/version", &[]),
        ("GET", "/openapi/v3/apis/apps/v1", &[]),
    ];
    same(&pair, &requests, |answer| {
        let headers = ["content-type", "cache-control", "etag", "vary", "location"]
            .map(|name| answer.header(name).map(str::to_owned));
        Ok((answer.status, headers, answer.body.len()))
    })?;
    for path in ["/openapi/v3/apis/nosuch/v1", "/openapi/v4", "/openapi/v3/api/v2"] {
        ensure!(
            [&member, &host].map(|client| client.get(path).map(|answer| answer.status).ok()) == [Some(404); 2],
            "{path}"
        );
    }
    same_bytes(&member, &host, &[comets, pods, "/openapi/v2"])
}

#[test]
fn kubectl_explains_kinds_of_any_member() -> Result<()> {
    let members = start_all([ClusterSpec::bare("east"), ClusterSpec::bare("west")])?;
    let [east, west] = &members;
    east.kubectl().apply(orrery_real::COMETS)?;
    west.kubectl().apply(MOONS)?;
    let host = HostSpec::new().member(east).member(west).start()?;
    for (member, kind) in
        [(east, "comet.spec"), (west, "moon.spec"), (west, "moon"), (east, "pod.spec.containers"), (west, "deployment")]
    {
        eventually(kind, 2 * SOON, || {
            let (direct, through) =
                (member.kubectl().run(&["explain", kind])?, host.kubectl().run(&["explain", kind])?);
            ensure!(direct.code == 0 && through == direct, "directly {direct:?}\nthrough {through:?}");
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn the_index_of_two_members_has_an_entity_tag_and_all_that_either_has() -> Result<()> {
    let members = start_all([ClusterSpec::bare("east"), ClusterSpec::bare("west")])?;
    let [east, west] = &members;
    west.kubectl().apply(MOONS)?;
    let host = HostSpec::new().member(east).member(west).start()?;
    let client = host.client()?;
    let moons = "apis/sky.example.com/v2";
    let index = eventually("moons are in the index", 2 * SOON, || {
        let answer = client.get("/openapi/v3")?;
        ensure!(answer.success()?["paths"][moons].is_object(), "{}", answer.text());
        Ok(answer)
    })?;
    let etag = index.header("etag").context("the index has an ETag")?.to_owned();
    let again = client.send("GET", "/openapi/v3", &[("if-none-match", &etag)], b"")?;
    ensure!((again.status, again.body.len()) == (304, 0), "{} {}", again.status, again.text());
    let url = index.success()?["paths"][moons]["serverRelativeURL"].as_str().context("a URL")?.to_owned();
    let document: Value = client.json(&url)?;
    ensure!(document["components"]["schemas"]["com.example.sky.v2.Moon"].is_object(), "{document}");
    Ok(())
}

fn same_bytes(member: &Client, host: &Client, paths: &[&str]) -> Result<()> {
    for path in paths {
        eventually(path, SOON, || {
            let (direct, through) = (member.get(path)?, host.get(path)?);
            ensure!(direct.body == through.body, "{} and {} bytes", direct.body.len(), through.body.len());
            Ok(())
        })?;
    }
    Ok(())
}
