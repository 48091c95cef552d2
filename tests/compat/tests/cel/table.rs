//! The table `cel.txt` and the differences in `docs/cel.md`.
//!
//! A line of the table is an expression and, behind `  // `, what comes of it in Kubernetes: the type and the value, `error`
//! where its evaluation has one, `refused` where it is not taken at all. A line of the differences says what comes of it
//! here instead. The tests of `plugins/cel` read both, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What comes of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The type and the value, as `int 3`. Of what no format shows, as a quantity, there is [`UNSHOWN`].
    Value(String),
    /// Its evaluation has an error.
    Error,
    /// It cannot be read, or a name or a type in it is wrong.
    Refused,
}

/// What is seen of a value that cannot be made a text.
pub(crate) const UNSHOWN: &str = "unshown";

/// An outcome, and the words that came with it: the value or the error whole.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) outcome: Outcome,
    pub(crate) said: String,
}

/// A line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) expression: String,
    /// None in a line that is new.
    pub(crate) outcome: Option<Outcome>,
}

/// Between the expression and its outcome.
const MARK: &str = "  // ";

// === impl Outcome ===

impl Outcome {
    /// The outcome that is written so.
    pub(crate) fn read(written: &str) -> Self {
        match written {
            "error" => Self::Error,
            "refused" => Self::Refused,
            value => Self::Value(value.to_owned()),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value(value) => value,
            Self::Error => "error",
            Self::Refused => "refused",
        })
    }
}

// === impl Seen ===

impl Seen {
    /// A value as it is shown. Spaces at its end are not seen.
    pub(crate) fn value(shown: &str) -> Self {
        Self { outcome: Outcome::Value(shown.trim_end().to_owned()), said: shown.to_owned() }
    }

    pub(crate) fn error(said: &str) -> Self {
        Self { outcome: Outcome::Error, said: said.to_owned() }
    }

    pub(crate) fn refused(said: &str) -> Self {
        Self { outcome: Outcome::Refused, said: said.to_owned() }
    }
}

/// The expressions of a table.
pub(crate) fn cases(table: &str) -> Vec<Case> {
    table.lines().filter(|line| !is_heading(line)).map(case).collect()
}

fn is_heading(line: &str) -> bool {
    line.is_empty() || line.starts_with("## ")
}

fn case(line: &str) -> Case {
    match line.rsplit_once(MARK) {
        Some((expression, outcome)) => {
            Case { expression: expression.to_owned(), outcome: Some(Outcome::read(outcome)) }
        }
        None => Case { expression: line.to_owned(), outcome: None },
    }
}

/// The table with the outcomes that were seen.
pub(crate) fn rewritten(table: &str, seen: &BTreeMap<String, Seen>) -> String {
    let line = |line: &str| {
        let outcome =
            (!is_heading(line)).then(|| case(line)).and_then(|case| Some((seen.get(&case.expression)?, case)));
        outcome.map_or_else(|| line.to_owned(), |(seen, case)| format!("{}{MARK}{}", case.expression, seen.outcome))
    };
    table.lines().map(|text| line(text) + "\n").collect()
}

/// What comes of some expressions here: the rows `| expression | in Kubernetes | here | why |` of the document's section.
pub(crate) fn differences(document: &str) -> BTreeMap<String, Outcome> {
    let section = document.split("\n## Differences from Kubernetes' CEL\n").nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.filter_map(|row| {
        // A bar within a cell is escaped.
        let row = row.replace("\\|", "\u{0}");
        let cell = |at: usize| row.split('|').nth(at).map(|cell| cell.trim().trim_matches('`').replace('\u{0}', "|"));
        Some((cell(1)?.trim().to_owned(), Outcome::read(&cell(3)?)))
    })
    .collect()
}

/// What Kubernetes does otherwise than the table says, a line each.
pub(crate) fn compare_upstream(cases: &[Case], seen: &BTreeMap<String, Seen>) -> Vec<String> {
    let wrong = cases.iter().map(|case| mismatch("Kubernetes", case, case.outcome.as_ref(), seen));
    wrong.flatten().collect()
}

/// What happens here otherwise than in Kubernetes and than `differences` say, and differences that are none.
pub(crate) fn compare_ours(
    cases: &[Case],
    differences: &BTreeMap<String, Outcome>,
    seen: &BTreeMap<String, Seen>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for case in cases {
        let difference = differences.get(&case.expression);
        if difference.is_some() && difference == case.outcome.as_ref() {
            wrong.push(format!("{}: it is listed as a difference and is none", case.expression));
        }
        wrong.extend(mismatch("here", case, difference.or(case.outcome.as_ref()), seen));
    }
    let known: BTreeSet<&String> = cases.iter().map(|case| &case.expression).collect();
    let unknown = differences.keys().filter(|expression| !known.contains(expression));
    wrong.extend(unknown.map(|expression| format!("{expression}: it is listed as a difference, but not in the table")));
    wrong
}

fn mismatch(place: &str, case: &Case, wanted: Option<&Outcome>, seen: &BTreeMap<String, Seen>) -> Option<String> {
    let expression = &case.expression;
    match (wanted, seen.get(expression)) {
        (None, _) => Some(format!("{expression}: it has no outcome; UPDATE_EXPECT=1 writes it")),
        (_, None) => Some(format!("{expression}: {place} nothing was seen of it")),
        (Some(wanted), Some(seen)) if *wanted == seen.outcome => None,
        (Some(wanted), Some(Seen { outcome, said })) => {
            Some(format!("{expression}\n    expected {wanted}\n    {place} {outcome}: {said}"))
        }
    }
}
