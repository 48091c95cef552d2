//! The built-in kinds, as kube-apiserver 1.37 prints them (k8s.io/kubernetes pkg/printers/internalversion/printers.go).
//! A kind is its columns and a function that writes the cells of one object; those of a group that belong together
//! share a file.

mod admission;
mod autoscaling;
mod batch;
mod certificates;
mod classes;
mod coordination;
mod core;
mod csi;
mod definitions;
mod devices;
mod endpoints;
mod events;
mod flowcontrol;
mod lifecycle;
mod networking;
mod nodes;
mod pods;
mod policy;
mod rbac;
mod scheduling;
mod services;
mod storage;
mod templates;
mod versions;
mod workloads;

use orrery_api::Gvr;

use super::cells::Cells;
use super::column::Column;
use super::json::Unreadable;

pub(super) use classes::defaults as default_classes;
pub(super) use flowcontrol::sort as sort_by_precedence;

/// How the objects of one kind are printed.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) columns: &'static [Column],
    /// Writes the cells of the object with this JSON.
    pub(super) print: fn(&[u8], &mut Cells<'_>) -> Result<(), Unreadable>,
}

/// What upstream looks for in a list as a whole, before it prints a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OfList {
    Nothing,
    /// Which StorageClass is the default.
    DefaultClass,
    /// The order in which FlowSchemas are tried.
    Precedence,
}

// === impl OfList ===

impl OfList {
    pub(super) fn of(resource: &Gvr) -> Self {
        match (&*resource.group, &*resource.resource) {
            ("storage.k8s.io", "storageclasses") => Self::DefaultClass,
            ("flowcontrol.apiserver.k8s.io", "flowschemas") => Self::Precedence,
            _ => Self::Nothing,
        }
    }
}

/// The kind of a resource that kube-apiserver serves itself. All served versions of a resource are printed alike; those
/// that upstream has no printer for (Roles, ClusterRoles, LimitRanges, CSIStorageCapacities) show their name
/// and time of creation.
pub(super) fn of(resource: &Gvr) -> &'static Kind {
    match (&*resource.group, &*resource.resource) {
        ("", resource) => core_group(resource),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations" | "validatingwebhookconfigurations") => {
            &admission::WEBHOOKS
        }
        ("admissionregistration.k8s.io", "validatingadmissionpolicies") => &admission::VALIDATING_POLICIES,
        ("admissionregistration.k8s.io", "mutatingadmissionpolicies") => &admission::MUTATING_POLICIES,
        ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings" | "validatingadmissionpolicybindings") => {
            &admission::BINDINGS
        }
        ("apiextensions.k8s.io", "customresourcedefinitions") => &definitions::DEFINITIONS,
        ("apiregistration.k8s.io", "apiservices") => &definitions::API_SERVICES,
        ("apps", "controllerrevisions") => &templates::CONTROLLER_REVISIONS,
        ("apps", "daemonsets") => &workloads::DAEMON_SETS,
        ("apps", "deployments") => &workloads::DEPLOYMENTS,
        ("apps", "replicasets") => &workloads::REPLICA_SETS,
        ("apps", "statefulsets") => &workloads::STATEFUL_SETS,
        ("autoscaling", "horizontalpodautoscalers") => &autoscaling::AUTOSCALERS,
        ("batch", "cronjobs") => &batch::CRON_JOBS,
        ("batch", "jobs") => &batch::JOBS,
        ("certificates.k8s.io", "certificatesigningrequests") => &certificates::SIGNING_REQUESTS,
        ("certificates.k8s.io", "clustertrustbundles") => &certificates::TRUST_BUNDLES,
        ("certificates.k8s.io", "podcertificaterequests") => &certificates::POD_REQUESTS,
        ("coordination.k8s.io", "leases") => &coordination::LEASES,
        ("coordination.k8s.io", "leasecandidates") => &coordination::LEASE_CANDIDATES,
        ("discovery.k8s.io", "endpointslices") => &endpoints::ENDPOINT_SLICES,
        ("events.k8s.io", "events") => &events::EVENTS,
        ("flowcontrol.apiserver.k8s.io", "flowschemas") => &flowcontrol::FLOW_SCHEMAS,
        ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations") => &flowcontrol::PRIORITY_LEVELS,
        ("internal.apiserver.k8s.io", "storageversions") => &versions::STORAGE_VERSIONS,
        ("lifecycle.k8s.io", "evictionrequests") => &lifecycle::EVICTION_REQUESTS,
        ("lifecycle.k8s.io", "evictions") => &lifecycle::EVICTIONS,
        ("networking.k8s.io", "ingressclasses") => &networking::INGRESS_CLASSES,
        ("networking.k8s.io", "ingresses") => &networking::INGRESSES,
        ("networking.k8s.io", "ipaddresses") => &networking::IP_ADDRESSES,
        ("networking.k8s.io", "networkpolicies") => &networking::NETWORK_POLICIES,
        ("networking.k8s.io", "servicecidrs") => &networking::SERVICE_CIDRS,
        ("node.k8s.io", "runtimeclasses") => &nodes::RUNTIME_CLASSES,
        ("policy", "poddisruptionbudgets") => &policy::DISRUPTION_BUDGETS,
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => &rbac::BINDINGS,
        ("resource.k8s.io", "deviceclasses" | "resourceclaimtemplates") => &core::NAME_AND_AGE,
        ("resource.k8s.io", "devicetaintrules") => &devices::TAINT_RULES,
        ("resource.k8s.io", "resourceclaims") => &devices::CLAIMS,
        ("resource.k8s.io", "resourcepoolstatusrequests") => &devices::POOL_REQUESTS,
        ("resource.k8s.io", "resourceslices") => &devices::SLICES,
        ("scheduling.k8s.io", "priorityclasses") => &scheduling::PRIORITY_CLASSES,
        ("scheduling.k8s.io", "workloads") => &core::NAME_AND_AGE,
        ("scheduling.k8s.io", "podgroups") => &scheduling::POD_GROUPS,
        ("scheduling.k8s.io", "compositepodgroups") => &scheduling::COMPOSITE_POD_GROUPS,
        ("storage.k8s.io", "csidrivers") => &csi::DRIVERS,
        ("storage.k8s.io", "csinodes") => &csi::NODES,
        ("storage.k8s.io", "storageclasses") => &classes::STORAGE_CLASSES,
        ("storage.k8s.io", "volumeattachments") => &csi::ATTACHMENTS,
        ("storage.k8s.io", "volumeattributesclasses") => &classes::ATTRIBUTES_CLASSES,
        ("storagemigration.k8s.io", "storageversionmigrations") => &versions::MIGRATIONS,
        _ => &core::FALLBACK,
    }
}

fn core_group(resource: &str) -> &'static Kind {
    match resource {
        "componentstatuses" => &core::COMPONENT_STATUSES,
        "configmaps" => &core::CONFIG_MAPS,
        "endpoints" => &endpoints::ENDPOINTS,
        "events" => &events::EVENTS,
        "namespaces" => &core::NAMESPACES,
        "nodes" => &nodes::NODES,
        "persistentvolumeclaims" => &storage::CLAIMS,
        "persistentvolumes" => &storage::VOLUMES,
        "pods" => &pods::PODS,
        "podtemplates" => &templates::POD_TEMPLATES,
        "replicationcontrollers" => &workloads::REPLICATION_CONTROLLERS,
        "resourcequotas" => &policy::QUOTAS,
        "secrets" => &core::SECRETS,
        "serviceaccounts" => &core::NAME_AND_AGE,
        "services" => &services::SERVICES,
        _ => &core::FALLBACK,
    }
}
