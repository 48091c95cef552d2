use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use orrery_harness::{Minor, repository};

use super::Verdict;

/// A spec that passes directly against a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Its full name.
    pub name: String,
    /// Whether it is of the third that every change must pass.
    pub always: bool,
}

/// How many of the specs always run: one of so many.
const SHARE: usize = 3;

/// The specs of `conformance.txt`.
pub fn specs() -> Result<Vec<Spec>> {
    let path = path();
    let text = fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
    parse(&text)
}

/// Writes `conformance.txt` anew with what of `verdicts` passed; `before` is what stood in it.
pub fn write_specs(before: &[Spec], verdicts: &[Verdict]) -> Result<Vec<Spec>> {
    let specs = chosen(before, verdicts);
    fs::write(path(), print(&specs))?;
    Ok(specs)
}

fn path() -> PathBuf {
    repository().join("tests/compat/conformance.txt")
}

/// What passed, by name. Of the third that always runs remains what still passes; the quickest others join it.
fn chosen(before: &[Spec], verdicts: &[Verdict]) -> Vec<Spec> {
    let was_chosen = |verdict: &Verdict| before.iter().any(|spec| spec.always && spec.name == verdict.name);
    let mut passed: Vec<&Verdict> = verdicts.iter().filter(|verdict| verdict.failure.is_none()).collect();
    passed.sort_by_key(|verdict| (!was_chosen(verdict), verdict.took));
    let third = passed.len().div_ceil(SHARE);
    let specs = passed.iter().enumerate();
    let mut specs: Vec<Spec> =
        specs.map(|(rank, verdict)| Spec { name: verdict.name.clone(), always: rank < third }).collect();
    specs.sort_by(|a, b| a.name.cmp(&b.name));
    specs
}

fn print(specs: &[Spec]) -> String {
    let mut text = format!(
        "# The specs of upstream's e2e suite {} that pass directly against a member with fake nodes, so through the host.\n\
         # `./dev test conformance --discover` writes this list. What is marked with * always runs.\n",
        Minor::NEWEST.version()
    );
    for Spec { name, always } in specs {
        writeln!(text, "{} {name}", if *always { '*' } else { ' ' }).expect("a String takes all that is written");
    }
    text
}

fn parse(text: &str) -> Result<Vec<Spec>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let specs: Option<Vec<Spec>> = lines
        .map(|line| {
            let (mark, name) = line.split_at_checked(2)?;
            Some(Spec { name: name.to_owned(), always: mark == "* " })
        })
        .collect();
    let specs = specs.context("a line of conformance.txt has no name")?;
    ensure!(!specs.is_empty(), "conformance.txt names no spec");
    Ok(specs)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn verdict(name: &str, seconds: u64, failure: Option<&str>) -> Verdict {
        Verdict { name: name.to_owned(), took: Duration::from_secs(seconds), failure: failure.map(str::to_owned) }
    }

    #[test]
    fn what_failed_is_left_out_and_a_third_always_runs_the_quickest_unless_others_did_before() {
        let verdicts = [
            verdict("a", 9, None),
            verdict("b", 1, None),
            verdict("c", 2, None),
            verdict("d", 3, None),
            verdict("e", 4, None),
            verdict("f", 5, None),
            verdict("slow", 600, Some("timed out")),
        ];
        let always = |specs: &[Spec]| -> Vec<String> {
            specs.iter().filter(|spec| spec.always).map(|spec| spec.name.clone()).collect()
        };
        let first = chosen(&[], &verdicts);
        assert_eq!(first.len(), 6);
        assert_eq!(always(&first), ["b", "c"]);
        let before = [Spec { name: "a".to_owned(), always: true }, Spec { name: "gone".to_owned(), always: true }];
        assert_eq!(always(&chosen(&before, &verdicts)), ["a", "b"]);
    }

    #[test]
    fn the_list_is_read_as_it_was_written() {
        let specs = [
            Spec { name: "[sig-node] one [Conformance]".to_owned(), always: true },
            Spec { name: "[sig-node] two".to_owned(), always: false },
        ];
        assert_eq!(parse(&print(&specs)).unwrap(), specs);
        assert!(parse("# nothing\n").is_err());
        assert!(parse("x\n").is_err());
    }

    #[test]
    fn the_list_that_is_committed_names_no_spec_twice_and_marks_a_third() {
        let specs = specs().unwrap();
        assert!(specs.is_sorted_by(|a, b| a.name < b.name));
        assert_eq!(specs.iter().filter(|spec| spec.always).count(), specs.len().div_ceil(SHARE));
    }
}
