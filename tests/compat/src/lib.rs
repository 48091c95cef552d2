//! What the tests with real clients share. The tests themselves stand in `tests/`, one file for each client.

mod chance;
mod clients;
pub mod conformance;
mod informers;
mod kube_rs;
mod stamp;
mod terminal;
mod text;

pub use chance::without_chance;
pub use clients::{ForeignClient, Held, javascript_program, python_program};
pub use informers::{Informers, Object, Report, Request};
pub use kube_rs::{Entry, KubeRs};
pub use stamp::{unstamped, unstamped_json};
pub use terminal::Terminal;
pub use text::{unversioned, without_cluster, without_columns};
