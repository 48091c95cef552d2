//! Tables: what `kubectl get` prints, one row for each object.
//!
//! A [`Printer`] knows the columns of one resource and prints the cells of one object from its JSON body: built-in kinds
//! as kube-apiserver 1.37 prints them (k8s.io/kubernetes pkg/printers/internalversion), custom resources by the
//! additionalPrinterColumns of their definition (apiextensions-apiserver pkg/registry/customresource/tableconvertor), all
//! others by name and time of creation (apiserver pkg/registry/rest/table.go). One column is the host's own: CLUSTER,
//! the last of those that are always shown.
//!
//! The envelope, each row's object and the frames of a watch are not made here.

mod age;
mod cells;
mod column;
mod custom;
mod definition;
mod event;
mod field;
mod jsonpath;
mod node;
mod object;
mod pod;
mod selector;
mod service;
mod workload;

use std::time::SystemTime;

use orrery_api::Gvr;
use orrery_cache::Object;

use cells::{Cells, UNKNOWN};
use column::Column;
use custom::CustomColumn;

/// How objects of one resource are printed as rows.
#[derive(Debug)]
pub(crate) struct Printer {
    columns: Vec<Column>,
    definitions: Vec<u8>,
    cluster_at: Option<usize>,
    rows: Rows,
}

/// Which printer makes the cells.
#[derive(Debug)]
enum Rows {
    BuiltIn(fn(&[u8], SystemTime, &mut Cells<'_>) -> Result<(), serde_json::Error>),
    Custom(Vec<CustomColumn>),
}

// === impl Printer ===

impl Printer {
    /// The printer of `gvr`. `crd` is the JSON of the CustomResourceDefinition that defines it, `None` for a built-in
    /// kind; `clusters` says whether there is a CLUSTER column.
    pub(crate) fn for_resource(gvr: &Gvr, crd: Option<&[u8]>, clusters: bool) -> Self {
        let (mut columns, rows) = match (crd, &*gvr.group, &*gvr.resource) {
            (Some(crd), _, _) => {
                let (columns, custom) = custom::columns(crd, &gvr.version);
                (columns, Rows::Custom(custom))
            }
            (None, "", "pods") => (pod::columns(), Rows::BuiltIn(pod::cells)),
            (None, "", "nodes") => (node::columns(), Rows::BuiltIn(node::cells)),
            (None, "", "namespaces") => (object::namespace_columns(), Rows::BuiltIn(object::namespace_cells)),
            (None, "", "configmaps") => (object::config_map_columns(), Rows::BuiltIn(object::config_map_cells)),
            (None, "", "services") => (service::columns(), Rows::BuiltIn(service::cells)),
            (None, "" | "events.k8s.io", "events") => (event::columns(), Rows::BuiltIn(event::cells)),
            (None, "apps", "deployments") => {
                (workload::deployment_columns(), Rows::BuiltIn(workload::deployment_cells))
            }
            (None, "apps", "replicasets") => {
                (workload::replica_set_columns(), Rows::BuiltIn(workload::replica_set_cells))
            }
            (None, "batch", "jobs") => (workload::job_columns(), Rows::BuiltIn(workload::job_cells)),
            (None, "apiextensions.k8s.io", "customresourcedefinitions") => {
                (definition::columns(), Rows::BuiltIn(definition::cells))
            }
            (None, _, _) => (object::fallback_columns(), Rows::BuiltIn(object::fallback_cells)),
        };
        let cluster_at = clusters.then(|| {
            let after_shown = columns.iter().rposition(|column| column.priority == 0).map_or(0, |last| last + 1);
            columns.insert(after_shown, Column::cluster());
            after_shown
        });
        let definitions = serde_json::to_vec(&columns).expect("columns are text and numbers");
        Self { columns, definitions, cluster_at, rows }
    }

    /// The JSON array that `columnDefinitions` is.
    pub(crate) fn column_definitions(&self) -> &[u8] {
        &self.definitions
    }

    /// Appends `"cells":[…]` of `object` at `now` and, for a finished pod, `,"conditions":[…]`.
    pub(crate) fn cells(&self, object: &Object, now: SystemTime, out: &mut Vec<u8>) {
        let body = object.body().to_bytes();
        self.print(&body, &object.served().name, object.cluster().as_str(), now, out);
    }

    /// An object that does not have its kind's shape still gets its row: its name, and all else unknown.
    fn print(&self, body: &[u8], name: &str, cluster: &str, now: SystemTime, out: &mut Vec<u8>) {
        let start = out.len();
        let mut cells = Cells::begin(out, self.cluster_at.map(|at| (at, cluster)));
        let printed = match &self.rows {
            Rows::BuiltIn(print) => print(body, now, &mut cells),
            Rows::Custom(columns) => custom::cells(columns, body, now, &mut cells),
        };
        cells.end();
        if printed.is_err() {
            out.truncate(start);
            self.print_unknown(name, cluster, out);
        }
    }

    fn print_unknown(&self, name: &str, cluster: &str, out: &mut Vec<u8>) {
        let mut cells = Cells::begin(out, None);
        for (at, column) in self.columns.iter().enumerate() {
            let is_cluster = self.cluster_at == Some(at);
            cells.text(if is_cluster {
                cluster
            } else if column.format == "name" {
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
