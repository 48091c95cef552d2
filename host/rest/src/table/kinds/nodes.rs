//! Nodes, and the runtime classes that pods choose on them.

use std::collections::BTreeSet;

use super::Kind;
use crate::table::cells::{Cells, NONE, UNKNOWN};
use crate::table::column::{AGE, NAME, text};
use crate::table::field::{Condition, MappedMetadata, Metadata, Object, Text, fields};
use crate::table::json::{Unreadable, read};

pub(super) static NODES: Kind = Kind {
    columns: &[
        NAME,
        text("Status", "Whether the node is ready, and whether new pods are scheduled to it."),
        text("Roles", "Roles that the labels of the node give it."),
        AGE,
        text("Version", "The version of the node's kubelet."),
        text("Internal-IP", "The node's address inside its cluster.").wide(),
        text("External-IP", "The node's address outside its cluster.").wide(),
        text("OS-Image", "The node's operating system.").wide(),
        text("Kernel-Version", "The node's kernel.").wide(),
        text("Container-Runtime", "The node's container runtime and its version.").wide(),
    ],
    print: node,
};

pub(super) static RUNTIME_CLASSES: Kind = Kind {
    columns: &[NAME, text("Handler", "What nodes call the runtime that runs the pods of the class."), AGE],
    print: runtime_class,
};

const ROLE_PREFIX: &str = "node-role.kubernetes.io/";
const ROLE_LABEL: &str = "kubernetes.io/role";

type Node<'a> = Object<MappedMetadata<'a>, Spec, Status<'a>>;

fields! {
    struct Spec {
        unschedulable: bool,
    }
}

fields! {
    struct Status<'a> {
        conditions: Vec<Condition<'a>>,
        addresses: Vec<Address<'a>>,
        node_info: Info<'a>,
    }

    struct Address<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        address: Text<'a>,
    }

    struct Info<'a> {
        kubelet_version: Text<'a>,
        os_image: Text<'a>,
        kernel_version: Text<'a>,
        container_runtime_version: Text<'a>,
        architecture: Text<'a>,
    }

    struct RuntimeClass<'a> {
        metadata: Metadata<'a>,
        handler: Text<'a>,
    }
}

fn node(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let node: Node<'_> = read(body)?;
    let info = &node.status.node_info;
    cells.text(&node.metadata.name).text(node.state()).text_or(node.roles(), NONE);
    cells.age(&node.metadata.creation_timestamp).text(&info.kubelet_version);
    cells.text(node.address("InternalIP")).text(node.address("ExternalIP"));
    cells.text_or(&info.os_image, UNKNOWN).text(info.kernel()).text_or(&info.container_runtime_version, UNKNOWN);
    Ok(())
}

fn runtime_class(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let RuntimeClass { metadata, handler } = read(body)?;
    cells.text(&metadata.name).text(&handler).age(&metadata.creation_timestamp);
    Ok(())
}

// === impl Node ===

impl Node<'_> {
    /// Of several conditions of one type upstream takes the last.
    fn state(&self) -> String {
        let ready = self.status.conditions.iter().rfind(|condition| &*condition.kind == "Ready");
        let state = match ready.map(|condition| &*condition.status) {
            None => "Unknown",
            Some("True") => "Ready",
            Some(_) => "NotReady",
        };
        if self.spec.unschedulable { format!("{state},SchedulingDisabled") } else { state.to_owned() }
    }

    fn roles(&self) -> String {
        let mut roles = BTreeSet::new();
        for (key, value) in &self.metadata.labels {
            match key.strip_prefix(ROLE_PREFIX) {
                Some(role) => roles.insert(role),
                None if &**key == ROLE_LABEL => roles.insert(&**value),
                None => false,
            };
        }
        roles.into_iter().filter(|role| !role.is_empty()).collect::<Vec<_>>().join(",")
    }

    fn address(&self, kind: &str) -> &str {
        self.status.addresses.iter().find(|address| &*address.kind == kind).map_or(NONE, |address| &address.address)
    }
}

// === impl Info ===

impl Info<'_> {
    fn kernel(&self) -> String {
        let version = if self.kernel_version.is_empty() { UNKNOWN } else { &self.kernel_version };
        if self.architecture.is_empty() { version.to_owned() } else { format!("{version} ({})", &*self.architecture) }
    }
}
