//! The simulation by many seeds. `ORRERY_SEED=17 ./dev test sim` runs one of them, and prints what is done in it.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use orrery_simulation::{Failure, Plan, Tally, run};

/// Runs all these seeds on as many threads as there are processors, or the one that is asked for.
fn run_all(seeds: Range<u64>, steps: u64) -> Tally {
    if let Some(seed) = std::env::var("ORRERY_SEED").ok().and_then(|seed| seed.parse().ok()) {
        return run(seed, &Plan { steps, loud: true }).unwrap_or_else(|failure| panic!("{}", told(&failure)));
    }
    let next = AtomicU64::new(seeds.start);
    let (tally, failures) = (Mutex::new(Tally::default()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end || failures.lock().unwrap().len() >= 5 {
                        return;
                    }
                    match run(seed, &Plan { steps, loud: false }) {
                        Ok(seen) => *tally.lock().unwrap() += seen,
                        Err(failure) => failures.lock().unwrap().push(failure),
                    }
                }
            });
        }
    });
    let failures: Vec<String> = failures.into_inner().unwrap().iter().map(|failure| told(failure)).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    tally.into_inner().unwrap()
}

fn told(failure: &Failure) -> String {
    let Failure { seed, violation, trace } = failure;
    let last = trace.iter().skip(trace.len().saturating_sub(12)).map(String::as_str).collect::<Vec<_>>().join("\n");
    format!("seed {seed} breaks a law: {violation}\nlast done:\n{last}\nreplay it: ORRERY_SEED={seed} ./dev test sim")
}

#[test]
fn no_law_is_broken_under_any_of_three_hundred_seeds() {
    let tally = run_all(0..300, 60);
    eprintln!("{tally:?}");
    // A simulation in which nothing happens proves nothing.
    if std::env::var_os("ORRERY_SEED").is_none() {
        let Tally { events, bookmarks, lists, exact, resumes, expired, starts } = tally;
        assert!(
            [events, bookmarks, lists, exact, resumes, expired, starts].iter().all(|count| *count > 300),
            "{tally:?}"
        );
    }
}

/// 3243 and 4941 have a test of their own in `faults.rs`. 7571 and 10728: with `--namespaces`, a member that is away while it is
/// listed anew was gone in the other served version; the latter did not show it in each run. In 1512, 4038 and 4421 the
/// simulation's own laws were at fault.
#[test]
fn seeds_that_broke_a_law_once_break_none() {
    for seed in [1512, 3243, 4038, 4421, 4941, 7571, 10728] {
        run(seed, &Plan { steps: 60, loud: false }).unwrap_or_else(|failure| panic!("{}", told(&failure)));
    }
}

#[test]
#[ignore = "minutes: the suite sim-long"]
fn no_law_is_broken_under_any_of_ten_thousand_seeds() {
    let first = std::env::var("ORRERY_FIRST_SEED").ok().and_then(|first| first.parse().ok()).unwrap_or(1_000);
    eprintln!("{:?}", run_all(first..first + 10_000, 60));
}
