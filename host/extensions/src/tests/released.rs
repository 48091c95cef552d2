//! Plugins are built of what is released under `wit/`: it never changes. What comes later is a version of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

const WIT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../wit");

/// The files below `folder` that belong to a release, with their digests. Drafts may change.
fn files(folder: &Path, into: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().ends_with("-draft") {
            continue;
        }
        if path.is_dir() {
            files(&path, into);
        } else if path.parent() != Some(Path::new(WIT)) {
            let digest = Sha256::digest(fs::read(&path).unwrap());
            let digest = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            into.insert(path.strip_prefix(WIT).unwrap().to_owned(), digest);
        }
    }
}

#[test]
fn what_was_released_never_changes() {
    let mut found = BTreeMap::new();
    files(Path::new(WIT), &mut found);
    let listed = fs::read_to_string(Path::new(WIT).join("released.sha256")).unwrap();
    let listed: BTreeMap<PathBuf, String> = listed
        .lines()
        .map(|line| line.split_once("  ").expect("each line is of sha256sum"))
        .map(|(digest, path)| (path.into(), digest.to_owned()))
        .collect();
    assert!(listed.len() > 1);
    assert_eq!(
        found, listed,
        "give what changes a version of its own; list what is released: (cd wit && sha256sum FILE)"
    );
}
