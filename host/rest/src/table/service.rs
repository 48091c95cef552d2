//! Services.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use serde::Deserialize;

use super::age;
use super::cells::{Cells, NONE, UNKNOWN};
use super::column::{Column, docs};
use super::field::{Maybe, Metadata, Text};
use super::selector::labels_or_none;

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Service<'a> {
    metadata: Maybe<Metadata<'a>>,
    spec: Maybe<Spec<'a>>,
    status: Maybe<Status<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Spec<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    #[serde(rename = "clusterIP")]
    cluster_ip: Text<'a>,
    #[serde(rename = "clusterIPs")]
    cluster_ips: Maybe<Vec<Text<'a>>>,
    #[serde(rename = "externalIPs")]
    external_ips: Maybe<Vec<Text<'a>>>,
    #[serde(rename = "externalName")]
    external_name: Text<'a>,
    ports: Maybe<Vec<Port<'a>>>,
    selector: Maybe<BTreeMap<Text<'a>, Text<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
struct Port<'a> {
    port: Maybe<i64>,
    node_port: Maybe<i64>,
    protocol: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
struct Status<'a> {
    load_balancer: Maybe<LoadBalancer<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct LoadBalancer<'a> {
    ingress: Maybe<Vec<Ingress<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Ingress<'a> {
    ip: Text<'a>,
    hostname: Text<'a>,
}

pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text("Type", docs::SERVICE_TYPE),
        Column::text("Cluster-IP", docs::SERVICE_CLUSTER_IP),
        Column::text("External-IP", docs::SERVICE_EXTERNAL_IPS),
        Column::text("Port(s)", docs::SERVICE_PORTS),
        Column::age(),
        Column::text("Selector", docs::SERVICE_SELECTOR).wide(),
    ]
}

pub(super) fn cells(body: &[u8], now: SystemTime, cells: &mut Cells<'_>) -> Result<(), serde_json::Error> {
    let service: Service<'_> = serde_json::from_slice(body)?;
    cells.text(&service.metadata.name);
    cells.text(&service.spec.kind);
    cells.text_or(service.spec.internal_ip(), NONE);
    cells.text(&service.external_ip());
    cells.text_or(&service.spec.ports_text(), NONE);
    cells.text(&age::since(&service.metadata.creation_timestamp, now));
    cells.text(&labels_or_none(&service.spec.selector));
    Ok(())
}

// === impl Service ===

impl Service<'_> {
    fn external_ip(&self) -> String {
        let given = self.spec.external_ips.iter().map(|ip| &**ip);
        let or = |list: Vec<&str>, nothing: &str| if list.is_empty() { nothing.to_owned() } else { list.join(",") };
        match &*self.spec.kind {
            "ClusterIP" | "NodePort" => or(given.collect(), NONE),
            "LoadBalancer" => {
                let ingress = self.status.load_balancer.ingress.iter().map(Ingress::shown);
                let sorted: BTreeSet<&str> = ingress.filter(|shown| !shown.is_empty()).collect();
                or(sorted.into_iter().chain(given).collect(), "<pending>")
            }
            "ExternalName" => self.spec.external_name.to_string(),
            _ => UNKNOWN.to_owned(),
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
        let port = |port: &Port<'_>| match *port.node_port {
            0 => format!("{}/{}", *port.port, &*port.protocol),
            node_port => format!("{}:{node_port}/{}", *port.port, &*port.protocol),
        };
        self.ports.iter().map(port).collect::<Vec<_>>().join(",")
    }
}

// === impl Ingress ===

impl Ingress<'_> {
    fn shown(&self) -> &str {
        if self.ip.is_empty() { &self.hostname } else { &self.ip }
    }
}
