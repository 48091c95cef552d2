//! Placement: which cluster an object is created in, as values. What is placed is a [`Unit`], where it may go are
//! [`Candidate`]s, and [`PlacementStage`]s judge all candidates of a decision at once: built-in ones of `host/placement`
//! and, in the same batch shape, those that extensions bring. A [`Policy`] says which stages judge which objects.

mod capacity;
mod labels;
mod pods;
mod policy;
mod quantity;
mod stage;
mod taint;
mod unit;

pub use capacity::{Free, Resources};
pub use labels::{Label, LabelError, LabelSelector, Labels, Requirement};
pub use pods::{PodSet, pod_requests};
pub use policy::{
    ExtendedStage, FailurePolicy, FreeCapacity, PlacementQuestion, Policy, Selector, Spread, Stage, StageKind,
};
pub use quantity::QuantityError;
pub use stage::{
    Candidate, ClusterAttributes, Counted, PlacementRequest, PlacementStage, PushedScore, Reason, Score, StageFailure,
    Verdict,
};
pub use taint::{ParseTaintError, Taint, TaintEffect, Toleration};
pub use unit::{Unit, UnitName};
