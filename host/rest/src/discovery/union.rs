use std::sync::Arc;

use orrery_api::Gvr;
use orrery_fleet::{Discovery, ResourceInfo};

use super::version_order::preferred_first;

/// The union of what the members serve.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalog {
    /// API groups: the first member's in its order, then what later ones add. Core has the empty name.
    pub(crate) groups: Vec<CatalogGroup>,
}

/// One API group.
#[derive(Clone, Debug)]
pub(crate) struct CatalogGroup {
    /// Its name; empty for core.
    pub(crate) name: Arc<str>,
    /// Its versions, the preferred first.
    pub(crate) versions: Vec<CatalogVersion>,
}

/// One version of a group.
#[derive(Clone, Debug)]
pub(crate) struct CatalogVersion {
    /// Its name, as `v1`.
    pub(crate) version: Arc<str>,
    /// Its resources.
    pub(crate) resources: Vec<CatalogResource>,
}

/// One resource in one version.
#[derive(Clone, Debug)]
pub(crate) struct CatalogResource {
    /// What is known of it: the first member's words, with the verbs and subresources that only others have.
    pub(crate) info: ResourceInfo,
    /// Whether later members added something, so that `info.raw` is not the whole truth.
    pub(crate) merged: bool,
}

// === impl Catalog ===

impl Catalog {
    /// The union of `served`, in fleet order.
    pub(crate) fn union<'a>(served: impl Iterator<Item = &'a Discovery>) -> Self {
        let mut catalog = Self::default();
        for discovery in served {
            for group in &discovery.groups {
                let versions = &mut catalog.group_mut(&group.name).versions;
                for version in &group.versions {
                    let resources = version_mut(versions, &version.version);
                    version.resources.iter().for_each(|info| add(resources, info));
                }
            }
        }
        for group in &mut catalog.groups {
            group.versions.sort_by(|a, b| preferred_first(&a.version, &b.version));
        }
        catalog
    }

    /// The group `name`, if anybody serves it.
    pub(crate) fn group(&self, name: &str) -> Option<&CatalogGroup> {
        self.groups.iter().find(|group| &*group.name == name)
    }

    /// The resource, if anybody serves it.
    pub(crate) fn find(&self, gvr: &Gvr) -> Option<&ResourceInfo> {
        self.group(&gvr.group)?.version(&gvr.version)?.resource(&gvr.resource)
    }

    /// The resource whose objects have this `apiVersion` and `kind`.
    pub(crate) fn of_kind(&self, api_version: &str, kind: &str) -> Option<&ResourceInfo> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resources = &self.group(group)?.version(version)?.resources;
        resources.iter().map(|resource| &resource.info).find(|info| &*info.kind == kind)
    }

    /// The resource that a person means by `text`, as kubectl reads it: plural, singular or short name, alone or with
    /// group or version and group (`po`, `deployments.apps`, `deployments.v1.apps`). Of several the first in order of
    /// groups and versions.
    pub(crate) fn resolve(&self, text: &str) -> Option<&ResourceInfo> {
        let text = text.to_ascii_lowercase();
        let (name, rest) = text.split_once('.').unwrap_or((&text, ""));
        let in_version = rest.split_once('.').unwrap_or((rest, ""));
        let all = || self.groups.iter().flat_map(|group| group.versions.iter().map(move |version| (group, version)));
        let pick = |wanted: &dyn Fn(&str, &str) -> bool| {
            let served = all().filter(|(group, version)| wanted(&group.name, &version.version));
            let resources: Vec<_> = served.flat_map(|(_, version)| &version.resources).map(|one| &one.info).collect();
            let named = |info: &&&ResourceInfo| &*info.gvr.resource == name || &*info.singular == name;
            let short = |info: &&&ResourceInfo| info.short_names.iter().any(|short| &**short == name);
            resources.iter().find(named).or_else(|| resources.iter().find(short)).copied()
        };
        if rest.is_empty() {
            return pick(&|_, _| true);
        }
        pick(&|group, version| (version, group) == in_version)
            .or_else(|| pick(&|group, _| group == rest))
            .or_else(|| pick(&|group, _| !group.is_empty() && group.starts_with(rest)))
    }

    fn group_mut(&mut self, name: &Arc<str>) -> &mut CatalogGroup {
        let at = self.groups.iter().position(|group| group.name == *name).unwrap_or_else(|| {
            self.groups.push(CatalogGroup { name: name.clone(), versions: Vec::new() });
            self.groups.len() - 1
        });
        &mut self.groups[at]
    }
}

// === impl CatalogGroup ===

impl CatalogGroup {
    /// The version `name`, if it is served.
    pub(crate) fn version(&self, name: &str) -> Option<&CatalogVersion> {
        self.versions.iter().find(|version| &*version.version == name)
    }
}

// === impl CatalogVersion ===

impl CatalogVersion {
    fn resource(&self, name: &str) -> Option<&ResourceInfo> {
        self.resources.iter().map(|resource| &resource.info).find(|info| &*info.gvr.resource == name)
    }
}

fn version_mut<'a>(versions: &'a mut Vec<CatalogVersion>, name: &Arc<str>) -> &'a mut Vec<CatalogResource> {
    let at = versions.iter().position(|version| version.version == *name).unwrap_or_else(|| {
        versions.push(CatalogVersion { version: name.clone(), resources: Vec::new() });
        versions.len() - 1
    });
    &mut versions[at].resources
}

/// Adds what a further member says of a resource. What both say, the earlier member says for both.
fn add(resources: &mut Vec<CatalogResource>, info: &ResourceInfo) {
    let Some(known) = resources.iter_mut().find(|known| known.info.gvr.resource == info.gvr.resource) else {
        resources.push(CatalogResource { info: info.clone(), merged: false });
        return;
    };
    for verb in info.verbs.iter().filter(|verb| !known.info.has_verb(verb)).cloned().collect::<Vec<_>>() {
        known.info.verbs.push(verb);
        known.merged = true;
    }
    for subresource in &info.subresources {
        if !known.info.subresources.iter().any(|own| own.name == subresource.name) {
            known.info.subresources.push(subresource.clone());
            known.merged = true;
        }
    }
}
