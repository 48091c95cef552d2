//! Where an object that is to be made goes (design 1).

use orrery_api::{CLUSTER_KEY, ClusterName, Gvr, Naming, ObjectKey};
use orrery_fleet::{Health, Member};
use orrery_sequencer::{Owner as Holder, Resource};

use super::Call;
use crate::front::Service;
use crate::status::Status;
use crate::translate::Facts;

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
        let (gvr, namespace, name) = self.referent(call, facts)?;
        let resource = self.front.sequencer.resource(&gvr).await.ok()?;
        let namespace = if resource.reader().shape().namespaced { namespace } else { String::new() };
        match resource.owner_of(&ObjectKey::new(&namespace, &name)) {
            Holder::Held { cluster, .. } | Holder::Away { cluster, .. } if resource.naming() != Naming::Same => {
                Some(cluster)
            }
            _ => None,
        }
    }

    /// What a binding, an event or an endpoint is about: resource, namespace and name.
    fn referent(&self, call: &Call<'_>, facts: &Facts) -> Option<(Gvr, String, String)> {
        let here = call.asked.namespace.clone();
        let service = |name: String| Some((Gvr::new("", "v1", "services"), here.clone(), name));
        let involved = |field: &str| {
            let value = call.document()?.value()?;
            let text = |name: &str| value[field][name].as_str().unwrap_or_default().to_owned();
            let [api_version, kind, namespace, name] = ["apiVersion", "kind", "namespace", "name"].map(text);
            let gvr = self.resource_named(if api_version.is_empty() { "v1" } else { &api_version }, &kind)?;
            Some((gvr, namespace, name))
        };
        match (&*call.asked.gvr.group, &*call.asked.gvr.resource) {
            ("", "bindings") => Some((Gvr::new("", "v1", "pods"), here, facts.name.clone())),
            ("", "endpoints") => service(facts.name.clone()),
            ("discovery.k8s.io", "endpointslices") => {
                let label = facts.labels.iter().find(|(key, _)| key == "kubernetes.io/service-name")?;
                service(label.1.clone())
            }
            ("", "events") => involved("involvedObject"),
            ("events.k8s.io", "events") => involved("regarding"),
            _ => None,
        }
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

/// The cluster that a body names for itself.
pub(super) fn named(facts: &Facts) -> Option<&str> {
    let pairs = facts.labels.iter().chain(&facts.annotations);
    pairs.into_iter().find(|(key, _)| key == CLUSTER_KEY).map(|(_, name)| name.as_str())
}
