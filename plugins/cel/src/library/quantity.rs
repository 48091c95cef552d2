//! Quantities of Kubernetes: `quantity("1.5Gi")` and what can be asked of one.
//!
//! A quantity is a whole number of billionths, as apimachinery's `resource.Quantity` keeps what is not larger: amounts
//! beyond that are refused here where Kubernetes switches to numbers without a bound.

use std::any::Any;
use std::cmp::Ordering;

use cel::ExecutionError;
use cel::common::traits::Comparer;
use cel::common::types::{CelBool, CelDouble, CelInt, INT_TYPE, STRING_TYPE, Type};
use cel::common::value::{CowVal, StaticVal, Val};

use super::{Add, Args, Given, arg, text};

pub(super) static TYPE: Type = Type::new_unspecified_type("quantity");

/// An amount, in billionths.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Quantity(i128);

const BILLION: i128 = 1_000_000_000;

pub(super) fn add(add: &mut Add) {
    let of = || TYPE.to_owned();
    add.function("quantity", vec![STRING_TYPE], |args| {
        Ok(CowVal::owned(Quantity::parse(text(&args, 0)?).map_err(failed)?))
    });
    add.function("isQuantity", vec![STRING_TYPE], |args| bool(Quantity::parse(text(&args, 0)?).is_ok()));
    add.member("add", of(), vec![of()], |args| sum(&args, 1));
    add.member("add", of(), vec![INT_TYPE], |args| sum(&args, 1));
    add.member("sub", of(), vec![of()], |args| sum(&args, -1));
    add.member("sub", of(), vec![INT_TYPE], |args| sum(&args, -1));
    add.member("compareTo", of(), vec![of()], |args| int(order(&args)? as i64));
    add.member("isGreaterThan", of(), vec![of()], |args| bool(order(&args)? == Ordering::Greater));
    add.member("isLessThan", of(), vec![of()], |args| bool(order(&args)? == Ordering::Less));
    add.function("sign", vec![of()], |args| int(this(&args)?.0.signum() as i64));
    add.member("sign", of(), vec![], |args| int(this(&args)?.0.signum() as i64));
    add.member("isInteger", of(), vec![], |args| bool(this(&args)?.whole().is_some()));
    add.member("asInteger", of(), vec![], |args| {
        let whole = this(&args)?.whole();
        int(whole
            .ok_or_else(|| ExecutionError::function_error("asInteger", "the quantity is no whole number of 64 bits"))?)
    });
    add.member("asApproximateFloat", of(), vec![], |args| {
        let amount = this(&args)?.0;
        let is_whole = amount % BILLION == 0;
        let double = if is_whole { (amount / BILLION) as f64 } else { amount as f64 / BILLION as f64 };
        Ok(CowVal::owned(CelDouble::from(double)))
    });
}

fn failed(message: String) -> ExecutionError {
    ExecutionError::function_error("quantity", message)
}

fn bool<'b, 'v>(value: bool) -> Given<'b, 'v> {
    Ok(CowVal::owned(CelBool::from(value)))
}

fn int<'b, 'v>(value: i64) -> Given<'b, 'v> {
    Ok(CowVal::owned(CelInt::from(value)))
}

fn this<'a>(args: &'a Args<'_, '_>) -> Result<&'a Quantity, ExecutionError> {
    arg(args, 0)
}

fn sum<'b, 'v>(args: &Args<'b, 'v>, sign: i128) -> Given<'b, 'v> {
    let other = match arg::<CelInt>(args, 1) {
        Ok(whole) => i128::from(*whole.inner()) * BILLION,
        Err(_) => arg::<Quantity>(args, 1)?.0,
    };
    let sum = other.checked_mul(sign).and_then(|other| this(args).ok()?.0.checked_add(other));
    let sum = sum.ok_or_else(|| failed("the sum is too large".to_owned()))?;
    Ok(CowVal::owned(Quantity(sum)))
}

fn order(args: &Args<'_, '_>) -> Result<Ordering, ExecutionError> {
    Ok(this(args)?.cmp(arg::<Quantity>(args, 1)?))
}

// === impl Quantity ===

impl Quantity {
    /// Reads a number with a suffix: none, `n`, `u`, `m`, `k`, `M` … `E`, `Ki` … `Ei`, or an exponent of ten.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no quantity; write a number with a suffix, such as 500m, 2 or 1.5Gi");
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(wrong());
        }
        let (base, power) = scale(suffix).ok_or_else(wrong)?;
        let amount = amount(whole, fraction, base, power).ok_or_else(|| format!("{text:?} is too large a quantity"))?;
        Ok(Self(if text.starts_with('-') { -amount } else { amount }))
    }

    fn whole(&self) -> Option<i64> {
        if self.0 % BILLION == 0 { i64::try_from(self.0 / BILLION).ok() } else { None }
    }

    /// As text, in the largest unit that it is whole in.
    pub(crate) fn shown(&self) -> String {
        if self.0 % BILLION == 0 {
            return (self.0 / BILLION).to_string();
        }
        let units = [(1_000_000, "m"), (1_000, "u"), (1, "n")];
        let (unit, suffix) = units.into_iter().find(|(unit, _)| self.0 % unit == 0).unwrap_or((1, "n"));
        format!("{}{suffix}", self.0 / unit)
    }
}

/// The base and the power that a suffix multiplies by.
fn scale(suffix: &str) -> Option<(i128, i32)> {
    let scale = match suffix {
        "" => (10, 0),
        "n" => (10, -9),
        "u" => (10, -6),
        "m" => (10, -3),
        "k" => (10, 3),
        "M" => (10, 6),
        "G" => (10, 9),
        "T" => (10, 12),
        "P" => (10, 15),
        "E" => (10, 18),
        "Ki" => (1024, 1),
        "Mi" => (1024, 2),
        "Gi" => (1024, 3),
        "Ti" => (1024, 4),
        "Pi" => (1024, 5),
        "Ei" => (1024, 6),
        _ => {
            let digits = suffix.strip_prefix(['e', 'E'])?;
            let plain = digits.strip_prefix(['+', '-']).unwrap_or(digits);
            if plain.is_empty() || !plain.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            // One that large or small is so whatever the number.
            (10, digits.parse().unwrap_or(if digits.starts_with('-') { -1000 } else { 1000 }))
        }
    };
    Some(scale)
}

/// Billionths of `whole.fraction` times `base` to the `power`, rounded up as Kubernetes does. None where it is too large.
fn amount(whole: &str, fraction: &str, base: i128, power: i32) -> Option<i128> {
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let mut amount: i128 = if digits.is_empty() { return Some(0) } else { digits.parse().ok()? };
    let mut tens = 9 - i32::try_from(fraction.len()).ok()?;
    if base == 10 {
        tens = tens.checked_add(power)?;
    } else {
        amount = amount.checked_mul(base.checked_pow(u32::try_from(power).ok()?)?)?;
    }
    if tens >= 0 {
        return amount.checked_mul(10_i128.checked_pow(tens.unsigned_abs())?);
    }
    let unit = 10_i128.checked_pow(tens.unsigned_abs());
    Some(unit.map_or(1, |unit| amount / unit + i128::from(amount % unit > 0)))
}

impl Val for Quantity {
    fn get_type(&self) -> &Type {
        &TYPE
    }

    fn cel_type() -> &'static Type {
        &TYPE
    }

    fn as_comparer(&self) -> Option<&dyn Comparer> {
        Some(self)
    }

    fn equals(&self, other: &dyn Val) -> bool {
        other.downcast_ref::<Self>() == Some(self)
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v>
    where
        Self: 'v,
    {
        Box::new(self.clone())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for Quantity {}

/// For `sort()`: an expression compares with `compareTo`, as in Kubernetes, which the checker sees to.
impl Comparer for Quantity {
    fn compare(&self, other: &dyn Val) -> Result<Ordering, ExecutionError> {
        let other = other.downcast_ref::<Self>();
        other.map(|other| self.cmp(other)).ok_or_else(|| failed("it is compared with what is no quantity".to_owned()))
    }
}
