//! What the tests with real clients share. The tests themselves stand in `tests/`, one file for each client.

mod clients;
mod informers;
mod text;

pub use clients::{ForeignClient, Held};
pub use informers::{Informers, Object, Report, Request};
pub use text::{unversioned, without_cluster, without_columns};
