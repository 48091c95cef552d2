//! What the tests with real clients share. The tests themselves stand in `tests/`, one file for each client.

mod informers;

pub use informers::{Informers, Object, Report, Request};
