//! How much of a call one cluster or object may take: so many elements of lists and maps for its comprehensions to go over.
//! Nothing else in an expression of bounded length takes long. Fuel bounds the call as a whole, but where it ends nobody can
//! say any more which part of which expression used it up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cel::ExecutionError;
use cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, LiteralValue};
use cel::common::types::{CelInt, DYN_TYPE, INT_TYPE, Type};

use super::opaque::value;
use super::{Add, Args, Given, arg};
use crate::source::Source;

/// The variable that holds a [`Budget`].
pub(crate) const VARIABLE: &str = "@budget";
/// The call that takes from it: of the budget, the node of the comprehension, and its range.
const OVER: &str = "@over";
/// Fuel that a policy has if it does not say otherwise (docs/plugins.md, limits).
const DEFAULT_FUEL: u64 = 1_000_000_000;
/// About what an element costs whose comprehension does next to nothing with it.
const FUEL_OF_ELEMENT: u64 = 10_000;

static TYPE: Type = Type::new_unspecified_type(VARIABLE);

/// Elements that one cluster or object may still take.
#[derive(Clone, Debug)]
pub(crate) struct Budget(Arc<AtomicU64>);

value!(Budget);

pub(super) fn add(add: &mut Add) {
    add.function(OVER, vec![TYPE.to_owned(), INT_TYPE, DYN_TYPE], over);
}

/// The elements of a policy that may take this much fuel.
pub(crate) fn elements(fuel: Option<u64>) -> u64 {
    (fuel.unwrap_or(DEFAULT_FUEL) / FUEL_OF_ELEMENT).max(1)
}

/// Has what comprehension `id` goes over counted before it begins. The one that `cel.bind` is made of goes over nothing.
pub(crate) fn count(id: u64, comprehension: &mut ComprehensionExpr) {
    if is_bind(comprehension) {
        return;
    }
    let range = std::mem::take(&mut comprehension.iter_range);
    let node = |expr| IdedExpr { id: 0, expr };
    let number = i64::try_from(id).unwrap_or_default();
    let args =
        vec![node(Expr::Ident(VARIABLE.to_owned())), node(Expr::Literal(LiteralValue::Int(number.into()))), range];
    let id = args[2].id;
    comprehension.iter_range =
        IdedExpr { id, expr: Expr::Call(CallExpr { func_name: OVER.to_owned(), target: None, args }) };
}

/// Whether a comprehension is one that `cel.bind` is made of.
pub(crate) fn is_bind(comprehension: &ComprehensionExpr) -> bool {
    matches!(&comprehension.iter_range.expr, Expr::List(list) if list.elements.is_empty())
}

/// What a comprehension goes over, as it was written.
pub(crate) fn range(comprehension: &ComprehensionExpr) -> &IdedExpr {
    match &comprehension.iter_range.expr {
        Expr::Call(call) if call.func_name == OVER => &call.args[2],
        _ => &comprehension.iter_range,
    }
}

/// Which part of `source` the budget ended at, if that is the error.
pub(crate) fn spent(error: &ExecutionError, source: &Source) -> Option<String> {
    let ExecutionError::FunctionError { function, message } = error else { return None };
    let id = (function == OVER).then(|| message.parse().ok())??;
    let place = source.problem(id, String::new());
    let written = crate::scope::cut(source.written(id));
    Some(format!(
        "it goes over too many elements for one cluster or object, in {written} at line {}, column {}; \
         limits.fuel says how many there may be",
        place.line, place.column
    ))
}

fn over<'b, 'v>(mut args: Args<'b, 'v>) -> Given<'b, 'v> {
    let budget: &Budget = arg(&args, 0)?;
    let elements = args[2].as_sizer().map_or(0, |sizer| *sizer.size().inner());
    if budget.take(u64::try_from(elements).unwrap_or_default()) {
        return Ok(args.remove(2));
    }
    let node: &CelInt = arg(&args, 1)?;
    Err(ExecutionError::function_error(OVER, node.inner().to_string()))
}

// === impl Budget ===

impl Budget {
    pub(crate) fn new(elements: u64) -> Self {
        Self(Arc::new(AtomicU64::new(elements)))
    }

    /// Whether so many are left. If not, nothing more is.
    fn take(&self, elements: u64) -> bool {
        let left = self.0.load(Ordering::Relaxed);
        self.0.store(left.saturating_sub(elements), Ordering::Relaxed);
        elements <= left
    }
}

impl PartialEq for Budget {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
