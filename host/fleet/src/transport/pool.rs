use std::time::Duration;

use http::Uri;
use http_body_util::BodyExt as _;
use hyper::rt::{Read, Write};
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::client::legacy::{Builder, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::Config;
use kube::client::ConfigExt as _;
use tower::util::BoxCloneSyncService;
use tower::{Service, ServiceBuilder, ServiceExt as _};

use crate::transport::counted::CountedConnector;
use crate::transport::{Body, BodyError, Transport};
use crate::{ConnectError, FleetSettings, Traffic};

type Boxed = Box<dyn std::error::Error + Send + Sync>;

/// Idle connections kept per member; streams in use are not counted among them.
const IDLE_CONNECTIONS: usize = 16;

/// The transport to the server that `config` names, through the proxy that it names, with its credentials. Runs exec
/// plugins, and so may block.
///
/// # Errors
/// Credentials that cannot be made, a CA that cannot be read, a proxy of another kind.
pub(crate) fn transport(
    config: &Config,
    settings: &FleetSettings,
    traffic: &Traffic,
) -> Result<Transport, ConnectError> {
    // rustls wants one chosen where several are compiled in; another choice of the process holds.
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    }
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(settings.connect));
    tcp.set_keepalive(Some(Duration::from_secs(30)));
    match &config.proxy_url {
        None => over(tcp, config, traffic),
        Some(proxy) => match proxy.scheme_str() {
            Some("socks5") => over(SocksV5::new(proxy.clone(), tcp), config, traffic),
            Some("http") => over(tunnel(proxy, tcp), config, traffic),
            Some("https") => {
                let to_proxy = config.rustls_https_connector_with_connector(tcp).map_err(ConnectError::from)?;
                over(tunnel(proxy, to_proxy), config, traffic)
            }
            _ => Err(ConnectError::Proxy(proxy.to_string())),
        },
    }
}

fn tunnel<C>(proxy: &Uri, inner: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.clone(), inner);
    let user = proxy.authority().and_then(|authority| authority.as_str().rsplit_once('@')).map(|(user, _)| user);
    match user.and_then(basic_authorization) {
        Some(value) => tunnel.with_auth(value),
        None => tunnel,
    }
}

fn over<C>(connector: C, config: &Config, traffic: &Traffic) -> Result<Transport, ConnectError>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + Read + Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: Into<Boxed> + Send + Sync + std::error::Error + 'static,
{
    let https = config.rustls_https_connector_with_connector(connector).map_err(ConnectError::from)?;
    let mut pool = Builder::new(TokioExecutor::new());
    pool.pool_timer(TokioTimer::new())
        .pool_max_idle_per_host(IDLE_CONNECTIONS)
        .pool_idle_timeout(Duration::from_secs(60));
    let client: Client<_, Body> = pool.build(CountedConnector::new(https, traffic.clone()));
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer().map_err(ConnectError::from)?)
        .layer(config.extra_headers_layer().map_err(ConnectError::from)?)
        .map_err(Boxed::from)
        .service(client)
        .map_err(BodyError::from)
        .map_response(|response: http::Response<hyper::body::Incoming>| {
            response.map(|body| body.map_err(BodyError::new).boxed_unsync())
        });
    Ok(BoxCloneSyncService::new(service))
}

/// `Basic …` of the user part of a proxy's URL, whose percent-escapes are undone first; none where it is no header.
fn basic_authorization(user: &str) -> Option<http::HeaderValue> {
    let mut bytes = Vec::with_capacity(user.len());
    let mut rest = user.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = (*first == b'%').then(|| tail.get(..2)).flatten().and_then(hex_byte);
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    let mut value = http::HeaderValue::from_str(&format!("Basic {}", base64(&bytes))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some((digit(digits[0])? << 4 | digit(digits[1])?) as u8)
}

fn base64(bytes: &[u8]) -> String {
    use ::base64::Engine as _;
    ::base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_user_is_sent_without_its_percent_escapes() {
        let value = basic_authorization("user:pa%40ss%3Aw%zz").unwrap();
        assert_eq!(value.to_str().unwrap(), format!("Basic {}", base64(b"user:pa@ss:w%zz")));
    }
}
