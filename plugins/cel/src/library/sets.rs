//! Lists as sets, and what Kubernetes has for lists: `isSorted`, `sum`, `min`, `max`, `indexOf`, `lastIndexOf`; `first` and
//! `last` give an optional, as in cel-go.

use std::cmp::Ordering;

use cel::ExecutionError;
use cel::common::types::{CelBool, CelDuration, CelInt, CelOptional, DYN_TYPE, LIST_TYPE};
use cel::common::value::{CowVal, Val};

use super::plain::elements;
use super::{Add, Args, Given};
use crate::data::equal;

type Element<'v> = Box<dyn Val + 'v>;

pub(super) fn add(add: &mut Add) {
    add.function("sets.contains", vec![LIST_TYPE, LIST_TYPE], |args| bool(contains(&args, 0, 1)?));
    add.function("sets.equivalent", vec![LIST_TYPE, LIST_TYPE], |args| {
        bool(contains(&args, 0, 1)? && contains(&args, 1, 0)?)
    });
    add.function("sets.intersects", vec![LIST_TYPE, LIST_TYPE], |args| {
        let (left, right) = (list(&args, 0)?, list(&args, 1)?);
        bool(left.iter().any(|element| holds(&right, element.as_ref())))
    });
    add.member("isSorted", LIST_TYPE, vec![], is_sorted);
    add.member("sum", LIST_TYPE, vec![], sum);
    add.member("min", LIST_TYPE, vec![], |args| extreme(&args, "min", Ordering::Less));
    add.member("max", LIST_TYPE, vec![], |args| extreme(&args, "max", Ordering::Greater));
    add.member("indexOf", LIST_TYPE, vec![DYN_TYPE], |args| {
        place(list(&args, 0)?.iter().position(|element| equal(element.as_ref(), args[1].as_ref())))
    });
    add.member("lastIndexOf", LIST_TYPE, vec![DYN_TYPE], |args| {
        place(list(&args, 0)?.iter().rposition(|element| equal(element.as_ref(), args[1].as_ref())))
    });
    add.member("first", LIST_TYPE, vec![], |args| {
        Ok(CowVal::owned(CelOptional::from(list(&args, 0)?.into_iter().next())))
    });
    add.member("last", LIST_TYPE, vec![], |args| Ok(CowVal::owned(CelOptional::from(list(&args, 0)?.pop()))));
}

fn list<'v>(args: &Args<'_, 'v>, at: usize) -> Result<Vec<Element<'v>>, ExecutionError> {
    elements(args[at].as_ref())
}

fn holds(list: &[Element<'_>], value: &dyn Val) -> bool {
    list.iter().any(|element| equal(element.as_ref(), value))
}

/// Whether the list at `whole` has all that the one at `part` has.
fn contains(args: &Args<'_, '_>, whole: usize, part: usize) -> Result<bool, ExecutionError> {
    let whole = list(args, whole)?;
    Ok(list(args, part)?.iter().all(|element| holds(&whole, element.as_ref())))
}

fn bool<'b, 'v>(value: bool) -> Given<'b, 'v> {
    Ok(CowVal::owned(CelBool::from(value)))
}

fn place<'b, 'v>(at: Option<usize>) -> Given<'b, 'v> {
    Ok(CowVal::owned(CelInt::from(at.map_or(-1, |at| at as i64))))
}

/// The order of two values. None of those that have none between them, as a number and NaN, which Kubernetes passes over.
fn compare(a: &dyn Val, b: &dyn Val) -> Result<Option<Ordering>, ExecutionError> {
    let has_order = |value: &dyn Val| if value.as_comparer().is_some() { Ok(()) } else { Err(unordered(value)) };
    has_order(b)?;
    has_order(a)?;
    Ok(a.as_comparer().and_then(|comparer| comparer.compare(b).ok()))
}

fn unordered(value: &dyn Val) -> ExecutionError {
    ExecutionError::function_error("list", format!("elements that cannot be compared: {}", crate::render::short(value)))
}

fn is_sorted<'b, 'v>(args: Args<'b, 'v>) -> Given<'b, 'v> {
    let list = list(&args, 0)?;
    for pair in list.windows(2) {
        if compare(pair[0].as_ref(), pair[1].as_ref())? == Some(Ordering::Greater) {
            return bool(false);
        }
    }
    bool(true)
}

/// The sum of numbers or durations of one type; of no elements it is 0.
fn sum<'b, 'v>(args: Args<'b, 'v>) -> Given<'b, 'v> {
    let mut list = list(&args, 0)?.into_iter();
    let Some(mut sum) = list.next() else { return Ok(CowVal::owned(CelInt::from(0))) };
    let adds = |value: &dyn Val| {
        ["int", "uint", "double"].contains(&value.get_type().name()) || value.downcast_ref::<CelDuration>().is_some()
    };
    if !adds(sum.as_ref()) {
        return Err(ExecutionError::function_error(
            "sum",
            format!("no number: {}", crate::render::short(sum.as_ref())),
        ));
    }
    for element in list {
        let adder = sum.as_adder().ok_or_else(|| unordered(element.as_ref()))?;
        let next = adder.add(element.as_ref())?.into_owned();
        sum = next;
    }
    Ok(CowVal::Owned(sum))
}

fn extreme<'b, 'v>(args: &Args<'b, 'v>, name: &str, wanted: Ordering) -> Given<'b, 'v> {
    let mut list = list(args, 0)?.into_iter();
    let none = || ExecutionError::function_error(name, "the list is empty");
    let mut found = list.next().ok_or_else(none)?;
    found.as_comparer().ok_or_else(|| unordered(found.as_ref()))?;
    for element in list {
        if compare(element.as_ref(), found.as_ref())? == Some(wanted) {
            found = element;
        }
    }
    Ok(CowVal::Owned(found))
}
