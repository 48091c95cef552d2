//! How many clocks become one.
//!
//! Each cluster has its own clock, the resourceVersion of its etcd. For each resource this crate keeps one totally
//! ordered [`Log`] of small records that bind a [`Marker`], the host's resourceVersion, to one change of one object in
//! one cluster. It is sans-IO: it knows no clock, no randomness, no network and no database; what time it is and what a
//! member said are arguments, and where the log is kept is behind [`MarkerStore`].
//!
//! # Laws
//!
//! 1. Markers rise strictly; no two records share one; they never go back, not after a crash, a restored or lost store,
//!    or a clock set back (only both of the last two at once can break it).
//! 2. Per object, records follow the member's order; per cluster they follow the order observed: member versions where
//!    streamed, deletions first and then the rest where relisted.
//! 3. A marker is durable before any client sees it.
//! 4. From any marker at or above the floor a watch delivers exactly the changes after it, in marker order, also after
//!    a restart. Below the floor the answer is 410.
//! 5. A list at `m` is, for each cluster, its state at `vector(m)` plus the records at or below `m` beyond it.
//! 6. One object state has one current marker wherever it is seen.
//! 7. Trimming changes no answer at or above the floor.

pub mod codec;
mod log;
mod member;
mod record;
mod store;
mod version;

pub use log::{
    Clock, ClusterLog, Content, CorruptLog, Effect, Entry, Log, Mismatch, Outcome, Presence, Recovered, Replay, Shown,
    Sight, Step, Taken, Term,
};
pub use member::{Change, ChangeKind, MemberObject};
pub use record::{Record, SegmentHeader};
pub use store::{AppendError, MarkerStore, Segment, SegmentSeq, StoreError, StoredLog};
pub use version::{Digest, Marker, MarkerError, MemberVersion, UnixMicros};
