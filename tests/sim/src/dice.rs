use std::ops::Range;
use std::time::Duration;

/// The random numbers of a seed: SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

// === impl Dice ===

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x6f72_7265_7279)
    }

    /// Dice of their own for somebody else, so that what one does does not change the luck of another.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub(crate) fn within(&mut self, range: Range<u64>) -> u64 {
        range.start + self.next() % (range.end - range.start)
    }

    /// True once in `of` times.
    pub(crate) fn once_in(&mut self, of: u64) -> bool {
        self.next().is_multiple_of(of)
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.within(0..from.len() as u64) as usize]
    }

    /// One of the choices, each as often as its weight says.
    pub(crate) fn weighted<T: Copy>(&mut self, choices: &[(u64, T)]) -> T {
        let mut at = self.within(0..choices.iter().map(|(weight, _)| weight).sum());
        for (weight, choice) in choices {
            match at.checked_sub(*weight) {
                Some(rest) => at = rest,
                None => return *choice,
            }
        }
        choices[0].1
    }

    /// Mostly short, sometimes long: up to 100 ms, 3 s, 90 s, or longer than events are kept.
    pub(crate) fn pause(&mut self) -> Duration {
        let most = self.weighted(&[(40, 1), (40, 100), (60, 3_000), (10, 20_000), (10, 90_000), (1, 800_000)]);
        Duration::from_millis(self.within(0..most))
    }
}
