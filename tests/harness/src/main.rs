//! The program behind `./dev`.

use std::process::ExitCode;

fn main() -> ExitCode {
    orrery_harness::commands::run()
}
