//! One pass over a member's JSON: where what is replaced stands, and what selectors read.

use std::borrow::Cow;
use std::ops::Range;

use orrery_api::{CLUSTER_KEY, CLUSTERS_KEY};

use super::BodyError;
use super::scan::Scanner;
use crate::fields::Read;

/// What was found in an object's JSON. Ranges are of the member's bytes.
pub(super) struct Parsed<'a> {
    /// Where the opening brace stands.
    pub(super) open: usize,
    pub(super) types: Types,
    pub(super) metadata: Metadata<'a>,
    /// The values of the kind's reads, in their order.
    pub(super) fields: Vec<Option<Cow<'a, str>>>,
}

/// Where an object has `kind` and `apiVersion`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Types {
    /// Nowhere: an item of a typed list.
    Absent,
    /// First, kind before apiVersion: as typed servers write an object alone. What follows begins here.
    Leading { end: usize },
    /// Elsewhere, as servers of custom resources write them, also in list items.
    Own,
}

#[derive(Default)]
pub(super) struct Metadata<'a> {
    pub(super) range: Range<usize>,
    pub(super) is_empty: bool,
    pub(super) resource_version: Option<Range<usize>>,
    /// Where the value stands, and the name.
    pub(super) name: Option<(Range<usize>, Cow<'a, str>)>,
    pub(super) labels: Option<Map<'a>>,
    pub(super) annotations: Option<Map<'a>>,
}

/// `labels` or `annotations`.
#[derive(Default)]
pub(super) struct Map<'a> {
    pub(super) range: Range<usize>,
    pub(super) is_null: bool,
    pub(super) is_empty: bool,
    /// Where the value of [`CLUSTER_KEY`] stands, if the object itself has one.
    pub(super) cluster: Option<Range<usize>>,
    /// Where the value of [`CLUSTERS_KEY`] stands.
    pub(super) clusters: Option<Range<usize>>,
    /// All pairs; of annotations none.
    pub(super) pairs: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

type Result<T> = std::result::Result<T, BodyError>;

/// Reads `bytes`, one JSON object.
pub(super) fn parse<'a>(bytes: &'a [u8], reads: &[Read]) -> Result<Parsed<'a>> {
    let mut scanner = Scanner::new(bytes);
    let mut fields = vec![None; reads.len()];
    let mut metadata = None;
    let mut members = Members::default();
    let range = scanner.members(|scanner, key| {
        members.enter(&key);
        match &*key {
            "metadata" => set_once(&mut metadata, read_metadata(scanner)?, "metadata"),
            "kind" | "apiVersion" => scanner.value().map(|range| members.types_end = range.end),
            _ => read_fields(scanner, &key, reads, &mut fields),
        }
    })?;
    scanner.end()?;
    let metadata = metadata.ok_or(BodyError::Missing { what: "metadata" })?;
    Ok(Parsed { open: range.start, types: members.types(bytes), metadata, fields })
}

/// The order of the top-level members, as far as it tells typed objects from others.
#[derive(Default)]
struct Members {
    count: usize,
    kind_at: Option<usize>,
    api_version_at: Option<usize>,
    types_end: usize,
}

// === impl Members ===

impl Members {
    fn enter(&mut self, key: &str) {
        match key {
            "kind" => self.kind_at = Some(self.count),
            "apiVersion" => self.api_version_at = Some(self.count),
            _ => {}
        }
        self.count += 1;
    }

    fn types(&self, bytes: &[u8]) -> Types {
        match (self.kind_at, self.api_version_at) {
            (None, None) => Types::Absent,
            (Some(0), Some(1)) => match bytes[self.types_end..].iter().position(|&byte| byte == b',' || byte == b'}') {
                Some(comma) if bytes[self.types_end + comma] == b',' => {
                    Types::Leading { end: self.types_end + comma + 1 }
                }
                _ => Types::Own,
            },
            _ => Types::Own,
        }
    }
}

fn read_metadata<'a>(scanner: &mut Scanner<'a>) -> Result<Metadata<'a>> {
    let mut metadata = Metadata { is_empty: true, ..Metadata::default() };
    let range = scanner.members(|scanner, key| {
        metadata.is_empty = false;
        match &*key {
            "resourceVersion" => set_once(&mut metadata.resource_version, scanner.value()?, "metadata.resourceVersion"),
            "name" => {
                let start = scanner.at();
                let name = scanner.scalar()?.unwrap_or_default();
                set_once(&mut metadata.name, (start..scanner.at(), name), "metadata.name")
            }
            "labels" => set_once(&mut metadata.labels, read_map(scanner, Keep::Pairs)?, "metadata.labels"),
            "annotations" => {
                set_once(&mut metadata.annotations, read_map(scanner, Keep::Nothing)?, "metadata.annotations")
            }
            _ => scanner.value().map(drop),
        }
    })?;
    Ok(Metadata { range, ..metadata })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Pairs,
    Nothing,
}

fn read_map<'a>(scanner: &mut Scanner<'a>, keep: Keep) -> Result<Map<'a>> {
    if scanner.peek() == b'n' {
        return Ok(Map { range: scanner.value()?, is_null: true, is_empty: true, ..Map::default() });
    }
    let mut map = Map { is_empty: true, ..Map::default() };
    let range = scanner.members(|scanner, key| {
        map.is_empty = false;
        scanner.peek();
        let start = scanner.at();
        if keep == Keep::Nothing && *key != *CLUSTER_KEY && *key != *CLUSTERS_KEY {
            return scanner.value().map(drop);
        }
        let value = scanner.scalar()?.unwrap_or_default();
        match &*key {
            CLUSTER_KEY => set_once(&mut map.cluster, start..scanner.at(), CLUSTER_KEY)?,
            CLUSTERS_KEY => set_once(&mut map.clusters, start..scanner.at(), CLUSTERS_KEY)?,
            _ => {}
        }
        map.pairs.push((key, value));
        Ok(())
    })?;
    Ok(Map { range, ..map })
}

/// Passes the value of the top-level member `key` and reads what is wanted of it.
fn read_fields<'a>(
    scanner: &mut Scanner<'a>,
    key: &str,
    reads: &[Read],
    out: &mut [Option<Cow<'a, str>>],
) -> Result<()> {
    debug_assert!(reads.len() <= 64, "a set of reads is a u64");
    let all = (0..reads.len()).fold(0, |set, index| set | 1 << index);
    descend(scanner, key, 0, all, reads, out)
}

/// Passes the value of member `key` at `depth`, of which the reads in the set `of` may want something.
fn descend<'a>(
    scanner: &mut Scanner<'a>,
    key: &str,
    depth: usize,
    of: u64,
    reads: &[Read],
    out: &mut [Option<Cow<'a, str>>],
) -> Result<()> {
    let wants = |index: usize| of >> index & 1 == 1 && reads[index].path.get(depth).is_some_and(|name| **name == *key);
    let wanted = (0..reads.len()).filter(|&index| wants(index)).fold(0u64, |set, index| set | 1 << index);
    if wanted == 0 {
        return scanner.value().map(drop);
    }
    let leaf = (0..reads.len()).find(|&index| wanted >> index & 1 == 1 && reads[index].path.len() == depth + 1);
    if let Some(index) = leaf {
        out[index] = scanner.scalar()?;
        return Ok(());
    }
    if scanner.peek() != b'{' {
        return scanner.value().map(drop);
    }
    scanner.members(|scanner, key| descend(scanner, &key, depth + 1, wanted, reads, out)).map(drop)
}

fn set_once<T>(slot: &mut Option<T>, value: T, what: &'static str) -> Result<()> {
    if slot.replace(value).is_some() { Err(BodyError::Twice { what }) } else { Ok(()) }
}
