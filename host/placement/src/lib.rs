//! Placement, pure: a unit, the clusters and the stages in, a [`Decision`] with the reason of each cluster out. It reads
//! nothing but its arguments, so a decision can be repeated.

mod decision;
mod pipeline;
mod stages;

pub use decision::{Decision, Dropped, FLEET, Judged, Outcome, PlacementError, Skipped, decide};
pub use pipeline::{Pipeline, Step};
