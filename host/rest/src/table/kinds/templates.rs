//! Pod templates, alone and in what makes pods, and the revisions of them that controllers keep.

use super::Kind;
use crate::table::cells::{Cells, NONE};
use crate::table::column::{AGE, CONTAINERS, IMAGES, NAME, text};
use crate::table::field::{Map, Metadata, Text, fields, joined};
use crate::table::json::{Unreadable, read};
use crate::table::selector::labels_or_none;

pub(super) static POD_TEMPLATES: Kind = Kind {
    columns: &[NAME, CONTAINERS, IMAGES, text("Pod Labels", "Labels of the pods that are made of it.")],
    print: pod_template,
};

pub(super) static CONTROLLER_REVISIONS: Kind = Kind {
    columns: &[
        NAME,
        text("Controller", "What the revision is one of, by kind and name."),
        text("Revision", "Which revision it is: each is higher than the one before."),
        AGE,
    ],
    print: controller_revision,
};

fields! {
    /// A pod template, as far as it is printed.
    pub(super) struct Template<'a> {
        pub(super) metadata: TemplateMetadata<'a>,
        pub(super) spec: PodSpec<'a>,
    }

    pub(super) struct TemplateMetadata<'a> {
        labels: Map<'a>,
    }

    pub(super) struct PodSpec<'a> {
        containers: Vec<Container<'a>>,
        pub(super) node_selector: Map<'a>,
    }

    struct Container<'a> {
        name: Text<'a>,
        image: Text<'a>,
    }

    struct PodTemplate<'a> {
        metadata: Metadata<'a>,
        template: Template<'a>,
    }

    struct Revision<'a> {
        metadata: OwnedMetadata<'a>,
        revision: i64,
    }

    struct OwnedMetadata<'a> {
        name: Text<'a>,
        creation_timestamp: Text<'a>,
        owner_references: Vec<Owner<'a>>,
    }

    struct Owner<'a> {
        api_version: Text<'a>,
        kind: Text<'a>,
        name: Text<'a>,
        controller: bool,
    }
}

fn pod_template(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let PodTemplate { metadata, template } = read(body)?;
    cells.text(&metadata.name);
    template.containers_and_images(cells);
    cells.text(labels_or_none(&template.metadata.labels));
    Ok(())
}

fn controller_revision(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Revision { metadata, revision } = read(body)?;
    let controller = metadata.owner_references.iter().find(|owner| owner.controller);
    cells.text(&metadata.name).field_or(controller.map(Owner::shown), NONE).integer(revision);
    cells.age(&metadata.creation_timestamp);
    Ok(())
}

// === impl Template ===

impl Template<'_> {
    /// The cells CONTAINERS and IMAGES.
    pub(super) fn containers_and_images(&self, cells: &mut Cells<'_>) {
        let containers = &self.spec.containers;
        cells.text(joined(containers.iter().map(|container| &container.name), ","));
        cells.text(joined(containers.iter().map(|container| &container.image), ","));
    }
}

// === impl Owner ===

impl Owner<'_> {
    /// `daemonset.apps/web`.
    fn shown(&self) -> String {
        let kind = self.kind.to_lowercase();
        match self.api_version.split_once('/') {
            Some((group, _)) if !group.is_empty() => format!("{kind}.{}/{}", group.to_lowercase(), &*self.name),
            _ if kind.is_empty() => self.name.to_string(),
            _ => format!("{kind}/{}", &*self.name),
        }
    }
}
