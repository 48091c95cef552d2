//! The kubeconfig that DIR holds: the host's one context, all in one file.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::CertificateDer;

use crate::authority::pem_of;

/// Name of the context and of the cluster in it.
pub const CONTEXT: &str = "orrery";

/// Name of the user that the client certificate shows.
pub const CLIENT_USER: &str = "orrery-admin";

/// The URL under which a host that listens on `listen` is reached from the same machine.
pub fn server_url(listen: SocketAddr) -> String {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("https://{}", SocketAddr::new(ip, listen.port()))
}

/// A kubeconfig for `server`, which shows a certificate of one of `trusted` (of one that the system trusts, where that
/// is empty), with the key and certificate in `client_pem`. Base64 and URLs need no quotes in YAML.
pub(crate) fn render(server: &str, trusted: &[CertificateDer<'_>], client_pem: &str) -> String {
    let authority = match trusted {
        [] => String::new(),
        trusted => {
            let pem: String = trusted.iter().map(pem_of).collect();
            format!("\n    certificate-authority-data: {}", STANDARD.encode(pem))
        }
    };
    let (key, certificate) = client_pem.split_at(client_pem.find("-----BEGIN CERTIFICATE").unwrap_or_default());
    let (key, certificate) = (STANDARD.encode(key), STANDARD.encode(certificate));
    format!(
        "apiVersion: v1
kind: Config
clusters:
- name: {CONTEXT}
  cluster:
    server: {server}{authority}
users:
- name: {CLIENT_USER}
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
contexts:
- name: {CONTEXT}
  context:
    cluster: {CONTEXT}
    user: {CLIENT_USER}
current-context: {CONTEXT}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_listens_everywhere_is_reached_on_loopback() {
        let url = |listen: &str| server_url(listen.parse().unwrap());
        assert_eq!(url("127.0.0.1:6443"), "https://127.0.0.1:6443");
        assert_eq!(url("0.0.0.0:6443"), "https://127.0.0.1:6443");
        assert_eq!(url("[::]:1"), "https://[::1]:1");
        assert_eq!(url("192.0.2.7:1"), "https://192.0.2.7:1");
    }
}
