//! The fleet at rest and under updates.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::Fleet;
use crate::reads::watching::{Watching, version_of};
use crate::report::{Figure, percentile};
use crate::say;

const UPDATES_PER_S: u64 = 1_000;
const P99_MS: f64 = 20.0;
/// Updates a second while memory is watched.
const SOAK_PER_S: u64 = 200;
/// Memory that comes and goes.
const GROWTH: f64 = 1.03;
const PODS: &str = "/api/v1/pods";

// === impl Fleet ===

impl Fleet {
    /// CPU that the host takes while nothing happens.
    pub(super) async fn rest(&self) -> Result<Figure> {
        let (before, began) = (crate::reads::cpu_seconds(self.host.pid())?, Instant::now());
        tokio::time::sleep(self.scale.rest).await;
        let used = crate::reads::cpu_seconds(self.host.pid())? - before;
        Ok(self.figure("cpu_at_rest", "% of a core", used / began.elapsed().as_secs_f64() * 100.0, None))
    }

    /// From an update in a member to its event on a watch of all pods.
    pub(super) async fn delay(&mut self) -> Result<Vec<Figure>> {
        let connection = self.endpoint.connect().await?;
        let watching = Watching::start(&connection, PODS, &version_of(&connection, PODS).await?).await?;
        let cpu = crate::reads::cpu_seconds(self.host.pid())?;
        let written = self.write(1, UPDATES_PER_S, self.scale.updates).await;
        let arrivals = watching.take(written.len()).await?;
        let cpu = crate::reads::cpu_seconds(self.host.pid())? - cpu;
        let delays: Vec<f64> = arrivals
            .iter()
            .filter_map(|arrival| {
                let at = written.get(usize::try_from(arrival.write).ok()?.checked_sub(1)?)?;
                Some(arrival.at.duration_since(*at).as_secs_f64() * 1e3)
            })
            .collect();
        let took = written.last().zip(written.first()).map_or(0.0, |(last, first)| (*last - *first).as_secs_f64());
        let rate = written.len() as f64 / took;
        say(&format!(
            "{}: {rate:.0} updates/s, {} of {} seen, the host took {:.0} % of a core",
            self.scale.name,
            delays.len(),
            written.len(),
            cpu / took * 100.0
        ));
        Ok(vec![
            self.figure("delay_p50", "ms", percentile(&delays, 50), None),
            self.figure("delay_p99", "ms", percentile(&delays, 99), Some(P99_MS)),
        ])
    }

    /// How much the resident set grows while updates go on, once the ring is full.
    pub(super) async fn growth(&mut self) -> Result<Figure> {
        let [fill, soak] = self.scale.growth;
        let written = self.write(1_000_000, SOAK_PER_S, fill).await.len() as u64;
        let before = self.host.rss_bytes()?;
        self.write(1_000_000 + written, SOAK_PER_S, soak).await;
        let after = self.host.rss_bytes()?;
        say(&format!(
            "{}: resident {:.0} MB once the ring is full, {:.0} MB {} s later",
            self.scale.name,
            before as f64 / 1e6,
            after as f64 / 1e6,
            soak.as_secs()
        ));
        Ok(self.figure("growth", "", after as f64 / before as f64, Some(GROWTH)))
    }

    /// Writes at `rate` for `how_long`, numbered from `first`; when each was made.
    async fn write(&self, first: u64, rate: u64, how_long: Duration) -> Arc<[Instant]> {
        let began = Instant::now();
        let mut written: Vec<Instant> = Vec::new();
        let mut tick = tokio::time::interval(Duration::from_millis(1));
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while began.elapsed() < how_long {
            tick.tick().await;
            let due = began.elapsed().as_millis() as u64 * rate / 1000;
            while (written.len() as u64) < due {
                written.push(Instant::now());
                self.members.write(&self.scale, first + written.len() as u64 - 1);
            }
        }
        written.into()
    }
}
