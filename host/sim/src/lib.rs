//! A simulated member: a small kube-apiserver with an etcd's revisions, for fault tests and for fleets of a thousand.
//!
//! ```text
//!   test or bench ── put, delete, restore, set_mode … ──▶ Cluster ◀── answer(http::Request) ── in process
//!                                                            ▲
//!                                                            └── listen (loopback, TLS or plain) ◀── a kubeconfig
//! ```
//! It serves what the host asks of a member: aggregated discovery, `/version`, the uid of kube-system, GET, LIST (paged,
//! exact), WATCH (bookmarks, WatchList, 410). All resources share one revision counter, and a transaction that deletes
//! many objects gives all of them one revision, as etcd does. Objects are made of a [`Template`] when they are sent, so
//! that a pod of 8 KB takes some 200 bytes here.
//!
//! Nothing here draws a random number, and what passes time (delays, `timeoutSeconds`, bookmarks) follows Tokio's clock,
//! which a test may pause. It is never linked into the host.

mod body;
mod cluster;
mod history;
mod kind;
mod listen;
mod serve;
mod template;
mod watch;

pub use body::{Body, Broken};
pub use cluster::{Cluster, Mode, Pace, Snapshot, State, WatchLists};
pub use kind::Kind;
pub use listen::{Authority, AuthorityError, kubeconfig, listen};
pub use template::Template;
