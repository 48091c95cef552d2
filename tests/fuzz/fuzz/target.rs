//! Every fuzz target: which one it is says the name of the binary.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| orrery_fuzz::run(env!("CARGO_BIN_NAME"), data));
