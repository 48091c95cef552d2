//! A file that is not what was written.

use std::path::Path;

use orrery_markers::{MarkerStore, SegmentSeq};
use orrery_stores::{OpenError, RedbStore};
use proptest::prelude::*;

use super::super::{check_segments, open, segment};

/// A file with a log of some segments and a checkpoint: as a host leaves it that was killed, and one that has ended.
async fn written(dir: &Path) -> [Vec<u8>; 2] {
    let store = open(dir).unwrap();
    for seq in 1..=20 {
        store.append("pods.v1", &segment("pods.v1", seq, 2000)).await.unwrap();
    }
    store.append("nodes.v1", &segment("nodes.v1", 1, 2000)).await.unwrap();
    store.fold("nodes.v1", SegmentSeq(1), vec![vec![7; 300_000].into(); 2]).await.unwrap();
    let killed = std::fs::read(dir.join(RedbStore::FILE)).unwrap();
    drop(store);
    [killed, std::fs::read(dir.join(RedbStore::FILE)).unwrap()]
}

/// What a store says of the file `bytes`: an error, or all that was written.
async fn check(dir: &Path, bytes: &[u8]) -> Result<(), OpenError> {
    std::fs::write(dir.join(RedbStore::FILE), bytes).unwrap();
    let store = open(dir)?;
    assert_eq!(check_segments(&store, "pods.v1", 2000).await, 20, "a segment is lost");
    let (upto, parts) = store.load("nodes.v1").await.unwrap().checkpoint.expect("the checkpoint is lost");
    assert_eq!((upto, parts), (SegmentSeq(1), vec![vec![7; 300_000].into(); 2]));
    Ok(())
}

#[tokio::test]
async fn a_file_of_something_else_is_refused_with_the_command_that_resets_it_and_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(RedbStore::FILE);
    for content in [&b""[..], b"something else", &[0; 100_000]] {
        let error = check(dir.path(), content).await.unwrap_err().to_string();
        let command = format!("mv {0} {0}.broken", path.display());
        assert!(error.contains(&command), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), content);
    }
    std::fs::rename(&path, path.with_extension("redb.broken")).unwrap();
    assert_eq!(check_segments(&open(dir.path()).unwrap(), "pods.v1", 2000).await, 0);
}

#[tokio::test]
async fn a_file_cut_short_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for whole in written(dir.path()).await {
        check(dir.path(), &whole).await.unwrap();
        for tenth in 0..10 {
            let cut = whole.len() * tenth / 10;
            let error = check(dir.path(), &whole[..cut]).await.expect_err("a part is not the whole");
            assert!(matches!(error, OpenError::Corrupt { .. }), "at {cut}: {error} {error:?}");
        }
    }
}

#[tokio::test]
async fn a_flipped_bit_in_the_head_of_the_file_never_brings_back_an_older_state() {
    let dir = tempfile::tempdir().unwrap();
    for whole in written(dir.path()).await {
        // The first bytes say which of two heads is the newer one; the rest are those two.
        for (at, bit) in
            (0..12).flat_map(|at| (0..8).map(move |bit| (at, bit))).chain((12..400).step_by(13).map(|at| (at, at % 8)))
        {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            match check(dir.path(), &bytes).await {
                Ok(()) | Err(OpenError::Corrupt { .. }) => {}
                Err(error) => panic!("bit {bit} of byte {at}: {error:?}"),
            }
        }
    }
}

#[test]
fn a_file_with_damaged_bytes_is_refused_or_has_all_that_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let files = runtime.block_on(written(dir.path()));
    let refused = std::cell::Cell::new(0);
    let damage = prop::collection::vec((any::<prop::sample::Index>(), 1..=255u8), 1..40);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig { cases: 60, ..ProptestConfig::default() });
    let result = runner.run(&(damage, any::<bool>(), 0..2usize), |(damage, near_start, file)| {
        let mut bytes = files[file].clone();
        let reach = if near_start { 9000 } else { bytes.len() };
        for (at, bits) in damage {
            bytes[at.index(reach)] ^= bits;
        }
        match runtime.block_on(check(dir.path(), &bytes)) {
            Ok(()) => {}
            Err(OpenError::Unusable { source, .. }) => return Err(TestCaseError::fail(source.to_string())),
            Err(_) => refused.set(refused.get() + 1),
        }
        Ok(())
    });
    result.unwrap();
    let refused = refused.get();
    assert!(refused > 5, "{refused} of 60 were refused");
}
