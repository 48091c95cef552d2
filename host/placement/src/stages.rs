//! The built-in stages.

mod cluster_selector;
mod free_capacity;
mod spread;
mod taints;

pub(crate) use cluster_selector::ClusterSelector;
pub(crate) use free_capacity::FreeCapacity;
pub(crate) use spread::Spread;
pub(crate) use taints::Taints;
