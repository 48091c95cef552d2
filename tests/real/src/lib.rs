//! What tests on real clusters share beside `orrery-harness`; the tests themselves stand in `tests/`, one file for each
//! promise.
//!
//! Three parties take part in a fault: a [`Churn`] writes to the members behind the host's back, a [`Recorder`] follows
//! a collection through the host and holds what it sees against the laws of the API, and a [`Bystander`] asks for
//! things that have nothing to do with the fault and must be answered all the time. At the end [`check_union`] compares
//! what the host shows with what the members hold.

mod bystander;
mod churn;
mod essence;
mod kind;
mod reads;
mod recorder;
mod tiers;
mod union;

pub use bystander::{Answers, Bystander};
pub use churn::{Churn, Written};
pub use kind::{COMETS, Kind};
pub use reads::{change_config_map, config_map, create_config_map, delete_config_map, is_shown, warned_of, warnings};
pub use recorder::{Recorder, Recording};
pub use tiers::{extension, host_over_tiers, placed, replace_file};
pub use union::{Held, Shown, check_union, held, list_version, shown, union_is_shown};
