//! Regular expressions: `matches`, `find` and `findAll`, as Kubernetes has them (RE2's language).
//!
//! The engine takes time linear in the text, whatever the pattern. What a pattern grows to is bounded; each is compiled once
//! in an instance, as it mostly is the same for every cluster.

mod dialect;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use cel::ExecutionError;
use cel::common::types::{CelBool, CelInt, CelList, CelString, INT_TYPE, STRING_TYPE};
use cel::common::value::{CowVal, Val};
use regex::{Regex, RegexBuilder};

use super::{Add, Args, Given, arg, text};

/// Bytes of a pattern.
const MAX_PATTERN: usize = 1024;
/// Bytes that a pattern may grow to when it is compiled.
const MAX_COMPILED: usize = 256 * 1024;
/// Patterns that an instance keeps.
const KEPT: usize = 64;

pub(super) fn add(add: &mut Add) {
    add.function("matches", vec![STRING_TYPE, STRING_TYPE], matches);
    add.member("matches", STRING_TYPE, vec![STRING_TYPE], matches);
    add.member("find", STRING_TYPE, vec![STRING_TYPE], |args| {
        let found = compiled(text(&args, 1)?)?.find(text(&args, 0)?).map_or("", |found| found.as_str()).to_owned();
        Ok(CowVal::owned(CelString::from(found)))
    });
    add.member("findAll", STRING_TYPE, vec![STRING_TYPE], |args| find_all(&args, usize::MAX));
    add.member("findAll", STRING_TYPE, vec![STRING_TYPE, INT_TYPE], |args| {
        // As cel-go: a number below zero is no bound.
        let bound = usize::try_from(*arg::<CelInt>(&args, 2)?.inner()).unwrap_or(usize::MAX);
        find_all(&args, bound)
    });
}

fn matches<'b, 'v>(args: Args<'b, 'v>) -> Given<'b, 'v> {
    Ok(CowVal::owned(CelBool::from(compiled(text(&args, 1)?)?.is_match(text(&args, 0)?))))
}

fn find_all<'b, 'v>(args: &Args<'b, 'v>, bound: usize) -> Given<'b, 'v> {
    let pattern = compiled(text(args, 1)?)?;
    let found = pattern.find_iter(text(args, 0)?).take(bound);
    let found = found.map(|found| Box::new(CelString::from(found.as_str().to_owned())) as Box<dyn Val + 'v>);
    Ok(CowVal::owned(CelList::from(found.collect::<Vec<_>>())))
}

/// The pattern, compiled.
pub(crate) fn compiled(pattern: &str) -> Result<Regex, ExecutionError> {
    let failed = |message: String| ExecutionError::function_error("matches", message);
    static PATTERNS: Mutex<BTreeMap<String, Regex>> = Mutex::new(BTreeMap::new());
    let mut patterns = PATTERNS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = patterns.get(pattern) {
        return Ok(found.clone());
    }
    if pattern.len() > MAX_PATTERN {
        return Err(failed(format!("a pattern has {MAX_PATTERN} bytes at most, this one {}", pattern.len())));
    }
    let translated = dialect::translated(pattern).map_err(failed)?;
    let made = RegexBuilder::new(&translated).size_limit(MAX_COMPILED).dfa_size_limit(MAX_COMPILED).build();
    let made = made.map_err(|error| failed(one_line(&error)))?;
    if patterns.len() >= KEPT {
        patterns.clear();
    }
    patterns.insert(pattern.to_owned(), made.clone());
    Ok(made)
}

/// The crate draws its messages over several lines; the last says what is wrong.
fn one_line(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "the pattern grows too large when it is compiled".to_owned(),
        error => error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned(),
    }
}
