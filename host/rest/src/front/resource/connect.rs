//! Streams to and from a pod, and what stands behind a proxy: logs, exec, attach, port-forward, proxy. The bytes are the
//! member's and the client's; nothing here counts, cuts or waits for them.

use http::{Request, Response};
use orrery_api::ObjectKey;
use orrery_fleet::ResourceInfo;

use super::get::{held, path_of};
use crate::body::Body;
use crate::front::Service;
use crate::proxy::{self, Mount};
use crate::request::{RequestInfo, ResourceRequest, Subresource, after_segments};
use crate::status::Status;

/// Subresources that are a stream.
const STREAMS: [&str; 5] = ["attach", "exec", "log", "portforward", "proxy"];

/// Whether a subresource is passed on as it is, to its end.
pub(in crate::front) fn is_stream(subresource: &Subresource) -> bool {
    STREAMS.contains(&subresource.name.as_str())
}

// === impl Service ===

impl Service {
    /// Passes the request on to the member that holds the object.
    pub(super) async fn connect(
        &self,
        info: &RequestInfo,
        asked: &ResourceRequest,
        served: &ResourceInfo,
        subresource: &Subresource,
        request: Request<Body>,
    ) -> Result<Response<Body>, Status> {
        let has_rest = !subresource.rest.is_empty();
        let known = served.subresources.iter().any(|known| *known.name == *subresource.name);
        if !known || has_rest && subresource.name != "proxy" {
            return self.absent(&asked.gvr.group);
        }
        let name = asked.name.as_deref().unwrap_or_default();
        let (before, bare, after) = if subresource.name == "proxy" { taken_apart(name) } else { ("", name, "") };
        let resource = self.begun(asked).await?;
        let (cluster, key) = held(asked, &resource, &ObjectKey::new(&asked.namespace, bare))?;
        let member = self.front.fleet.member(&cluster);
        let member = member.ok_or_else(|| proxy::no_such_member(&self.front.fleet, cluster.as_str()))?;
        let there = ObjectKey::new(&key.namespace, &format!("{before}{}{after}", key.name));
        let here = ObjectKey::new(&asked.namespace, name);
        let mount = |key: &ObjectKey| format!("{}/{}", path_of(asked, key), subresource.name);
        let mount = Mount { there: mount(&there), here: mount(&here) };
        let path = info.query.behind(format!("{}{}", mount.there, rest_of(asked, request.uri().path())));
        proxy::forward(&member, request, &path, &mount, &self.shutdown).await
    }
}

/// What stands in a path after the subresource, byte for byte.
fn rest_of(asked: &ResourceRequest, encoded: &str) -> String {
    let version = if asked.gvr.group.is_empty() { 2 } else { 3 };
    let namespace = if asked.namespace.is_empty() { 0 } else { 2 };
    // And the resource, the name and the subresource.
    after_segments(encoded, version + namespace + 3)
}

/// `[SCHEME:]NAME[:PORT]` of something behind a proxy: what stands before the name, it, and what stands after it.
fn taken_apart(text: &str) -> (&str, &str, &str) {
    let colons: Vec<usize> = text.match_indices(':').map(|(at, _)| at).collect();
    match colons.as_slice() {
        [port] => ("", &text[..*port], &text[*port..]),
        [scheme, port] => (&text[..=*scheme], &text[scheme + 1..*port], &text[*port..]),
        _ => ("", text, ""),
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;
    use crate::request::Target;

    #[test]
    fn a_name_behind_a_proxy_may_have_a_scheme_and_a_port() {
        assert_eq!(taken_apart("web"), ("", "web", ""));
        assert_eq!(taken_apart("web:http"), ("", "web", ":http"));
        assert_eq!(taken_apart("https:web:443"), ("https:", "web", ":443"));
        assert_eq!(taken_apart("https:web:"), ("https:", "web", ":"));
    }

    #[test]
    fn a_path_behind_a_proxy_is_kept_byte_for_byte() {
        for (path, rest) in [
            ("/api/v1/namespaces/a/pods/web:80/proxy", ""),
            ("/api/v1/namespaces/a/pods/web:80/proxy/", "/"),
            ("/api/v1/namespaces/a/services/web/proxy/a%2Fb//c/", "/a%2Fb//c/"),
            ("/api/v1/nodes/n/proxy/x", "/x"),
        ] {
            let info = RequestInfo::new(&Method::GET, &path.parse().unwrap());
            let Target::Resource(asked) = info.target else { panic!("{path} is a resource") };
            assert_eq!(rest_of(&asked, path), rest, "{path}");
        }
    }
}
