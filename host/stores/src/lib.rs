//! Where marker logs live.
//!
//! Each store implements [`MarkerStore`](orrery_markers::MarkerStore) and is known to others by that trait only:
//! - [`MemoryStore`]: in the process, for tests and for `--store memory`;
//! - [`RedbStore`]: one file in a directory that a [`DirLock`] holds, the default;
//! - [`EtcdStore`]: keys below a prefix of an etcd, of which one host at a time is the writer.
//!
//! With the feature `testing` there are also one suite of what every store promises (`contract`) and a store that fails
//! on demand (`testing`).

#[cfg(feature = "testing")]
pub mod contract;
mod dir_lock;
mod embedded;
mod etcd;
mod memory;
mod metrics;
#[cfg(feature = "testing")]
pub mod testing;

pub use dir_lock::{DirLock, DirLockError};
pub use embedded::{OpenError, RedbStore};
pub use etcd::{EtcdOpenError, EtcdSettings, EtcdStore, Holder};
pub use memory::MemoryStore;
pub use metrics::Metrics;
