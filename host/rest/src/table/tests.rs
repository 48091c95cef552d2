use std::time::Duration;

use super::*;

/// 2027-01-15T08:00:00Z
fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}
