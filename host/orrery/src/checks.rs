//! What `/readyz` depends on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use orrery_fleet::{Fleet, Health};
use orrery_rest::Check;

/// Ready once every member has either answered or failed to: from then on lists are what they can be. A member that joins
/// later makes nothing unready.
pub(crate) fn of(fleet: &Fleet) -> Arc<[Check]> {
    let (fleet, were_asked) = (fleet.clone(), AtomicBool::new(false));
    let passes = move || {
        if were_asked.load(Ordering::Relaxed) {
            return Ok(());
        }
        let members = fleet.members();
        let waiting = members.iter().filter(|member| match member.health() {
            Health::NeverSeen { reason } => reason.is_empty(),
            Health::Reachable => member.discovery().is_none(),
            Health::Unreachable { .. } => false,
        });
        let names: Vec<String> = waiting.map(|member| member.name().to_string()).collect();
        were_asked.store(names.is_empty(), Ordering::Relaxed);
        if names.is_empty() { Ok(()) } else { Err(format!("members have not answered yet: {}", names.join(", "))) }
    };
    Arc::new([Check { name: "members-asked", passes: Box::new(passes) }])
}
