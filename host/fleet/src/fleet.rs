//! The members of now, in order.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use orrery_api::ClusterName;
use tokio::sync::{Mutex, watch};

use crate::member::{Registry, Shared};
use crate::{FleetSettings, Member, MemberSource, MemberSpec, Metrics};

/// The clusters that the host makes one API. A cheap handle; with the last one its members leave.
#[derive(Clone)]
pub struct Fleet(Arc<Inner>);

struct Inner {
    shared: Shared,
    members: RwLock<Arc<[Member]>>,
    /// Held while members are replaced.
    replacing: Mutex<()>,
}

// === impl Fleet ===

impl Fleet {
    /// The fleet of these members, which are connected to in the background. Must be called within a Tokio runtime.
    pub fn start(members: Vec<MemberSpec>, settings: FleetSettings, metrics: Metrics) -> Self {
        Self::start_with(members.into_iter().map(from_spec).collect(), settings, metrics)
    }

    /// The fleet of members from sources of another kind, such as simulated ones.
    pub fn start_with(
        members: Vec<(ClusterName, Arc<dyn MemberSource>)>,
        settings: FleetSettings,
        metrics: Metrics,
    ) -> Self {
        let changed = Arc::new(watch::Sender::new(0));
        let shared = Shared { settings: Arc::new(settings), metrics, changed, registry: Arc::new(Registry::default()) };
        let members: Arc<[Member]> =
            members.into_iter().map(|(name, source)| Member::new(name, source, &shared)).collect();
        shared.registry.set(&members);
        members.iter().for_each(Member::tend);
        Self(Arc::new(Inner { shared, members: RwLock::new(members), replacing: Mutex::default() }))
    }

    /// The members, in fleet order.
    pub fn members(&self) -> Arc<[Member]> {
        self.0.members.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The member of this name.
    pub fn member(&self, name: &ClusterName) -> Option<Member> {
        self.members().iter().find(|member| member.name() == name).cloned()
    }

    /// A count that rises when a member joins or leaves, and when the health, identity, version or discovery of one
    /// changes.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.0.shared.changed.subscribe()
    }

    /// Pairs of members that turned out to be one cluster (one kube-system uid, one CA): the earlier, and the later,
    /// which is not used.
    pub fn duplicates(&self) -> Vec<(ClusterName, ClusterName)> {
        self.0.shared.registry.duplicates()
    }

    /// Makes these the members: others leave, new ones join, and those that stay read their kubeconfig anew, and
    /// the streams of one whose server is another now are cut.
    pub async fn replace(&self, members: Vec<MemberSpec>) {
        self.replace_with(members.into_iter().map(from_spec).collect()).await;
    }

    /// As [`Self::replace`], of sources of another kind.
    pub async fn replace_with(&self, sources: Vec<(ClusterName, Arc<dyn MemberSource>)>) {
        let _replacing = self.0.replacing.lock().await;
        let before = self.members();
        let mut stayed = Vec::new();
        let mut joined = Vec::new();
        let mut members = Vec::with_capacity(sources.len());
        for (name, source) in sources {
            let member = match before.iter().find(|member| *member.name() == name) {
                Some(member) => {
                    member.set_source(source);
                    stayed.push(member.clone());
                    member.clone()
                }
                None => {
                    let member = Member::new(name, source, &self.0.shared);
                    joined.push(member.clone());
                    member
                }
            };
            members.push(member);
        }
        let members: Arc<[Member]> = members.into();
        for gone in before.iter().filter(|member| !members.iter().any(|other| other.name() == member.name())) {
            gone.leave();
            self.0.shared.metrics.forget(gone.name());
        }
        *self.0.members.write().unwrap_or_else(PoisonError::into_inner) = members.clone();
        self.0.shared.registry.set(&members);
        joined.iter().for_each(Member::tend);
        self.0.shared.changed.send_modify(|count| *count += 1);
        futures::future::join_all(stayed.iter().map(Member::reconfigure)).await;
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.members.get_mut().unwrap_or_else(PoisonError::into_inner).iter().for_each(Member::leave);
        // The registry knows members that know it.
        self.shared.registry.set(&[]);
    }
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Fleet").field(&self.members()).finish()
    }
}

fn from_spec(spec: MemberSpec) -> (ClusterName, Arc<dyn MemberSource>) {
    (spec.name.clone(), Arc::new(spec))
}
