use std::fmt;
use std::ops::AddAssign;

/// How many tests passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    passed: u32,
    failed: u32,
    skipped: u32,
}

// === impl Counts ===

impl Counts {
    pub(super) fn one_passed() -> Self {
        Self { passed: 1, ..Self::default() }
    }

    pub(super) fn one_failed() -> Self {
        Self { failed: 1, ..Self::default() }
    }

    pub(super) fn one_skipped() -> Self {
        Self { skipped: 1, ..Self::default() }
    }

    /// What a line of a Rust test program's output says: `test result: ok. 5 passed; 0 failed; 1 ignored; …`. Other
    /// lines say nothing.
    pub(super) fn said_by(line: &str) -> Self {
        let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")) else {
            return Self::default();
        };
        let count = |what: &str| {
            let counts = counts.split("; ").filter_map(|part| part.split_once(' '));
            counts.filter(|(_, word)| *word == what).find_map(|(count, _)| count.parse().ok()).unwrap_or(0)
        };
        Self { passed: count("passed"), failed: count("failed"), skipped: count("ignored") }
    }

    /// These counts, as the program's exit confirms them: one that fails without a failed test (it did not build, or
    /// crashed) counts as one that failed.
    pub(super) fn confirmed(mut self, succeeded: bool) -> Self {
        if !succeeded && self.failed == 0 {
            self.failed = 1;
        }
        self
    }

    /// Whether nothing failed.
    pub(crate) fn is_good(self) -> bool {
        self.failed == 0
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_lines_of_test_programs_are_added_up_and_no_other_line_is() {
        let mut counts = Counts::default();
        for line in [
            "test a ... ok",
            "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.08s",
            "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.08s",
            "it says: test result: ok. 9 passed; 0 failed",
        ] {
            counts += Counts::said_by(line);
        }
        assert_eq!(counts.to_string(), "7 passed, 1 failed, 1 skipped");
        assert!(!counts.is_good());
    }

    #[test]
    fn a_program_that_fails_without_a_failed_test_counts_as_failed() {
        assert_eq!(Counts::one_passed().confirmed(false).to_string(), "1 passed, 1 failed, 0 skipped");
        assert_eq!(Counts::one_failed().confirmed(false).to_string(), "0 passed, 1 failed, 0 skipped");
        assert!(Counts::one_passed().confirmed(true).is_good());
    }
}
