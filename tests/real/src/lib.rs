//! Tests on real clusters; they stand in `tests/`, one file for each promise. The parts that they share are those of
//! `orrery-harness`.
