//! The whole host in one process, on a clock that stands still unless everybody waits, against simulated members.
//!
//! ```text
//!   Dice(seed) ─▶ driver: churn, faults, crashes, clock steps ─▶ members (orrery-sim) ◀─ fleet ┐
//!                                                              ▶ store (faulty)       ◀────────┤ host
//!   informers, listers ── HTTP on streams in memory ──────────────────────────────────────▶ rest ┘
//!        └─ what they are told ─▶ laws: ordered, unique, complete, resumable, bookmark-true, marker-monotone,
//!                                 snapshot-consistent, member-faithful
//! ```
//! The seed decides all that the simulation does. Two things are not in its hands: the order in which `HashMap`s of the
//! host are walked, and which ready branch a `select!` without `biased` takes. A seed that fails does so again nearly
//! always, not always.

mod client;
mod dice;
mod driver;
mod host;
mod informer;
mod laws;
mod stage;
mod truth;

use std::time::Duration;

pub use driver::Plan;
pub use stage::{Stage, config_maps, moons, namespaces, widgets};

use dice::Dice;
use driver::Driver;

/// What a run that kept all laws has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Events that clients were told.
    pub events: u64,
    /// Bookmarks that clients were told.
    pub bookmarks: u64,
    /// Lists that clients read.
    pub lists: u64,
    /// Exact lists that were held against a replay.
    pub exact: u64,
    /// Watches that were resumed.
    pub resumes: u64,
    /// Times a client was told to begin anew.
    pub expired: u64,
    /// Starts of the host.
    pub starts: u64,
}

/// A law that was broken, and the way there.
#[derive(Debug)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// Which law, and how.
    pub violation: String,
    /// All that was done, with the seconds since the start.
    pub trace: Vec<String>,
}

/// Runs the simulation that `seed` decides, on a paused clock of its own.
///
/// # Errors
/// The first law that was broken.
pub fn run(seed: u64, plan: &Plan) -> Result<Tally, Box<Failure>> {
    if plan.loud {
        // What the host logs, by RUST_LOG. Times would be those of the wall clock, which say nothing here.
        let filter = tracing_subscriber::EnvFilter::from_default_env();
        let _ = tracing_subscriber::fmt().with_env_filter(filter).without_time().with_ansi(false).try_init();
    }
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().expect("a runtime needs memory only");
    let result = runtime.block_on(async {
        let mut driver = Driver::new(Dice::new(seed), plan);
        match driver.run().await {
            Ok(tally) => Ok(tally),
            Err(violation) => Err(Box::new(Failure { seed, violation, trace: driver.into_trace() })),
        }
    });
    runtime.shutdown_timeout(Duration::from_millis(10));
    result
}

// === impl Tally ===

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.bookmarks += other.bookmarks;
        self.lists += other.lists;
        self.exact += other.exact;
        self.resumes += other.resumes;
        self.expired += other.expired;
        self.starts += other.starts;
    }
}
