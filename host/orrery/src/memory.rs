//! How much memory the cache may take where nobody says.

use std::fs;

use orrery_cli::Settings;

/// 60 % of what the machine, or the control group that the process is in, has; 1 GiB where neither can be read.
pub(crate) fn cache_bytes_max() -> u64 {
    let smallest = machine().into_iter().chain(control_group()).min();
    smallest.map_or(1 << 30, share)
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of memory, to the percent"
)]
fn share(bytes: u64) -> u64 {
    (bytes as f64 * Settings::CACHE_SHARE) as u64
}

fn machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// The limit of version 2; without one the file says `max`.
fn control_group() -> Option<u64> {
    fs::read_to_string("/sys/fs/cgroup/memory.max").ok()?.trim().parse().ok()
}
