use std::fmt::Write as _;

use orrery_api::ObjectKey;

use crate::cluster::State;
use crate::kind::Kind;

/// What the objects of a kind look like: JSON members to be put into `metadata` and beside it, with the placeholders
/// `$NAME`, `$NAMESPACE`, `$UID` and `$TEXT` (what [`Cluster::put`](crate::Cluster::put) was given).
#[derive(Clone, Debug)]
pub struct Template {
    metadata: Vec<Piece>,
    rest: Vec<Piece>,
}

#[derive(Clone, Debug)]
enum Piece {
    Literal(String),
    Name,
    Namespace,
    Uid,
    Text,
}

const PLACEHOLDERS: [(&str, Piece); 4] =
    [("$NAMESPACE", Piece::Namespace), ("$NAME", Piece::Name), ("$UID", Piece::Uid), ("$TEXT", Piece::Text)];

// === impl Template ===

impl Template {
    /// `metadata` and `rest` are JSON members without braces, as `"labels":{"app":"$TEXT"}`; either may be empty.
    pub fn new(metadata: &str, rest: &str) -> Self {
        Self { metadata: pieces(metadata), rest: pieces(rest) }
    }

    /// Appends the object; in lists of built-in kinds it is without its kind.
    pub(crate) fn write(&self, kind: &Kind, with_kind: bool, key: &ObjectKey, state: &State, out: &mut String) {
        out.push('{');
        if with_kind {
            let _ = write!(out, r#""kind":"{}","apiVersion":"{}","#, kind.kind, kind.gvr.api_version());
        }
        self.write_metadata(key, state, out);
        if !self.rest.is_empty() {
            out.push(',');
            write_pieces(&self.rest, key, state, out);
        }
        out.push('}');
    }

    /// Appends the object's PartialObjectMetadata.
    pub(crate) fn write_partial(&self, key: &ObjectKey, state: &State, out: &mut String) {
        out.push_str(r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","#);
        self.write_metadata(key, state, out);
        out.push('}');
    }

    fn write_metadata(&self, key: &ObjectKey, state: &State, out: &mut String) {
        let State { uid, version, created, terminating, .. } = state;
        let _ = write!(out, r#""metadata":{{"name":"{}""#, key.name);
        if !key.namespace.is_empty() {
            let _ = write!(out, r#","namespace":"{}""#, key.namespace);
        }
        let _ = write!(out, r#","uid":"{uid}","resourceVersion":"{version}","generation":{}"#, state.generation);
        let _ = write!(out, r#","creationTimestamp":"{}""#, timestamp(*created));
        if *terminating {
            let _ = write!(out, r#","deletionTimestamp":"{}""#, timestamp(*version));
        }
        if !self.metadata.is_empty() {
            out.push(',');
            write_pieces(&self.metadata, key, state, out);
        }
        out.push('}');
    }
}

fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let next =
            PLACEHOLDERS.iter().filter_map(|(mark, piece)| Some((rest.find(mark)?, mark.len(), piece))).min_by_key(
                // `$NAMESPACE` begins as `$NAME` does: the longer one wins.
                |(at, length, _)| (*at, usize::MAX - length),
            );
        let (at, length, piece) = next.map_or((rest.len(), 0, None), |(at, length, piece)| (at, length, Some(piece)));
        if at > 0 {
            pieces.push(Piece::Literal(rest[..at].to_owned()));
        }
        pieces.extend(piece.cloned());
        rest = &rest[at + length..];
    }
    pieces
}

fn write_pieces(pieces: &[Piece], key: &ObjectKey, state: &State, out: &mut String) {
    for piece in pieces {
        match piece {
            Piece::Literal(text) => out.push_str(text),
            Piece::Name => out.push_str(&key.name),
            Piece::Namespace => out.push_str(&key.namespace),
            Piece::Text => out.push_str(&state.text),
            Piece::Uid => {
                let _ = write!(out, "{}", state.uid);
            }
        }
    }
}

/// A time of 2026 that depends on a revision only: the simulation has no wall clock.
fn timestamp(revision: u64) -> String {
    let (hour, minute, second) = (revision / 3600 % 24, revision / 60 % 60, revision % 60);
    format!("2026-01-01T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use orrery_api::{Gvr, Uid};

    use super::*;

    #[test]
    fn an_object_is_its_template_with_what_is_its_own_filled_in() {
        let template = Template::new(r#""labels":{"t":"$TEXT"}"#, r#""data":{"of":"$NAMESPACE/$NAME $UID $"}"#);
        let kind = Kind::new(Gvr::new("", "v1", "configmaps"), "ConfigMap", true, template.clone());
        let state =
            State { uid: Uid::new("u"), version: 3661, created: 1, generation: 2, text: "x".into(), terminating: true };
        let mut out = String::new();
        template.write(&kind, true, &ObjectKey::new("b", "a"), &state, &mut out);
        let expected = r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"b","uid":"u","resourceVersion":"3661","generation":2,"creationTimestamp":"2026-01-01T00:00:01Z","deletionTimestamp":"2026-01-01T01:01:01Z","labels":{"t":"x"}},"data":{"of":"b/a u $"}}"#;
        assert_eq!(out, expected);
    }
}
