use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use orrery_api::ObjectKey;
use orrery_markers::Marker;

use crate::status::Status;

/// Where a paged list goes on, in upstream's form (AS pkg/storage/continue.go): any replica can read it, and it stays
/// below 1 KiB. Opaque to clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContinueToken {
    /// The state that the list began in; `None` goes on in the state of now (upstream's rv −1).
    pub(crate) at: Option<Marker>,
    /// The last object of the page before.
    pub(crate) after: ObjectKey,
    /// By what extensions selected the pages before ([`SelectorFilter::generation`]); 0 where none did.
    ///
    /// [`SelectorFilter::generation`]: orrery_api::extension::SelectorFilter::generation
    pub(crate) selected_by: u64,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Wire {
    v: String,
    rv: i64,
    start: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    by: u64,
}

const VERSION: &str = "meta.k8s.io/v1";

// === impl ContinueToken ===

impl ContinueToken {
    /// The token's text. `namespace` is the list's own scope: a key inside it is written without it, as upstream.
    pub(crate) fn encode(&self, namespace: &str) -> String {
        let rv = self.at.map_or(-1, |marker| i64::try_from(marker.get()).expect("a marker is below 2^53"));
        let ObjectKey { namespace: own, name } = &self.after;
        let start =
            if namespace.is_empty() && !own.is_empty() { format!("{own}/{name}\0") } else { format!("{name}\0") };
        let wire = Wire { v: VERSION.to_owned(), rv, start, by: self.selected_by };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&wire).expect("texts and a number"))
    }

    /// Reads a token of a list over `namespace` (empty: all), of a resource that is `namespaced` or not; 400 if it is none.
    pub(crate) fn decode(text: &str, namespace: &str, namespaced: bool) -> Result<Self, Status> {
        let fail = |why: &str| Status::bad_request(format!("invalid continue token: continue key is not valid{why}"));
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|error| fail(&format!(": {error}")))?;
        let wire: Wire = serde_json::from_slice(&bytes).map_err(|error| fail(&format!(": {error}")))?;
        if wire.v != VERSION {
            return Err(fail(&format!(": server does not recognize this encoded version {}", wire.v)));
        }
        if wire.rv == 0 {
            return Err(fail(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
        }
        let start = wire.start.strip_suffix('\0').ok_or_else(|| fail(&format!(": {}", wire.start)))?;
        let after = key_of(start, namespace, namespaced).ok_or_else(|| fail(&format!(": {start}")))?;
        let at = match u64::try_from(wire.rv) {
            Ok(number) => Some(Marker::new(number).map_err(|error| fail(&format!(": {error}")))?),
            Err(_) => None,
        };
        Ok(Self { at, after, selected_by: wire.by })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The key that a token's start means in its list's scope. A name holds no `/` and is neither `.` nor `..`.
fn key_of(start: &str, namespace: &str, namespaced: bool) -> Option<ObjectKey> {
    let (namespace, name) =
        if namespaced && namespace.is_empty() { start.split_once('/')? } else { (namespace, start) };
    let sound = |part: &str| !part.is_empty() && !part.contains('/') && part != "." && part != "..";
    (sound(name) && (!namespaced || sound(namespace))).then(|| ObjectKey::new(namespace, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(at: Option<u64>, namespace: &str, name: &str) -> ContinueToken {
        ContinueToken {
            at: at.map(|number| Marker::new(number).unwrap()),
            after: ObjectKey::new(namespace, name),
            selected_by: 0,
        }
    }

    #[test]
    fn a_token_is_read_back_in_the_scope_that_it_was_made_in() {
        for (at, scope, namespace, name, namespaced) in [
            (Some(5), "", "a", "b", true),
            (Some(5), "a", "a", "b", true),
            (None, "", "a", "b", true),
            (Some(9), "", "", "node-1.west", false),
        ] {
            let token = token(at, namespace, name);
            assert_eq!(ContinueToken::decode(&token.encode(scope), scope, namespaced), Ok(token));
        }
    }

    #[test]
    fn a_token_is_what_upstream_would_write() {
        let bytes = URL_SAFE_NO_PAD.decode(token(Some(5), "a", "b").encode("")).unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), r#"{"v":"meta.k8s.io/v1","rv":5,"start":"a/b\u0000"}"#);
        let bytes = URL_SAFE_NO_PAD.decode(token(None, "a", "b").encode("a")).unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), r#"{"v":"meta.k8s.io/v1","rv":-1,"start":"b\u0000"}"#);
    }

    #[test]
    fn what_is_no_token_is_refused_as_400() {
        let encoded = |json: &str| URL_SAFE_NO_PAD.encode(json);
        for text in [
            "garbage!".to_owned(),
            encoded("{}"),
            encoded(r#"{"v":"v2","rv":5,"start":"a/b\u0000"}"#),
            encoded(r#"{"v":"meta.k8s.io/v1","rv":0,"start":"a/b\u0000"}"#),
            encoded(r#"{"v":"meta.k8s.io/v1","rv":5,"start":""}"#),
            encoded(r#"{"v":"meta.k8s.io/v1","rv":5,"start":"../x/y\u0000"}"#),
            encoded(r#"{"v":"meta.k8s.io/v1","rv":9007199254740993,"start":"a/b\u0000"}"#),
        ] {
            let status = ContinueToken::decode(&text, "", true).unwrap_err();
            assert_eq!(status.code(), 400);
            assert!(status.message().starts_with("invalid continue token: continue key is not valid"), "{status}");
        }
    }
}
