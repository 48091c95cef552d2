//! What users teach the host while it runs: policies, plugins and rules in CEL, which stand as files in the directory of
//! `--extensions`.
//!
//! The whole set of documents is replaced in one step. A file that is wrong keeps what it said before, and says so in the
//! log and in a metric; at the start, when there is nothing before, it is an error. A plugin or a rule becomes a generation,
//! which serves once it was compiled, linked and asked its golden cases; until then, and for ever if one of these fails, the
//! one before it serves.

mod cases;
mod directory;
mod file;
mod generation;
mod health;
mod inputs;
mod load;
mod metrics;
mod oci;
mod policies;
mod record;
mod registry;
mod revision;
mod runtime;
mod selectors;
mod set;
mod slot;
mod stage;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(test)]
mod tests;

pub use directory::{Extensions, OpenError};
pub use file::FileError;
pub use load::{Refusal, Step};
pub use metrics::Metrics;
pub use policies::Policies;
pub use registry::Registry;
pub use runtime::{CallError, CodeError};
pub use selectors::{Asker, Requires};
