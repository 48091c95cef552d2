//! Field selectors' fields: which a kind has, and how each is read from an object's JSON.

use std::sync::Arc;

use orrery_api::Gvr;

mod builtin;

/// The fields of a kind that selectors can name, and how each is read (Kubernetes 1.37: `AddFieldLabelConversionFunc` of
/// `pkg/apis/*/*/conversion.go` says which names are known, `ToSelectableFields` of `pkg/registry` what they mean).
#[derive(Clone, Debug)]
pub struct FieldTable(Arc<Table>);

#[derive(Debug)]
struct Table {
    /// Whether `metadata.namespace` can be named.
    namespace: bool,
    /// What is read from each object.
    reads: Box<[Read]>,
    /// The names, each with what it means.
    names: Box<[(Arc<str>, Meaning)]>,
    refusal: Refusal,
}

/// A value that is read from the object's JSON.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Read {
    /// Member names from the top.
    pub(crate) path: Box<[Box<str>]>,
    /// What it is where the object lacks it.
    pub(crate) absent: &'static str,
}

/// What a field's name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The served name.
    Name,
    /// The namespace.
    Namespace,
    /// The value read at this index.
    Value(usize),
    /// The value read at the first index; where that is empty, at the second.
    Either(usize, usize),
    /// Always empty: the name is known, but the API server reads nothing for it.
    Empty,
}

/// How a kind refuses an unknown name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Refusal {
    Plain,
    ForKind { gvk: String },
    Job,
    MetadataOnly,
}

// === impl FieldTable ===

impl FieldTable {
    /// The fields of a built-in kind; of any other, name and (where it is `namespaced`) namespace.
    pub fn of(gvr: &Gvr, namespaced: bool) -> Self {
        builtin::table(gvr, namespaced)
    }

    /// The fields of a custom resource: beside name and namespace, what its definition's `selectableFields` name by
    /// `paths` (`.spec.colour`; KEP-4358). A path that is more than names after dots is not taken.
    pub fn custom<'a>(namespaced: bool, paths: impl Iterator<Item = &'a str>) -> Self {
        let names = paths.filter_map(|path| path.strip_prefix('.'));
        let plain =
            names.filter(|name| name.split('.').all(|part| !part.is_empty() && !part.contains(['[', '\'', '"'])));
        plain.fold(Builder::new(namespaced, Refusal::Plain), |table, name| table.field(name, name, "")).build()
    }

    /// What the name `label` stands for, or the API server's words that it is not known.
    pub(crate) fn meaning(&self, label: &str) -> Result<Meaning, String> {
        match label {
            "metadata.name" => return Ok(Meaning::Name),
            "metadata.namespace" if self.0.namespace => return Ok(Meaning::Namespace),
            _ => {}
        }
        let found = self.0.names.iter().find(|(name, _)| **name == *label);
        found.map(|(_, meaning)| *meaning).ok_or_else(|| self.0.refusal.of(label))
    }

    /// What has to be read from each object.
    pub(crate) fn reads(&self) -> &[Read] {
        &self.0.reads
    }
}

/// Makes a table, field by field.
struct Builder {
    namespace: bool,
    refusal: Refusal,
    reads: Vec<Read>,
    names: Vec<(Arc<str>, Meaning)>,
}

// === impl Builder ===

impl Builder {
    fn new(namespace: bool, refusal: Refusal) -> Self {
        Self { namespace, refusal, reads: Vec::new(), names: Vec::new() }
    }

    /// Each of `paths` can be named, and is read as it stands.
    fn texts(self, paths: &[&str]) -> Self {
        paths.iter().fold(self, |table, path| table.field(path, path, ""))
    }

    /// `name` means what stands at `path`, `absent` where nothing does.
    fn field(mut self, name: &str, path: &str, absent: &'static str) -> Self {
        let index = self.read(path, absent);
        self.names.push((name.into(), Meaning::Value(index)));
        self
    }

    /// `name` means what stands at `first`, or else at `second`.
    fn either(mut self, name: &str, first: &str, second: &str) -> Self {
        let (first, second) = (self.read(first, ""), self.read(second, ""));
        self.names.push((name.into(), Meaning::Either(first, second)));
        self
    }

    /// `name` is known and always empty.
    fn empty(mut self, name: &str) -> Self {
        self.names.push((name.into(), Meaning::Empty));
        self
    }

    fn read(&mut self, path: &str, absent: &'static str) -> usize {
        let read = Read { path: path.split('.').map(Into::into).collect(), absent };
        self.reads.iter().position(|known| *known == read).unwrap_or_else(|| {
            self.reads.push(read);
            self.reads.len() - 1
        })
    }

    fn build(self) -> FieldTable {
        let Self { namespace, refusal, reads, names } = self;
        FieldTable(Arc::new(Table { namespace, refusal, reads: reads.into(), names: names.into() }))
    }
}

// === impl Refusal ===

impl Refusal {
    fn of(&self, label: &str) -> String {
        match self {
            Self::Plain => format!("field label not supported: {label}"),
            Self::ForKind { gvk } => format!("field label not supported for {gvk}: {label}"),
            Self::Job => format!("field label {label:?} not supported for Job"),
            Self::MetadataOnly => {
                format!("{label:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
            }
        }
    }
}
