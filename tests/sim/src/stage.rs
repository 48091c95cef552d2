use std::time::Duration;

use orrery_api::{Gvr, ObjectKey};
use orrery_sim::Cluster;
use orrery_stores::testing::Fault;

use crate::dice::Dice;
use crate::driver::Driver;
use crate::truth::Subject;

/// The simulation without dice: for tests of one fault. It has members `m0`, `m1` ... with the kinds of [`config_maps`],
/// [`namespaces`], [`widgets`] and [`moons`], and the clients of a run.
pub struct Stage(Driver);

/// ConfigMaps: each name is one object.
pub fn config_maps() -> Gvr {
    Subject::config_maps().gvr().clone()
}

/// Namespaces: one name is one object in several members.
pub fn namespaces() -> Gvr {
    Subject::namespaces().gvr().clone()
}

/// Custom resources.
pub fn widgets() -> Gvr {
    Subject::widgets().gvr().clone()
}

/// Custom resources of two served versions, in the one that members prefer.
pub fn moons() -> Gvr {
    Subject::moons().gvr().clone()
}

// === impl Stage ===

impl Stage {
    /// So many empty members, and no host yet. Call it in a runtime whose clock is paused.
    pub fn new(members: u64) -> Self {
        let subjects = vec![Subject::config_maps(), Subject::namespaces(), Subject::widgets(), Subject::moons()];
        Self(Driver::of(members, subjects, false, Dice::new(0)))
    }

    /// A member, to do something to.
    pub fn member(&self, number: usize) -> &Cluster {
        &self.0.sites[number].cluster
    }

    /// Creates or changes an object of a member.
    pub fn put(&self, number: usize, gvr: &Gvr, key: &ObjectKey) {
        let site = &self.0.sites[number];
        self.0.truth.put(&site.name, &site.cluster, gvr, key, false);
    }

    /// Begins to delete an object of a member, which stays until it is deleted.
    pub fn terminate(&self, number: usize, gvr: &Gvr, key: &ObjectKey) {
        let site = &self.0.sites[number];
        self.0.truth.put(&site.name, &site.cluster, gvr, key, true);
    }

    /// Starts the host, with the store that an earlier one left. Any member may be away meanwhile.
    pub fn start(&mut self) {
        self.0.doubt_all();
        self.0.start_host();
    }

    /// Starts the host while all members answer.
    pub fn start_with_all_there(&mut self) {
        self.0.start_host();
    }

    /// Ends the host where it stands.
    pub fn kill(&mut self) {
        self.0.kill_host();
    }

    /// The next write to the store takes `time`.
    pub fn delay_store(&self, time: Duration) {
        self.0.store.add_fault(Fault::Delay(time));
    }

    /// A member leaves the fleet of the host that runs, or comes back.
    pub async fn leave(&mut self, number: usize) {
        self.0.leave(number).await;
    }

    /// Ends all faults, and waits until every client has what the members hold.
    ///
    /// # Errors
    /// The law that was broken, or what a client still lacks after long.
    pub async fn rest(&mut self) -> Result<(), String> {
        self.0.settle().await?;
        self.0.judge()
    }
}
