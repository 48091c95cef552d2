use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A resource without its version, as `pods` or `deployments.apps`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupResource {
    /// API group; empty for core.
    pub group: Arc<str>,
    /// Plural resource name, without subresource.
    pub resource: Arc<str>,
}

/// A resource in one served version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gvr {
    /// API group; empty for core.
    pub group: Arc<str>,
    /// Served version, as `v1`.
    pub version: Arc<str>,
    /// Plural resource name, without subresource.
    pub resource: Arc<str>,
}

/// A text that names no resource.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} names no resource; write RESOURCE or RESOURCE.GROUP, as pods or deployments.apps")]
pub struct ParseResourceError(String);

/// Groups that kube-apiserver 1.37 serves itself, in any version.
const BUILT_IN_GROUPS: [&str; 24] = [
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "lifecycle.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// Whether kube-apiserver itself serves `group`, so that no CustomResourceDefinition and no other server does.
pub fn is_built_in(group: &str) -> bool {
    BUILT_IN_GROUPS.contains(&group)
}

// === impl GroupResource ===

impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.resource)?;
        if self.group.is_empty() { Ok(()) } else { write!(f, ".{}", self.group) }
    }
}

impl FromStr for GroupResource {
    type Err = ParseResourceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (resource, group) = text.split_once('.').unwrap_or((text, ""));
        if resource.is_empty() || text.ends_with('.') || text.contains(char::is_whitespace) {
            return Err(ParseResourceError(text.to_owned()));
        }
        Ok(Self { group: group.into(), resource: resource.into() })
    }
}

// === impl Gvr ===

impl Gvr {
    /// The resource `resource` of `group` (empty for core) in `version`.
    pub fn new(group: &str, version: &str, resource: &str) -> Self {
        Self { group: group.into(), version: version.into(), resource: resource.into() }
    }

    /// Whether kube-apiserver itself serves its group: then no CustomResourceDefinition defines it.
    pub fn is_built_in(&self) -> bool {
        is_built_in(&self.group)
    }

    /// The resource without its version.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource { group: self.group.clone(), resource: self.resource.clone() }
    }

    /// The resource whose clock it shares: its own, whatever the version; Events of `events.k8s.io` are the core group's
    /// under another name.
    pub fn clock(&self) -> GroupResource {
        let group =
            if &*self.resource == "events" && &*self.group == "events.k8s.io" { "".into() } else { self.group.clone() };
        GroupResource { group, resource: self.resource.clone() }
    }

    /// What stands in `apiVersion`: `v1` or `apps/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_string() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The path that lists it over all namespaces: `/api/v1/pods`, `/apis/apps/v1/deployments`.
    pub fn path(&self) -> String {
        format!("{}/{}", self.base_path(), self.resource)
    }

    /// The path that lists it in `namespace`; over all, or for a cluster-scoped resource, where that is empty.
    pub fn path_in(&self, namespace: &str) -> String {
        if namespace.is_empty() {
            return self.path();
        }
        format!("{}/namespaces/{namespace}/{}", self.base_path(), self.resource)
    }

    fn base_path(&self) -> String {
        if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        }
    }
}

impl fmt::Display for Gvr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            write!(f, "{}.{}", self.resource, self.version)
        } else {
            write!(f, "{}.{}.{}", self.resource, self.version, self.group)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_read_back_from_what_it_prints() {
        for text in ["pods", "deployments.apps", "widgets.example.com"] {
            assert_eq!(text.parse::<GroupResource>().unwrap().to_string(), text);
        }
        for text in ["", ".apps", "pods.", "two words"] {
            assert!(text.parse::<GroupResource>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn groups_of_extensions_are_not_built_in() {
        for group in ["", "apps", "resource.k8s.io"] {
            assert!(Gvr::new(group, "v1", "things").is_built_in(), "{group:?}");
        }
        for group in ["example.com", "metrics.k8s.io", "gateway.networking.k8s.io"] {
            assert!(!Gvr::new(group, "v1", "things").is_built_in(), "{group:?}");
        }
    }

    #[test]
    fn paths_are_those_of_the_kubernetes_api() {
        assert_eq!(Gvr::new("", "v1", "pods").path_in("a"), "/api/v1/namespaces/a/pods");
        assert_eq!(Gvr::new("apps", "v1", "deployments").path(), "/apis/apps/v1/deployments");
        assert_eq!(Gvr::new("apps", "v1", "deployments").api_version(), "apps/v1");
    }
}
