//! Aggregated discovery, `apidiscovery.k8s.io/v2` (KEP-3352).

use std::sync::Arc;

use bytes::Bytes;
use orrery_api::Gvr;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Discovery, Group, GroupVersion, Gvk, ResourceInfo, Subresource};

/// What asks for it.
pub(super) const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow)]
    items: Vec<GroupEntry<'a>>,
}

#[derive(Deserialize)]
struct GroupEntry<'a> {
    #[serde(default)]
    metadata: Name,
    #[serde(borrow, default)]
    versions: Vec<VersionEntry<'a>>,
}

#[derive(Default, Deserialize)]
struct Name {
    #[serde(default)]
    name: Arc<str>,
}

#[derive(Deserialize)]
struct VersionEntry<'a> {
    version: Arc<str>,
    #[serde(borrow, default)]
    resources: Vec<&'a RawValue>,
    #[serde(default)]
    freshness: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    resource: Arc<str>,
    #[serde(default)]
    response_kind: Option<Gvk>,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    singular_resource: Arc<str>,
    #[serde(default)]
    verbs: Vec<Arc<str>>,
    #[serde(default)]
    short_names: Vec<Arc<str>>,
    #[serde(default)]
    categories: Vec<Arc<str>>,
    #[serde(default)]
    subresources: Vec<SubresourceEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SubresourceEntry {
    subresource: Arc<str>,
    #[serde(default)]
    response_kind: Option<Gvk>,
    #[serde(default)]
    verbs: Vec<Arc<str>>,
}

/// Reads one `APIGroupDiscoveryList`. A version that the member calls stale is taken from `before`, where it was known
/// well: it is the member's aggregator that lost its server, and the kinds have not gone.
///
/// # Errors
/// Other JSON, as an `APIGroupList` of a server that has no aggregated discovery.
pub(super) fn parse(json: &[u8], before: Option<&Discovery>) -> Result<Vec<Group>, serde_json::Error> {
    let list: List<'_> = serde_json::from_slice(json)?;
    list.items.into_iter().map(|entry| group(entry, before)).collect()
}

fn group(entry: GroupEntry<'_>, before: Option<&Discovery>) -> Result<Group, serde_json::Error> {
    let name = entry.metadata.name;
    let known = before.and_then(|before| before.groups.iter().find(|group| group.name == name));
    let mut versions = Vec::with_capacity(entry.versions.len());
    for version in entry.versions {
        let kept = known.and_then(|known| known.versions.iter().find(|kept| kept.version == version.version));
        match kept.filter(|_| version.freshness == "Stale") {
            Some(kept) => versions.push(kept.clone()),
            None => versions.push(group_version(&name, version)?),
        }
    }
    Ok(Group { name, versions })
}

fn group_version(group: &str, entry: VersionEntry<'_>) -> Result<GroupVersion, serde_json::Error> {
    let resources = entry.resources.iter().map(|raw| resource(group, &entry.version, raw)).collect::<Result<_, _>>()?;
    Ok(GroupVersion { version: entry.version, resources })
}

fn resource(group: &str, version: &Arc<str>, raw: &RawValue) -> Result<ResourceInfo, serde_json::Error> {
    let entry: Resource = serde_json::from_str(raw.get())?;
    let gvr = Gvr { group: group.into(), version: version.clone(), resource: entry.resource };
    let subresource = |entry: SubresourceEntry| Subresource {
        name: entry.subresource,
        gvk: entry.response_kind.unwrap_or_default(),
        verbs: entry.verbs,
    };
    Ok(ResourceInfo {
        gvr,
        kind: entry.response_kind.unwrap_or_default().kind,
        singular: entry.singular_resource,
        short_names: entry.short_names,
        categories: entry.categories,
        namespaced: entry.scope == "Namespaced",
        verbs: entry.verbs,
        subresources: entry.subresources.into_iter().map(subresource).collect(),
        raw: Bytes::copy_from_slice(raw.get().as_bytes()),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An aggregated document of one group with one kind, in a version of this freshness.
    pub(in crate::discovery) fn document(group: &str, resources: &str, freshness: &str) -> String {
        format!(
            r#"{{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{{}},"items":[{{"metadata":{{"name":"{group}","creationTimestamp":null}},"versions":[{{"version":"v1","resources":[{resources}],"freshness":"{freshness}"}}]}}]}}"#
        )
    }

    pub(in crate::discovery) const DEPLOYMENTS: &str = r#"{"resource":"deployments","responseKind":{"group":"","version":"","kind":"Deployment"},"scope":"Namespaced","singularResource":"deployment","verbs":["get","list","watch"],"shortNames":["deploy"],"categories":["all"],"subresources":[{"subresource":"scale","responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"},"verbs":["get"]}]}"#;

    #[test]
    fn a_resource_is_read_with_its_subresources_and_kept_as_it_was_sent() {
        let groups = parse(document("apps", DEPLOYMENTS, "Current").as_bytes(), None).unwrap();
        let discovery = Discovery { groups };
        let info = discovery.find(&Gvr::new("apps", "v1", "deployments")).unwrap();
        assert_eq!((&*info.kind, &*info.singular, info.namespaced), ("Deployment", "deployment", true));
        assert_eq!(&*info.subresources[0].gvk.group, "autoscaling");
        assert!(info.is_observable() && !info.has_verb("create"));
        assert_eq!(info.raw, DEPLOYMENTS);
        assert!(discovery.find(&Gvr::new("apps", "v2", "deployments")).is_none());
    }

    #[test]
    fn a_version_that_the_member_calls_stale_keeps_what_was_known_of_it() {
        let before = Discovery { groups: parse(document("apps", DEPLOYMENTS, "Current").as_bytes(), None).unwrap() };
        let stale = parse(document("apps", "", "Stale").as_bytes(), Some(&before)).unwrap();
        assert_eq!(stale, before.groups);
        let gone = parse(document("apps", "", "Current").as_bytes(), Some(&before)).unwrap();
        assert!(gone[0].versions[0].resources.is_empty());
    }

    #[test]
    fn another_document_is_an_error() {
        assert!(parse(br#"{"kind":"APIGroupList","groups":[]}"#, None).is_err());
    }
}
