//! Discovery document by document, for members without the aggregated form (before 1.27).

use std::sync::Arc;

use bytes::Bytes;
use orrery_api::Gvr;
use serde::Deserialize;

use super::{Discovery, Group, GroupVersion, Gvk, ResourceInfo, Subresource};
use crate::Member;
use crate::fault::Fault;
use crate::{AwayClass, AwayReason};

#[derive(Deserialize)]
struct Versions {
    versions: Vec<Arc<str>>,
}

#[derive(Deserialize)]
struct Groups {
    groups: Vec<GroupEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GroupEntry {
    name: Arc<str>,
    versions: Vec<VersionEntry>,
    #[serde(default)]
    preferred_version: Option<VersionEntry>,
}

#[derive(Clone, Deserialize)]
struct VersionEntry {
    version: Arc<str>,
}

#[derive(Deserialize)]
struct Resources {
    #[serde(default)]
    resources: Vec<ResourceEntry>,
}

/// `metav1.APIResource`.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct ResourceEntry {
    name: String,
    singular_name: Arc<str>,
    namespaced: bool,
    kind: Arc<str>,
    group: Arc<str>,
    version: Arc<str>,
    verbs: Vec<Arc<str>>,
    short_names: Vec<Arc<str>>,
    categories: Vec<Arc<str>>,
}

/// Reads `/api` and `/apis` and the document of every version. A version whose document cannot be had (an aggregated
/// server that is down) is taken from `before`.
pub(super) async fn read(member: &Member, before: Option<&Discovery>) -> Result<Discovery, Fault> {
    let core: Versions = document(member, "/api").await?;
    let mut groups = vec![group(member, Arc::from(""), core.versions, before).await?];
    let named: Groups = document(member, "/apis").await?;
    for mut entry in named.groups {
        if let Some(preferred) = &entry.preferred_version {
            entry.versions.sort_by_key(|version| version.version != preferred.version);
        }
        let versions = entry.versions.into_iter().map(|version| version.version).collect();
        groups.push(group(member, entry.name, versions, before).await?);
    }
    Ok(Discovery { groups })
}

async fn group(
    member: &Member,
    name: Arc<str>,
    versions: Vec<Arc<str>>,
    before: Option<&Discovery>,
) -> Result<Group, Fault> {
    let known = before.and_then(|before| before.groups.iter().find(|group| group.name == name));
    let mut read = Vec::with_capacity(versions.len());
    for version in versions {
        let path = if name.is_empty() { format!("/api/{version}") } else { format!("/apis/{name}/{version}") };
        let kept = known.and_then(|known| known.versions.iter().find(|kept| kept.version == version));
        match (document::<Resources>(member, &path).await, kept) {
            (Ok(list), _) => {
                read.push(GroupVersion { resources: resources(&name, &version, &list.resources), version });
            }
            (Err(Fault::Away(AwayReason { class: AwayClass::BadAnswer | AwayClass::NotServed, .. })), Some(kept)) => {
                read.push(kept.clone());
            }
            (Err(Fault::Away(AwayReason { class: AwayClass::BadAnswer | AwayClass::NotServed, .. })), None) => {}
            (Err(fault), _) => return Err(fault),
        }
    }
    Ok(Group { name, versions: read })
}

async fn document<T: serde::de::DeserializeOwned>(member: &Member, path: &str) -> Result<T, Fault> {
    let raw = member.document(path).await?;
    serde_json::from_slice(&raw)
        .map_err(|error| Fault::away(AwayClass::BadAnswer, format!("{path} is not a discovery document: {error}")))
}

/// The resources of one version; entries named `RESOURCE/SUBRESOURCE` belong to their resource.
fn resources(group: &str, version: &str, entries: &[ResourceEntry]) -> Vec<ResourceInfo> {
    let of = |name: &str| {
        let part = |entry: &ResourceEntry| Some(entry.name.strip_prefix(name)?.strip_prefix('/')?.to_owned());
        let subresource = |entry: &ResourceEntry| {
            Some(Subresource { name: part(entry)?.into(), gvk: gvk(entry, group, version), verbs: entry.verbs.clone() })
        };
        entries.iter().filter_map(subresource).collect::<Vec<_>>()
    };
    let resource = |entry: &ResourceEntry| {
        let mut info = ResourceInfo {
            gvr: Gvr::new(group, version, &entry.name),
            kind: entry.kind.clone(),
            singular: entry.singular_name.clone(),
            short_names: entry.short_names.clone(),
            categories: entry.categories.clone(),
            namespaced: entry.namespaced,
            verbs: entry.verbs.clone(),
            subresources: of(&entry.name),
            raw: Bytes::new(),
        };
        info.raw = aggregated_entry(&info, &gvk(entry, group, version)).into();
        info
    };
    entries.iter().filter(|entry| !entry.name.contains('/')).map(resource).collect()
}

fn gvk(entry: &ResourceEntry, group: &str, version: &str) -> Gvk {
    let own = |own: &Arc<str>, default: &str| if own.is_empty() { default.into() } else { own.clone() };
    Gvk { group: own(&entry.group, group), version: own(&entry.version, version), kind: entry.kind.clone() }
}

/// The entry as aggregated discovery spells it (`APIResourceDiscovery`).
fn aggregated_entry(info: &ResourceInfo, gvk: &Gvk) -> String {
    let subresource =
        |sub: &Subresource| serde_json::json!({"subresource": sub.name, "responseKind": sub.gvk, "verbs": sub.verbs});
    let mut entry = serde_json::json!({
        "resource": info.gvr.resource,
        "responseKind": gvk,
        "scope": if info.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": info.singular,
        "verbs": info.verbs,
    });
    let mut put = |key: &str, value: serde_json::Value| {
        if value.as_array().is_some_and(|array| !array.is_empty()) {
            entry[key] = value;
        }
    };
    put("shortNames", serde_json::json!(info.short_names));
    put("categories", serde_json::json!(info.categories));
    put("subresources", info.subresources.iter().map(subresource).collect());
    entry.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subresources_are_put_to_their_resource_and_the_entry_is_made_as_aggregated_discovery_has_it() {
        let json = r#"[{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["list","watch"],"shortNames":["po"]},
            {"name":"pods/eviction","namespaced":true,"group":"policy","version":"v1","kind":"Eviction","verbs":["create"]},
            {"name":"podsx/status","kind":"X","verbs":[]}]"#;
        let made = resources("", "v1", &serde_json::from_str::<Vec<ResourceEntry>>(json).unwrap());
        assert_eq!(made.len(), 1);
        assert_eq!((&*made[0].subresources[0].name, &*made[0].subresources[0].gvk.group), ("eviction", "policy"));
        let list =
            crate::discovery::aggregated::tests::document("", std::str::from_utf8(&made[0].raw).unwrap(), "Current");
        let read = super::super::aggregated::parse(list.as_bytes(), None).unwrap();
        assert_eq!(read[0].versions[0].resources, made);
    }
}
