//! Streams that say nothing for ten minutes: they are still open, and go on where they were.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use orrery_harness::{Client, ClusterSpec, Host, HostSpec, Kubectl, start_all};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

const SILENCE: Duration = Duration::from_secs(600);
const SOON: Duration = Duration::from_secs(30);
const CAT: &str = "/api/v1/namespaces/default/pods/web/exec?command=cat&stdin=true&stdout=true";

/// `cat` in a pod.
trait Cat {
    /// Sends it a line, and gives what comes back.
    fn echo(&mut self, line: &str) -> Result<String>;
}

/// kubectl, which asks every few seconds whether the other end is there.
struct OfKubectl {
    child: Child,
    input: ChildStdin,
    output: mpsc::Receiver<String>,
}

/// A client that sends nothing that it is not told to.
struct Silent(WebSocket<StreamOwned<ClientConnection, TcpStream>>);

#[test]
#[ignore = "the suite idle: it takes ten minutes"]
fn an_exec_that_is_silent_for_ten_minutes_is_still_open_and_echoes() -> Result<()> {
    let [east, west] = start_all(["east", "west"].map(|name| ClusterSpec::full(name).nodes(1)))?;
    let host = HostSpec::new().member(&east).member(&west).start()?;
    host.kubectl().ok(&["run", "web", "--image=web", "--labels=orrery.dev/cluster=west"])?;
    host.kubectl().ok(&["wait", "--for=condition=Ready", "pod/web", "--timeout=30s"])?;
    let mut cats = open_all(&host)?;
    for when in ["before", "after"] {
        for (name, cat) in &mut cats {
            let echoed = cat.echo(when).with_context(|| format!("{name}, {when} the silence"))?;
            ensure!(echoed == when, "{name}, {when} the silence: {echoed:?}");
        }
        if when == "before" {
            // The silence is what is tested.
            thread::sleep(SILENCE);
        }
    }
    Ok(())
}

fn open_all(host: &Host) -> Result<[(&'static str, Box<dyn Cat>); 3]> {
    Ok([
        ("kubectl over WebSocket", Box::new(OfKubectl::start(host.kubectl(), "true")?)),
        ("kubectl over SPDY", Box::new(OfKubectl::start(host.kubectl(), "false")?)),
        ("a silent client", Box::new(Silent::open(&host.client()?)?)),
    ])
}

// === impl OfKubectl ===

impl OfKubectl {
    fn start(kubectl: &Kubectl, over_websocket: &str) -> Result<Self> {
        let mut command = kubectl.command(&["exec", "-i", "web", "--", "cat"]);
        command.env("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", over_websocket);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().context("it was asked to be piped")?;
        let lines = BufReader::new(child.stdout.take().context("it was asked to be piped")?).lines();
        let (said, output) = mpsc::sync_channel(1);
        // It ends with kubectl, or with the one who listens.
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| said.send(line)));
        Ok(Self { child, input, output })
    }
}

impl Cat for OfKubectl {
    fn echo(&mut self, line: &str) -> Result<String> {
        writeln!(self.input, "{line}")?;
        self.output.recv_timeout(SOON).context("nothing came back")
    }
}

impl Drop for OfKubectl {
    fn drop(&mut self) {
        // It has ended already, or nobody is left to hear of a failure.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

// === impl Silent ===

impl Silent {
    const STDIN: u8 = 0;
    const STDOUT: u8 = 1;

    fn open(client: &Client) -> Result<Self> {
        let (address, tls) = client.endpoint();
        let tcp = TcpStream::connect(address)?;
        tcp.set_read_timeout(Some(SOON))?;
        let stream = StreamOwned::new(ClientConnection::new(tls, ServerName::from(address.ip()))?, tcp);
        let mut request = format!("wss://{address}{CAT}").into_client_request()?;
        request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static("v4.channel.k8s.io"));
        match self::client(request, stream) {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(error) => bail!("the handshake failed: {error}"),
        }
    }
}

impl Cat for Silent {
    fn echo(&mut self, line: &str) -> Result<String> {
        let message = [&[Self::STDIN], line.as_bytes()].concat();
        self.0.send(Message::Binary(message.into()))?;
        loop {
            // A channel is begun with an empty message.
            match self.0.read()? {
                Message::Binary(said) if said.first() == Some(&Self::STDOUT) && said.len() > 1 => {
                    return Ok(String::from_utf8(said[1..].to_vec())?);
                }
                Message::Binary(said) if said.len() > 1 => bail!("{}", String::from_utf8_lossy(&said)),
                Message::Close(why) => bail!("it was closed: {why:?}"),
                _ => {}
            }
        }
    }
}
