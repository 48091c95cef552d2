//! How many files and connections may be open at a time.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::{info, warn};

/// Raises the limit as far as it may be raised, as Go's programs do. The 1,024 that shells often give are for programs that
/// call `select`; a fleet of a thousand members takes four thousand connections.
pub(crate) fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => info!(before = current, now = maximum, "limit of open files raised"),
        Err(error) => {
            warn!(%error, limit = current, "the limit of open files cannot be raised; large fleets need more");
        }
    }
}
