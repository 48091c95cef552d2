//! What a request asks for, as one value.

use std::sync::Arc;

use http::Method;
use orrery_api::{GroupResource, Gvr};
use orrery_auth::Identity;

use crate::query::Query;

/// A request taken apart once; everything that decides on it reads this (upstream: RequestInfo, AS
/// pkg/endpoints/request/requestinfo.go).
#[derive(Clone, Debug)]
pub(crate) struct RequestInfo {
    /// The HTTP method.
    pub(crate) method: Method,
    /// The path, percent-decoded.
    pub(crate) path: String,
    /// The query.
    pub(crate) query: Query,
    /// What the path means.
    pub(crate) target: Target,
    /// Who asks, once that is known.
    pub(crate) identity: Option<Arc<Identity>>,
}

/// What a path means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A resource of the API.
    Resource(ResourceRequest),
    /// `/api`.
    CoreVersions,
    /// `/apis`.
    Groups,
    /// `/apis/GROUP`.
    Group(String),
    /// `/api/VERSION` or `/apis/GROUP/VERSION`: group (empty for core) and version.
    GroupVersion(String, String),
    /// `/clusters/NAME/…`: the straight way to one member. Carries the path after the name, still encoded.
    Cluster(String, String),
    /// `/orrery/v1/…`: the host's own documents. Carries what stands after `v1/`.
    Own(String),
    /// Any other path.
    Other,
}

/// A request on a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResourceRequest {
    /// What is done.
    pub(crate) verb: Verb,
    /// The resource.
    pub(crate) gvr: Gvr,
    /// The namespace in the path; empty where there is none.
    pub(crate) namespace: String,
    /// The name in the path.
    pub(crate) name: Option<String>,
    /// The subresource, and what stands after it in the path (of `proxy`).
    pub(crate) subresource: Option<Subresource>,
}

/// The part of a path after an object's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subresource {
    /// Its name, as `status`.
    pub(crate) name: String,
    /// The rest of the path, without a leading slash.
    pub(crate) rest: String,
}

/// Kubernetes' verbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
    /// `proxy` by path prefix, long gone upstream, or a method without a verb.
    Other,
}

// === impl Verb ===

impl Verb {
    /// As Kubernetes spells it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Other => "other",
        }
    }
}

// === impl ResourceRequest ===

impl ResourceRequest {
    /// The resource without its version, as errors name it.
    pub(crate) fn group_resource(&self) -> GroupResource {
        self.gvr.group_resource()
    }
}

// === impl RequestInfo ===

impl RequestInfo {
    /// Takes a request apart.
    pub(crate) fn new(method: &Method, uri: &http::Uri) -> Self {
        let query = Query::parse(uri.query().unwrap_or_default());
        let path = percent_encoding::percent_decode_str(uri.path()).decode_utf8_lossy().into_owned();
        let target = target_of(method, uri.path(), &path, &query);
        Self { method: method.clone(), path, query, target, identity: None }
    }

    /// The verb for logs and metrics: of a request that is on no resource, the lower-cased method.
    pub(crate) fn verb(&self) -> &'static str {
        match (&self.target, &self.method) {
            (Target::Resource(request), _) => request.verb.as_str(),
            (_, &Method::GET) => "get",
            (_, &Method::HEAD) => "head",
            (_, &Method::POST) => "post",
            (_, &Method::PUT) => "put",
            (_, &Method::PATCH) => "patch",
            (_, &Method::DELETE) => "delete",
            _ => "other",
        }
    }
}

fn target_of(method: &Method, encoded: &str, path: &str, query: &Query) -> Target {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match parts.as_slice() {
        ["api"] => Target::CoreVersions,
        ["apis"] => Target::Groups,
        ["api", version] => Target::GroupVersion(String::new(), (*version).to_owned()),
        ["apis", group] => Target::Group((*group).to_owned()),
        ["apis", group, version] => Target::GroupVersion((*group).to_owned(), (*version).to_owned()),
        ["api", version, rest @ ..] => resource_target(method, "", version, rest, query),
        ["apis", group, version, rest @ ..] => resource_target(method, group, version, rest, query),
        ["clusters", name, ..] => {
            let path = after_segments(encoded, 2);
            Target::Cluster((*name).to_owned(), if path.is_empty() { "/".to_owned() } else { path })
        }
        ["orrery", "v1", rest @ ..] => Target::Own(rest.join("/")),
        _ => Target::Other,
    }
}

/// What stands in an encoded path after its first `count` segments, with its leading slash; empty where it ends there.
pub(crate) fn after_segments(encoded: &str, count: usize) -> String {
    let mut rest = Some(encoded.trim_start_matches('/'));
    for _ in 0..count {
        rest = rest.and_then(|rest| rest.split_once('/')).map(|(_, rest)| rest);
    }
    rest.map(|rest| format!("/{rest}")).unwrap_or_default()
}

fn resource_target(method: &Method, group: &str, version: &str, parts: &[&str], query: &Query) -> Target {
    let (by_prefix, parts) = match parts {
        ["watch", rest @ ..] if !rest.is_empty() => {
            (Some(if matches!(*method, Method::GET | Method::HEAD) { Verb::Watch } else { Verb::Other }), rest)
        }
        ["proxy", rest @ ..] if !rest.is_empty() => (Some(Verb::Other), rest),
        _ => (None, parts),
    };
    let (namespace, parts) = namespace_of(parts);
    let [resource, rest @ ..] = parts else { return Target::Other };
    if resource.is_empty() {
        return Target::Other;
    }
    let name = rest.first().filter(|name| !name.is_empty()).map(|name| (*name).to_owned());
    let subresource = match rest {
        [_, subresource, tail @ ..] if by_prefix != Some(Verb::Other) => {
            Some(Subresource { name: (*subresource).to_owned(), rest: tail.join("/") })
        }
        _ => None,
    };
    let verb = by_prefix.unwrap_or_else(|| verb_of(method, name.is_some(), query));
    Target::Resource(ResourceRequest {
        verb,
        gvr: Gvr::new(group, version, resource),
        namespace: namespace.to_owned(),
        name,
        subresource,
    })
}

/// Splits `namespaces/NAME/RESOURCE/…`. The subresources of a Namespace itself stay with it, as does one by name.
fn namespace_of<'a>(parts: &'a [&'a str]) -> (&'a str, &'a [&'a str]) {
    match parts {
        ["namespaces", _, "status" | "finalize", ..] => ("", parts),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (namespace, rest),
        _ => ("", parts),
    }
}

fn verb_of(method: &Method, named: bool, query: &Query) -> Verb {
    match *method {
        Method::GET | Method::HEAD if named => Verb::Get,
        Method::GET | Method::HEAD if query.flag("watch") == Some(true) => Verb::Watch,
        Method::GET | Method::HEAD => Verb::List,
        Method::POST => Verb::Create,
        Method::PUT => Verb::Update,
        Method::PATCH => Verb::Patch,
        Method::DELETE if named => Verb::Delete,
        Method::DELETE => Verb::DeleteCollection,
        _ => Verb::Other,
    }
}

#[cfg(test)]
mod tests;
