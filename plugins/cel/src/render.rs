//! Values and errors as people read them.

use cel::ExecutionError;
use cel::common::types::{CelBytes, CelDouble, CelDuration, CelOptional, CelString, CelTimestamp};
use cel::common::value::Val;

use crate::data::to_json;

/// Characters of a value that a message shows.
const SHOWN: usize = 120;

/// The value, cut where it is long.
pub(crate) fn short(value: &dyn Val) -> String {
    let text = whole(value);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A key of a map, without quotes.
pub(crate) fn key(value: &dyn Val) -> String {
    value.downcast_ref::<CelString<'_>>().map_or_else(|| whole(value), |text| text.inner().to_owned())
}

/// The value as text.
pub(crate) fn whole(value: &dyn Val) -> String {
    if let Some(double) = value.downcast_ref::<CelDouble>() {
        return format!("{:?}", double.inner());
    }
    if let Some(json) = to_json(value) {
        return json.to_string();
    }
    if let Some(timestamp) = value.downcast_ref::<CelTimestamp>() {
        return timestamp.inner().to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true);
    }
    if let Some(duration) = value.downcast_ref::<CelDuration>() {
        return format!("{}s", duration.inner().num_milliseconds() as f64 / 1000.0);
    }
    if let Some(bytes) = value.downcast_ref::<CelBytes<'_>>() {
        return format!("{} bytes", bytes.inner().len());
    }
    if let Some(optional) = value.downcast_ref::<CelOptional<'_>>() {
        return optional.option().map_or("none".to_owned(), |value| format!("optional {}", whole(value)));
    }
    if let Some(text) = crate::library::shown(value) {
        return text;
    }
    format!("a {}", value.get_type().name())
}

/// An error, with the terms of the language: `no such key: gpu`.
pub(crate) fn error(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::UndeclaredReference(name) => format!("no such variable or function: {name}"),
        ExecutionError::IndexOutOfBounds(index) => format!("index out of range: {}", plain(index)),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::DuplicateKey(key) => format!("the key {} comes twice in a map", plain(key)),
        ExecutionError::FunctionError { function, message } => format!("{function}: {message}"),
        ExecutionError::NoSuchOverload(overload) => {
            let name = operator(overload.function());
            let types = overload.argument_types();
            match types {
                [target, rest @ ..] if overload.is_member_function() => {
                    format!("no such overload: {target}.{name}({})", rest.join(", "))
                }
                [left, right] if name != overload.function() => format!("no such overload: {left} {name} {right}"),
                _ => format!("no such overload: {name}({})", types.join(", ")),
            }
        }
        ExecutionError::UnsupportedBinaryOperator(operator, left, right) => {
            format!("no such overload: {} {operator} {}", left.type_of(), right.type_of())
        }
        ExecutionError::UnexpectedType { got, want } => format!("expected {want}, found {got}"),
        other => other.to_string(),
    }
}

fn plain(value: &cel::Value) -> String {
    match value {
        cel::Value::Int(value) => value.to_string(),
        cel::Value::UInt(value) => value.to_string(),
        cel::Value::String(value) => format!("{value:?}"),
        other => format!("{other:?}"),
    }
}

/// How an operator is written: `_+_` is `+`.
pub(crate) fn operator(function: &str) -> &str {
    match function {
        "@in" => "in",
        "_[_]" | "_[?_]" => "[]",
        "_._" | "_?._" => ".",
        "_?_:_" => "?:",
        "!_" => "!",
        "-_" => "-",
        _ => function.strip_prefix('_').and_then(|rest| rest.strip_suffix('_')).unwrap_or(function),
    }
}
