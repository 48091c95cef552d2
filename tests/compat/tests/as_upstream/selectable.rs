use anyhow::{Result, ensure};
use orrery_compat::unversioned;
use orrery_harness::{ClusterSpec, HostSpec, eventually};
use serde_json::Value;

use super::{Pair, Request, SOON, code_and_text, same};

const ROCKETS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rockets.sky.example.com}
spec:
  group: sky.example.com
  scope: Namespaced
  names: {plural: rockets, singular: rocket, kind: Rocket}
  versions:
  - name: v1
    served: true
    storage: true
    selectableFields: [{jsonPath: .spec.stage}, {jsonPath: .spec.engine.count}, {jsonPath: .spec.crewed}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              stage: {type: string}
              fuel: {type: string}
              crewed: {type: boolean}
              engine: {type: object, properties: {count: {type: integer}}}
";

fn rocket(name: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: sky.example.com/v1, kind: Rocket, metadata: {{name: {name}, namespace: default}}, spec: {spec}}}"
    )
}

#[test]
fn custom_resources_are_selected_by_the_fields_that_their_definition_names() -> Result<()> {
    let pair = Pair::start()?;
    let kubectl = pair.member.kubectl();
    kubectl.apply(ROCKETS)?;
    kubectl.ok(&["wait", "--for=condition=Established", "crd/rockets.sky.example.com", "--timeout=20s"])?;
    for (name, spec) in [
        ("saturn", "{stage: first, crewed: true, engine: {count: 5}}"),
        ("vostok", "{stage: second, crewed: true, engine: {count: 1}}"),
        ("probe", "{fuel: solid}"),
    ] {
        kubectl.apply(&rocket(name, spec))?;
    }
    let host = pair.host.client()?;
    eventually("the host serves rockets", SOON, || host.json("/apis/sky.example.com/v1/rockets"))?;
    let selectors = [
        "spec.stage%3Dfirst",
        "spec.stage!%3Dfirst",
        "spec.stage%3D",
        "spec.engine.count%3D5",
        "spec.crewed%3Dtrue",
        "spec.crewed%3D%3Dtrue,spec.stage%3Dsecond",
        "spec.crewed!%3Dtrue,metadata.name%3Dprobe",
        "spec.fuel%3Dsolid",
        "spec.engine%3D5",
        "metadata.namespace%3Ddefault,spec.stage%3Dfirst",
    ];
    let paths: Vec<String> = selectors
        .iter()
        .flat_map(|selector| {
            ["", "watch=1&timeoutSeconds=1&"].map(|watch| {
                format!("/apis/sky.example.com/v1/namespaces/default/rockets?{watch}fieldSelector={selector}")
            })
        })
        .collect();
    let requests: Vec<Request<'_>> = paths.iter().map(|path| ("GET", path.as_str(), &[] as &[_])).collect();
    same(&pair, &requests, |answer| {
        let (code, text) = code_and_text(answer)?;
        let lines = text.replace(r#""continue":"","#, "");
        let lines: Vec<Value> = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok((code, lines))
    })
}

#[test]
fn a_field_that_a_definition_names_later_can_be_selected_by_and_watched() -> Result<()> {
    let member = ClusterSpec::bare("east").start()?;
    member.kubectl().apply(ROCKETS)?;
    member.kubectl().ok(&["wait", "--for=condition=Established", "crd/rockets.sky.example.com", "--timeout=20s"])?;
    member.kubectl().apply(&rocket("probe", "{fuel: solid}"))?;
    let host = HostSpec::new().member(&member).start()?;
    let client = host.client()?;
    let rockets = "/apis/sky.example.com/v1/rockets";
    eventually("the host serves rockets", SOON, || client.json(rockets))?;
    let by_fuel = format!("{rockets}?fieldSelector=spec.fuel%3Dsolid");
    let refused = client.get(&by_fuel)?;
    ensure!(
        refused.status == 400 && refused.text().contains("field label not supported: spec.fuel"),
        "{}",
        refused.text()
    );
    member.kubectl().ok(&[
        "patch",
        "crd/rockets.sky.example.com",
        "--type=json",
        "-p",
        r#"[{"op":"add","path":"/spec/versions/0/selectableFields/-","value":{"jsonPath":".spec.fuel"}}]"#,
    ])?;
    let list = eventually("the new field is known", 2 * SOON, || {
        let list = client.json(&by_fuel)?;
        ensure!(list["items"].as_array().is_some_and(|items| items.len() == 1), "{list}");
        Ok(list)
    })?;
    let version = list["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    let mut watch = client.lines(&format!("{by_fuel}&watch=1&resourceVersion={version}&timeoutSeconds=60"))?;
    member.kubectl().ok(&["patch", "rocket", "probe", "--type=merge", "-p", r#"{"spec":{"fuel":"liquid"}}"#])?;
    let event: Value = watch.next_json()?.unwrap_or_default();
    ensure!(
        event["type"] == "DELETED" && event["object"]["spec"]["fuel"] == "solid",
        "{}",
        unversioned(&event.to_string())
    );
    Ok(())
}
