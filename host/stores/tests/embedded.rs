//! What only a store in a file can meet: a killed process, a second host, a damaged file, a full disk.

mod embedded {
    pub(crate) mod damage;
    pub(crate) mod full_disk;
    pub(crate) mod kill;
}

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_markers::{MarkerStore, Segment, SegmentSeq};
use orrery_stores::{DirLock, Metrics, OpenError, RedbStore};

const LOCKED_MAX: Duration = Duration::from_secs(5);

fn open(dir: &Path) -> Result<RedbStore, OpenError> {
    RedbStore::open(Arc::new(lock(dir)), Metrics::default())
}

/// The directory's lock. A program that another test starts has all files of this process for the moment before it runs.
fn lock(dir: &Path) -> DirLock {
    let begun = Instant::now();
    loop {
        match DirLock::take(dir) {
            Ok(lock) => return lock,
            Err(error) if begun.elapsed() > LOCKED_MAX => panic!("another process holds the directory: {error:?}"),
            Err(_) => thread::yield_now(),
        }
    }
}

/// A segment whose bytes tell its place and log.
fn segment(name: &str, seq: u64, bytes: usize) -> Segment {
    let mut text = format!("{name} {seq} ").into_bytes();
    text.resize(bytes.max(text.len()), seq as u8);
    Segment { seq: SegmentSeq(seq), bytes: Bytes::from(text) }
}

/// That the log `name` has the segments that [`segment`] makes, from 1 on. Returns how many.
async fn check_segments(store: &RedbStore, name: &str, bytes: usize) -> u64 {
    let log = store.load(name).await.expect("the store is readable");
    for (seq, found) in (1..).zip(&log.segments) {
        assert_eq!(*found, segment(name, seq, bytes), "of {name}");
    }
    log.segments.len() as u64
}

#[test]
fn a_second_host_on_a_directory_in_use_is_refused_with_the_pid_of_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let _first = open(dir.path()).unwrap();
    let error = DirLock::take(dir.path()).unwrap_err().to_string();
    assert!(error.contains(&format!("pid {}", std::process::id())), "{error}");
}

#[tokio::test]
async fn a_file_stays_small_while_its_log_is_folded_again_and_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).unwrap();
    for seq in 1..=600 {
        store.append("pods.v1", &segment("pods.v1", seq, 100_000)).await.unwrap();
        if seq % 20 == 0 {
            store.fold("pods.v1", SegmentSeq(seq - 2), vec![Bytes::from(vec![1; 900_000]); 3]).await.unwrap();
        }
    }
    let bytes = std::fs::metadata(dir.path().join(RedbStore::FILE)).unwrap().len();
    assert!(bytes < 32 << 20, "{bytes} bytes of 60 MB appended");
}
