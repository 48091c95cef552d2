use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::ByteSize;

/// What one call of an extension may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Units of fuel, about one a WebAssembly instruction: the bound that stops a call at the same place every time.
    pub fuel: u64,
    /// The time that a call may take: only a backstop for what fuel does not count, so it is long enough that fuel runs
    /// out first.
    pub deadline: Duration,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Bytes that it may hand to the host, with what it logs.
    pub result_bytes: u64,
    /// Lines that it may log.
    pub log_lines: u32,
}

/// A limit that is above what the host allows, or is nothing.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{limit}` is {given}; it may be from 1 to {most}")]
pub struct LimitsError {
    limit: &'static str,
    given: u64,
    most: u64,
}

/// `limits` of a document.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Written {
    fuel: Option<u64>,
    deadline_ms: Option<u64>,
    memory: Option<ByteSize>,
    result: Option<ByteSize>,
    log_lines: Option<u32>,
}

/// The most of each that a document may ask for.
const MOST: Limits = Limits {
    fuel: 20_000_000_000,
    deadline: Duration::from_secs(10),
    memory_bytes: 256 << 20,
    result_bytes: 64 << 20,
    log_lines: 1024,
};

/// Fuel that the slowest machine of interest burns in a millisecond; a fifth of what was measured on a usual one.
const FUEL_PER_MS: u64 = 1_000_000;

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            fuel: 1_000_000_000,
            deadline: Duration::from_secs(1),
            memory_bytes: 64 << 20,
            result_bytes: 8 << 20,
            log_lines: 64,
        }
    }
}

// === impl Written ===

impl Written {
    pub(super) fn limits(self) -> Result<Limits, LimitsError> {
        let default = Limits::default();
        let fuel = within("fuel", self.fuel, default.fuel, MOST.fuel)?;
        let derived = (fuel / FUEL_PER_MS).clamp(100, millis(MOST.deadline));
        Ok(Limits {
            fuel,
            deadline: Duration::from_millis(within("deadlineMs", self.deadline_ms, derived, millis(MOST.deadline))?),
            memory_bytes: within("memory", self.memory.map(ByteSize::bytes), default.memory_bytes, MOST.memory_bytes)?,
            result_bytes: within("result", self.result.map(ByteSize::bytes), default.result_bytes, MOST.result_bytes)?,
            log_lines: small("logLines", self.log_lines, default.log_lines, MOST.log_lines)?,
        })
    }
}

fn within(limit: &'static str, given: Option<u64>, default: u64, most: u64) -> Result<u64, LimitsError> {
    match given {
        None => Ok(default),
        Some(given) if (1..=most).contains(&given) => Ok(given),
        Some(given) => Err(LimitsError { limit, given, most }),
    }
}

fn small(limit: &'static str, given: Option<u32>, default: u32, most: u32) -> Result<u32, LimitsError> {
    let value = within(limit, given.map(u64::from), default.into(), most.into())?;
    Ok(u32::try_from(value).unwrap_or(most))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(yaml: &str) -> Result<Limits, String> {
        crate::yaml::parse::<Written>(yaml).unwrap().limits().map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_not_said_is_the_default_and_the_deadline_follows_the_fuel() {
        assert_eq!(limits("{}"), Ok(Limits::default()));
        assert_eq!(limits("fuel: 5000000000").unwrap().deadline, Duration::from_secs(5));
        assert_eq!(limits("fuel: 1").unwrap().deadline, Duration::from_millis(100));
        let own = limits("{deadlineMs: 7, memory: 1Mi, result: 1Ki, logLines: 2}").unwrap();
        assert_eq!((own.deadline, own.memory_bytes, own.result_bytes), (Duration::from_millis(7), 1 << 20, 1 << 10));
        assert_eq!(own.log_lines, 2);
    }

    #[test]
    fn what_is_above_the_caps_or_nothing_is_refused() {
        assert_eq!(limits("memory: 1Gi").unwrap_err(), "`memory` is 1073741824; it may be from 1 to 268435456");
        for odd in ["fuel: 0", "fuel: 20000000001", "deadlineMs: 10001", "result: 65Mi", "logLines: 0"] {
            assert!(limits(odd).is_err(), "{odd}");
        }
    }
}
