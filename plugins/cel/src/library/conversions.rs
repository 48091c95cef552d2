//! Numbers, moments, spans of time and texts made of each other as Go's standard library does it, which Kubernetes' CEL leaves
//! it to, where the evaluator's crate does it otherwise. The preparation of a policy puts these in the place of the functions
//! of the same names without the `@`; what they do not know better the crate's do.

use cel::common::ast::IdedExpr;
use cel::common::types::{CelBool, CelDouble, CelDuration, CelInt, CelString, CelTimestamp, DYN_TYPE};
use cel::common::value::{CowVal, Val};
use cel::{Context, ExecutionError, Value};

use super::{Add, Args, Given};

/// The exponent of ten from which on a double is written with it.
const LARGE: i32 = 6;

/// Functions that are put in the place of the crate's.
pub(crate) const REPLACED: [&str; 7] = ["bool", "double", "duration", "int", "string", "timestamp", "uint"];
/// Members that are, with how many arguments.
pub(crate) const REPLACED_MEMBERS: [(&str, usize); 3] = [("format", 1), ("indexOf", 2), ("lastIndexOf", 2)];

pub(super) fn add(add: &mut Add) {
    add.function("@bool", vec![DYN_TYPE], |args| match text(&args) {
        Some("1" | "t" | "T" | "true" | "True" | "TRUE") => Ok(CowVal::owned(CelBool::from(true))),
        Some("0" | "f" | "F" | "false" | "False" | "FALSE") => Ok(CowVal::owned(CelBool::from(false))),
        Some(_) => Err(no_such("bool", &args)),
        None => by_crate("bool", args),
    });
    add.function("@double", vec![DYN_TYPE], |args| match text(&args).map(double) {
        Some(Some(double)) => Ok(CowVal::owned(CelDouble::from(double))),
        Some(None) => Err(no_such("double", &args)),
        None => by_crate("double", args),
    });
    add.function("@duration", vec![DYN_TYPE], |args| match text(&args).map(duration) {
        Some(Some(nanoseconds)) => Ok(CowVal::owned(CelDuration::from(chrono::Duration::nanoseconds(nanoseconds)))),
        Some(None) => Err(no_such("duration", &args)),
        None => by_crate("duration", args),
    });
    add.function("@int", vec![DYN_TYPE], |args| {
        let span = args.first().and_then(|value| value.downcast_ref::<CelDuration>()).map(CelDuration::inner);
        match span.map(chrono::Duration::num_nanoseconds) {
            Some(nanoseconds) => Ok(CowVal::owned(CelInt::from(nanoseconds.unwrap_or(i64::MAX)))),
            None => by_crate("int", args),
        }
    });
    add.function("@string", vec![DYN_TYPE], string);
    add.function("@timestamp", vec![DYN_TYPE], timestamp);
    add.function("@uint", vec![DYN_TYPE], |args| match text(&args) {
        Some(text) if text.starts_with('+') => Err(no_such("uint", &args)),
        _ => by_crate("uint", args),
    });
}

fn text<'a>(args: &'a Args<'_, '_>) -> Option<&'a str> {
    args.first()?.downcast_ref::<CelString<'_>>().map(CelString::inner)
}

fn no_such(function: &str, args: &Args<'_, '_>) -> ExecutionError {
    ExecutionError::function_error(function, format!("{:?} is none", text(args).unwrap_or_default()))
}

pub(super) fn by_crate<'b, 'v>(function: &str, args: Args<'b, 'v>) -> Given<'b, 'v> {
    let found = super::environment().find_overload(function, &args);
    let types = args.iter().map(|arg| arg.get_type().name().to_owned()).collect();
    found.ok_or_else(|| ExecutionError::no_such_overload(function, types))?(args)
}

/// What a conversion gives for an expression without variables.
pub(crate) fn convert(function: &str, of: &IdedExpr) -> Result<(), ExecutionError> {
    let environment = super::environment();
    let context = Context::with_env(environment.clone());
    let args = vec![CowVal::Owned(Value::resolve_val(of, &context)?.into_owned())];
    environment.find_overload(function, &args).map_or(Ok(()), |convert| convert(args).map(drop))
}

fn string<'b, 'v>(args: Args<'b, 'v>) -> Given<'b, 'v> {
    let shown = args.first().and_then(|value| {
        let value: &dyn Val = value.as_ref();
        let double = value.downcast_ref::<CelDouble>().map(|double| general(*double.inner()));
        double.or_else(|| value.downcast_ref::<CelDuration>().map(span))
    });
    shown.map_or_else(|| by_crate("string", args), |shown| Ok(CowVal::owned(CelString::from(shown))))
}

/// A moment without the zone that it was written with: CEL's have none.
fn timestamp<'b, 'v>(args: Args<'b, 'v>) -> Given<'b, 'v> {
    if text(&args).is_some_and(|text| !is_strict(text)) {
        return Err(no_such("timestamp", &args));
    }
    let made = by_crate("timestamp", args)?;
    let moment = made.downcast_ref::<CelTimestamp>().map(|moment| moment.inner().to_utc().fixed_offset());
    Ok(moment.map_or(made, |moment| CowVal::owned(CelTimestamp::from(moment))))
}

/// Of what RFC 3339 allows Go takes neither small letters and blanks, nor a second of 60.
fn is_strict(text: &str) -> bool {
    text.get(10..11) == Some("T") && text.get(17..19) != Some("60") && !text.ends_with('z')
}

fn double(text: &str) -> Option<f64> {
    let is_between_digits = |at: usize| {
        let around = [text[..at].chars().next_back(), text[at + 1..].chars().next()];
        around.into_iter().all(|c| c.is_some_and(|c| c.is_ascii_digit()))
    };
    if !text.match_indices('_').all(|(at, _)| is_between_digits(at)) {
        return None;
    }
    let value: f64 = text.replace('_', "").parse().ok()?;
    // What is too large for a double is no infinity.
    let is_word = text.trim_start_matches(['+', '-']).starts_with(['i', 'I']);
    (value.is_finite() || value.is_nan() || is_word).then_some(value)
}

/// Nanoseconds of what Go's `time.ParseDuration` reads: numbers with units, one after the other, of 64 bits in all.
fn duration(text: &str) -> Option<i64> {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_negative = text.starts_with('-');
    if rest == "0" {
        return Some(0);
    }
    let mut sum: u64 = 0;
    while !rest.is_empty() || text.is_empty() {
        let (whole, after) = digits(rest);
        let (fraction, after) = after.strip_prefix('.').map_or(("", after), digits);
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let unit: u64 = match &after[..end] {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let part = whole.checked_mul(unit)?.checked_add(part_of(fraction, unit)?)?;
        sum = sum.checked_add(part).filter(|sum| *sum <= 1 << 63)?;
        rest = &after[end..];
    }
    if is_negative { Some((sum as i64).wrapping_neg()) } else { i64::try_from(sum).ok() }
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// `0.fraction` of a unit, as a double has it.
fn part_of(fraction: &str, unit: u64) -> Option<u64> {
    if fraction.is_empty() {
        return Some(0);
    }
    let part: f64 = format!("0.{fraction}").parse().ok()?;
    Some((part * unit as f64) as u64)
}

/// A span of time as a text.
pub(super) fn span(span: &CelDuration) -> String {
    format!("{}s", seconds(span))
}

/// The seconds of a span, as the shortest double that is they.
fn seconds(span: &CelDuration) -> f64 {
    let span = span.inner();
    span.num_seconds() as f64 + f64::from(span.subsec_nanos()) / 1e9
}

/// A double as Go's `%g` writes it: the shortest digits that are it, with an exponent where it is below -4 or [`LARGE`].
pub(super) fn general(double: f64) -> String {
    if double.is_nan() {
        return "NaN".to_owned();
    }
    if double.is_infinite() {
        return if double > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let shortest = format!("{double:e}");
    let Some((digits, exponent)) = shortest.split_once('e') else { return shortest };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..LARGE).contains(&exponent) {
        return double.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_written_as_go_writes_them() {
        let all = [
            (1.0, "1"),
            (-0.0, "-0"),
            (123_456.5, "123456.5"),
            (1e5, "100000"),
            (1e6, "1e+06"),
            (1_234_567.5, "1.2345675e+06"),
            (1e21, "1e+21"),
            (1.5e-7, "1.5e-07"),
            (0.0001, "0.0001"),
            (1e100, "1e+100"),
            (f64::NEG_INFINITY, "-Inf"),
        ];
        for (double, written) in all {
            assert_eq!(general(double), written);
        }
    }

    #[test]
    fn durations_are_read_as_go_reads_them() {
        let all = [
            ("1h1m1.5s", Some(3_661_500_000_000)),
            ("-1.5h", Some(-5_400_000_000_000)),
            ("1µs1us", Some(2_000)),
            (".5s", Some(500_000_000)),
            ("0", Some(0)),
            ("-9223372036854775808ns", Some(i64::MIN)),
            ("9223372036854775808ns", None),
            ("99999999999999999999h", None),
            ("", None),
            ("1", None),
            (".s", None),
            ("1d", None),
            ("1h ", None),
            ("--1s", None),
        ];
        for (text, nanoseconds) in all {
            assert_eq!(duration(text), nanoseconds, "{text}");
        }
    }
}
