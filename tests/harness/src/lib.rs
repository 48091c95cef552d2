//! What `./dev` and the tests share: programs built from their sources, real clusters and the host as processes, test
//! suites and the demo.
//!
//! Everything here blocks: a test that wants many things at once uses threads. Processes end with the process that
//! started them, however that ends, unless they were asked to be kept (`./dev clusters up`).
//!
//! ```no_run
//! use orrery_harness::{ClusterSpec, HostSpec, start_all};
//! # fn main() -> anyhow::Result<()> {
//! let [east, west] = start_all([ClusterSpec::bare("east"), ClusterSpec::full("west")])?;
//! let host = HostSpec::new().member(&east).member(&west).start()?;
//! let pods = host.kubectl().ok(&["get", "pods", "-A"])?;
//! # Ok(())
//! # }
//! ```

mod client;
mod cluster;
mod console;
mod etcd;
mod host;
mod kubectl;
mod pki;
mod places;
mod ports;
mod printed;
mod process;
mod suites;
mod toolchain;
mod wait;

pub mod commands;

pub use client::{Client, Lines, Response};
pub use cluster::{Cluster, ClusterSpec, EtcdSnapshot, start_all};
pub use commands::demo_clusters;
pub use console::{ConsoleStep, console_steps, shell_commands};
pub use etcd::{Etcd, EtcdSpec};
pub use host::{Host, HostSpec, binary};
pub use kubectl::{Kubectl, Printed};
pub use places::{cache, repository};
pub use ports::free_port;
pub use printed::printed_as_written;
pub use process::{Lifetime, Process, Program};
pub use toolchain::{
    GUESTS, Guest, Minor, Profile, Programs, UpstreamSuite, go_program, programs, require, upstream_suite,
};
pub use wait::eventually;
