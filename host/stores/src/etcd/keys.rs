//! What the keys are called, and what the small ones hold.

use std::fmt::Write as _;

/// The version of the layout.
pub(super) const FORMAT: &str = "1";

/// The keys below one prefix.
#[derive(Debug)]
pub(super) struct Keys {
    prefix: String,
}

/// The keys of one log.
#[derive(Debug)]
pub(super) struct LogKeys {
    /// Of the last segment's position, as a decimal number.
    pub(super) head: String,
    /// Of the [`CheckpointRow`].
    pub(super) checkpoint: String,
    segments: String,
    parts: String,
}

/// Which checkpoint is the log's. Without one, it is all zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CheckpointRow {
    /// The position up to which it folds everything.
    pub(super) folded: u64,
    /// Under which its parts stand.
    pub(super) generation: u64,
    /// How many they are.
    pub(super) parts: u64,
    /// The last generation that was ever begun: none is used twice.
    pub(super) begun: u64,
}

// === impl Keys ===

impl Keys {
    /// Those below `prefix`, whose last slashes do not matter.
    pub(super) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.trim_end_matches('/').to_owned() }
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(super) fn format(&self) -> String {
        format!("{}/format", self.prefix)
    }

    pub(super) fn writer(&self) -> String {
        format!("{}/writer", self.prefix)
    }

    /// Of the lease and name of the host that became the writer last. It stays when that host has ended.
    pub(super) fn last_writer(&self) -> String {
        format!("{}/last-writer", self.prefix)
    }

    /// What the heads of all logs begin with.
    pub(super) fn heads(&self) -> String {
        format!("{}/head/", self.prefix)
    }

    /// The name of the log whose head `key` is.
    pub(super) fn log_of_head(&self, key: &[u8]) -> Option<String> {
        unescape(std::str::from_utf8(key).ok()?.strip_prefix(&self.heads())?)
    }

    pub(super) fn log(&self, name: &str) -> LogKeys {
        let (prefix, name) = (&self.prefix, escape(name));
        LogKeys {
            head: format!("{prefix}/head/{name}"),
            checkpoint: format!("{prefix}/checkpoint/{name}"),
            segments: format!("{prefix}/segment/{name}/"),
            parts: format!("{prefix}/part/{name}/"),
        }
    }
}

// === impl LogKeys ===

impl LogKeys {
    /// Of the segment at `seq`. In the order of keys segments are in the order of their positions.
    pub(super) fn segment(&self, seq: u64) -> String {
        format!("{}{seq:020}", self.segments)
    }

    /// The position of the segment whose key `key` is.
    pub(super) fn seq_of_segment(&self, key: &[u8]) -> Option<u64> {
        std::str::from_utf8(key).ok()?.strip_prefix(&self.segments)?.parse().ok()
    }

    /// Of the part at `place` of the checkpoint of `generation`.
    pub(super) fn part(&self, generation: u64, place: usize) -> String {
        format!("{}{place:010}", self.generation(generation))
    }

    /// What the parts of `generation` begin with; those of the next generation begin with a greater key.
    pub(super) fn generation(&self, generation: u64) -> String {
        format!("{}{generation:020}/", self.parts)
    }
}

// === impl CheckpointRow ===

impl CheckpointRow {
    pub(super) fn encode(self) -> String {
        let Self { folded, generation, parts, begun } = self;
        format!("{folded} {generation} {parts} {begun}")
    }

    pub(super) fn decode(text: &[u8]) -> Option<Self> {
        let numbers: Vec<u64> =
            std::str::from_utf8(text).ok()?.split(' ').map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let [folded, generation, parts, begun] = numbers.try_into().ok()?;
        Some(Self { folded, generation, parts, begun })
    }
}

/// A log's name without a slash, so that no log's keys lie between those of another.
fn escape(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '%' | '/' => write!(escaped, "%{:02x}", c as u32).expect("a string takes all"),
            c => escaped.push(c),
        }
    }
    escaped
}

fn unescape(escaped: &str) -> Option<String> {
    let mut parts = escaped.split('%');
    let mut name = parts.next()?.to_owned();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        name.push(u8::from_str_radix(digits, 16).ok()?.into());
        name.push_str(rest);
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_log_is_told_by_its_head_and_no_key_of_it_lies_among_those_of_another(a in ".*", b in ".*") {
            let keys = Keys::new("/orrery/");
            let (of_a, of_b) = (keys.log(&a), keys.log(&b));
            prop_assert_eq!(keys.log_of_head(of_a.head.as_bytes()), Some(a.clone()));
            prop_assume!(a != b);
            prop_assert_ne!(&of_a.head, &of_b.head);
            let among = of_a.segment(0)..=of_a.segment(u64::MAX);
            prop_assert!(!among.contains(&of_b.segment(7)));
            let among = of_a.part(0, 0)..=of_a.part(u64::MAX, 999_999);
            prop_assert!(!among.contains(&of_b.part(1, 1)));
        }

        #[test]
        fn keys_of_segments_rise_with_their_positions(a: u64, b: u64) {
            let keys = Keys::new("/o").log("pods.v1");
            prop_assert_eq!(keys.segment(a).cmp(&keys.segment(b)), a.cmp(&b));
            prop_assert_eq!(keys.seq_of_segment(keys.segment(a).as_bytes()), Some(a));
            prop_assert_eq!(keys.generation(a).cmp(&keys.generation(b)), a.cmp(&b));
        }

        #[test]
        fn a_checkpoints_row_is_read_as_it_was_written(folded: u64, generation: u64, parts: u64, begun: u64) {
            let row = CheckpointRow { folded, generation, parts, begun };
            prop_assert_eq!(CheckpointRow::decode(row.encode().as_bytes()), Some(row));
        }
    }

    #[test]
    fn what_is_no_row_is_none() {
        for text in ["", "1 2 3", "1 2 3 4 5", "1 2 3 x", "\u{e9}"] {
            assert_eq!(CheckpointRow::decode(text.as_bytes()), None, "{text:?}");
        }
    }
}
