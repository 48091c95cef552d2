//! Streams through the host beside the same streams at the API server of its member, by one process, in turn: what a
//! command in a pod writes, what goes to a forwarded port and comes back, and logs that many follow.
//!
//! The commands run in kwok's kubelet; logs are those of a kubelet of the bench's own.

mod kubelet;
mod logs;
mod socket;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use orrery_harness::{Cluster, ClusterSpec, Host, HostSpec, Profile};
use tokio::time::timeout;

use crate::client::Endpoint;
use crate::reads::{cpu_seconds, load_average};
use crate::report::{Figure, Outcome};
use crate::say;

const OF_DIRECT: f64 = 0.8;
const POD: &str = "/api/v1/namespaces/default/pods/web";
/// As kubectl asks for it.
const EXEC: &str = "v5.channel.k8s.io";
/// As the Python client asks for it; what kubectl carries in a WebSocket is SPDY.
const PORT_FORWARD: &str = "v4.channel.k8s.io";
/// Longest time for one stream: where a direction is stuck, that is what is to be told.
const STREAM_LIMIT: Duration = Duration::from_secs(300);

/// How much is measured.
struct Scale {
    /// Bytes of a stream, one way: few enough that many streams are measured, as API server and kubelet, not the host,
    /// take nearly all of the time.
    bytes: usize,
    /// Logs that are followed at once.
    logs: usize,
    /// Lines that each of them then has.
    lines: usize,
    /// How often each is measured, on both sides in turn; the best counts.
    rounds: usize,
}

/// A stream whose bytes are counted.
#[derive(Clone, Copy, Debug)]
enum Stream {
    Exec,
    PortForward,
}

/// Measures all.
pub(crate) async fn run(quick: bool) -> Result<Outcome> {
    let scale = if quick {
        Scale { bytes: 16 << 20, logs: 50, lines: 20, rounds: 1 }
    } else {
        Scale { bytes: 256 << 20, logs: 1_000, lines: 200, rounds: 3 }
    };
    let mut outcome = Outcome::default();
    say(&format!("streams: load average {}", load_average()));
    outcome.add("throughput", throughput(&scale).await);
    outcome.add("logs", logs::run(&scale).await);
    say(&format!("streams: load average {}", load_average()));
    Ok(outcome)
}

async fn throughput(scale: &Scale) -> Result<Vec<Figure>> {
    let cluster = ClusterSpec::full("east").nodes(1).profile(Profile::Release).start()?;
    let host = HostSpec::new().profile(Profile::Release).member(&cluster).start()?;
    cluster.kubectl().ok(&["run", "web", "--image=web"])?;
    cluster.kubectl().ok(&["wait", "--for=condition=Ready", "pod/web", "--timeout=60s"])?;
    let [through, direct] = [&host.client()?, &cluster.client()?].map(Endpoint::of);
    let mut figures = Vec::new();
    for (stream, name) in [(Stream::Exec, "exec_throughput"), (Stream::PortForward, "port_forward_throughput")] {
        let [host, direct] = stream.measure(name, [&through, &direct], (&host, &cluster), scale).await?;
        figures.push(Figure::rates(name, "MB/s", host, direct, OF_DIRECT));
    }
    Ok(figures)
}

// === impl Stream ===

impl Stream {
    /// The best rates of the two sides, in MB/s.
    async fn measure(
        self,
        name: &str,
        sides: [&Endpoint; 2],
        (host, cluster): (&Host, &Cluster),
        scale: &Scale,
    ) -> Result<[f64; 2]> {
        let cpu = || Ok::<_, anyhow::Error>([cpu_seconds(host.pid())?, cpu_seconds(cluster.apiserver().pid())?]);
        let mut best = [0.0_f64; 2];
        for _ in 0..scale.rounds {
            for (side, endpoint) in sides.into_iter().enumerate() {
                let (before, began) = (cpu()?, Instant::now());
                let done = timeout(STREAM_LIMIT, self.run(endpoint, scale.bytes)).await;
                done.with_context(|| format!("{name}: not within {} s", STREAM_LIMIT.as_secs()))??;
                let rate = scale.bytes as f64 / 1e6 / began.elapsed().as_secs_f64();
                best[side] = best[side].max(rate);
                let (after, side) = (cpu()?, ["host", "direct"][side]);
                let [host, server] = [after[0] - before[0], after[1] - before[1]];
                say(&format!(
                    "streams: {name}: {side} {rate:.0} MB/s; CPU of the host {host:.2} s, of the API server {server:.2} s"
                ));
            }
        }
        Ok(best)
    }

    async fn run(self, endpoint: &Endpoint, bytes: usize) -> Result<()> {
        match self {
            Self::Exec => exec(endpoint, bytes).await,
            Self::PortForward => port_forward(endpoint, bytes).await,
        }
    }
}

/// A command in the pod writes so many bytes.
async fn exec(endpoint: &Endpoint, bytes: usize) -> Result<()> {
    let command = format!("command=head&command=-c&command={bytes}&command=%2Fdev%2Fzero");
    let path = format!("{POD}/exec?stdout=true&stderr=true&{command}");
    let (mut receiver, _sender) = socket::open(endpoint, &path, EXEC).await?;
    let mut came = Came { of: 1, bytes: 0, said: Vec::new() };
    while receiver.read(|channel, data| came.add(channel, data)).await? {}
    ensure!(came.said().contains(r#""Success""#), "the command ended with {:?}", came.said());
    ensure!(came.bytes == bytes, "of {bytes} bytes {} came", came.bytes);
    Ok(())
}

/// What is sent to a port of the pod comes back.
async fn port_forward(endpoint: &Endpoint, bytes: usize) -> Result<()> {
    /// On each channel the number of its port comes first.
    const PORT_BYTES: usize = 2;
    let path = format!("{POD}/portforward?ports=80");
    let (mut receiver, mut sender) = socket::open(endpoint, &path, PORT_FORWARD).await?;
    let receive = async {
        let mut came = Came { of: 0, bytes: 0, said: Vec::new() };
        while came.bytes < PORT_BYTES + bytes {
            let is_open = receiver.read(|channel, data| came.add(channel, data)).await?;
            ensure!(is_open, "of {bytes} bytes {} came back: {:?}", came.bytes, came.said());
        }
        Ok(())
    };
    tokio::try_join!(receive, sender.zeros(bytes)).map(drop)
}

/// What has come on a socket.
struct Came {
    /// The channel whose bytes are counted.
    of: u8,
    bytes: usize,
    /// What is on others.
    said: Vec<u8>,
}

impl Came {
    fn add(&mut self, channel: u8, data: &[u8]) {
        if channel == self.of {
            self.bytes += data.len();
        } else {
            self.said.extend_from_slice(data);
        }
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&self.said).into_owned()
    }
}
