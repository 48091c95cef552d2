//! What extends the API: CustomResourceDefinitions (apiextensions-apiserver
//! pkg/registry/customresourcedefinition/tableconvertor, new in 1.37; older servers show NAME and CREATED AT) and APIServices
//! (kube-aggregator pkg/registry/apiservice/etcd).

use super::Kind;
use crate::table::cells::Cells;
use crate::table::column::{AGE, CREATED_AT, NAME, boolean, text};
use crate::table::field::{Condition, Conditions, Metadata, Object, Reference, Text, fields, joined};
use crate::table::json::{Unreadable, read};

pub(super) static DEFINITIONS: Kind = Kind {
    columns: &[
        NAME,
        text("Scope", "Whether its objects stand in namespaces: Namespaced or Cluster."),
        text("Versions", "Versions that are served, and which of them is stored."),
        CREATED_AT,
        text("Group", "API group that it defines a kind of.").wide(),
        text("Kind", "Kind that it defines.").wide(),
        text("ShortNames", "Short names of the kind on a command line.").wide(),
        boolean("Established", "Whether the kind is served.").wide(),
    ],
    print: definition,
};

pub(super) static API_SERVICES: Kind = Kind {
    columns: &[
        NAME,
        text("Service", "The service that serves the group's version, or Local."),
        text("Available", "Whether it can be asked now."),
        AGE,
    ],
    print: api_service,
};

type ApiService<'a> = Object<Metadata<'a>, ServiceSpec<'a>, Conditions<'a>>;
type Definition<'a> = Object<Metadata<'a>, Spec<'a>, Conditions<'a>>;

fields! {
    struct Spec<'a> {
        group: Text<'a>,
        scope: Text<'a>,
        names: Names<'a>,
        versions: Vec<Version<'a>>,
    }

    struct Names<'a> {
        kind: Text<'a>,
        short_names: Vec<Text<'a>>,
    }

    struct ServiceSpec<'a> {
        service: Option<Reference<'a>>,
    }

    struct Version<'a> {
        name: Text<'a>,
        served: bool,
        storage: bool,
    }
}

fn definition(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Definition { metadata, spec, status } = read(body)?;
    let mut served: Vec<_> = spec.versions.iter().filter(|version| version.served).map(Version::text).collect();
    served.sort_unstable();
    let is_established = |condition: &Condition<'_>| &*condition.kind == "Established" && &*condition.status == "True";
    cells.text(&metadata.name).text(&spec.scope).text(served.join(",")).text(&metadata.creation_timestamp);
    cells.text(&spec.group).text(&spec.names.kind).text(joined(&spec.names.short_names, ","));
    cells.boolean(status.conditions.iter().any(is_established));
    Ok(())
}

fn api_service(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let ApiService { metadata, spec, status } = read(body)?;
    let service = spec.service.map(|service| format!("{}/{}", &*service.namespace, &*service.name));
    let available = status.conditions.iter().find(|condition| &*condition.kind == "Available");
    let available = available.map(|Condition { status, reason, .. }| match (&**status, &**reason) {
        ("True", _) | (_, "") => status.to_string(),
        (status, reason) => format!("{status} ({reason})"),
    });
    cells.text(&metadata.name).field_or(service, "Local").field_or(available, "Unknown");
    cells.age(&metadata.creation_timestamp);
    Ok(())
}

// === impl Version ===

impl Version<'_> {
    fn text(&self) -> String {
        if self.storage { format!("{}(storage)", &*self.name) } else { self.name.to_string() }
    }
}
