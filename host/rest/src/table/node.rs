//! Nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use serde::Deserialize;

use super::age;
use super::cells::{Cells, NONE, UNKNOWN};
use super::column::{Column, docs};
use super::field::{Condition, Maybe, Text};

const ROLE_PREFIX: &str = "node-role.kubernetes.io/";
const ROLE_LABEL: &str = "kubernetes.io/role";

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Node<'a> {
    metadata: Maybe<LabelledMetadata<'a>>,
    spec: Maybe<Spec>,
    status: Maybe<Status<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
struct LabelledMetadata<'a> {
    name: Text<'a>,
    creation_timestamp: Text<'a>,
    labels: Maybe<BTreeMap<Text<'a>, Text<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec {
    unschedulable: Maybe<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
struct Status<'a> {
    conditions: Maybe<Vec<Condition<'a>>>,
    addresses: Maybe<Vec<Address<'a>>>,
    node_info: Maybe<Info<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Address<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    address: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
struct Info<'a> {
    kubelet_version: Text<'a>,
    os_image: Text<'a>,
    kernel_version: Text<'a>,
    container_runtime_version: Text<'a>,
    architecture: Text<'a>,
}

pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text("Status", "Whether the node is ready, and whether new pods are scheduled to it."),
        Column::text("Roles", "Roles that the labels of the node give it."),
        Column::age(),
        Column::text("Version", docs::NODE_KUBELET_VERSION),
        Column::text("Internal-IP", docs::NODE_ADDRESSES).wide(),
        Column::text("External-IP", docs::NODE_ADDRESSES).wide(),
        Column::text("OS-Image", docs::NODE_OS_IMAGE).wide(),
        Column::text("Kernel-Version", docs::NODE_KERNEL_VERSION).wide(),
        Column::text("Container-Runtime", docs::NODE_CONTAINER_RUNTIME_VERSION).wide(),
    ]
}

pub(super) fn cells(body: &[u8], now: SystemTime, cells: &mut Cells<'_>) -> Result<(), serde_json::Error> {
    let node: Node<'_> = serde_json::from_slice(body)?;
    let info = &node.status.node_info;
    cells.text(&node.metadata.name);
    cells.text(&node.state());
    cells.text_or(&node.roles(), NONE);
    cells.text(&age::since(&node.metadata.creation_timestamp, now));
    cells.text(&info.kubelet_version);
    cells.text(node.address("InternalIP"));
    cells.text(node.address("ExternalIP"));
    cells.text_or(&info.os_image, UNKNOWN);
    cells.text(&info.kernel());
    cells.text_or(&info.container_runtime_version, UNKNOWN);
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
        if *self.spec.unschedulable { format!("{state},SchedulingDisabled") } else { state.to_owned() }
    }

    fn roles(&self) -> String {
        let mut roles = BTreeSet::new();
        for (key, value) in self.metadata.labels.iter() {
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
