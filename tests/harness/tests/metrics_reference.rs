//! `docs/metrics.md` against the code: every metric that a crate registers, with its labels. `UPDATE_EXPECT=1` writes the
//! document anew.

use std::collections::BTreeMap;
use std::fs;

use expect_test::expect_file;
use orrery_harness::repository;

/// One registered metric.
struct Metric {
    name: String,
    kind: &'static str,
    labels: Vec<String>,
    help: String,
}

const HEAD: &str = "# Metrics

What `/metrics` shows, in the Prometheus text format. A series appears with its first value. This page is made from the code:
`UPDATE_EXPECT=1 cargo test --workspace --test metrics_reference`. What to watch and when to worry stands in
[operations](operations.md#what-to-watch).

| metric | type | labels | is |
|---|---|---|---|
";

#[test]
fn the_reference_of_metrics_is_what_the_code_registers() {
    let mut metrics = Vec::new();
    let crates = fs::read_dir(repository().join("host")).expect("the crates are there");
    for folder in crates {
        let file = folder.expect("it can be read").path().join("src/metrics.rs");
        if let Ok(source) = fs::read_to_string(&file) {
            metrics.extend(registered(&source));
        }
    }
    metrics.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(metrics.len() > 30, "only {} metrics were found: the code is written in another way", metrics.len());
    let rows = metrics.iter().map(|Metric { name, kind, labels, help }| {
        let labels: Vec<_> = labels.iter().map(|label| format!("`{label}`")).collect();
        format!("| `{name}` | {kind} | {} | {help} |\n", labels.join(", "))
    });
    let text = HEAD.to_owned() + &rows.collect::<String>();
    expect_file![repository().join("docs/metrics.md")].assert_eq(&text);
}

/// What `source` registers: `REGISTRY.register("name", "help", self.field.clone())`, with a unit or under a prefix.
fn registered(source: &str) -> Vec<Metric> {
    let (prefixes, fields, labels) = (prefixes(source), fields(source), labels(source));
    let mut metrics = Vec::new();
    for call in ["register(", "register_with_unit(", "encode_descriptor("] {
        for (at, _) in source.match_indices(call).filter(|(at, _)| source[..*at].ends_with('.')) {
            let before = source[..at].trim_end_matches('.');
            let registry = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
            let arguments = &source[at + call.len()..];
            let arguments = &arguments[..arguments.find(';').unwrap_or(arguments.len())];
            let mut texts = arguments.split('"').skip(1).step_by(2);
            let (Some(name), Some(help)) = (texts.next(), texts.next()) else { continue };
            let unit = arguments.split_once("Unit::").map(|(_, unit)| unit.split(|c: char| !c.is_alphabetic()).next());
            let field = arguments.split_once("self.").map(|(_, field)| field.split('.').next().unwrap_or_default());
            let declared = field.and_then(|field| fields.get(field)).map_or("Gauge", String::as_str);
            let kind =
                ["Counter", "Histogram", "Gauge"].into_iter().find(|kind| declared.contains(kind)).unwrap_or("Gauge");
            let label = declared.strip_prefix("Family<").and_then(|rest| rest.split(',').next()).unwrap_or_default();
            let prefix = prefixes.get(registry).map(|prefix| format!("{prefix}_")).unwrap_or_default();
            let unit = unit.flatten().map(|unit| format!("_{}", unit.to_lowercase())).unwrap_or_default();
            let total = if kind == "Counter" { "_total" } else { "" };
            metrics.push(Metric {
                name: format!("{prefix}{name}{unit}{total}"),
                kind: match kind {
                    "Counter" => "counter",
                    "Histogram" => "histogram",
                    _ => "gauge",
                },
                labels: labels.get(label).cloned().unwrap_or_default(),
                help: help.to_owned(),
            });
        }
    }
    metrics
}

/// Registries with a prefix, by variable.
fn prefixes(source: &str) -> BTreeMap<&str, &str> {
    let lets = source.lines().filter_map(|line| line.trim().strip_prefix("let "));
    lets.filter_map(|line| {
        let (variable, made) = line.split_once(" = ")?;
        Some((variable, made.split_once("sub_registry_with_prefix(\"")?.1.split('"').next()?))
    })
    .collect()
}

/// Fields of `struct Metrics`, with their types.
fn fields(source: &str) -> BTreeMap<String, String> {
    let Some((_, body)) = source.split_once("pub struct Metrics {") else { return BTreeMap::new() };
    pairs(body)
}

/// Structs of labels, with their names.
fn labels(source: &str) -> BTreeMap<String, Vec<String>> {
    let structs = source.split("EncodeLabelSet)]").skip(1).filter_map(|rest| rest.split_once("struct "));
    let named = structs.filter_map(|(_, rest)| rest.split_once(" {"));
    named.map(|(name, body)| (name.to_owned(), pairs(body).into_keys().collect())).collect()
}

/// `name: Type` of each line up to the closing brace.
fn pairs(body: &str) -> BTreeMap<String, String> {
    let lines = body.lines().map(str::trim).take_while(|line| *line != "}");
    let fields = lines.filter(|line| !line.starts_with("//") && !line.starts_with('#'));
    fields
        .filter_map(|line| line.trim_end_matches(',').split_once(": "))
        .map(|(name, kind)| (name.trim_start_matches("pub(crate) ").to_owned(), kind.to_owned()))
        .collect()
}
