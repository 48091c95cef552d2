//! Services and what leads to and from them.

use anyhow::Result;
use serde_json::{Value, json};

use super::Maker;

pub(super) fn make(at: &Maker<'_>) -> Result<()> {
    services(at)?;
    endpoints(at)?;
    ingresses(at)?;
    policies(at)
}

fn services(at: &Maker<'_>) -> Result<()> {
    let ports = json!([{"name": "a", "port": 80}, {"name": "b", "port": 53, "protocol": "UDP"}]);
    let selector = json!({"tier": "x", "app": "a"});
    let balanced = json!({"loadBalancer": {"ingress": [
        {"hostname": "lb.example.com"}, {"ip": "192.0.2.9"}, {"ip": "192.0.2.10"}]}});
    let states = [
        ("plain", json!({"ports": ports, "selector": selector}), Value::Null),
        ("headless", json!({"clusterIP": "None", "selector": selector}), Value::Null),
        ("open", json!({"type": "NodePort", "ports": ports, "externalIPs": ["192.0.2.1", "192.0.2.2"]}), Value::Null),
        ("pending", json!({"type": "LoadBalancer", "ports": ports}), Value::Null),
        ("balanced", json!({"type": "LoadBalancer", "ports": ports}), balanced.clone()),
        ("both", json!({"type": "LoadBalancer", "ports": ports, "externalIPs": ["192.0.2.1"]}), balanced),
        ("named", json!({"type": "ExternalName", "externalName": "example.com"}), Value::Null),
    ];
    for (name, spec, status) in states {
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec});
        at.put("/api/v1/namespaces/default/services", &service, &status)?;
    }
    Ok(())
}

fn endpoints(at: &Maker<'_>) -> Result<()> {
    let addresses = |count: u32| (1..=count).map(|at| json!({"ip": format!("10.2.0.{at}")})).collect::<Vec<_>>();
    let ports = json!([{"name": "a", "port": 80}, {"name": "b", "port": 443}]);
    at.all(
        "/api/v1/namespaces/default/endpoints",
        "Endpoints",
        &[
            ("nobody", json!({})),
            ("unready", json!({"subsets": [{"notReadyAddresses": addresses(2), "ports": ports}]})),
            ("few", json!({"subsets": [{"addresses": addresses(1), "ports": ports}]})),
            ("many", json!({"subsets": [{"addresses": addresses(4), "ports": ports}, {"addresses": addresses(3)}]})),
            ("headless", json!({"subsets": [{"addresses": addresses(3)}]})),
            ("six", json!({"subsets": [{"addresses": [{"ip": "fd00::1"}], "ports": [{"port": 80}]}]})),
        ],
    )?;
    let slice = |ports: Value, addresses: &[&[&str]]| {
        let endpoints: Vec<_> = addresses.iter().map(|addresses| json!({"addresses": addresses})).collect();
        json!({"addressType": "IPv4", "ports": ports, "endpoints": endpoints})
    };
    at.all("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", "EndpointSlice", &[
        ("empty", slice(json!([]), &[])),
        ("any-port", slice(json!([{}]), &[&["10.2.0.1"]])),
        ("named-port", slice(json!([{"name": "web"}]), &[&["10.2.0.1"], &["10.2.0.2"], &["10.2.0.3"]])),
        (
            "many",
            slice(
                json!([{"name": "a", "port": 1}, {"name": "b", "port": 2}, {"name": "c", "port": 3}, {"name": "d", "port": 4}]),
                &[&["10.2.0.1", "10.2.0.2"], &["10.2.0.3", "10.2.0.4"], &["10.2.0.5"]],
            ),
        ),
    ])
}

/// Before the classes, one of which would be made the class of all.
fn ingresses(at: &Maker<'_>) -> Result<()> {
    let backend = json!({"service": {"name": "s", "port": {"number": 80}}});
    let rules = |hosts: &[&str]| {
        let http = json!({"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]});
        hosts.iter().map(|host| json!({"host": host, "http": http})).collect::<Vec<_>>()
    };
    let balanced = json!({"loadBalancer": {"ingress": [{"hostname": "lb.example.com"}, {"ip": "192.0.2.9"}]}});
    at.all(
        "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
        "Ingress",
        &[
            ("any-host", json!({"spec": {"defaultBackend": backend}})),
            ("one-host", json!({"spec": {"rules": rules(&["a.example.com", ""])}})),
            (
                "many-hosts",
                json!({"spec": {"ingressClassName": "plain", "tls": [{"hosts": ["a.example.com"]}],
                "rules": rules(&["", "a.example.com", "b.example.com", "c.example.com", "d.example.com"])},
                "status": balanced}),
            ),
            ("three-hosts", json!({"spec": {"rules": rules(&["a.example.com", "b.example.com", "c.example.com"])}})),
        ],
    )?;
    let parameters = json!({"apiGroup": "example.com", "kind": "Widget", "name": "w"});
    let default = json!({"annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}});
    at.all(
        "/apis/networking.k8s.io/v1/ingressclasses",
        "IngressClass",
        &[
            ("plain", json!({"spec": {"controller": "example.com/plain"}})),
            (
                "first",
                json!({"metadata": default, "spec": {"controller": "example.com/first", "parameters": parameters}}),
            ),
            ("core", json!({"spec": {"controller": "example.com/c", "parameters": {"kind": "Widget", "name": "w"}}})),
        ],
    )
}

fn policies(at: &Maker<'_>) -> Result<()> {
    let rich = json!({"matchLabels": {"tier": "x"}, "matchExpressions": [{"key": "app", "operator": "In", "values": ["b", "a"]}]});
    at.all(
        "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
        "NetworkPolicy",
        &[("all", json!({"spec": {"podSelector": {}}})), ("some", json!({"spec": {"podSelector": rich}}))],
    )?;
    at.also("/apis/networking.k8s.io/v1/ipaddresses");
    at.all(
        "/apis/networking.k8s.io/v1/servicecidrs",
        "ServiceCIDR",
        &[("double", json!({"spec": {"cidrs": ["10.9.0.0/24", "fd00:9::/112"]}}))],
    )
}
