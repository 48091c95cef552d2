//! `string.format(list)` as Kubernetes has it: the second version of cel-go's strings, which writes numbers of `%f` and `%e` as
//! people do (`1,234.5`, `1.5×10⁰³`), what stands in lists as literals, and gives `%d` to whole numbers alone.

use cel::ExecutionError;
use cel::common::types::{
    CelBool, CelBytes, CelDouble, CelDuration, CelInt, CelNull, CelString, CelTimestamp, CelType, CelUInt, Kind,
    LIST_TYPE, STRING_TYPE,
};
use cel::common::value::{CowVal, Val};

use super::conversions::{by_crate, general, span};
use super::plain::elements;
use super::{Add, Args, Given, text};

/// The most digits behind the point.
const MAX_PRECISION: usize = 1000;

/// What stands for one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clause {
    /// One of `s d f e b x X o`.
    pub(crate) verb: char,
    precision: usize,
}

/// A part of a format.
enum Part<'a> {
    Text(&'a str),
    Clause(Clause),
}

pub(super) fn add(add: &mut Add) {
    add.member("@format", STRING_TYPE, vec![LIST_TYPE], format);
}

fn format<'b, 'v>(args: Args<'b, 'v>) -> Given<'b, 'v> {
    let failed = |message: String| ExecutionError::function_error("format", message);
    let mut given = elements(args[1].as_ref())?.into_iter();
    let mut written = String::new();
    for part in parts(text(&args, 0)?).map_err(failed)? {
        match part {
            Part::Text(text) => written.push_str(text),
            Part::Clause(clause) => {
                let value = given.next().ok_or_else(|| failed(format!("there is nothing for %{}", clause.verb)))?;
                written.push_str(&clause.format(value.as_ref())?);
            }
        }
    }
    Ok(CowVal::owned(CelString::from(written)))
}

/// The clauses of a format, in their order.
pub(crate) fn clauses(format: &str) -> Result<Vec<Clause>, String> {
    let clause = |part| if let Part::Clause(clause) = part { Some(clause) } else { None };
    Ok(parts(format)?.into_iter().filter_map(clause).collect())
}

fn parts(format: &str) -> Result<Vec<Part<'_>>, String> {
    let (mut parts, mut rest) = (Vec::new(), format);
    while let Some((before, after)) = rest.split_once('%') {
        parts.push(Part::Text(before));
        if let Some(after) = after.strip_prefix('%') {
            parts.push(Part::Text("%"));
            rest = after;
            continue;
        }
        let (precision, after) = match after.strip_prefix('.') {
            Some(digits) => {
                let (digits, after) =
                    digits.split_at(digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len()));
                let precision = digits.parse().ok().filter(|precision| *precision <= MAX_PRECISION);
                (precision.ok_or_else(|| format!("%.{digits} is no precision; {MAX_PRECISION} is the most"))?, after)
            }
            None => (6, after),
        };
        let verb = after.chars().next().ok_or("nothing follows the last %")?;
        if !"sdfebxXo".contains(verb) {
            return Err(format!("%{verb} is unknown; there are %s %d %f %e %b %x %X %o"));
        }
        parts.push(Part::Clause(Clause { verb, precision }));
        rest = &after[1..];
    }
    parts.push(Part::Text(rest));
    Ok(parts)
}

// === impl Clause ===

impl Clause {
    fn format(self, value: &dyn Val) -> Result<String, ExecutionError> {
        let int = value.downcast_ref::<CelInt>().map(|int| *int.inner());
        let uint = value.downcast_ref::<CelUInt>().map(|uint| *uint.inner());
        let whole = int.map(|int| (if int < 0 { "-" } else { "" }, int.unsigned_abs())).or(uint.map(|uint| ("", uint)));
        let double = value.downcast_ref::<CelDouble>().map(|double| *double.inner());
        let bytes = value.downcast_ref::<CelBytes<'_>>().map(|bytes| bytes.inner().to_vec());
        let bytes =
            bytes.or_else(|| value.downcast_ref::<CelString<'_>>().map(|text| text.inner().as_bytes().to_vec()));
        let bit = value.downcast_ref::<CelBool>().map(|bool| u8::from(*bool.inner()).to_string());
        let formatted = match self.verb {
            's' => return shown(value),
            'd' => whole.map(|(sign, amount)| format!("{sign}{amount}")),
            'o' => whole.map(|(sign, amount)| format!("{sign}{amount:o}")),
            'b' => whole.map(|(sign, amount)| format!("{sign}{amount:b}")).or(bit),
            'f' => double.map(|double| fixed(double, self.precision)),
            'e' => double.map(scientific),
            _ => whole.map(|(sign, amount)| format!("{sign}{amount:x}")).or_else(|| bytes.map(|bytes| hex(&bytes))),
        };
        let formatted = formatted.map(|text| if self.verb == 'X' { text.to_uppercase() } else { text });
        formatted.ok_or_else(|| wrong(&format!("%{}", self.verb), value))
    }
}

fn wrong(clause: &str, value: &dyn Val) -> ExecutionError {
    ExecutionError::function_error("format", format!("{clause} does not take {}", value.get_type().name()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn shown(value: &dyn Val) -> Result<String, ExecutionError> {
    if let Some(container) = container(value)? {
        return Ok(container);
    }
    if value.downcast_ref::<CelNull>().is_some() {
        return Ok("null".to_owned());
    }
    if let Some(of) = value.downcast_ref::<CelType>() {
        return Ok(of.name().to_owned());
    }
    if let Some(double) = value.downcast_ref::<CelDouble>() {
        return Ok(general(*double.inner()));
    }
    if let Some(of) = value.downcast_ref::<CelDuration>() {
        return Ok(span(of));
    }
    match value.get_type().kind() {
        Kind::Boolean | Kind::Int | Kind::UInt | Kind::String | Kind::Bytes | Kind::Timestamp => {
            let made = by_crate("string", vec![CowVal::Owned(value.clone_as_boxed())])?;
            Ok(made.downcast_ref::<CelString<'_>>().map(|text| text.inner().to_owned()).unwrap_or_default())
        }
        _ => Err(wrong("%s", value)),
    }
}

/// A list or a map.
fn container(value: &dyn Val) -> Result<Option<String>, ExecutionError> {
    match value.get_type().kind() {
        Kind::List => {
            let all: Vec<String> =
                elements(value)?.iter().map(|element| literal(element.as_ref())).collect::<Result<_, _>>()?;
            Ok(Some(format!("[{}]", all.join(", "))))
        }
        Kind::Map => {
            let Some(fields) = value.as_indexer() else { return Ok(None) };
            let mut all = Vec::new();
            for key in elements(value)? {
                all.push(format!("{}:{}", literal(key.as_ref())?, literal(fields.get(key.as_ref())?.as_ref())?));
            }
            all.sort();
            Ok(Some(format!("{{{}}}", all.join(", "))))
        }
        _ => Ok(None),
    }
}

/// What stands in a list or a map.
fn literal(value: &dyn Val) -> Result<String, ExecutionError> {
    let text = shown(value)?;
    if let Some(double) = value.downcast_ref::<CelDouble>() {
        let double = *double.inner();
        return Ok(if double.is_finite() { format!("{double:.6}") } else { quoted(&text) });
    }
    Ok(match value.get_type().kind() {
        Kind::String => quoted(&text),
        Kind::Bytes => format!("b{}", quoted(&text)),
        _ if value.downcast_ref::<CelTimestamp>().is_some() => format!("timestamp({})", quoted(&text)),
        _ if value.downcast_ref::<CelDuration>().is_some() => format!("duration({})", quoted(&text)),
        _ => text,
    })
}

/// A text in double quotes, as Go writes it.
fn quoted(text: &str) -> String {
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        '\u{7}' => "\\a".to_owned(),
        '\u{8}' => "\\b".to_owned(),
        '\u{b}' => "\\v".to_owned(),
        '\u{c}' => "\\f".to_owned(),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        c if c.is_ascii_control() => format!("\\x{:02x}", c as u32),
        c if c.is_control() => format!("\\u{:04x}", c as u32),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

/// With commas between thousands.
fn fixed(double: f64, precision: usize) -> String {
    if let Some(word) = word(double) {
        return word;
    }
    let text = format!("{double:.precision$}");
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let digits = whole.trim_start_matches('-');
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{}{grouped}{fraction}", if whole.starts_with('-') { "-" } else { "" })
}

/// Always six digits behind the point: Kubernetes takes the precision for a width.
fn scientific(double: f64) -> String {
    if let Some(word) = word(double) {
        return word;
    }
    let text = format!("{double:.6e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let raised = |c: char| c.to_digit(10).and_then(|digit| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit as usize)).unwrap_or(c);
    let raised: String = format!("{:02}", exponent.unsigned_abs()).chars().map(raised).collect();
    format!("{digits}×10{}{raised}", if exponent < 0 { "⁻" } else { "" })
}

fn word(double: f64) -> Option<String> {
    let sign = if double < 0.0 { "-" } else { "" };
    if double.is_nan() { Some("NaN".to_owned()) } else { double.is_infinite().then(|| format!("{sign}∞")) }
}
