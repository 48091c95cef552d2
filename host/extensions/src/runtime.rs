//! Where guests run: one engine for all of them, under limits that no guest can lift.

mod artifacts;
mod bindings;
mod call;
mod call_log;
mod code;
mod compile;
mod core_module;
mod engine;
mod limiter;
mod state;

pub(crate) use artifacts::Artifacts;
pub(crate) use bindings::orrery::plugin as wit;
pub use call::CallError;
pub(crate) use call::{Caller, Guest};
pub(crate) use call_log::{CallLog, Measured, Series};
pub use code::CodeError;
pub(crate) use code::{BYTES_MAX, Code, digest};
pub(crate) use compile::Compiler;
pub(crate) use engine::Engines;
pub(crate) use state::{Pinned, PinnedCluster};
