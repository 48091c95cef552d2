//! The inputs that fuzzing began with and found, replayed.

use std::fs;

use orrery_fuzz::{TARGETS, run};
use orrery_harness::repository;

#[test]
fn every_target_bears_every_input_of_its_corpus() {
    for (name, _) in TARGETS {
        let folder = repository().join("tests/fuzz/corpus").join(name);
        let inputs = fs::read_dir(&folder).unwrap_or_else(|error| panic!("no corpus of {name}: {error}"));
        let mut count = 0;
        for input in inputs {
            run(name, &fs::read(input.unwrap().path()).unwrap());
            count += 1;
        }
        assert!(count > 0, "the corpus of {name} is empty");
    }
}
