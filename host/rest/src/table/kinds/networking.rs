//! Ingresses, network policies, and the addresses that services get.

use std::collections::BTreeSet;

use super::Kind;
use crate::table::cells::{Cells, NONE};
use crate::table::column::{AGE, NAME, text};
use crate::table::field::{Length, MappedMetadata, Metadata, Object, Text, fields, joined};
use crate::table::json::{Unreadable, read};
use crate::table::selector::{Selector, selector_or_none};

pub(super) static INGRESSES: Kind = Kind {
    columns: &[
        NAME,
        text("Class", "The class of controllers that serve it."),
        text("Hosts", "Host names that it answers to."),
        text("Address", "Addresses at which it is reached."),
        text("Ports", "Ports at which it is reached: with TLS one more."),
        AGE,
    ],
    print: ingress,
};

pub(super) static INGRESS_CLASSES: Kind = Kind {
    columns: &[
        NAME,
        text("Controller", "The controller that serves ingresses of the class."),
        text("Parameters", "The object that says more to the controller."),
        AGE,
    ],
    print: ingress_class,
};

pub(super) static NETWORK_POLICIES: Kind =
    Kind { columns: &[NAME, text("Pod-Selector", "Which pods the policy is for, by label."), AGE], print: policy };

pub(super) static SERVICE_CIDRS: Kind = Kind {
    columns: &[NAME, text("CIDRs", "Ranges that services get their addresses from."), AGE],
    print: service_cidr,
};

/// Upstream prints an age behind the last column: clients that show cells by column do not see it.
pub(super) static IP_ADDRESSES: Kind =
    Kind { columns: &[NAME, text("ParentRef", "What has the address.")], print: ip_address };

const DEFAULT_CLASS: &str = "ingressclass.kubernetes.io/is-default-class";
/// Only so many rules are looked at for hosts.
const HOSTS_MAX: usize = 3;

type Ingress<'a> = Object<Metadata<'a>, IngressSpec<'a>, LoadBalancerStatus<'a>>;
type IngressClass<'a> = Object<MappedMetadata<'a>, IngressClassSpec<'a>>;

fields! {
    struct IngressSpec<'a> {
        ingress_class_name: Option<Text<'a>>,
        rules: Vec<Rule<'a>>,
        tls: Length,
    }

    struct Rule<'a> {
        host: Text<'a>,
    }

    /// The status of Services and Ingresses.
    pub(super) struct LoadBalancerStatus<'a> {
        load_balancer: LoadBalancer<'a>,
    }

    struct LoadBalancer<'a> {
        ingress: Vec<IngressPoint<'a>>,
    }

    struct IngressPoint<'a> {
        ip: Text<'a>,
        hostname: Text<'a>,
    }

    struct IngressClassSpec<'a> {
        controller: Text<'a>,
        parameters: Option<Parameters<'a>>,
    }

    struct Parameters<'a> {
        api_group: Option<Text<'a>>,
        kind: Text<'a>,
        name: Text<'a>,
    }

    struct PolicySpec<'a> {
        pod_selector: Selector<'a>,
    }

    struct CidrSpec<'a> {
        cidrs: Vec<Text<'a>>,
    }

    struct AddressSpec<'a> {
        parent_ref: Option<Parent<'a>>,
    }

    struct Parent<'a> {
        group: Text<'a>,
        resource: Text<'a>,
        namespace: Text<'a>,
        name: Text<'a>,
    }
}

fn ingress(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Ingress { metadata, spec, status } = read(body)?;
    cells.text(&metadata.name).field_or(spec.ingress_class_name.as_ref(), NONE).text(spec.hosts());
    cells.text(status.addresses()).text(if spec.tls.is_empty() { "80" } else { "80, 443" });
    cells.age(&metadata.creation_timestamp);
    Ok(())
}

fn ingress_class(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let IngressClass { metadata, spec, .. } = read(body)?;
    let is_default = metadata.annotations.get(DEFAULT_CLASS).is_some_and(|value| &**value == "true");
    cells.text(format!("{}{}", &*metadata.name, if is_default { " (default)" } else { "" })).text(&spec.controller);
    cells.field_or(spec.parameters.as_ref().map(Parameters::text), NONE).age(&metadata.creation_timestamp);
    Ok(())
}

fn policy(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Object { metadata, spec, .. }: Object<Metadata<'_>, PolicySpec<'_>> = read(body)?;
    cells.text(&metadata.name).text(selector_or_none(Some(&spec.pod_selector))).age(&metadata.creation_timestamp);
    Ok(())
}

fn service_cidr(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Object { metadata, spec, .. }: Object<Metadata<'_>, CidrSpec<'_>> = read(body)?;
    cells.text(&metadata.name).text(joined(&spec.cidrs, ",")).age(&metadata.creation_timestamp);
    Ok(())
}

fn ip_address(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Object { metadata, spec, .. }: Object<Metadata<'_>, AddressSpec<'_>> = read(body)?;
    cells.text(&metadata.name).field_or(spec.parent_ref.as_ref().map(Parent::text), NONE);
    cells.age(&metadata.creation_timestamp);
    Ok(())
}

// === impl IngressSpec ===

impl IngressSpec<'_> {
    fn hosts(&self) -> String {
        let mut hosts: Vec<&str> = Vec::new();
        let mut more = false;
        for rule in &self.rules {
            more |= hosts.len() == HOSTS_MAX;
            if !more && !rule.host.is_empty() {
                hosts.push(&rule.host);
            }
        }
        match hosts.join(",") {
            _ if hosts.is_empty() => "*".to_owned(),
            shown if more => format!("{shown} + {} more...", self.rules.len() - HOSTS_MAX),
            shown => shown,
        }
    }
}

// === impl LoadBalancerStatus ===

impl LoadBalancerStatus<'_> {
    /// Addresses or host names of the load balancer, sorted.
    pub(super) fn addresses(&self) -> String {
        let shown = |point: &'_ IngressPoint<'_>| {
            if point.ip.is_empty() { point.hostname.to_string() } else { point.ip.to_string() }
        };
        let sorted: BTreeSet<String> = self.load_balancer.ingress.iter().map(shown).collect();
        sorted.into_iter().filter(|shown| !shown.is_empty()).collect::<Vec<_>>().join(",")
    }
}

// === impl Parameters ===

impl Parameters<'_> {
    fn text(&self) -> String {
        let group = self.api_group.as_ref().map(|group| format!(".{}", &**group)).unwrap_or_default();
        format!("{}{group}/{}", &*self.kind, &*self.name)
    }
}

// === impl Parent ===

impl Parent<'_> {
    fn text(&self) -> String {
        let resource = match &*self.group {
            "" => self.resource.to_lowercase(),
            group => format!("{}.{group}", &*self.resource).to_lowercase(),
        };
        match &*self.namespace {
            "" => format!("{resource}/{}", &*self.name),
            namespace => format!("{resource}/{namespace}/{}", &*self.name),
        }
    }
}
