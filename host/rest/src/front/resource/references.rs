//! Names of other objects in selectors, read through the claims (design 2.6).
//!
//! `spec.nodeName=node-1.west` is a name that only this host knows: in cluster west the node is `node-1`, and its pods
//! say so. Such a term becomes the member's own name, and the cluster that it is a name in is selected beside it.

use std::sync::Arc;

use orrery_api::{CLUSTER_KEY, Gvr, ObjectKey};
use orrery_sequencer::{Owner, Resource};

use crate::front::Service;
use crate::options::ListOptions;
use crate::request::ResourceRequest;
use crate::translate::SERVICE_LABEL;

/// A `key=value` term of a selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Term<'a> {
    key: &'a str,
    value: &'a str,
}

/// What a selector's name is the name of.
enum Referent {
    /// A node.
    Node,
    /// A service in the namespace of the request.
    Service,
    /// An object of this kind and namespace.
    Kind { kind: String, namespace: String },
}

const NODE_NAME: &str = "spec.nodeName";

// === impl Service ===

impl Service {
    /// `options` with the names that the selectors hold turned into those of the cluster that they belong to.
    pub(super) async fn through_claims(&self, asked: &ResourceRequest, mut options: ListOptions) -> ListOptions {
        let Some((term_key, name, referent)) = reference(asked, &options) else { return options };
        let Some((resource, namespace)) = self.resource_of(asked, &referent).await else { return options };
        let Owner::Held { cluster, key } = resource.owner_of(&ObjectKey::new(&namespace, &name)) else {
            return options;
        };
        if term_key == SERVICE_LABEL {
            options.label_selector = renamed(&options.label_selector, SERVICE_LABEL, &name, &key.name);
        } else {
            options.field_selector = renamed(&options.field_selector, term_key, &name, &key.name);
            // The kubelet writes a node's name where others write its uid.
            let uid = term_key.replace(".name", ".uid");
            options.field_selector = renamed(&options.field_selector, &uid, &name, &key.name);
        }
        let separator = if options.label_selector.is_empty() { "" } else { "," };
        options.label_selector.push_str(&format!("{separator}{CLUSTER_KEY}={cluster}"));
        options
    }

    /// The resource whose claims a name is read through. Nodes and services are begun for it; of any other kind a name
    /// can only be known to who has read that kind here.
    async fn resource_of(&self, asked: &ResourceRequest, referent: &Referent) -> Option<(Resource, String)> {
        let core = |resource: &str| Gvr::new("", "v1", resource);
        match referent {
            Referent::Node => Some((self.front.sequencer.resource(&core("nodes")).await.ok()?, String::new())),
            Referent::Service => {
                let services = self.front.sequencer.resource(&core("services")).await.ok()?;
                Some((services, asked.namespace.clone()))
            }
            Referent::Kind { kind, namespace } => {
                let begun = self.front.sequencer.resources();
                let of_kind = begun.into_iter().find(|resource| *resource.reader().shape().kind == **kind)?;
                let namespace = if of_kind.reader().shape().namespaced { namespace.clone() } else { String::new() };
                Some((of_kind, namespace))
            }
        }
    }
}

/// The term of a selector that names another object.
fn reference(asked: &ResourceRequest, options: &ListOptions) -> Option<(&'static str, Arc<str>, Referent)> {
    let found =
        |selector: &str, key: &str| terms(selector).find(|term| term.key == key).map(|term| term.value.to_owned());
    let fields = options.field_selector.as_str();
    match (&*asked.gvr.group, &*asked.gvr.resource) {
        ("", "pods") => Some((NODE_NAME, found(fields, NODE_NAME)?.into(), Referent::Node)),
        ("discovery.k8s.io", "endpointslices") => {
            Some((SERVICE_LABEL, found(&options.label_selector, SERVICE_LABEL)?.into(), Referent::Service))
        }
        ("", "events") => involved(fields, "involvedObject.name", "involvedObject.kind", "involvedObject.namespace"),
        ("events.k8s.io", "events") => involved(fields, "regarding.name", "regarding.kind", "regarding.namespace"),
        _ => None,
    }
}

fn involved(
    fields: &str,
    name: &'static str,
    kind: &str,
    namespace: &str,
) -> Option<(&'static str, Arc<str>, Referent)> {
    let found = |key: &str| terms(fields).find(|term| term.key == key).map(|term| term.value.to_owned());
    let referent = Referent::Kind { kind: found(kind)?, namespace: found(namespace).unwrap_or_default() };
    Some((name, found(name)?.into(), referent))
}

/// The `key=value` terms of a selector; other terms name nothing.
fn terms(selector: &str) -> impl Iterator<Item = Term<'_>> {
    selector.split(',').filter_map(term)
}

fn term(text: &str) -> Option<Term<'_>> {
    let (key, value) = text.split_once("==").or_else(|| text.split_once('='))?;
    let (key, value) = (key.trim(), value.trim());
    (!key.ends_with('!') && !value.is_empty()).then_some(Term { key, value })
}

/// `selector` with the value of the term `key=from` replaced.
fn renamed(selector: &str, key: &str, from: &str, to: &str) -> String {
    let pieces = selector.split(',').map(|text| match term(text) {
        Some(found) if found.key == key && found.value == from => format!("{key}={to}"),
        _ => text.to_owned(),
    });
    pieces.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Query;
    use crate::request::Verb;

    fn named(gvr: &Gvr, query: &str) -> Option<(&'static str, String)> {
        let asked = ResourceRequest {
            verb: Verb::List,
            gvr: gvr.clone(),
            namespace: "a".to_owned(),
            name: None,
            subresource: None,
        };
        let options = ListOptions::parse(&Query::parse(query), false).unwrap();
        reference(&asked, &options).map(|(key, name, _)| (key, name.to_string()))
    }

    #[test]
    fn selectors_that_name_an_object_are_found() {
        let (pods, events) = (Gvr::new("", "v1", "pods"), Gvr::new("", "v1", "events"));
        let slices = Gvr::new("discovery.k8s.io", "v1", "endpointslices");
        let some = |key, name: &str| Some((key, name.to_owned()));
        for (gvr, query, expected) in [
            (
                &pods,
                "fieldSelector=status.phase%3DRunning,spec.nodeName%3D%3Dnode-1.west",
                some(NODE_NAME, "node-1.west"),
            ),
            (&pods, "fieldSelector=spec.nodeName!%3Dnode-1", None),
            (&pods, "fieldSelector=spec.nodeName%3D", None),
            (&pods, "", None),
            (
                &events,
                "fieldSelector=involvedObject.kind%3DNode,involvedObject.name%3Dn",
                some("involvedObject.name", "n"),
            ),
            (&events, "fieldSelector=involvedObject.name%3Dn", None),
            (&slices, "labelSelector=kubernetes.io/service-name%3Dweb", some(SERVICE_LABEL, "web")),
            (&slices, "labelSelector=kubernetes.io/service-name in (web)", None),
        ] {
            assert_eq!(named(gvr, query), expected, "{gvr} {query}");
        }
    }

    #[test]
    fn only_the_term_that_names_is_renamed() {
        assert_eq!(renamed("a=x.west,b in (x.west,y),c!=x.west", "a", "x.west", "x"), "a=x,b in (x.west,y),c!=x.west");
    }
}
