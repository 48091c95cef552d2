//! The real graph of crates against the edges that the design allows (ARCHITECTURE.md).

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use orrery_harness::repository;
use serde::Deserialize;

/// For each crate under `host/`: the crates of `host/` that it may depend on.
const ALLOWED: &[(&str, &[&str])] = &[
    ("orrery-api", &[]),
    ("orrery-markers", &["api"]),
    ("orrery-stores", &["markers"]),
    ("orrery-fleet", &["markers", "api"]),
    ("orrery-cache", &["markers", "api"]),
    ("orrery-sequencer", &["markers", "cache", "fleet", "api"]),
    ("orrery-placement", &["api"]),
    ("orrery-extensions", &["api"]),
    ("orrery-auth", &["fleet", "api"]),
    ("orrery-rest", &["auth", "cache", "sequencer", "fleet", "placement", "extensions", "markers", "api"]),
    ("orrery-cli", &["api"]),
    ("orrery-sim", &["api"]),
    (
        "orrery",
        &["api", "markers", "stores", "fleet", "cache", "sequencer", "placement", "extensions", "auth", "rest", "cli"],
    ),
];

/// What tests of a crate may use beyond that: the memory store and its contract, and simulated members.
const ALLOWED_IN_TESTS: &[&str] = &["orrery-stores", "orrery-sim"];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
    path: Option<String>,
}

/// Edges of the crates under `host/` to crates of this repository, each with whether it is for tests only.
fn real_edges() -> BTreeMap<String, BTreeSet<(String, bool)>> {
    let output = Command::new("cargo")
        .args(["metadata", "--no-deps", "--format-version=1", "--locked"])
        .current_dir(repository())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Metadata = serde_json::from_slice(&output.stdout).unwrap();
    let host = repository().join("host");
    let packages =
        metadata.packages.into_iter().filter(|package| package.manifest_path.starts_with(host.to_str().unwrap()));
    let edges = |package: &Package| {
        let own = package.dependencies.iter().filter(|dependency| dependency.path.is_some());
        own.map(|dependency| (dependency.name.clone(), dependency.kind.as_deref() == Some("dev"))).collect()
    };
    packages.map(|package| (package.name.clone(), edges(&package))).collect()
}

/// The edges that [`ALLOWED`] does not have, as `from -> to`.
fn forbidden(edges: &BTreeMap<String, BTreeSet<(String, bool)>>) -> Vec<String> {
    let allowed: BTreeMap<&str, Vec<String>> =
        ALLOWED.iter().map(|(from, to)| (*from, to.iter().map(|name| format!("orrery-{name}")).collect())).collect();
    let is_allowed = |from: &str, to: &str, for_tests: bool| {
        let in_table = allowed.get(from).is_some_and(|names| names.iter().any(|name| name == to));
        in_table || (for_tests && ALLOWED_IN_TESTS.contains(&to))
    };
    let all = edges.iter().flat_map(|(from, to)| to.iter().map(move |(to, for_tests)| (from, to, *for_tests)));
    all.filter(|(from, to, for_tests)| !is_allowed(from, to, *for_tests))
        .map(|(from, to, _)| format!("{from} -> {to}"))
        .collect()
}

#[test]
fn crates_depend_only_on_those_that_the_design_allows() {
    let edges = real_edges();
    assert_eq!(forbidden(&edges), Vec::<String>::new());
    let unknown: Vec<&String> = edges.keys().filter(|name| !ALLOWED.iter().any(|(known, _)| known == name)).collect();
    assert_eq!(unknown, Vec::<&String>::new(), "a new crate needs a row in the table");
    assert!(edges.values().any(|to| !to.is_empty()), "the graph was read");
}

#[test]
fn an_edge_that_is_not_in_the_table_is_found() {
    let edge = |to: &str, for_tests| BTreeSet::from([(to.to_owned(), for_tests)]);
    let graph = BTreeMap::from([
        ("orrery-markers".to_owned(), edge("orrery-stores", false)),
        ("orrery-sequencer".to_owned(), edge("orrery-stores", true)),
        ("orrery-cache".to_owned(), edge("orrery-harness", true)),
    ]);
    assert_eq!(forbidden(&graph), ["orrery-cache -> orrery-harness", "orrery-markers -> orrery-stores"]);
}
