//! What `/readyz` depends on.

use std::sync::Arc;

use orrery_fleet::{Fleet, Health};
use orrery_rest::Check;

/// Ready once every member has either answered or failed to: from then on lists are what they can be.
pub(crate) fn of(fleet: &Fleet) -> Arc<[Check]> {
    let fleet = fleet.clone();
    let passes = move || {
        let members = fleet.members();
        let waiting = members.iter().filter(|member| match member.health() {
            Health::NeverSeen { reason } => reason.is_empty(),
            Health::Reachable => member.discovery().is_none(),
            Health::Unreachable { .. } => false,
        });
        let names: Vec<String> = waiting.map(|member| member.name().to_string()).collect();
        if names.is_empty() { Ok(()) } else { Err(format!("members have not answered yet: {}", names.join(", "))) }
    };
    Arc::new([Check { name: "members-asked", passes: Box::new(passes) }])
}
