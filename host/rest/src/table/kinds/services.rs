//! Services.

use super::Kind;
use super::networking::LoadBalancerStatus;
use crate::table::cells::{Cells, NONE, UNKNOWN};
use crate::table::column::{AGE, NAME, text};
use crate::table::field::{Map, Metadata, Object, Text, fields, joined};
use crate::table::json::{Unreadable, read};
use crate::table::selector::labels_or_none;

pub(super) static SERVICES: Kind = Kind {
    columns: &[
        NAME,
        text("Type", "How the service can be reached."),
        text("Cluster-IP", "The service's address inside its cluster."),
        text("External-IP", "Addresses at which the service is reached from outside."),
        text("Port(s)", "The service's ports and protocols."),
        AGE,
        text("Selector", "Which pods the service leads to, by label.").wide(),
    ],
    print: service,
};

type Service<'a> = Object<Metadata<'a>, Spec<'a>, LoadBalancerStatus<'a>>;

fields! {
    struct Spec<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        #[serde(rename = "clusterIP")]
        cluster_ip: Text<'a>,
        #[serde(rename = "clusterIPs")]
        cluster_ips: Vec<Text<'a>>,
        #[serde(rename = "externalIPs")]
        external_ips: Vec<Text<'a>>,
        external_name: Text<'a>,
        ports: Vec<Port<'a>>,
        selector: Map<'a>,
    }

    struct Port<'a> {
        port: i64,
        node_port: i64,
        protocol: Text<'a>,
    }
}

fn service(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let service: Service<'_> = read(body)?;
    let Object { metadata, spec, .. } = &service;
    cells.text(&metadata.name).text(&spec.kind).text_or(spec.internal_ip(), NONE).text(service.external_ip());
    cells.text_or(spec.ports_text(), NONE).age(&metadata.creation_timestamp).text(labels_or_none(&spec.selector));
    Ok(())
}

// === impl Service ===

impl Service<'_> {
    fn external_ip(&self) -> String {
        let given = joined(&self.spec.external_ips, ",");
        let balanced = match &*self.spec.kind {
            "ClusterIP" | "NodePort" => String::new(),
            "LoadBalancer" => self.status.addresses(),
            "ExternalName" => return self.spec.external_name.to_string(),
            _ => return UNKNOWN.to_owned(),
        };
        match (balanced.is_empty(), given.is_empty()) {
            (false, false) => format!("{balanced},{given}"),
            (false, true) => balanced,
            (true, false) => given,
            (true, true) if &*self.spec.kind == "LoadBalancer" => "<pending>".to_owned(),
            (true, true) => NONE.to_owned(),
        }
    }
}

// === impl Spec ===

impl Spec<'_> {
    /// Services of before dual stack have only the one.
    fn internal_ip(&self) -> &str {
        self.cluster_ips.first().unwrap_or(&self.cluster_ip)
    }

    fn ports_text(&self) -> String {
        let port = |port: &Port<'_>| match port.node_port {
            0 => format!("{}/{}", port.port, &*port.protocol),
            node_port => format!("{}:{node_port}/{}", port.port, &*port.protocol),
        };
        self.ports.iter().map(port).collect::<Vec<_>>().join(",")
    }
}
