//! Where marker logs live.
//!
//! Each store implements [`MarkerStore`](orrery_markers::MarkerStore) and is known to others by that trait only:
//! - [`MemoryStore`]: in the process, for tests and for `--store memory`;
//! - [`RedbStore`]: one file in a directory that a [`DirLock`] holds, the default.
//!
//! With the feature `testing` there are also one suite of what every store promises (`contract`) and a store that fails
//! on demand (`testing`).

#[cfg(feature = "testing")]
pub mod contract;
mod dir_lock;
mod embedded;
mod memory;
mod metrics;
#[cfg(feature = "testing")]
pub mod testing;

pub use dir_lock::{DirLock, DirLockError};
pub use embedded::{OpenError, RedbStore};
pub use memory::MemoryStore;
pub use metrics::Metrics;
