//! Rules for files that no lint holds.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use orrery_harness::repository;

/// Every file that is, or is about to be, part of the repository, with its path from the root.
fn files() -> Vec<PathBuf> {
    let git = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
    let output = Command::new("git").args(git).current_dir(repository()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout).unwrap();
    let paths: Vec<PathBuf> = listed.split_terminator('\0').map(PathBuf::from).collect();
    assert!(paths.iter().any(|path| path.ends_with("Cargo.toml")), "the list of files was read");
    // A file may be deleted and not yet committed so.
    paths.into_iter().filter(|path| repository().join(path).is_file()).collect()
}

fn rust_files() -> Vec<(PathBuf, String)> {
    let rust = files().into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
    rust.map(|path| (path.clone(), fs::read_to_string(repository().join(path)).unwrap())).collect()
}

/// Whether a file is built for tests only. `strategies` generate what property tests try, `fake` stands in for a server.
fn is_for_tests(path: &Path) -> bool {
    let modules = ["tests", "testing", "strategies", "fake"];
    let is_module = |part: &OsStr| modules.iter().any(|module| part == *module);
    path.starts_with("tests") || path.with_extension("").iter().any(is_module)
}

/// The part of a source file that is built into the program: all before its tests.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or_default()
}

fn assert_none(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
}

#[test]
fn crates_test_programs_and_modules_with_parts_say_first_what_they_are() {
    let root = repository();
    let needs_it = |path: &Path| {
        let parts = root.join(path.with_extension("")).read_dir();
        let has_parts =
            parts.is_ok_and(|mut dir| dir.any(|part| part.is_ok_and(|part| part.file_name() != "tests.rs")));
        let is_program = path.parent().is_some_and(|dir| dir.ends_with("tests"));
        path.ends_with("lib.rs")
            || path.ends_with("main.rs")
            || is_program
            || (has_parts && !path.ends_with("tests.rs"))
    };
    let silent = rust_files().into_iter().filter(|(path, text)| needs_it(path) && !text.starts_with("//!"));
    assert_none("no module documentation", &silent.map(|(path, _)| path.display().to_string()).collect::<Vec<_>>());
}

#[test]
fn no_file_names_a_path_of_the_machine_that_it_was_written_on() {
    // Put together here, so that this file does not hold them.
    let roots = ["root", "work", "home"].map(|folder| format!("/{folder}/"));
    let mut found = Vec::new();
    for path in files() {
        let Ok(text) = fs::read_to_string(repository().join(&path)) else { continue };
        for (number, line) in text.lines().enumerate() {
            let names_root = |root: &String| line.match_indices(root.as_str()).any(|(at, _)| !is_continued(line, at));
            if roots.iter().any(names_root) {
                found.push(format!("{}:{}: {line}", path.display(), number + 1));
            }
        }
    }
    assert_none("paths of a machine", &found);
}

/// Whether the slash at `at` goes on a longer path or URL, as in `example.dev/work/`.
fn is_continued(line: &str, at: usize) -> bool {
    line[..at].chars().next_back().is_some_and(|before| before.is_alphanumeric() || "}.-_~".contains(before))
}

#[test]
fn no_file_is_named_for_being_a_mixture() {
    let mixtures = ["mod", "common", "util", "utils", "helper", "helpers", "manager", "misc"];
    let named = |path: &PathBuf| path.file_stem().is_some_and(|stem| mixtures.iter().any(|mixture| stem == *mixture));
    let found: Vec<String> =
        rust_files().into_iter().map(|(path, _)| path).filter(named).map(|path| path.display().to_string()).collect();
    assert_none("files whose name says nothing", &found);
}

#[test]
fn the_host_neither_unwraps_nor_queues_without_a_bound() {
    let mut found = Vec::new();
    for (path, text) in rust_files().into_iter().filter(|(path, _)| path.starts_with("host") && !is_for_tests(path)) {
        for (number, line) in without_tests(&text).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if [".unwrap()", "unbounded_channel", "mpsc::channel()"].iter().any(|word| code.contains(word)) {
                found.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
            }
        }
    }
    assert_none("unwrapped or unbounded", &found);
}
