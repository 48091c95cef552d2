//! Ages, as `kubectl get` shows them.

use std::time::{Duration, SystemTime};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::cells::UNKNOWN;

/// The time that an RFC 3339 text says; nothing for no text, for another, and for Go's zero time.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    let time = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    (time.unix_timestamp() > GO_ZERO_S).then(|| time.into())
}

/// Whether `text` is a time in RFC 3339.
pub(super) fn is_time(text: &str) -> bool {
    OffsetDateTime::parse(text, &Rfc3339).is_ok()
}

/// How long ago the RFC 3339 `text` was at `now`; `<unknown>` where it says no time.
pub(super) fn since(text: &str, now: SystemTime) -> String {
    parse(text).map_or_else(|| UNKNOWN.to_owned(), |time| between(time, now))
}

/// The time from `from` to `to` in two or three figures (apimachinery pkg/util/duration, HumanDuration): the larger the
/// coarser. A second or so below zero is clocks that differ, more is `<invalid>`.
pub(super) fn between(from: SystemTime, to: SystemTime) -> String {
    match to.duration_since(from) {
        Ok(passed) => human(passed),
        Err(ahead) if ahead.duration() < Duration::from_secs(2) => "0s".to_owned(),
        Err(_) => "<invalid>".to_owned(),
    }
}

/// 0001-01-01T00:00:00Z.
const GO_ZERO_S: i64 = -62_135_596_800;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const YEAR: u64 = 365 * DAY;

/// A time in two or three figures, the larger the coarser (HumanDuration).
pub(super) fn human(passed: Duration) -> String {
    let s = passed.as_secs();
    let two = |large: u64, large_name, small: u64, small_name| match (s / large, s % large / small) {
        (count, 0) => format!("{count}{large_name}"),
        (count, rest) => format!("{count}{large_name}{rest}{small_name}"),
    };
    match s {
        _ if s < 2 * MINUTE => format!("{s}s"),
        _ if s < 10 * MINUTE => two(MINUTE, "m", 1, "s"),
        _ if s < 3 * HOUR => format!("{}m", s / MINUTE),
        _ if s < 8 * HOUR => two(HOUR, "h", MINUTE, "m"),
        _ if s < 2 * DAY => format!("{}h", s / HOUR),
        _ if s < 8 * DAY => two(DAY, "d", HOUR, "h"),
        _ if s < 2 * YEAR => format!("{}d", s / DAY),
        _ if s < 8 * YEAR => two(YEAR, "y", DAY, "d"),
        _ => format!("{}y", s / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_gets_coarser_as_it_grows() {
        let cases = [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (121, "2m1s"),
            (599, "9m59s"),
            (600, "10m"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + MINUTE, "3h1m"),
            (8 * HOUR - 1, "7h59m"),
            (8 * HOUR, "8h"),
            (2 * DAY - 1, "47h"),
            (2 * DAY, "2d"),
            (2 * DAY + HOUR, "2d1h"),
            (8 * DAY, "8d"),
            (2 * YEAR - 1, "729d"),
            (2 * YEAR, "2y"),
            (2 * YEAR + DAY, "2y1d"),
            (8 * YEAR - 1, "7y364d"),
            (8 * YEAR, "8y"),
        ];
        for (s, shown) in cases {
            assert_eq!(human(Duration::from_secs(s)), shown, "{s} s");
        }
    }

    #[test]
    fn a_time_a_little_ahead_is_now_and_one_far_ahead_is_invalid() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        assert_eq!(between(now + Duration::from_millis(1999), now), "0s");
        assert_eq!(between(now + Duration::from_secs(2), now), "<invalid>");
    }

    #[test]
    fn what_is_no_time_has_no_age() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        for text in ["", "yesterday", "0001-01-01T00:00:00Z"] {
            assert_eq!(since(text, now), UNKNOWN, "{text:?}");
        }
        assert_eq!(since("2027-01-15T07:59:00Z", now), "60s");
        assert_eq!(since("2027-01-15T07:59:00.5Z", now), "59s");
    }
}
