use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

const POLL: Duration = Duration::from_millis(20);

/// Asks `check` until it gives a value, for at most `limit`. The error names `what`, and the last reason that `check`
/// gave for not being there yet.
pub fn eventually<T>(what: &str, limit: Duration, mut check: impl FnMut() -> Result<T>) -> Result<T> {
    let deadline = Instant::now() + limit;
    loop {
        match check() {
            Ok(value) => return Ok(value),
            Err(reason) if Instant::now() >= deadline => {
                bail!("{what}: not within {} s; last: {reason:#}", limit.as_secs_f32())
            }
            Err(_) => thread::sleep(POLL),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_comes_late_is_given_and_one_that_never_comes_is_an_error_with_the_last_reason() {
        let mut asked = 0;
        let third = eventually("third", Duration::from_secs(5), || {
            asked += 1;
            if asked == 3 { Ok(asked) } else { bail!("asked {asked}") }
        });
        assert_eq!(third.unwrap(), 3);
        let never = eventually("never", Duration::from_millis(30), || -> Result<()> { bail!("still closed") });
        assert!(never.unwrap_err().to_string().contains("never: not within 0.03 s; last: still closed"));
    }
}
