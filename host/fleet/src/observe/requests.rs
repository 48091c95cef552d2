use std::fmt::Write as _;

use orrery_api::Gvr;
use orrery_markers::MemberVersion;

/// The paths of one resource, in all namespaces or in one.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    base: String,
}

/// What is asked for of each object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Accept {
    /// The whole.
    Objects,
    /// Its metadata only (`PartialObjectMetadata`).
    Metadata,
}

// === impl Paths ===

impl Paths {
    pub(super) fn new(gvr: &Gvr, namespace: Option<&str>) -> Self {
        Self { base: gvr.path_in(namespace.unwrap_or("")) }
    }

    /// The first page of the latest state, or of the state exactly at a version.
    pub(super) fn list(&self, limit: usize, at: Option<MemberVersion>) -> String {
        let mut path = self.base.clone();
        let mut separator = '?';
        let mut add = |name: &str, value: &str| {
            let _ = write!(path, "{separator}{name}={value}");
            separator = '&';
        };
        if limit > 0 {
            add("limit", &limit.to_string());
        }
        if let Some(version) = at {
            add("resourceVersion", &version.to_string());
            add("resourceVersionMatch", "Exact");
        }
        path
    }

    /// The page that `token` stands for.
    pub(super) fn next_page(&self, limit: usize, token: &str) -> String {
        format!("{}?limit={limit}&continue={}", self.base, percent_encoded(token))
    }

    /// A watch of what follows a version.
    pub(super) fn watch(&self, after: MemberVersion, seconds: u64) -> String {
        format!("{}?watch=true&allowWatchBookmarks=true&resourceVersion={after}&timeoutSeconds={seconds}", self.base)
    }

    /// A WatchList: a watch that begins with the latest state (KEP-3157).
    pub(super) fn watch_list(&self, seconds: u64) -> String {
        format!(
            "{}?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds={seconds}",
            self.base
        )
    }
}

// === impl Accept ===

impl Accept {
    pub(super) fn list(self) -> &'static str {
        match self {
            Self::Objects => "application/json",
            Self::Metadata => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
        }
    }

    pub(super) fn watch(self) -> &'static str {
        match self {
            Self::Objects => "application/json",
            Self::Metadata => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
        }
    }
}

/// `text` with all but the unreserved characters of RFC 3986 escaped.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_those_of_the_list_and_watch_matrices() {
        let pods = Paths::new(&Gvr::new("", "v1", "pods"), Some("a"));
        let version = MemberVersion::from_number(5);
        assert_eq!(pods.list(0, None), "/api/v1/namespaces/a/pods");
        assert_eq!(
            pods.list(2, Some(version)),
            "/api/v1/namespaces/a/pods?limit=2&resourceVersion=5&resourceVersionMatch=Exact"
        );
        assert_eq!(pods.next_page(2, "a+/="), "/api/v1/namespaces/a/pods?limit=2&continue=a%2B%2F%3D");
        assert!(pods.watch(version, 300).ends_with("resourceVersion=5&timeoutSeconds=300"));
        assert!(!pods.watch_list(300).contains("resourceVersion="));
    }
}
