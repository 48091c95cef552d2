//! Where services lead to: Endpoints and EndpointSlices.

use super::Kind;
use crate::table::cells::{Cells, NONE, UNSET};
use crate::table::column::{AGE, NAME, text};
use crate::table::field::{Metadata, Text, fields};
use crate::table::json::{Unreadable, read};

pub(super) static ENDPOINTS: Kind =
    Kind { columns: &[NAME, text("Endpoints", "Addresses and ports, the first of them."), AGE], print: endpoints };

pub(super) static ENDPOINT_SLICES: Kind = Kind {
    columns: &[
        NAME,
        text("AddressType", "What the addresses are: IPv4, IPv6 or FQDN."),
        text("Ports", "Ports of every endpoint, the first of them."),
        text("Endpoints", "Addresses, the first of them."),
        AGE,
    ],
    print: endpoint_slice,
};

/// How many entries of a list are shown.
const SHOWN_MAX: usize = 3;

fields! {
    struct Endpoints<'a> {
        metadata: Metadata<'a>,
        subsets: Vec<Subset<'a>>,
    }

    struct Subset<'a> {
        addresses: Vec<Address<'a>>,
        ports: Vec<Port<'a>>,
    }

    struct Address<'a> {
        ip: Text<'a>,
    }

    struct Port<'a> {
        name: Option<Text<'a>>,
        port: Option<i64>,
    }

    struct EndpointSlice<'a> {
        metadata: Metadata<'a>,
        address_type: Text<'a>,
        ports: Vec<Port<'a>>,
        endpoints: Vec<Endpoint<'a>>,
    }

    struct Endpoint<'a> {
        addresses: Vec<Text<'a>>,
    }
}

fn endpoints(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Endpoints { metadata, subsets } = read(body)?;
    let shown = if subsets.is_empty() { NONE.to_owned() } else { first_of(subsets.iter().flat_map(Subset::shown)) };
    cells.text(&metadata.name).text(shown).age(&metadata.creation_timestamp);
    Ok(())
}

fn endpoint_slice(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let EndpointSlice { metadata, address_type, ports, endpoints } = read(body)?;
    let addresses = endpoints.iter().flat_map(|endpoint| &endpoint.addresses).map(|address| address.to_string());
    cells.text(&metadata.name).text(&address_type).text_or(first_of(ports.iter().map(Port::shown)), UNSET);
    cells.text_or(first_of(addresses), UNSET).age(&metadata.creation_timestamp);
    Ok(())
}

/// The first entries, and how many more there are.
pub(super) fn first_of(entries: impl Iterator<Item = String>) -> String {
    let (mut shown, mut count) = (Vec::new(), 0);
    for entry in entries {
        if count < SHOWN_MAX {
            shown.push(entry);
        }
        count += 1;
    }
    match shown.join(",") {
        shown if count > SHOWN_MAX => format!("{shown} + {} more...", count - SHOWN_MAX),
        shown => shown,
    }
}

// === impl Subset ===

impl Subset<'_> {
    /// Every address with every port; alone where there is no port.
    fn shown(&self) -> Vec<String> {
        if self.ports.is_empty() {
            return self.addresses.iter().map(|address| address.ip.to_string()).collect();
        }
        let with = |port: &Port<'_>| {
            let port = port.port.unwrap_or_default();
            self.addresses.iter().map(move |address| host_port(&address.ip, port)).collect::<Vec<_>>()
        };
        self.ports.iter().flat_map(with).collect()
    }
}

// === impl Port ===

impl Port<'_> {
    fn shown(&self) -> String {
        match (&self.port, &self.name) {
            (Some(port), _) => port.to_string(),
            (None, Some(name)) => name.to_string(),
            (None, None) => "*".to_owned(),
        }
    }
}

fn host_port(host: &str, port: i64) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}
