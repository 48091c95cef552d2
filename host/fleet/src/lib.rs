//! The members: connections and credentials, discovery, health, and the ingest that turns what a member says into
//! [`Observation`]s (the *observe* of observe → sequence → apply → serve).
//!
//! Members' objects are never reshaped here: bodies pass as the bytes that the member sent.

mod discovery;
#[cfg(test)]
mod fake;
mod fault;
mod fleet;
mod jitter;
mod member;
mod metrics;
mod observe;
mod settings;
mod source;
#[cfg(feature = "testing")]
pub mod testing;
mod transport;
mod wire;

pub use discovery::{Discovery, Group, GroupVersion, Gvk, ResourceInfo, Subresource};
pub use fleet::Fleet;
pub use member::{Health, Member, VersionInfo};
pub use metrics::Metrics;
pub use observe::{AwayClass, AwayReason, ListReason, Observation, Start, observe};
pub use settings::FleetSettings;
pub use source::{ConnectError, Endpoint, MemberFlags, MemberSource, MemberSpec, ResolveError, Traffic};
pub use transport::{Body, BodyError, SendError, Transport, Upgrade};
