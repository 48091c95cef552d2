//! Tables: what `kubectl get` prints, one row for each object.
//!
//! A [`Printer`] knows the columns of one resource and prints the cells of one object from its JSON body: built-in kinds
//! as kube-apiserver 1.37 prints them, whatever the member's version ([`kinds`]), custom resources by the
//! additionalPrinterColumns of their definition (apiextensions-apiserver pkg/registry/customresource/tableconvertor), and
//! what has no printer by name and time of creation (apiserver pkg/registry/rest/table.go). One column is the host's own:
//! CLUSTER, the last of those that are always shown.
//!
//! The envelope, each row's object and the frames of a watch are not made here.

mod age;
mod cells;
mod column;
mod custom;
mod field;
mod json;
mod jsonpath;
mod kinds;
mod selector;

use std::sync::Arc;
use std::time::SystemTime;

use orrery_api::{Gvr, ObjectKey};
use orrery_cache::Object;

use cells::{Cells, UNKNOWN};
use column::{CLUSTER, Column, NAME};
use custom::CustomColumn;
use kinds::{Kind, OfList};

/// How objects of one resource are printed as rows.
#[derive(Debug)]
pub(crate) struct Printer {
    columns: Vec<Column>,
    definitions: Vec<u8>,
    cluster_at: Option<usize>,
    rows: Rows,
    of_list: OfList,
}

/// Which printer makes the cells.
#[derive(Debug)]
enum Rows {
    BuiltIn(&'static Kind),
    Custom(Vec<CustomColumn>),
}

/// What is printed of an object for the sake of the others in its list. There is nothing of it where one object is
/// printed alone, as in watches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks(Vec<ObjectKey>);

// === impl Marks ===

impl Marks {
    fn has(&self, object: &Object) -> bool {
        !self.0.is_empty() && self.0.contains(object.served())
    }
}

// === impl Printer ===

impl Printer {
    /// The printer of `gvr`. `crd` is the JSON of the CustomResourceDefinition that defines it, `None` for a built-in
    /// kind; `clusters` says whether there is a CLUSTER column.
    pub(crate) fn for_resource(gvr: &Gvr, crd: Option<&[u8]>, clusters: bool) -> Self {
        let (mut columns, rows) = match crd {
            Some(crd) => {
                let (columns, custom) = custom::columns(crd, &gvr.version);
                (columns, Rows::Custom(custom))
            }
            None => {
                let kind = kinds::of(gvr);
                (kind.columns.to_vec(), Rows::BuiltIn(kind))
            }
        };
        let cluster_at = clusters.then(|| {
            let after_shown = columns.iter().rposition(|column| column.priority == 0).map_or(0, |last| last + 1);
            columns.insert(after_shown, CLUSTER);
            after_shown
        });
        let definitions = serde_json::to_vec(&columns).expect("columns are text and numbers");
        Self { columns, definitions, cluster_at, rows, of_list: OfList::of(gvr) }
    }

    /// Whether a list is looked at as a whole, by [`Printer::list`], before its first row is printed.
    pub(crate) fn looks_at_lists(&self) -> bool {
        self.of_list != OfList::Nothing
    }

    /// Puts the objects of a list, or of a page of it, in the order in which they are printed, and marks those that need
    /// it.
    pub(crate) fn list(&self, objects: &mut [Arc<Object>]) -> Marks {
        match self.of_list {
            OfList::Nothing => Marks::default(),
            OfList::Precedence => {
                kinds::sort_by_precedence(objects);
                Marks::default()
            }
            OfList::DefaultClass => Marks(kinds::default_classes(objects)),
        }
    }

    /// The JSON array that `columnDefinitions` is.
    pub(crate) fn column_definitions(&self) -> &[u8] {
        &self.definitions
    }

    /// Appends `"cells":[…]` of `object` at `now` and, for a finished pod, `,"conditions":[…]`. `marks` are those of the
    /// list that it is of.
    pub(crate) fn cells(&self, object: &Object, marks: &Marks, now: SystemTime, out: &mut Vec<u8>) {
        let cluster = object.cluster().as_str();
        self.row(&object.body().to_bytes(), &object.served().name, cluster, marks.has(object), now, out);
    }

    /// Appends the same of an object that is in no cache and in no marked list.
    pub(crate) fn live_cells(&self, body: &[u8], name: &str, cluster: &str, now: SystemTime, out: &mut Vec<u8>) {
        self.row(body, name, cluster, false, now, out);
    }

    fn row(&self, body: &[u8], name: &str, cluster: &str, marked: bool, now: SystemTime, out: &mut Vec<u8>) {
        let start = out.len();
        let mut cells = Cells::begin(out, now, self.cluster_at.map(|at| (at, cluster)));
        cells.mark(marked);
        if !self.print(body, cells) {
            out.truncate(start);
            self.print_unknown(name, cluster, now, out);
        }
    }

    /// Whether the object has its kind's shape, so that there is a row of it.
    fn print(&self, body: &[u8], mut cells: Cells<'_>) -> bool {
        let printed = match &self.rows {
            Rows::BuiltIn(kind) => (kind.print)(body, &mut cells),
            Rows::Custom(columns) => custom::cells(columns, body, &mut cells),
        };
        cells.end();
        printed.is_ok()
    }

    /// An object that does not have its kind's shape still gets its row: its name, and all else unknown.
    fn print_unknown(&self, name: &str, cluster: &str, now: SystemTime, out: &mut Vec<u8>) {
        let mut cells = Cells::begin(out, now, None);
        for (at, column) in self.columns.iter().enumerate() {
            let is_cluster = self.cluster_at == Some(at);
            cells.text(if is_cluster {
                cluster
            } else if column.name == NAME.name {
                name
            } else {
                UNKNOWN
            });
        }
        cells.end();
    }
}

#[cfg(test)]
mod tests;
