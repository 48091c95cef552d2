//! A plain HTTPS client with a kubeconfig's certificates: one request, one connection, nothing cached or retried.
//!
//! It speaks HTTP/1.0, in which a server neither chunks a body nor keeps the connection, so that a body is whatever
//! comes until the end. Judges of the API are real clients (kubectl, client-go); this one starts and steers them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, iter};

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde::Deserialize;
use serde_json::Value;

/// Longest wait for one read of an answer.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// A client of the API server that a kubeconfig's current context names.
#[derive(Clone, Debug)]
pub struct Client {
    address: SocketAddr,
    tls: Arc<ClientConfig>,
}

/// An answer, read whole.
#[derive(Clone, Debug)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// Header lines as they came, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body, undecoded.
    pub body: Vec<u8>,
}

/// An answer whose body is read line by line as it comes: a watch.
pub struct Lines {
    /// Status code.
    pub status: u16,
    /// Header lines as they came, names in lower case.
    pub headers: Vec<(String, String)>,
    body: BufReader<Stream>,
}

type Stream = StreamOwned<ClientConnection, TcpStream>;

#[derive(Deserialize)]
struct Kubeconfig {
    clusters: Vec<NamedCluster>,
    users: Vec<NamedUser>,
}

#[derive(Deserialize)]
struct NamedCluster {
    cluster: Server,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Server {
    server: String,
    certificate_authority_data: String,
}

#[derive(Deserialize)]
struct NamedUser {
    user: Credentials,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Credentials {
    client_certificate_data: String,
    client_key_data: String,
}

// === impl Client ===

impl Client {
    /// The client for `kubeconfig`, which has one cluster and one user with embedded certificates.
    pub fn from_kubeconfig(kubeconfig: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(kubeconfig).with_context(|| format!("failed to read {}", kubeconfig.display()))?;
        Self::parse(&text).with_context(|| format!("{} is not one of ours", kubeconfig.display()))
    }

    /// Where it connects to, and as whom: for clients that need more than this one.
    pub fn endpoint(&self) -> (SocketAddr, Arc<ClientConfig>) {
        (self.address, Arc::clone(&self.tls))
    }

    /// `GET path`; `path` with its query.
    pub fn get(&self, path: &str) -> Result<Response> {
        self.send("GET", path, &[], &[])
    }

    /// `GET path` as JSON. An error if the answer is not 200.
    pub fn json(&self, path: &str) -> Result<Value> {
        self.get(path)?.success()
    }

    /// `POST path` of a JSON body. An error if the answer is not 2xx; gives the answer's body.
    pub fn create(&self, path: &str, body: &Value) -> Result<Value> {
        self.send("POST", path, &[("content-type", "application/json")], &serde_json::to_vec(body)?)?.success()
    }

    /// Any request, its answer read whole. A header `host` is added.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<Response> {
        let Lines { status, headers, body: mut rest } = self.open(method, path, headers, body)?;
        let mut body = Vec::new();
        match rest.read_to_end(&mut body) {
            Ok(_) => {}
            // Servers that close without TLS's farewell end the body all the same, in HTTP/1.0 at least.
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {}
            Err(error) => return Err(error).with_context(|| format!("failed to read the answer to {method} {path}")),
        }
        Ok(Response { status, headers, body })
    }

    /// Any request, its answer read line by line.
    pub fn lines(&self, path: &str) -> Result<Lines> {
        self.open("GET", path, &[], &[])
    }

    fn open(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<Lines> {
        let tcp = TcpStream::connect_timeout(&self.address, Duration::from_secs(5))?;
        tcp.set_read_timeout(Some(READ_TIMEOUT))?;
        tcp.set_nodelay(true)?;
        let name = ServerName::from(self.address.ip());
        let mut stream = StreamOwned::new(ClientConnection::new(Arc::clone(&self.tls), name)?, tcp);
        let own = [("host", self.address.to_string()), ("content-length", body.len().to_string())];
        let own = own.iter().map(|(name, value)| (*name, value.as_str()));
        let lines = headers.iter().copied().chain(own).map(|(name, value)| format!("{name}: {value}\r\n"));
        let head: String = iter::once(format!("{method} {path} HTTP/1.0\r\n")).chain(lines).collect();
        stream.write_all(format!("{head}\r\n").as_bytes())?;
        stream.write_all(body)?;
        stream.flush()?;
        read_head(BufReader::new(stream)).with_context(|| format!("failed to read the answer to {method} {path}"))
    }

    fn parse(text: &str) -> Result<Self> {
        let config: Kubeconfig = serde_saphyr::from_str(text)?;
        let server = &config.clusters.first().context("it has no cluster")?.cluster;
        let user = &config.users.first().context("it has no user")?.user;
        let address = server.server.strip_prefix("https://").context("its server is no https URL")?;
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&server.certificate_authority_data)? {
            roots.add(certificate)?;
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_client_auth_cert(
                certificates(&user.client_certificate_data)?,
                PrivateKeyDer::from_pem_slice(&STANDARD.decode(&user.client_key_data)?)?,
            )?;
        let address = address.trim_end_matches('/').replace("localhost", "127.0.0.1");
        Ok(Self { address: address.parse().with_context(|| format!("{address} is no address"))?, tls: Arc::new(tls) })
    }
}

// === impl Response ===

impl Response {
    /// The first header of that name (lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; an error that shows it if the status is not 2xx.
    pub fn success(&self) -> Result<Value> {
        if !(200..300).contains(&self.status) {
            bail!("answered {}: {}", self.status, self.text());
        }
        Ok(serde_json::from_slice(&self.body)?)
    }
}

// === impl Lines ===

impl Lines {
    /// The next line as JSON, or `None` at the end. An error if none comes for 60 s.
    pub fn next_json(&mut self) -> Result<Option<Value>> {
        let mut line = Vec::new();
        match self.body.read_until(b'\n', &mut line) {
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some(serde_json::from_slice(&line)?)),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error).context("failed to read the next line"),
        }
    }
}

fn certificates(base64: &str) -> Result<Vec<CertificateDer<'static>>> {
    let pem = STANDARD.decode(base64)?;
    Ok(CertificateDer::pem_slice_iter(&pem).collect::<Result<_, _>>()?)
}

fn read_head(mut stream: BufReader<Stream>) -> Result<Lines> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).with_context(|| format!("{line:?} is no status line"))?.parse()?;
    let mut headers = Vec::new();
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Ok(Lines { status, headers, body: stream })
}
