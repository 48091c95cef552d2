//! Semantic versions: `semver("1.2.3")` and what can be asked of one (semver.org, version 2.0.0).

use std::cmp::Ordering;

use cel::ExecutionError;
use cel::common::types::{BOOL_TYPE, CelBool, CelInt, STRING_TYPE, Type};
use cel::common::value::CowVal;

use super::{Add, Args, Given, arg, opaque, text};

pub(super) static TYPE: Type = Type::new_unspecified_type("semver");

/// A version. What follows `+` does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Semver {
    numbers: [u64; 3],
    before: Vec<Identifier>,
}

/// A part of what follows `-`. Numbers come before texts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Text(String),
}

opaque::value!(Semver);

pub(super) fn add(add: &mut Add) {
    let of = || TYPE.to_owned();
    add.function("semver", vec![STRING_TYPE], |args| make(text(&args, 0)?, false));
    add.function("semver", vec![STRING_TYPE, BOOL_TYPE], |args| {
        make(text(&args, 0)?, *arg::<CelBool>(&args, 1)?.inner())
    });
    add.function("isSemver", vec![STRING_TYPE], |args| bool(Semver::parse(text(&args, 0)?, false).is_ok()));
    add.function("isSemver", vec![STRING_TYPE, BOOL_TYPE], |args| {
        bool(Semver::parse(text(&args, 0)?, *arg::<CelBool>(&args, 1)?.inner()).is_ok())
    });
    add.member("major", of(), vec![], |args| number(&args, 0));
    add.member("minor", of(), vec![], |args| number(&args, 1));
    add.member("patch", of(), vec![], |args| number(&args, 2));
    add.member("compareTo", of(), vec![of()], |args| Ok(CowVal::owned(CelInt::from(order(&args)? as i64))));
    add.member("isGreaterThan", of(), vec![of()], |args| bool(order(&args)? == Ordering::Greater));
    add.member("isLessThan", of(), vec![of()], |args| bool(order(&args)? == Ordering::Less));
}

fn make<'b, 'v>(text: &str, normalizes: bool) -> Given<'b, 'v> {
    let made = Semver::parse(text, normalizes);
    made.map(CowVal::owned).map_err(|message| ExecutionError::function_error("semver", message))
}

fn bool<'b, 'v>(value: bool) -> Given<'b, 'v> {
    Ok(CowVal::owned(CelBool::from(value)))
}

fn number<'b, 'v>(args: &Args<'b, 'v>, at: usize) -> Given<'b, 'v> {
    let number = arg::<Semver>(args, 0)?.numbers[at];
    // As Kubernetes does: what does not fit is below zero.
    Ok(CowVal::owned(CelInt::from(number as i64)))
}

fn order(args: &Args<'_, '_>) -> Result<Ordering, ExecutionError> {
    Ok(arg::<Semver>(args, 0)?.cmp(arg::<Semver>(args, 1)?))
}

// === impl Semver ===

impl Semver {
    /// Reads a version. `normalizes` allows a `v` before it, leading zeros and missing numbers.
    pub(crate) fn parse(text: &str, normalizes: bool) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no semantic version; write it as 1.2.3");
        let version = if normalizes { text.strip_prefix('v').unwrap_or(text) } else { text };
        let (version, build) =
            version.split_once('+').map_or((version, None), |(version, build)| (version, Some(build)));
        let (core, before) = version.split_once('-').map_or((version, None), |(core, before)| (core, Some(before)));
        if [before, build].into_iter().flatten().any(|part| part.split('.').any(|name| !is_identifier(name))) {
            return Err(wrong());
        }
        let mut numbers = [0; 3];
        let parts: Vec<&str> = core.split('.').collect();
        let is_bare = before.is_none() && build.is_none();
        if parts.len() > 3 || (parts.len() < 3 && !(normalizes && is_bare)) {
            return Err(wrong());
        }
        for (number, part) in numbers.iter_mut().zip(parts) {
            let has_zero = part.len() > 1 && part.starts_with('0');
            if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) || (has_zero && !normalizes) {
                return Err(wrong());
            }
            *number = part.parse().map_err(|_| wrong())?;
        }
        let before = before.into_iter().flat_map(|before| before.split('.')).map(Identifier::of);
        Ok(Self { numbers, before: before.collect::<Option<_>>().ok_or_else(wrong)? })
    }
}

impl Semver {
    pub(super) fn shown(&self) -> String {
        let [major, minor, patch] = self.numbers;
        let before: Vec<String> = self.before.iter().map(Identifier::shown).collect();
        let dash = if before.is_empty() { "" } else { "-" };
        format!("{major}.{minor}.{patch}{dash}{}", before.join("."))
    }
}

impl Ord for Semver {
    fn cmp(&self, other: &Self) -> Ordering {
        let before = match (self.before.is_empty(), other.before.is_empty()) {
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            _ => self.before.cmp(&other.before),
        };
        self.numbers.cmp(&other.numbers).then(before)
    }
}

impl PartialOrd for Semver {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

// === impl Identifier ===

impl Identifier {
    fn shown(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }

    /// None for a number with a leading zero or of more than 64 bits.
    fn of(name: &str) -> Option<Self> {
        if !name.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(Self::Text(name.to_owned()));
        }
        if name.len() > 1 && name.starts_with('0') { None } else { name.parse().ok().map(Self::Number) }
    }
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
