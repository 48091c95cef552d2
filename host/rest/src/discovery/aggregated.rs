use orrery_fleet::{Gvk, ResourceInfo};
use serde_json::json;

use super::union::{CatalogGroup, CatalogResource};

/// The `APIGroupDiscoveryList` of `groups`. Entries of resources are the members' own bytes wherever one member's words
/// are the whole truth. Never is a version marked stale: that would stop namespace deletion, Helm and others.
pub(super) fn document<'a>(groups: impl Iterator<Item = &'a CatalogGroup>) -> Vec<u8> {
    let mut out = Vec::from(
        &br#"{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":["#[..],
    );
    separated(&mut out, groups, group);
    out.extend_from_slice(b"]}");
    out
}

fn group(out: &mut Vec<u8>, group: &CatalogGroup) {
    let metadata = if group.name.is_empty() { json!({}) } else { json!({ "name": &*group.name }) };
    out.extend_from_slice(format!(r#"{{"metadata":{metadata},"versions":["#).as_bytes());
    separated(out, group.versions.iter(), |out, version| {
        out.extend_from_slice(format!(r#"{{"version":{},"resources":["#, json!(&*version.version)).as_bytes());
        separated(out, version.resources.iter(), resource);
        out.extend_from_slice(br#"],"freshness":"Current"}"#);
    });
    out.extend_from_slice(b"]}");
}

fn resource(out: &mut Vec<u8>, CatalogResource { info, merged }: &CatalogResource) {
    if *merged { out.extend_from_slice(made(info).to_string().as_bytes()) } else { out.extend_from_slice(&info.raw) }
}

/// An entry from what is known of a resource that several members describe.
fn made(info: &ResourceInfo) -> serde_json::Value {
    let (group, version) = (info.gvr.group.clone(), info.gvr.version.clone());
    let mut entry = json!({
        "resource": &*info.gvr.resource,
        "responseKind": Gvk { group, version, kind: info.kind.clone() },
        "scope": if info.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": &*info.singular,
        "verbs": texts(&info.verbs),
    });
    let optional = [("shortNames", texts(&info.short_names)), ("categories", texts(&info.categories))];
    for (name, values) in optional.into_iter().filter(|(_, values)| !values.is_empty()) {
        entry[name] = json!(values);
    }
    let subresources: Vec<_> = info
        .subresources
        .iter()
        .map(|sub| json!({ "subresource": &*sub.name, "responseKind": sub.gvk, "verbs": texts(&sub.verbs) }))
        .collect();
    if !subresources.is_empty() {
        entry["subresources"] = json!(subresources);
    }
    entry
}

fn texts(all: &[std::sync::Arc<str>]) -> Vec<&str> {
    all.iter().map(|text| &**text).collect()
}

fn separated<T>(out: &mut Vec<u8>, all: impl Iterator<Item = T>, mut write: impl FnMut(&mut Vec<u8>, T)) {
    for (at, one) in all.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(out, one);
    }
}
