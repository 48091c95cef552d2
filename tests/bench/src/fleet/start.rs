//! The first list, with silent members and with all.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use orrery_sim::{Cluster, Mode};

use super::Fleet;
use crate::client::{Connection, Wanted};
use crate::report::{Figure, median};
use crate::say;

/// How often a list is measured.
const RUNS: usize = 5;
const LOAD_LIMIT: Duration = Duration::from_secs(300);
const ITEM: &str = r#""kind":"ReplicaSet""#;

// === impl Fleet ===

impl Fleet {
    /// The first list while some are silent, then until all pods are there.
    pub(super) async fn start(&mut self, silent: Vec<Cluster>) -> Result<Vec<Figure>> {
        let began = Instant::now();
        let connection = self.endpoint.connect().await?;
        let answering = self.scale.pods() - silent.len() * self.scale.pods_each;
        let there = self.until(&connection, began, |pods| pods > 0).await?;
        let first = began.elapsed();
        say(&format!("{}: the first list has {there} pods; members that answer hold {answering}", self.scale.name));
        self.until(&connection, began, |pods| pods >= answering).await?;
        let answering = began.elapsed();
        silent.iter().for_each(|cluster| cluster.set_mode(Mode::Serving));
        let heard = Instant::now();
        let all = self.scale.pods();
        self.until(&connection, heard, |pods| pods == all).await?;
        Ok(vec![
            self.figure("first_list", "s", first.as_secs_f64(), None),
            self.figure("first_list_of_answering", "s", answering.as_secs_f64(), None),
            self.figure("silent_are_back", "s", heard.elapsed().as_secs_f64(), None),
        ])
    }

    /// Lists of all pods, and of 500.
    pub(super) async fn lists(&self) -> Result<Vec<Figure>> {
        let connection = self.endpoint.connect().await?;
        let mut figures = Vec::new();
        for (name, path) in [("list_all", "/api/v1/pods"), ("list_page_500", "/api/v1/pods?limit=500")] {
            let mut times = Vec::new();
            for _ in 0..RUNS {
                times.push(connection.count(path, Wanted::default()).await?.ms);
            }
            figures.push(self.figure(name, "ms", median(&times), None));
        }
        Ok(figures)
    }

    /// Lists until there are as many pods as `enough` asks for.
    pub(super) async fn until(
        &self,
        connection: &Connection,
        since: Instant,
        enough: impl Fn(usize) -> bool,
    ) -> Result<usize> {
        loop {
            let pods = self.count(connection).await.unwrap_or_default();
            if enough(pods) {
                return Ok(pods);
            }
            if since.elapsed() > LOAD_LIMIT {
                bail!("after {} s there are {pods} pods", LOAD_LIMIT.as_secs());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// How many pods a list has: from what is left behind its first.
    async fn count(&self, connection: &Connection) -> Result<usize> {
        let list = connection.text("/api/v1/pods?limit=1").await?;
        let here = list.matches(ITEM).count().min(1);
        let behind = list.split_once(r#""remainingItemCount":"#).map(|(_, rest)| rest);
        let digits = behind.map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
        Ok(here + digits.and_then(|digits| digits.parse().ok()).unwrap_or(0))
    }
}
