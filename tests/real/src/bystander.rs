use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use orrery_harness::{Client, Host};

/// A client that has nothing to do with a fault: it asks for the same few things again and again, on a thread of its
/// own, and wants each answered 200 at once. On the way it looks at the host's memory.
#[derive(Debug)]
pub struct Bystander {
    stopping: Arc<AtomicBool>,
    asking: JoinHandle<Result<Answers>>,
    idle_bytes: u64,
}

/// How a bystander was answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// Requests that were answered.
    pub count: u64,
    /// The longest that one took.
    pub slowest: Duration,
    /// The most memory that the host held, in bytes.
    pub rss_bytes_max: u64,
}

/// Longest that any answer may take, on a machine that is busy with clusters.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// How much memory a fault may cost.
const RSS_ABOVE_IDLE_MAX: u64 = 200 << 20;
const PAUSE: Duration = Duration::from_millis(25);

// === impl Bystander ===

impl Bystander {
    /// Begins to ask `host` for `paths`. What the host holds now is what it holds when idle.
    pub fn start(host: &mut Host, paths: &[&str]) -> Result<Self> {
        let stopping = Arc::new(AtomicBool::new(false));
        let (client, pid) = (host.client()?, host.process().pid());
        let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
        for path in &paths {
            ask(&client, path)?;
        }
        let idle_bytes = rss_bytes(pid)?;
        let stop = Arc::clone(&stopping);
        let asking = thread::spawn(move || keep_asking(&client, &paths, pid, &stop));
        Ok(Self { stopping, asking, idle_bytes })
    }

    /// Stops, and gives how it was answered. An error if a request was not answered 200 in time, if the host took too
    /// much memory, or if its log tells of a panic.
    pub fn finish(self, host: &Host) -> Result<Answers> {
        self.stopping.store(true, Ordering::Relaxed);
        let answers = self.asking.join().expect("a bystander does not panic")?;
        let most = self.idle_bytes + RSS_ABOVE_IDLE_MAX;
        ensure!(
            answers.rss_bytes_max <= most,
            "the host held {} bytes, {} when idle",
            answers.rss_bytes_max,
            self.idle_bytes
        );
        no_panic(host)?;
        Ok(answers)
    }
}

fn no_panic(host: &Host) -> Result<()> {
    match host.log().lines().find(|line| line.contains("panicked")) {
        Some(line) => bail!("the host panicked: {line}"),
        None => Ok(()),
    }
}

fn keep_asking(client: &Client, paths: &[String], pid: u32, stopping: &AtomicBool) -> Result<Answers> {
    let mut answers = Answers::default();
    for (asked, path) in paths.iter().cycle().enumerate() {
        // However soon it is stopped, it asks for everything once.
        if asked >= paths.len() && stopping.load(Ordering::Relaxed) {
            break;
        }
        let took = ask(client, path)?;
        answers.count += 1;
        answers.slowest = answers.slowest.max(took);
        answers.rss_bytes_max = answers.rss_bytes_max.max(rss_bytes(pid)?);
        thread::sleep(PAUSE);
    }
    Ok(answers)
}

fn ask(client: &Client, path: &str) -> Result<Duration> {
    let asked = Instant::now();
    let answer = client.get(path).with_context(|| format!("a bystander's {path} was not answered"))?;
    let took = asked.elapsed();
    ensure!(answer.status == 200, "a bystander's {path} was answered {}: {}", answer.status, answer.text());
    ensure!(took <= ANSWER_LIMIT, "a bystander's {path} took {} s", took.as_secs_f32());
    Ok(took)
}

fn rss_bytes(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).context("the host has ended")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix("kB"));
    Ok(line.context("the host has ended")?.trim().parse::<u64>()? * 1024)
}
