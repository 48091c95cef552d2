//! Writes to pods at a steady rate, each with a number that watches show.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use http::Method;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::clusters::Clusters;
use super::pod::Pod;
use crate::client::{Connection, Endpoint};

/// Writes to all pods in turn, each at the member that holds it.
pub(crate) struct Writes {
    members: [Connection; 2],
    pods: usize,
    next: u64,
}

/// What was written.
pub(crate) struct Written {
    /// Numbers of the writes.
    pub(crate) numbers: std::ops::Range<u64>,
    /// Asked for.
    rate: u32,
    /// Achieved.
    pub(crate) per_s: f64,
}

/// Writes under way at once; a member that cannot keep up slows the rest down, which the achieved rate shows.
const IN_FLIGHT: usize = 64;
/// Between one pod and the next one that is written to, so that neighbours in the list are not neighbours in time.
const STRIDE: u64 = 7919;

// === impl Written ===

impl Written {
    pub(crate) fn count(&self) -> usize {
        self.numbers.clone().count()
    }

    /// An error if the members were too slow for the rate: the figure would be one of fewer writes.
    pub(crate) fn check_rate(&self) -> Result<()> {
        let Self { rate, per_s, .. } = self;
        if *per_s < 0.8 * f64::from(*rate) {
            bail!("the members took {per_s:.0} of {rate} writes a second: this machine is too slow or too busy");
        }
        Ok(())
    }
}

// === impl Writes ===

impl Writes {
    pub(crate) async fn new(members: &[Endpoint; 2], pods: usize) -> Result<Self> {
        let members = [members[0].connect().await?, members[1].connect().await?];
        Ok(Self { members, pods, next: 1 })
    }

    /// Writes `rate` times a second for so long, and waits until all are done.
    pub(crate) async fn run(&mut self, rate: u32, lasts: Duration) -> Result<Written> {
        let mut ticks = interval(Duration::from_secs(1) / rate);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let places = Arc::new(Semaphore::new(IN_FLIGHT));
        let (began, first) = (Instant::now(), self.next);
        let mut running = JoinSet::new();
        let end = first + u64::from(rate) * lasts.as_secs();
        while self.next < end {
            ticks.tick().await;
            let place = places.clone().acquire_owned().await.context("it is never closed")?;
            let (pod, write) = (self.pod(self.next), self.next);
            let connection = self.members[Clusters::member_of(pod)].clone();
            self.next += 1;
            running.spawn(async move {
                let done = put(&connection, pod, write).await;
                drop(place);
                done
            });
            while let Some(done) = running.try_join_next() {
                done??;
            }
        }
        while let Some(done) = running.join_next().await {
            done??;
        }
        let per_s = (end - first) as f64 / began.elapsed().as_secs_f64();
        Ok(Written { numbers: first..end, rate, per_s })
    }

    /// Which pod a write goes to.
    pub(crate) fn pod(&self, write: u64) -> Pod {
        Pod((write.wrapping_mul(STRIDE) % self.pods as u64) as usize)
    }
}

async fn put(connection: &Connection, pod: Pod, write: u64) -> Result<()> {
    connection.write(Method::PATCH, &pod.path(), "application/merge-patch+json", Pod::patch(write).into()).await
}
