//! A disk without space: a real file system of 16 MiB.

use std::path::{Path, PathBuf};
use std::process::Command;

use orrery_markers::{AppendError, MarkerStore, SegmentSeq, StoreError};

use super::super::{check_segments, open, segment};

const DIR: &str = "ORRERY_TEST_FULL_DISK_DIR";
const BYTES: usize = 200_000;

/// The part that runs in a mount namespace of its own, where `DIR` is a small file system.
#[tokio::test]
async fn child_that_fills_its_disk() {
    let Some(dir) = std::env::var_os(DIR).map(PathBuf::from) else { return };
    let store = open(&dir).unwrap();
    let mut end = fill(&store, 0).await;
    assert!(end > 5, "{end} segments fit");
    assert_eq!(check_segments(&store, "pods.v1", BYTES).await, end);

    // A file that somebody else leaves and takes away.
    drop(store);
    let ballast = dir.join("ballast");
    let store = open(&dir).expect("a store on a full disk opens");
    assert_eq!(check_segments(&store, "pods.v1", BYTES).await, end);
    drop(store);
    std::fs::remove_file(dir.join("markers.redb")).unwrap();
    write_ballast(&ballast);
    let store = open(&dir).unwrap();
    end = fill(&store, 0).await;
    std::fs::remove_file(&ballast).unwrap();
    store.append("pods.v1", &segment("pods.v1", end + 1, BYTES)).await.expect("there is space again");
    assert_eq!(check_segments(&store, "pods.v1", BYTES).await, end + 1);
    store.fold("pods.v1", SegmentSeq(end + 1), vec![vec![1; BYTES].into()]).await.unwrap();
    drop(store);
    let log = open(&dir).unwrap().load("pods.v1").await.unwrap();
    assert_eq!(log.checkpoint.map(|(upto, _)| upto), Some(SegmentSeq(end + 1)));
}

fn write_ballast(path: &Path) {
    std::fs::write(path, vec![1; 6 << 20]).unwrap();
}

/// Appends after segment `end` until the disk is full, checks how that is told, several times, and returns the new end.
async fn fill(store: &orrery_stores::RedbStore, mut end: u64) -> u64 {
    let mut refused = 0;
    while refused < 5 {
        match store.append("pods.v1", &segment("pods.v1", end + 1, BYTES)).await {
            Ok(()) => end += 1,
            Err(AppendError::Failed(StoreError::Full(_)) | AppendError::Unknown(StoreError::Full(_))) => refused += 1,
            Err(error) => panic!("{error}: {error:?}"),
        }
        assert!(end < 1000, "the disk is never full");
    }
    end
}

#[test]
#[ignore = "mounts a tmpfs, which needs root or user namespaces: cargo test -p orrery-stores --test embedded -- --ignored"]
fn a_full_disk_is_told_loses_nothing_and_is_recovered_from_once_space_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let script = r#"mount -t tmpfs -o size=16m orrery-test "$0" && exec "$1" --exact embedded::full_disk::child_that_fills_its_disk --nocapture"#;
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|proc| std::os::unix::fs::MetadataExt::uid(&proc) == 0);
    let namespaces: &[&str] = if is_root { &["--mount"] } else { &["--mount", "--map-root-user"] };
    let status = Command::new("unshare")
        .args(namespaces)
        .args(["sh", "-c", script])
        .arg(dir.path())
        .arg(std::env::current_exe().unwrap())
        .env(DIR, dir.path())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the file system was not the child's own");
}
