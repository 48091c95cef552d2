use std::sync::Arc;

use orrery_fleet::{Gvk, ResourceInfo, Subresource};
use serde::Serialize;

use super::union::{Catalog, CatalogGroup, CatalogVersion};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiVersions<'a> {
    kind: &'static str,
    versions: Vec<&'a str>,
    #[serde(rename = "serverAddressByClientCIDRs")]
    server_addresses: [ServerAddress<'a>; 1],
}

#[derive(Serialize)]
struct ServerAddress<'a> {
    #[serde(rename = "clientCIDR")]
    client_cidr: &'static str,
    #[serde(rename = "serverAddress")]
    server_address: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiGroupList<'a> {
    kind: &'static str,
    api_version: &'static str,
    groups: Vec<ApiGroup<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiGroup<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<&'static str>,
    name: &'a str,
    versions: Vec<Version<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preferred_version: Option<Version<'a>>,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Version<'a> {
    group_version: String,
    version: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiResourceList<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<&'static str>,
    group_version: String,
    resources: Vec<ApiResource<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiResource<'a> {
    name: String,
    singular_name: &'a str,
    namespaced: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    group: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    version: &'a str,
    kind: &'a str,
    verbs: &'a [Arc<str>],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    short_names: &'a [Arc<str>],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    categories: &'a [Arc<str>],
}

/// `APIVersions`, the answer of `/api`.
pub(super) fn api_versions(catalog: &Catalog, server_address: &str) -> Vec<u8> {
    let core = catalog.group("").map(|group| group.versions.as_slice()).unwrap_or_default();
    line(&ApiVersions {
        kind: "APIVersions",
        versions: core.iter().map(|version| &*version.version).collect(),
        server_addresses: [ServerAddress { client_cidr: "0.0.0.0/0", server_address }],
    })
}

/// `APIGroupList`, the answer of `/apis`.
pub(super) fn group_list(catalog: &Catalog) -> Vec<u8> {
    let groups = catalog.groups.iter().filter(|group| !group.name.is_empty()).map(api_group).collect();
    line(&ApiGroupList { kind: "APIGroupList", api_version: "v1", groups })
}

/// `APIGroup`, the answer of `/apis/GROUP`.
pub(super) fn group(group: &CatalogGroup) -> Vec<u8> {
    line(&ApiGroup { kind: Some("APIGroup"), api_version: Some("v1"), ..api_group(group) })
}

/// `APIResourceList`, the answer of `/api/VERSION` and `/apis/GROUP/VERSION`.
pub(super) fn resource_list(group: &str, version: &CatalogVersion) -> Vec<u8> {
    let own = version.resources.iter().map(|resource| &resource.info);
    let resources = own.flat_map(|info| {
        std::iter::once(resource(info)).chain(info.subresources.iter().map(move |sub| subresource(info, sub)))
    });
    line(&ApiResourceList {
        kind: "APIResourceList",
        // Upstream leaves it out for core only.
        api_version: (!group.is_empty()).then_some("v1"),
        group_version: group_version(group, &version.version),
        resources: resources.collect(),
    })
}

fn api_group(group: &CatalogGroup) -> ApiGroup<'_> {
    let name = &*group.name;
    let versions: Vec<_> = group
        .versions
        .iter()
        .map(|version| Version { group_version: group_version(name, &version.version), version: &version.version })
        .collect();
    ApiGroup { kind: None, api_version: None, name, preferred_version: versions.first().cloned(), versions }
}

fn resource(info: &ResourceInfo) -> ApiResource<'_> {
    ApiResource {
        name: info.gvr.resource.to_string(),
        singular_name: &info.singular,
        namespaced: info.namespaced,
        group: "",
        version: "",
        kind: &info.kind,
        verbs: &info.verbs,
        short_names: &info.short_names,
        categories: &info.categories,
    }
}

/// A subresource names group and version only where they are not its resource's own.
fn subresource<'a>(info: &'a ResourceInfo, sub: &'a Subresource) -> ApiResource<'a> {
    let Gvk { group, version, kind } = &sub.gvk;
    let own = *group == info.gvr.group && *version == info.gvr.version;
    ApiResource {
        name: format!("{}/{}", info.gvr.resource, sub.name),
        singular_name: "",
        namespaced: info.namespaced,
        group: if own { "" } else { group },
        version: if own { "" } else { version },
        kind,
        verbs: &sub.verbs,
        short_names: &[],
        categories: &[],
    }
}

fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

fn line(document: &impl Serialize) -> Vec<u8> {
    let mut json = serde_json::to_vec(document).expect("texts, lists and booleans only");
    json.push(b'\n');
    json
}
