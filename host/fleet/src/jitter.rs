use std::time::Duration;

use twox_hash::XxHash3_64;

use crate::FleetSettings;

/// Waits between tries: doubled from the settings' first to their longest, each shortened by up to a half at random.
#[derive(Debug)]
pub(crate) struct Backoff {
    random: Random,
    range: (Duration, Duration),
    tries: u32,
}

/// A small generator (splitmix64): good enough to spread waits, and the same from the same seed everywhere.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Backoff {
    /// Waits of the task named `who`.
    pub(crate) fn new(settings: &FleetSettings, who: &str) -> Self {
        Self { random: Random::new(settings, who), range: settings.backoff, tries: 0 }
    }

    /// The next wait.
    pub(crate) fn next(&mut self) -> Duration {
        let (first, longest) = self.range;
        let full = first.saturating_mul(1 << self.tries.min(16)).min(longest);
        self.tries += 1;
        full.mul_f64(0.5 + self.random.unit() / 2.0)
    }

    /// Begins anew after a success.
    pub(crate) fn reset(&mut self) {
        self.tries = 0;
    }
}

impl Random {
    pub(crate) fn new(settings: &FleetSettings, who: &str) -> Self {
        Self(settings.seed ^ XxHash3_64::oneshot(who.as_bytes()))
    }

    /// A number in `0.0..1.0`.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number in `from..=to`.
    pub(crate) fn between(&mut self, (from, to): (u64, u64)) -> u64 {
        from + self.next() % (to.saturating_sub(from) + 1)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_the_longest_and_begin_anew_after_a_success() {
        let settings = FleetSettings { seed: 7, ..FleetSettings::default() };
        let mut backoff = Backoff::new(&settings, "a");
        let waits: Vec<_> = (0..20).map(|_| backoff.next()).collect();
        assert!(waits[0] <= settings.backoff.0 && waits[0] >= settings.backoff.0 / 2);
        assert!(waits[19] <= settings.backoff.1 && waits[19] >= settings.backoff.1 / 2);
        backoff.reset();
        assert!(backoff.next() <= settings.backoff.0);
    }

    #[test]
    fn one_seed_gives_one_sequence_and_two_tasks_two() {
        let settings = FleetSettings { seed: 7, ..FleetSettings::default() };
        let drawn = |who| {
            let mut random = Random::new(&settings, who);
            [random.between((300, 600)), random.between((300, 600)), random.between((300, 600))]
        };
        assert_eq!(drawn("a"), drawn("a"));
        assert_ne!(drawn("a"), drawn("b"));
    }
}
