use anyhow::{Context, Result};
use orrery_compat::unversioned;
use serde_json::Value;

use super::{Pair, Request, same};

#[test]
fn yaml_says_what_kube_apiservers_yaml_says() -> Result<()> {
    let yaml: &[(&str, &str)] = &[("accept", "application/yaml")];
    let table: &[(&str, &str)] = &[("accept", "application/yaml;as=Table;v=v1;g=meta.k8s.io")];
    let partial: &[(&str, &str)] = &[("accept", "application/yaml;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")];
    let second: &[(&str, &str)] = &[("accept", "application/yaml;q=0.5,application/json")];
    let maps = "/api/v1/namespaces/default/configmaps";
    let requests: [Request<'_>; 17] = [
        ("GET", "/api/v1/namespaces/default/configmaps", yaml),
        ("GET", "/api/v1/namespaces/default/configmaps?limit=0&pretty=true", yaml),
        ("GET", "/api/v1/namespaces/default/configmaps/a", yaml),
        ("GET", "/api/v1/namespaces/default/configmaps/nosuch", yaml),
        ("GET", "/api/v1/namespaces/default/configmaps?limit=x", yaml),
        ("GET", "/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=1", yaml),
        ("GET", maps, second),
        ("GET", maps, partial),
        ("GET", "/api/v1/namespaces/default/configmaps/a", partial),
        ("GET", "/api/v1/namespaces/default/configmaps/nosuch", partial),
        ("GET", "/api/v1/nodes", yaml),
        ("GET", "/apis/sky.example.com/v1/comets", yaml),
        ("GET", "/apis/sky.example.com/v1/namespaces/default/comets/halley", yaml),
        ("GET", "/apis/sky.example.com/v1/comets?watch=1&timeoutSeconds=1", yaml),
        ("GET", "/apis/sky.example.com/v1/comets/nosuch/status", yaml),
        ("GET", "/api/v1", yaml),
        ("GET", "/apis/apps", yaml),
    ];
    let pair = Pair::start()?;
    same(&pair, &requests, |answer| {
        let kind = answer.header("content-type").unwrap_or_default().to_owned();
        let mut said = said(&answer.text())?;
        if said["kind"] == "Status" && answer.status == 406 {
            // The host has no protobuf to name, and no name of a Go type.
            said["message"] = Value::Null;
        }
        blank(&mut said);
        Ok((answer.status, kind, unversioned(&said.to_string())))
    })?;
    let tables: [Request<'_>; 2] = [("GET", maps, table), ("GET", "/api/v1/namespaces/default/configmaps/a", table)];
    same(&pair, &tables, |answer| {
        let mut said = said(&answer.text())?;
        // Descriptions are the host's own words, and a fleet's Table has a column of its own.
        said["columnDefinitions"] = Value::Null;
        Ok((answer.status, answer.header("content-type").map(str::to_owned), unversioned(&said.to_string())))
    })
}

#[test]
fn what_cannot_be_written_is_406_where_it_is_for_kube_apiserver() -> Result<()> {
    let maps = "/api/v1/namespaces/default/configmaps";
    let accepts =
        ["text/html", "application/xml;q=0.9", "application/yaml;stream=watch", "image/*", "application/yamlx"];
    let headers: Vec<[(&str, &str); 1]> = accepts.iter().map(|accept| [("accept", *accept)]).collect();
    let requests: Vec<Request<'_>> = headers.iter().map(|headers| ("GET", maps, headers.as_slice())).collect();
    same(&Pair::start()?, &requests, |answer| {
        let indented = answer.text().starts_with("{\n");
        Ok((answer.status, answer.header("content-type").map(str::to_owned), indented))
    })
}

/// Takes out what the host leaves out: empty tokens, and hashes that tell how a member stores a kind.
fn blank(document: &mut Value) {
    if !document.is_object() {
        return;
    }
    if document["metadata"]["continue"] == "" {
        document["metadata"].as_object_mut().and_then(|metadata| metadata.remove("continue"));
    }
    for resource in document["resources"].as_array_mut().into_iter().flatten() {
        resource.as_object_mut().and_then(|resource| resource.remove("storageVersionHash"));
    }
}

/// A document, or a text that is none, as one value.
fn said(text: &str) -> Result<Value> {
    if text.starts_with(r#"{"type""#) {
        let lines: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
        return Ok(Value::Array(lines.context("a line is JSON")?));
    }
    Ok(serde_saphyr::from_str(text)?)
}
