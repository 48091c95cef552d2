//! The running loop of one resource: observe → sequence → apply.
//!
//! ```text
//!  fleet::observe (one a cluster) ──▶ task ──▶ markers::Log ──▶ MarkerStore ──▶ cache::Writer ──▶ readers
//!                                      │          records        durable          effects
//!                                      └── what waits is one batch: the next gathers while this one commits
//! ```
//! One task owns a resource's log and its cache's writer. Nothing is applied before the store has it (law 3). Objects and
//! HTTP are not parsed here.

mod follow;
mod metrics;
mod resource;
mod sequencer;
mod task;
mod view;
mod written;

pub use metrics::Metrics;
pub use resource::{ClusterPhase, ClusterState, LogAtError, Owner, Resource};
pub use sequencer::{NotReady, Sequencer, Settings, WallClock};
pub use written::{Looked, Reservation, Told, Written};
