//! What users teach the host while it runs: the policies that stand as files in the directory of `--extensions`.
//!
//! The whole set is replaced in one step. A file that is wrong keeps what it said before, and says so in the log and in a
//! metric; at the start, when there is nothing before, it is an error.

mod directory;
mod file;
mod metrics;
mod policies;
mod set;

pub use directory::{Extensions, OpenError};
pub use file::FileError;
pub use metrics::Metrics;
pub use policies::Policies;
