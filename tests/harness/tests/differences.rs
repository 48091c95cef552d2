//! `docs/differences.md`: each line names a test that holds it, and that test is there.

use std::fs;
use std::path::Path;

use orrery_harness::repository;

#[test]
fn every_difference_names_a_test_that_exists() {
    let text = fs::read_to_string(repository().join("docs/differences.md")).expect("the document is there");
    // What stands above a rule is a head.
    let heads: Vec<&str> = text
        .lines()
        .zip(text.lines().skip(1))
        .filter(|(_, rule)| rule.starts_with("|--"))
        .map(|(head, _)| head)
        .collect();
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ") && !heads.contains(line)).collect();
    assert!(rows.len() > 10, "only {} lines were found", rows.len());
    let mut sources = String::new();
    ["host", "tests"].iter().for_each(|folder| read_rust(&repository().join(folder), &mut sources));
    for row in rows {
        let cell = row.trim_end_matches(" |").rsplit("| ").next().unwrap_or_default();
        let test = cell.trim_matches('`');
        assert!(!test.is_empty() && sources.contains(&format!("fn {test}(")), "no such test: {row}");
    }
}

fn read_rust(folder: &Path, sources: &mut String) {
    for entry in fs::read_dir(folder).expect("it is a folder").map(|entry| entry.expect("it can be read").path()) {
        if entry.is_dir() {
            read_rust(&entry, sources);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            sources.push_str(&fs::read_to_string(&entry).expect("it is text"));
        }
    }
}
