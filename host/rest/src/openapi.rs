//! OpenAPI: whose document is served for what. Every document is one member's own bytes, so that each `$ref` in it
//! resolves; the index of version 3 is the union of the members' indexes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::query::Query;

/// `/openapi/v3`: where the document of each path (`api/v1`, `apis/apps/v1`) stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Index {
    paths: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
struct Entry {
    /// With the hash of the document in its query.
    #[serde(rename = "serverRelativeURL")]
    url: String,
}

/// What a member has, and what decides whether it is asked.
#[derive(Clone, Debug)]
pub(crate) struct Served<I> {
    /// Its index; of version 2 nothing.
    pub(crate) index: I,
    /// Its minor version; 0 where it is not known.
    pub(crate) minor: u32,
    /// How many group-versions it serves.
    pub(crate) group_versions: usize,
}

// === impl Index ===

impl Index {
    /// The union: of each path the entry of the member that [`ranked`] puts first. `members` are in fleet order.
    pub(crate) fn union(members: &[Served<&Self>]) -> Self {
        let mut newest_last: Vec<_> = members.iter().rev().collect();
        // Of equals the first in fleet order comes last, and stays.
        newest_last.sort_by_key(|served| served.minor);
        let entries = newest_last.into_iter().flat_map(|served| served.index.paths.clone());
        Self { paths: entries.collect() }
    }

    /// The hash of the document that is served for `path`.
    fn hash(&self, path: &str) -> Option<String> {
        let (_, query) = self.paths.get(path)?.url.split_once('?')?;
        Some(Query::parse(query).text("hash"))
    }
}

/// The members to ask for the document of `path`, by their places in `members`: who has it in the newest minor first, of
/// those the first in fleet order. A client that names a `hash` means one document, so who has just that comes before all.
pub(crate) fn ranked(members: &[Served<&Index>], path: &str, hash: Option<&str>) -> Vec<usize> {
    let mut serving: Vec<usize> = (0..members.len()).filter(|at| members[*at].index.paths.contains_key(path)).collect();
    let has_it = |at: &usize| hash.is_some_and(|hash| members[*at].index.hash(path).as_deref() == Some(hash));
    serving.sort_by_key(|at| (std::cmp::Reverse(has_it(at)), std::cmp::Reverse(members[*at].minor)));
    serving
}

/// The members to ask for the document of version 2, which is one for all: who serves most group-versions first.
pub(crate) fn ranked_whole<I>(members: &[Served<I>]) -> Vec<usize> {
    let mut all: Vec<usize> = (0..members.len()).collect();
    all.sort_by_key(|at| std::cmp::Reverse(members[*at].group_versions));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(entries: &[(&str, &str)]) -> Index {
        let entry = |(path, hash): &(&str, &str)| {
            ((*path).to_owned(), Entry { url: format!("/openapi/v3/{path}?hash={hash}") })
        };
        Index { paths: entries.iter().map(entry).collect() }
    }

    fn served(index: &Index, minor: u32) -> Served<&Index> {
        Served { index, minor, group_versions: index.paths.len() }
    }

    #[test]
    fn of_each_path_the_newest_minor_is_served_and_of_equals_the_first_in_the_fleet() {
        let old = index(&[("api/v1", "A"), ("apis/old/v1", "O")]);
        let first = index(&[("api/v1", "B")]);
        let second = index(&[("api/v1", "C"), ("apis/crd/v1", "D")]);
        let members = [served(&old, 36), served(&first, 37), served(&second, 37)];
        let union = serde_json::to_string(&Index::union(&members)).unwrap();
        assert_eq!(
            union,
            r#"{"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=B"},"apis/crd/v1":{"serverRelativeURL":"/openapi/v3/apis/crd/v1?hash=D"},"apis/old/v1":{"serverRelativeURL":"/openapi/v3/apis/old/v1?hash=O"}}}"#
        );
        assert_eq!(ranked(&members, "api/v1", None), [1, 2, 0]);
        assert_eq!(ranked(&members, "apis/old/v1", None), [0]);
        assert_eq!(ranked(&members, "apis/nosuch/v1", None), [0; 0]);
    }

    #[test]
    fn a_hash_is_answered_by_who_has_just_that_document() {
        let (old, new) = (index(&[("api/v1", "A")]), index(&[("api/v1", "B")]));
        let members = [served(&old, 36), served(&new, 37)];
        assert_eq!(ranked(&members, "api/v1", Some("A")), [0, 1]);
        assert_eq!(ranked(&members, "api/v1", Some("B")), [1, 0]);
        assert_eq!(ranked(&members, "api/v1", Some("gone")), [1, 0], "who then redirects to its own");
    }

    #[test]
    fn the_whole_document_is_that_of_who_serves_most() {
        let (few, many) = (index(&[("a", "1")]), index(&[("a", "1"), ("b", "2")]));
        assert_eq!(ranked_whole(&[served(&few, 37), served(&many, 36), served(&many, 37)]), [1, 2, 0]);
    }
}
