//! Bindings of roles; roles themselves have no printer.

use super::Kind;
use crate::table::cells::Cells;
use crate::table::column::{AGE, NAME, text};
use crate::table::field::{Metadata, Reference, fields};
use crate::table::json::{Unreadable, read};

/// RoleBindings and ClusterRoleBindings.
pub(super) static BINDINGS: Kind = Kind {
    columns: &[
        NAME,
        text("Role", "The role that is given, by kind and name."),
        AGE,
        text("Users", "Users who have the role.").wide(),
        text("Groups", "Groups whose members have the role.").wide(),
        text("ServiceAccounts", "Service accounts that have the role.").wide(),
    ],
    print: binding,
};

fields! {
    struct Binding<'a> {
        metadata: Metadata<'a>,
        role_ref: Reference<'a>,
        subjects: Vec<Reference<'a>>,
    }
}

fn binding(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let binding: Binding<'_> = read(body)?;
    let Binding { metadata, role_ref, .. } = &binding;
    cells
        .text(&metadata.name)
        .text(format!("{}/{}", &*role_ref.kind, &*role_ref.name))
        .age(&metadata.creation_timestamp);
    cells.text(binding.subjects("User")).text(binding.subjects("Group")).text(binding.subjects("ServiceAccount"));
    Ok(())
}

// === impl Binding ===

impl Binding<'_> {
    fn subjects(&self, kind: &str) -> String {
        let of_kind = self.subjects.iter().filter(|subject| &*subject.kind == kind);
        let shown = of_kind.map(|subject| match kind {
            "ServiceAccount" => format!("{}/{}", &*subject.namespace, &*subject.name),
            _ => subject.name.to_string(),
        });
        shown.collect::<Vec<_>>().join(", ")
    }
}
