//! Where an object that is to be made goes (design 1).

use orrery_api::{CLUSTER_KEY, ClusterName, Gvr, Naming, ObjectKey};
use orrery_fleet::{Health, Member};
use orrery_sequencer::{Owner as Holder, Resource};

use super::Call;
use crate::front::Service;
use crate::status::Status;
use crate::translate::{Facts, Mention};

/// The label of a Namespace that says where all that is made in it goes. It is a real one.
const PIN_KEY: &str = "placement.orrery.dev/cluster";

/// A cluster for a new object.
pub(super) struct Routed {
    pub(super) cluster: ClusterName,
    /// Whether the request itself names it.
    pub(super) is_named: bool,
}

// === impl Service ===

impl Service {
    /// The cluster for a new object: the one that the request names; that of the namespace's pin; that of the objects which
    /// it selects, belongs to or is about; else one that is fit.
    pub(super) async fn cluster_for(
        &self,
        call: &Call<'_>,
        resource: &Resource,
        facts: &Facts,
    ) -> Result<Routed, Status> {
        if let Some(name) = named(facts) {
            let cluster = self.member_named(call, name)?;
            return Ok(Routed { cluster, is_named: true });
        }
        let routed = |cluster| Routed { cluster, is_named: false };
        let members = self.front.fleet.members();
        if let [only] = &*members {
            return Ok(routed(only.name().clone()));
        }
        if let Some(pin) = self.pin_of(&call.asked.namespace).await {
            return self.member_named(call, &pin).map(routed);
        }
        if let Some(name) = call.selected_cluster() {
            return self.member_named(call, &name).map(routed);
        }
        if let Some(cluster) = self.cluster_of_referents(call, facts).await {
            return Ok(routed(cluster));
        }
        self.place(call, resource, facts).await.map(routed)
    }

    /// A member by the name that somebody wrote down.
    pub(super) fn member_named(&self, call: &Call<'_>, name: &str) -> Result<ClusterName, Status> {
        let members = self.front.fleet.members();
        let found = members.iter().find(|member| member.name().as_str() == name);
        let unknown = || {
            let names: Vec<_> = members.iter().map(|member| member.name().as_str()).collect();
            let message =
                format!("{CLUSTER_KEY}: {name:?} is no member of this fleet; members are: {}", names.join(", "));
            Status::invalid(&call.asked.gvr.group, &call.served.kind, call.name(), &message)
        };
        found.map(|member| member.name().clone()).ok_or_else(unknown)
    }

    async fn pin_of(&self, namespace: &str) -> Option<String> {
        if namespace.is_empty() {
            return None;
        }
        let namespaces = self.front.sequencer.resource(&Gvr::new("", "v1", "namespaces")).await.ok()?;
        let object = namespaces.reader().get(&ObjectKey::new("", namespace))?;
        object.label(PIN_KEY).map(str::to_owned)
    }

    /// The cluster of the objects that a new one belongs to, or is about.
    async fn cluster_of_referents(&self, call: &Call<'_>, facts: &Facts) -> Option<ClusterName> {
        for owner in &facts.owner_references {
            if let Some((cluster, _)) = self.holder(owner, &call.asked.namespace).await {
                return Some(cluster);
            }
        }
        let mentioned = call.mentions().into_iter().map(|(_, mention)| mention);
        for referent in own_referent(call, facts).into_iter().chain(mentioned) {
            let Some((resource, served)) = self.mentioned(call, &referent).await else { continue };
            match resource.owner_of(&served) {
                Holder::Held { cluster, .. } | Holder::Away { cluster, .. } if resource.naming() != Naming::Same => {
                    return Some(cluster);
                }
                _ => {}
            }
        }
        None
    }

    /// Why an object of this kind cannot be made in a member at all.
    pub(in crate::front) async fn unfit(&self, gvr: &Gvr, namespace: &str, member: &Member) -> Option<String> {
        match member.health() {
            Health::Reachable => {}
            Health::Unreachable { reason, .. } | Health::NeverSeen { reason } => {
                return Some(format!("it does not answer: {reason}"));
            }
        }
        if member.discovery().is_none_or(|discovery| discovery.find(gvr).is_none()) {
            return Some(format!("it does not serve {gvr}"));
        }
        if namespace.is_empty() {
            return None;
        }
        let namespaces = self.front.sequencer.resource(&Gvr::new("", "v1", "namespaces")).await.ok()?;
        let holders = namespaces.holders_of(&ObjectKey::new("", namespace));
        let has = holders.contains(member.name()) || holders.is_empty();
        (!has).then(|| format!("it has no namespace {namespace:?}"))
    }
}

// === impl Call ===

impl Call<'_> {
    /// The cluster whose pods a Service selects, where it says so.
    fn selected_cluster(&self) -> Option<String> {
        let value = self.document().filter(|_| self.selects())?.value()?;
        value["spec"]["selector"][CLUSTER_KEY].as_str().map(str::to_owned)
    }
}

/// What a binding or the endpoints of a Service are about by their own name.
fn own_referent(call: &Call<'_>, facts: &Facts) -> Option<Mention> {
    match (&*call.asked.gvr.group, &*call.asked.gvr.resource) {
        ("", "bindings") => Some(Mention::pod(facts.name.clone())),
        ("", "endpoints") => Some(Mention::service(facts.name.clone())),
        _ => None,
    }
}

/// The cluster that a body names for itself.
pub(super) fn named(facts: &Facts) -> Option<&str> {
    let pairs = facts.labels.iter().chain(&facts.annotations);
    pairs.into_iter().find(|(key, _)| key == CLUSTER_KEY).map(|(_, name)| name.as_str())
}
