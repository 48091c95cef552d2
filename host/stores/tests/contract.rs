//! The contract of marker stores, on each of them.

use std::sync::Arc;

use orrery_markers::MarkerStore;
use orrery_stores::contract::Place;
use orrery_stores::testing::Faulty;
use orrery_stores::{DirLock, MemoryStore, Metrics, RedbStore, contract_suite};
use tempfile::TempDir;

/// A memory store that outlives its handles.
struct Memory(MemoryStore);

#[async_trait::async_trait]
impl Place for Memory {
    async fn open(&self) -> Arc<dyn MarkerStore> {
        Arc::new(self.0.clone())
    }
}

/// The same behind faults drawn by a seed.
struct Unreliable(MemoryStore, u64);

#[async_trait::async_trait]
impl Place for Unreliable {
    async fn open(&self) -> Arc<dyn MarkerStore> {
        Arc::new(Faulty::seeded(self.0.clone(), self.1))
    }
}

/// A directory.
struct Dir(TempDir);

#[async_trait::async_trait]
impl Place for Dir {
    async fn open(&self) -> Arc<dyn MarkerStore> {
        let lock = Arc::new(DirLock::take(self.0.path()).expect("the store opened before is dropped"));
        Arc::new(RedbStore::open(lock, Metrics::default()).expect("the directory is writable"))
    }
}

contract_suite!(memory, Memory(MemoryStore::new()));
contract_suite!(faulty_1, Unreliable(MemoryStore::new(), 1));
contract_suite!(faulty_2, Unreliable(MemoryStore::new(), 2));
contract_suite!(embedded, Dir(tempfile::tempdir().expect("a temporary directory can be made")));
