//! From a kill of the host to the first complete list, beside one list of both members at once.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use orrery_harness::Host;

use super::{Scale, Servers};
use crate::client::Wanted;
use crate::report::{Figure, Target, median};
use crate::say;

const PODS: &str = "/api/v1/pods";
const TARGET: f64 = 1.2;
/// How long after a refusal the host is asked again.
const AGAIN: Duration = Duration::from_millis(5);
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) async fn run(servers: &Servers, host: &mut Host, scale: &Scale) -> Result<Figure> {
    let complete = servers.host.connect().await?.count(PODS, Wanted::default()).await?.bytes;
    let (mut restarts, mut lists) = (Vec::new(), Vec::new());
    for _ in 0..scale.restarts {
        let began = Instant::now();
        host.kill9()?;
        host.process().restart()?;
        first_complete_list(servers, complete).await?;
        restarts.push(began.elapsed().as_secs_f64() * 1e3);
        lists.push(parallel_list(servers).await?);
    }
    say(&format!("reads: restart: host {restarts:.0?} ms, members' parallel list {lists:.0?} ms"));
    Ok(Figure::beside("restart", median(&restarts), median(&lists), Target::Dearer(TARGET)))
}

/// Complete: as many bytes as before the kill, but for the digits of resourceVersions.
async fn first_complete_list(servers: &Servers, complete: usize) -> Result<()> {
    let limit = Instant::now() + LIMIT;
    loop {
        let refusal = match servers.host.connect().await {
            Ok(connection) => match connection.count(PODS, Wanted::default()).await {
                Ok(read) if read.bytes.abs_diff(complete) < complete / 1000 => return Ok(()),
                Ok(read) => anyhow::anyhow!("{} of {complete} bytes", read.bytes),
                Err(error) => error,
            },
            Err(error) => error,
        };
        if Instant::now() > limit {
            bail!("no complete list after a restart: {refusal:#}");
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn parallel_list(servers: &Servers) -> Result<f64> {
    let [east, west] = &servers.members;
    let (east, west) = (east.connect().await?, west.connect().await?);
    let began = Instant::now();
    tokio::try_join!(east.count(PODS, Wanted::default()), west.count(PODS, Wanted::default()))?;
    Ok(began.elapsed().as_secs_f64() * 1e3)
}
