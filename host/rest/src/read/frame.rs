use orrery_cache::{Object, WatchEvent};
use orrery_markers::{ChangeKind, Marker};

use super::{Rendering, Scope, write_partial};
use crate::status::Status;

/// Writes the frames of one watch: `{"type":…,"object":…}` and a line end, never indented.
pub(super) struct Framer {
    rendering: Rendering,
    /// The TypeMeta of the resource, as bookmarks need it.
    kind: String,
    api_version: String,
    zero: &'static str,
    /// Whether a frame was written: of Tables only the first tells the columns.
    begun: bool,
}

/// What a bookmark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bookmark {
    /// All up to here was sent.
    Progress,
    /// All objects that there were at the start have been sent.
    InitialEventsEnd,
}

// === impl Framer ===

impl Framer {
    pub(super) fn new(rendering: Rendering, scope: &Scope) -> Self {
        let kind = scope.kind.to_string();
        let zero = zero_values(&scope.gvr.group, &scope.gvr.resource);
        Self { rendering, kind, api_version: scope.gvr.api_version(), zero, begun: false }
    }

    /// Appends an object that there was at the start.
    pub(super) fn added(&mut self, object: &Object, out: &mut Vec<u8>) {
        self.object("ADDED", object, out);
    }

    /// Appends an event.
    pub(super) fn event(&mut self, event: &WatchEvent, out: &mut Vec<u8>) {
        let kind = match event.kind {
            ChangeKind::Added => "ADDED",
            ChangeKind::Modified => "MODIFIED",
            ChangeKind::Deleted => "DELETED",
        };
        self.object(kind, &event.object, out);
    }

    /// Appends a bookmark.
    pub(super) fn bookmark(&mut self, marker: Marker, bookmark: Bookmark, out: &mut Vec<u8>) {
        let end = bookmark == Bookmark::InitialEventsEnd;
        let annotations = if end { r#","annotations":{"k8s.io/initial-events-end":"true"}"# } else { "" };
        let metadata = format!(r#"{{"resourceVersion":"{marker}"{annotations}}}"#);
        open("BOOKMARK", out);
        let columns = !std::mem::replace(&mut self.begun, true);
        match &self.rendering {
            Rendering::Plain => {
                let Self { kind, api_version, zero, .. } = self;
                let object = format!(r#"{{"kind":"{kind}","apiVersion":"{api_version}","metadata":{metadata}{zero}}}"#);
                out.extend_from_slice(object.as_bytes());
            }
            Rendering::Partial(version) => {
                let version = version.api_version();
                let object =
                    format!(r#"{{"kind":"PartialObjectMetadata","apiVersion":"{version}","metadata":{metadata}}}"#);
                out.extend_from_slice(object.as_bytes());
            }
            Rendering::Table(table) => {
                table.write_head(&super::version_metadata(marker), columns, out);
                if end {
                    let version = table.version.api_version();
                    let row = format!(
                        r#"{{"cells":[],"object":{{"kind":"PartialObjectMetadata","apiVersion":"{version}","metadata":{metadata}}}}}"#
                    );
                    out.extend_from_slice(row.as_bytes());
                }
                out.extend_from_slice(b"]}");
            }
        }
        out.extend_from_slice(b"}\n");
    }

    /// Appends the error that a watch ends with. It is a plain Status in every rendering.
    pub(super) fn error(status: &Status, out: &mut Vec<u8>) {
        open("ERROR", out);
        out.extend_from_slice(&status.to_json());
        out.extend_from_slice(b"}\n");
    }

    fn object(&mut self, kind: &str, object: &Object, out: &mut Vec<u8>) {
        open(kind, out);
        let columns = !std::mem::replace(&mut self.begun, true);
        match &self.rendering {
            Rendering::Plain => object.body().write_to(out),
            Rendering::Partial(version) => write_partial(object, *version, out),
            Rendering::Table(table) => {
                // Ages are counted to the time of the event, not of the request.
                let table = super::TableRendering { now: std::time::SystemTime::now(), ..table.clone() };
                table.write_one(object, columns, out);
            }
        }
        out.extend_from_slice(b"}\n");
    }
}

fn open(kind: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"type":""#);
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(br#"","object":"#);
}

/// The required fields of a kind, which strict decoders miss in a bookmark that has metadata only.
fn zero_values(group: &str, resource: &str) -> &'static str {
    match (group, resource) {
        ("", "pods") => r#","spec":{"containers":null},"status":{}"#,
        ("", "namespaces" | "nodes" | "services" | "persistentvolumes" | "persistentvolumeclaims") => {
            r#","spec":{},"status":{}"#
        }
        ("apps", "deployments") => {
            r#","spec":{"selector":null,"template":{"metadata":{},"spec":{"containers":null}},"strategy":{}},"status":{}"#
        }
        ("apps", "replicasets") => r#","spec":{"selector":null},"status":{"replicas":0}"#,
        ("apps", "statefulsets") => {
            r#","spec":{"selector":null,"template":{"metadata":{},"spec":{"containers":null}},"serviceName":"","updateStrategy":{}},"status":{"replicas":0}"#
        }
        ("batch", "jobs") => r#","spec":{"template":{"metadata":{},"spec":{"containers":null}}},"status":{}"#,
        ("", "events") => {
            r#","involvedObject":{},"source":{},"firstTimestamp":null,"lastTimestamp":null,"type":"","eventTime":null,"reportingComponent":"","reportingInstance":"""#
        }
        _ => "",
    }
}
