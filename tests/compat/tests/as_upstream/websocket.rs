use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use orrery_compat::unversioned;
use orrery_harness::{Client, eventually};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{HandshakeError, Message, WebSocket, client};

use super::{Pair, SOON};

type Socket = WebSocket<StreamOwned<ClientConnection, TcpStream>>;

/// What a server says to a handshake.
enum Said {
    /// 101, with the subprotocol that it took.
    Switched(Box<Socket>, Option<String>),
    Refused(u16),
}

#[test]
fn a_watch_over_websocket_is_frame_by_frame_that_of_kube_apiserver() -> Result<()> {
    let pair = Pair::start()?;
    let maps = "/api/v1/namespaces/default/configmaps";
    let (origin, protocol) = (("origin", "https://example.com"), "sec-websocket-protocol");
    let bearer = "base64.binary.k8s.io, base64url.bearer.authorization.k8s.io.bm9uZQ";
    let cases: [(String, Vec<(&str, &str)>); 10] = [
        (format!("{maps}?watch=1&timeoutSeconds=1"), vec![origin]),
        (format!("{maps}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Db"), vec![origin]),
        ("/api/v1/watch/namespaces/default/configmaps/a?timeoutSeconds=1".to_owned(), vec![origin]),
        ("/apis/sky.example.com/v1/comets?watch=1&timeoutSeconds=1".to_owned(), vec![origin]),
        (format!("{maps}?watch=1&timeoutSeconds=1"), vec![origin, (protocol, "base64.binary.k8s.io")]),
        (format!("{maps}?watch=1&timeoutSeconds=1"), vec![]),
        (format!("{maps}?watch=1&timeoutSeconds=1"), vec![origin, (protocol, "a, b")]),
        (format!("{maps}?watch=1&limit=x"), vec![origin]),
        (format!("{maps}?watch=1&sendInitialEvents=1"), vec![origin]),
        ("/api/v1/namespaces/default/nosuch?watch=1".to_owned(), vec![origin]),
    ];
    for (path, headers) in &cases {
        let [member, host] = pair.clients()?;
        eventually(path, SOON, || {
            let (direct, through) = (watched(&member, path, headers)?, watched(&host, path, headers)?);
            ensure!(direct == through, "{path} {headers:?}\n  directly {direct:?}\n  through  {through:?}");
            Ok(())
        })?;
    }
    // kube-apiserver echoes nothing once a certificate has said who asks and two protocols are left; here the token is
    // taken out first.
    let [_, host] = pair.clients()?;
    let (switched, frames) = watched(&host, &cases[0].0, &[origin, (protocol, bearer)])?;
    ensure!(switched == "101 base64.binary.k8s.io" && frames.len() > 1, "{switched} {frames:?}");
    Ok(())
}

#[test]
fn events_come_as_they_happen_and_pings_are_answered() -> Result<()> {
    let pair = Pair::start()?;
    let path = "/api/v1/namespaces/default/configmaps?watch=1&fieldSelector=metadata.name%3Dlater";
    let Said::Switched(mut socket, _) = open(&pair.host.client()?, path, &[("origin", "https://example.com")])? else {
        bail!("the handshake is refused");
    };
    socket.send(Message::Ping("there?".into()))?;
    ensure!(matches!(socket.read()?, Message::Pong(said) if said == "there?"));
    for (change, kind) in [(vec!["create"], "ADDED"), (vec!["delete"], "DELETED")] {
        let command: Vec<&str> = change.iter().copied().chain(["configmap", "later"]).collect();
        pair.member.kubectl().ok(&command)?;
        let frame = socket.read()?.into_text()?;
        ensure!(frame.starts_with(&format!(r#"{{"type":"{kind}""#)) && frame.ends_with("}}\n"), "{frame}");
    }
    socket.close(None)?;
    let farewell = loop {
        match socket.read() {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    ensure!(matches!(farewell, Error::ConnectionClosed), "{farewell}");
    Ok(())
}

/// The answer to a handshake, and all frames up to the close.
fn watched(client: &Client, path: &str, headers: &[(&str, &str)]) -> Result<(String, Vec<String>)> {
    let (mut socket, protocol) = match open(client, path, headers)? {
        Said::Switched(socket, protocol) => (socket, protocol),
        Said::Refused(code) => return Ok((code.to_string(), Vec::new())),
    };
    let mut frames = Vec::new();
    loop {
        match socket.read() {
            Ok(Message::Text(text)) => frames.push(unversioned(&text)),
            Ok(Message::Close(frame)) => frames.push(format!("close {:?}", frame.map(|CloseFrame { code, .. }| code))),
            Ok(_) => {}
            Err(Error::ConnectionClosed) => break,
            // kube-apiserver does not wait for the client's own farewell.
            Err(Error::Io(error))
                if matches!(
                    error.kind(),
                    ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
                ) =>
            {
                break;
            }
            Err(error) => return Err(error).context("failed to read a frame"),
        }
    }
    Ok((format!("101 {}", protocol.unwrap_or_default()), frames))
}

fn open(client: &Client, path: &str, headers: &[(&str, &str)]) -> Result<Said> {
    let (address, tls) = client.endpoint();
    let tcp = TcpStream::connect(address)?;
    tcp.set_read_timeout(Some(Duration::from_secs(30)))?;
    let stream = StreamOwned::new(ClientConnection::new(tls, ServerName::from(address.ip()))?, tcp);
    let mut request = format!("wss://{address}{path}").into_client_request()?;
    for (name, value) in headers {
        request.headers_mut().insert(
            tokio_tungstenite::tungstenite::http::HeaderName::from_bytes(name.as_bytes())?,
            HeaderValue::from_str(value)?,
        );
    }
    match self::client(request, stream) {
        Ok((socket, response)) => {
            let protocol = response.headers().get("sec-websocket-protocol");
            let protocol = protocol.map(|protocol| protocol.to_str().map(str::to_owned)).transpose()?;
            Ok(Said::Switched(Box::new(socket), protocol))
        }
        Err(HandshakeError::Failure(Error::Http(response))) => Ok(Said::Refused(response.status().as_u16())),
        Err(error) => bail!("the handshake failed: {error}"),
    }
}
