use std::fs;

use anyhow::{Context, Result, ensure};
use orrery_harness::repository;

/// A spec that cannot pass with two members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exception {
    /// Its full name.
    pub name: String,
    /// Why: one of [`REASONS`].
    pub reason: String,
}

/// What may keep a spec from passing with two members, each a thing that one cluster has and two have not.
const REASONS: [&str; 3] = ["name clash", "per-cluster IP or CIDR", "one etcd assumed"];

/// How many specs may not pass at most.
const MOST: usize = 10;

/// The exceptions of `conformance-two.txt`: a reason and a name a line, with a colon between them.
pub fn exceptions() -> Result<Vec<Exception>> {
    let path = repository().join("tests/compat/conformance-two.txt");
    parse(&fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?)
}

fn parse(text: &str) -> Result<Vec<Exception>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let exceptions: Vec<Exception> = lines
        .map(|line| {
            let (reason, name) = line.split_once(": ").with_context(|| format!("{line:?} has no reason"))?;
            ensure!(REASONS.contains(&reason), "{reason:?} is none of the reasons {REASONS:?}");
            Ok(Exception { name: name.to_owned(), reason: reason.to_owned() })
        })
        .collect::<Result<_>>()?;
    ensure!(exceptions.len() <= MOST, "{} specs are excepted; at most {MOST} may be", exceptions.len());
    Ok(exceptions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_has_one_of_three_reasons_and_there_are_ten_at_most() {
        let line = "one etcd assumed: [sig-x] a: b\n";
        let exception = Exception { name: "[sig-x] a: b".to_owned(), reason: "one etcd assumed".to_owned() };
        assert_eq!(parse(&format!("# why\n{line}")).unwrap(), [exception]);
        assert!(parse("it is hard: [sig-x] a\n").is_err());
        assert!(parse(&line.repeat(MOST)).is_ok());
        assert!(parse(&line.repeat(MOST + 1)).is_err());
    }
}
