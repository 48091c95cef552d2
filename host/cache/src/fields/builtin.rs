//! The built-in kinds' tables.

use orrery_api::Gvr;

use super::{Builder, FieldTable, Refusal};

/// Groups that kube-apiserver serves itself refuse unknown fields in other words than custom resources do, which know
/// `metadata.namespace` only where they are namespaced.
pub(super) fn table(gvr: &Gvr, namespaced: bool) -> FieldTable {
    match (&*gvr.group, &*gvr.resource) {
        ("", "pods") => pods(),
        ("", "nodes") => plain(false).field("spec.unschedulable", "spec.unschedulable", "false").build(),
        ("", "namespaces") => plain(false).texts(&["status.phase"]).build(),
        ("", "secrets") => plain(true).texts(&["type"]).build(),
        ("", "services") => plain(true).texts(&["spec.clusterIP", "spec.type"]).build(),
        ("", "replicationcontrollers") => plain(true).field("status.replicas", "status.replicas", "0").build(),
        ("", "events") => core_events(),
        ("events.k8s.io", "events") => events(),
        ("batch", "jobs") => {
            Builder::new(true, Refusal::Job).field("status.successful", "status.succeeded", "0").build()
        }
        ("certificates.k8s.io", "certificatesigningrequests" | "clustertrustbundles") => {
            plain(false).texts(&["spec.signerName"]).build()
        }
        ("certificates.k8s.io", "podcertificaterequests") => {
            plain(false).texts(&["spec.signerName", "spec.podName", "spec.nodeName"]).build()
        }
        ("resource.k8s.io", "resourceslices") => {
            let gvk = format!("resource.k8s.io/{}, Kind=ResourceSlice", gvr.version);
            Builder::new(false, Refusal::ForKind { gvk })
                .texts(&["spec.nodeName", "spec.driver", "spec.pool.name"])
                .build()
        }
        _ if gvr.is_built_in() => Builder::new(true, Refusal::MetadataOnly).build(),
        _ => plain(namespaced).build(),
    }
}

fn plain(namespace: bool) -> Builder {
    Builder::new(namespace, Refusal::Plain)
}

fn pods() -> FieldTable {
    plain(true)
        .texts(&["spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName"])
        .texts(&["status.phase", "status.podIP", "status.nominatedNodeName"])
        .field("spec.hostNetwork", "spec.hostNetwork", "false")
        .field("spec.host", "spec.nodeName", "")
        .empty("status.podIPs")
        .build()
}

fn core_events() -> FieldTable {
    plain(true)
        .texts(&["involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid"])
        .texts(&["involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath"])
        .texts(&["reason", "reportingComponent", "type"])
        .either("source", "source.component", "reportingComponent")
        .build()
}

fn events() -> FieldTable {
    plain(true)
        .texts(&["regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid"])
        .texts(&["regarding.apiVersion", "regarding.resourceVersion", "regarding.fieldPath"])
        .texts(&["reason", "reportingController", "type"])
        .build()
}
