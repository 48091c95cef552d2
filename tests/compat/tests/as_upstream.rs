//! Requests that few clients send, side by side: what kube-apiserver answers, the host answers.

#[path = "as_upstream/openapi.rs"]
mod openapi;
#[path = "as_upstream/parameters.rs"]
mod parameters;
#[path = "as_upstream/selectable.rs"]
mod selectable;
#[path = "as_upstream/websocket.rs"]
mod websocket;
#[path = "as_upstream/yaml.rs"]
mod yaml;

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use orrery_compat::unversioned;
use orrery_harness::{Client, Cluster, ClusterSpec, Host, HostSpec, Response, eventually};
use orrery_real::COMETS;

/// Discovery of a new kind takes its time, and AGE cells turn; what is wrong stays wrong.
const SOON: Duration = Duration::from_secs(8);

/// A member with a few objects, and a host over it alone that adds nothing.
struct Pair {
    member: Cluster,
    host: Host,
}

// === impl Pair ===

impl Pair {
    fn start() -> Result<Self> {
        let member = ClusterSpec::bare("east").start()?;
        let kubectl = member.kubectl();
        kubectl.apply(COMETS)?;
        kubectl.ok(&["wait", "--for=condition=Established", "crd/comets.sky.example.com", "--timeout=20s"])?;
        for name in ["a", "b", "c"] {
            kubectl.ok(&["create", "configmap", name, "--from-literal=text=one\ntwo: 3\n", "--from-literal=on=off"])?;
        }
        kubectl.apply(
            "{apiVersion: sky.example.com/v1, kind: Comet, metadata: {name: halley, namespace: default}, spec: {period: 76}}",
        )?;
        let host = HostSpec::new().member(&member).flag("--stamp=none").start()?;
        let (client, path) = (host.client()?, "/apis/sky.example.com/v1/comets");
        eventually("the host serves comets", SOON, || client.json(path))?;
        Ok(Self { member, host })
    }

    /// A client of the member, and one of the host.
    fn clients(&self) -> Result<[Client; 2]> {
        Ok([self.member.client()?, self.host.client()?])
    }
}

/// Method, path and headers.
type Request<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

/// Holds each of `requests` against both, with what `seen` makes of an answer. Many are watches, which take their time,
/// so they are asked side by side.
fn same<T: PartialEq + std::fmt::Debug>(
    pair: &Pair,
    requests: &[Request<'_>],
    seen: impl Fn(&Response) -> Result<T> + Sync,
) -> Result<()> {
    const AT_ONCE: usize = 16;
    let [member, host] = pair.clients()?;
    let compared = |(method, path, headers): &Request<'_>| {
        eventually(path, SOON, || {
            let asked = |client: &Client| client.send(method, path, headers, b"").and_then(|answer| seen(&answer));
            let (direct, through) = (asked(&member)?, asked(&host)?);
            ensure!(direct == through, "{method} {headers:?}\n  directly {direct:?}\n  through  {through:?}");
            Ok(())
        })
    };
    let differing: Vec<String> = thread::scope(|scope| {
        let shares = requests.chunks(requests.len().div_ceil(AT_ONCE).max(1));
        let asking: Vec<_> = shares
            .map(|share| scope.spawn(|| share.iter().filter_map(|request| compared(request).err()).collect::<Vec<_>>()))
            .collect();
        let all = asking.into_iter().flat_map(|share| share.join().expect("a comparison does not panic"));
        all.map(|difference| format!("{difference:#}")).collect()
    });
    ensure!(differing.is_empty(), "{} of {} differ:\n{}", differing.len(), requests.len(), differing.join("\n"));
    Ok(())
}

/// Code and body, without versions.
fn code_and_text(answer: &Response) -> Result<(u16, String)> {
    Ok((answer.status, unversioned(&answer.text())))
}
