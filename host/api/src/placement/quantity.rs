use serde_json::Value;

/// A text or number that is no Kubernetes quantity, or one below zero.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{what} is {written}, which is no quantity; write it as 500m, 2 or 1Gi")]
pub struct QuantityError {
    what: String,
    written: String,
}

/// More digits than this stand in no quantity that anybody means.
const DIGITS_MAX: usize = 24;

/// Decimal exponents beyond this are none that anybody means.
const EXPONENT_MAX: u32 = 30;

/// Thousandths of `value`, which is called `what` in errors; rounded up, as upstream's `MilliValue`.
pub(super) fn milli(what: &str, value: &Value) -> Result<u64, QuantityError> {
    read(what, value, 1000)
}

/// `value` in whole units, rounded up, as upstream's `Value`.
pub(super) fn whole(what: &str, value: &Value) -> Result<u64, QuantityError> {
    read(what, value, 1)
}

fn read(what: &str, value: &Value, parts: u128) -> Result<u64, QuantityError> {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let fail = || QuantityError { what: what.to_owned(), written: value.to_string() };
    parse(&text, parts).ok_or_else(fail)
}

/// `text` times `parts`, rounded up; what is beyond a `u64` is the largest one. The grammar is that of apimachinery's
/// `pkg/api/resource/quantity.go`, without negative numbers.
fn parse(text: &str, parts: u128) -> Option<u64> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let suffix_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(suffix_at);
    let (before, after) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{before}{after}");
    if digits.is_empty() || digits.len() > DIGITS_MAX {
        return None;
    }
    let mantissa: u128 = digits.parse().ok()?;
    let (up, down) = factor(suffix)?;
    let below = 10u128.checked_pow(u32::try_from(after.len()).ok()?)?.checked_mul(down);
    let above = mantissa.checked_mul(parts).and_then(|product| product.checked_mul(up));
    Some(match (above, below) {
        (Some(above), Some(below)) => u64::try_from(above.div_ceil(below)).unwrap_or(u64::MAX),
        (Some(above), None) => u64::from(above > 0),
        (None, _) => u64::MAX,
    })
}

/// What a suffix multiplies by, and divides by.
fn factor(suffix: &str) -> Option<(u128, u128)> {
    const DECIMAL: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    const SMALL: [&str; 3] = ["m", "u", "n"];
    let at = |names: &[&str]| names.iter().position(|name| *name == suffix).and_then(|at| u32::try_from(at).ok());
    if let Some(power) = at(&DECIMAL) {
        return Some((1000u128.pow(power), 1));
    }
    if let Some(power) = at(&BINARY) {
        return Some((1024u128.pow(power + 1), 1));
    }
    if let Some(power) = at(&SMALL) {
        return Some((1, 1000u128.pow(power + 1)));
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    let power = 10u128.pow(exponent.unsigned_abs().min(EXPONENT_MAX));
    Some(if exponent < 0 { (1, power) } else { (power, 1) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn quantities_are_read_as_upstream_reads_them_and_rounded_up() {
        for (written, wanted) in [
            (json!("500m"), 500),
            (json!("1"), 1000),
            (json!(2), 2000),
            (json!(0.5), 500),
            (json!("1.5"), 1500),
            (json!(".5"), 500),
            (json!("5."), 5000),
            (json!("+1"), 1000),
            (json!("100u"), 1),
            (json!("1n"), 1),
            (json!("0"), 0),
            (json!("1e3"), 1_000_000),
            (json!("1E-3"), 1),
            (json!("1k"), 1_000_000),
            (json!("2Ki"), 2_048_000),
        ] {
            assert_eq!(milli("cpu", &written), Ok(wanted), "{written}");
        }
        assert_eq!(whole("memory", &json!("1.5Gi")), Ok(3 << 29));
        assert_eq!(whole("memory", &json!("128974848")), Ok(128_974_848));
        assert_eq!(whole("memory", &json!("100m")), Ok(1));
        assert_eq!(whole("memory", &json!("1E")), Ok(1_000_000_000_000_000_000));
    }

    #[test]
    fn what_is_larger_than_anything_is_the_largest_number() {
        for written in ["99999999999999999999E", "1e30", "999999999999999999999999Ei"] {
            assert_eq!(whole("memory", &json!(written)), Ok(u64::MAX), "{written}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_an_error_that_says_what_it_is_for() {
        for written in [json!("lots"), json!(""), json!("-1"), json!("1 Gi"), json!("1g"), json!("1.2.3"), json!("e3")]
        {
            let error = milli("requests.cpu", &written).unwrap_err().to_string();
            assert_eq!(error, format!("requests.cpu is {written}, which is no quantity; write it as 500m, 2 or 1Gi"));
        }
        assert!(milli("cpu", &json!(null)).is_err());
        assert!(milli("cpu", &json!("1".repeat(25))).is_err());
    }
}
