//! The e2e suite of upstream as judge: what passes directly against a member passes through the host.
//!
//! Which specs that are stands in `conformance.txt` ([`Spec`]), and which of them cannot pass with two members in
//! `conformance-two.txt` ([`Exception`]). [`Run`] runs some of them.

mod candidates;
mod exceptions;
mod report;
mod run;
mod specs;

pub use candidates::{CANDIDATES, NOT_CANDIDATES};
pub use exceptions::{Exception, exceptions};
pub use report::Verdict;
pub use run::Run;
pub use specs::{Spec, specs, write_specs};
