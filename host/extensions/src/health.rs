use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// How the calls of one generation went, and what follows from it.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// Of the last calls, whether the guest was at fault.
    faults: VecDeque<bool>,
    /// Faults without a right answer between.
    in_a_row: usize,
    open_until: Option<Instant>,
    pub(crate) calls: u64,
    pub(crate) faulty: u64,
}

/// What one more fault means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It goes on.
    Serves,
    /// It is not asked for a moment.
    Paused,
    /// It is not asked again.
    Unfit,
}

/// Calls that the rate is counted over.
const WINDOW: usize = 20;

/// Calls before there is a rate.
const ENOUGH: usize = 10;

/// Faults in a row after which it is not asked for [`PAUSE`].
const PAUSING: usize = 3;

/// Faults in a row after which it is not asked again.
const UNFIT: usize = 5;

/// How long it is not asked.
const PAUSE: Duration = Duration::from_secs(1);

// === impl Health ===

impl Health {
    /// Whether it may be asked now. After a pause one call is let through to see.
    pub(crate) fn may_be_asked(&mut self, now: Instant) -> bool {
        match self.open_until {
            Some(until) if now < until => false,
            Some(_) => {
                self.open_until = Some(now + PAUSE);
                true
            }
            None => true,
        }
    }

    pub(crate) fn went(&mut self, is_fault: bool, now: Instant) -> Verdict {
        self.calls += 1;
        self.faulty += u64::from(is_fault);
        self.faults.push_back(is_fault);
        if self.faults.len() > WINDOW {
            self.faults.pop_front();
        }
        if !is_fault {
            (self.in_a_row, self.open_until) = (0, None);
            return Verdict::Serves;
        }
        self.in_a_row += 1;
        let faults = self.faults.iter().filter(|is_fault| **is_fault).count();
        let is_mostly_wrong = self.faults.len() >= ENOUGH && faults * 2 >= self.faults.len();
        if self.in_a_row >= UNFIT || is_mostly_wrong {
            return Verdict::Unfit;
        }
        if self.in_a_row >= PAUSING {
            self.open_until = Some(now + PAUSE);
            return Verdict::Paused;
        }
        Verdict::Serves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_in_a_row_pause_it_and_then_end_it() {
        let (mut health, now) = (Health::default(), Instant::now());
        assert_eq!([(); 2].map(|()| health.went(true, now)), [Verdict::Serves; 2]);
        assert_eq!(health.went(true, now), Verdict::Paused);
        assert!(!health.may_be_asked(now + PAUSE / 2));
        assert!(health.may_be_asked(now + PAUSE), "one call to see");
        assert!(!health.may_be_asked(now + PAUSE), "and only one");
        assert_eq!(health.went(true, now + PAUSE), Verdict::Paused);
        assert!(health.may_be_asked(now + PAUSE * 3));
        assert_eq!(health.went(true, now + PAUSE * 3), Verdict::Unfit);
    }

    #[test]
    fn a_right_answer_ends_the_pause() {
        let (mut health, now) = (Health::default(), Instant::now());
        for _ in 0..3 {
            health.went(true, now);
        }
        assert!(health.may_be_asked(now + PAUSE));
        assert_eq!(health.went(false, now + PAUSE), Verdict::Serves);
        assert!(health.may_be_asked(now + PAUSE));
        assert_eq!((health.calls, health.faulty), (4, 3));
    }

    #[test]
    fn half_of_the_last_calls_wrong_is_too_many() {
        let (mut health, now) = (Health::default(), Instant::now());
        let verdicts: Vec<_> = (0..ENOUGH).map(|at| health.went(at % 2 == 1, now)).collect();
        assert_eq!(verdicts[..ENOUGH - 1], [Verdict::Serves; ENOUGH - 1]);
        assert_eq!(verdicts[ENOUGH - 1], Verdict::Unfit);
        let mut health = Health::default();
        assert!((0..100).all(|at| health.went(at % 3 == 2, now) == Verdict::Serves), "a third is not");
    }
}
