use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Result, ensure};
use orrery_harness::{Client, Cluster};

use crate::Kind;

/// Writers that create, change and delete objects in clusters, one a cluster, until they are stopped. They use the same
/// few names everywhere and again and again, so that names meet between clusters and pass on to new objects.
///
/// A cluster that does not answer holds up its own writer alone.
#[derive(Debug)]
pub struct Churn {
    stopping: Arc<AtomicBool>,
    writers: Vec<JoinHandle<Written>>,
}

/// What writers did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Objects created.
    pub created: u64,
    /// Objects changed.
    pub changed: u64,
    /// Objects deleted.
    pub deleted: u64,
    /// Writes refused because the name was taken or gone.
    pub refused: u64,
    /// Writes that were not answered.
    pub unanswered: u64,
}

/// Names of each kind in each cluster.
const NAMES: u64 = 12;

/// A writer's own dice: xorshift, so that a run can be had again from its seed.
struct Dice(u64);

// === impl Churn ===

impl Churn {
    /// Starts a writer for each cluster, each with a `pause` after every write.
    pub fn start(clusters: &[&Cluster], kinds: &[Kind], pause: Duration) -> Result<Self> {
        let stopping = Arc::new(AtomicBool::new(false));
        let mut writers = Vec::new();
        for (number, cluster) in clusters.iter().enumerate() {
            let (client, kinds, stopping) = (cluster.client()?, kinds.to_vec(), Arc::clone(&stopping));
            let seed = 0x9e37_79b9_7f4a_7c15 ^ (number as u64 + 1);
            writers.push(thread::spawn(move || write(&client, &kinds, pause, seed, &stopping)));
        }
        Ok(Self { stopping, writers })
    }

    /// Stops them and gives what they did. An error if they did next to nothing.
    pub fn stop(self) -> Result<Written> {
        self.stopping.store(true, Ordering::Relaxed);
        let mut all = Written::default();
        for writer in self.writers {
            all += writer.join().expect("a writer does not panic");
        }
        ensure!(all.created > 10 && all.changed > 10, "the writers did next to nothing: {all:?}");
        Ok(all)
    }
}

impl std::ops::AddAssign for Written {
    fn add_assign(&mut self, other: Self) {
        self.created += other.created;
        self.changed += other.changed;
        self.deleted += other.deleted;
        self.refused += other.refused;
        self.unanswered += other.unanswered;
    }
}

// === impl Dice ===

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }
}

fn write(client: &Client, kinds: &[Kind], pause: Duration, seed: u64, stopping: &AtomicBool) -> Written {
    let mut dice = Dice(seed);
    let mut written = Written::default();
    let mut number = 0;
    while !stopping.load(Ordering::Relaxed) {
        number += 1;
        write_once(client, kinds, number, &mut dice, &mut written);
        thread::sleep(pause);
    }
    written
}

fn write_once(client: &Client, kinds: &[Kind], number: u64, dice: &mut Dice, written: &mut Written) {
    let kind = kinds[dice.roll(kinds.len() as u64) as usize];
    let name = format!("churn-{}", dice.roll(NAMES));
    let tier = ["front", "back"][dice.roll(2) as usize];
    let path = kind.in_default();
    let one = format!("{path}/{name}");
    let (answer, done) = match dice.roll(10) {
        0..4 => {
            let body = kind.object(&name, tier).to_string();
            (send(client, "POST", path, "application/json", &body), &mut written.created)
        }
        4..8 => {
            let body = kind.change(tier, number).to_string();
            (send(client, "PATCH", &one, "application/merge-patch+json", &body), &mut written.changed)
        }
        _ => (send(client, "DELETE", &one, "application/json", ""), &mut written.deleted),
    };
    match answer {
        Ok(200..300) => *done += 1,
        Ok(_) => written.refused += 1,
        Err(_) => written.unanswered += 1,
    }
}

fn send(client: &Client, method: &str, path: &str, content_type: &str, body: &str) -> Result<u16> {
    Ok(client.send(method, path, &[("content-type", content_type)], body.as_bytes())?.status)
}
