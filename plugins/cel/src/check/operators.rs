//! What operators take and give, as cel-go's standard library has them.

use cel::common::ast::operators::{
    ADD, DIVIDE, EQUALS, GREATER, GREATER_EQUALS, IN, INDEX, LESS, LESS_EQUALS, LOGICAL_AND, LOGICAL_NOT, LOGICAL_OR,
    MODULO, MULTIPLY, NEGATE, NOT_EQUALS, NOT_STRICTLY_FALSE, OPT_INDEX, SUBSTRACT,
};

use super::types::{Bound, Type};

/// What the operator gives; none where it does not take these operands; and none within for what is no operator.
pub(super) fn result(function: &str, operands: &[Type]) -> Option<Option<Type>> {
    let result = match (function, operands) {
        (ADD | SUBSTRACT | MULTIPLY | DIVIDE | MODULO, [left, right]) => {
            arithmetic(function, left.not_null(), right.not_null())
        }
        (LESS | LESS_EQUALS | GREATER | GREATER_EQUALS, [left, right]) => {
            is_ordered(left.not_null(), right.not_null()).then_some(Type::Bool)
        }
        (EQUALS | NOT_EQUALS | "@equals" | "@differs", [left, right]) => {
            are_comparable(left, right).then_some(Type::Bool)
        }
        (LOGICAL_AND | LOGICAL_OR, [left, right]) => (is_bool(left) && is_bool(right)).then_some(Type::Bool),
        (LOGICAL_NOT, [of]) => is_bool(of).then_some(Type::Bool),
        (NOT_STRICTLY_FALSE, [_]) => Some(Type::Bool),
        (NEGATE, [of]) => matches!(of.not_null(), Type::Int | Type::Double | Type::Dyn).then(|| of.not_null().clone()),
        (IN, [element, container]) => contains(container.not_null(), element).then_some(Type::Bool),
        (INDEX, [container, index]) => element(container.not_null(), index.not_null()),
        (OPT_INDEX, [container, index]) => {
            let inner = if let Type::Optional(of) = container { of } else { container.not_null() };
            element(inner, index.not_null()).map(|of| Type::Optional(Box::new(of)))
        }
        _ => return None,
    };
    Some(result)
}

fn is_bool(of: &Type) -> bool {
    Type::Bool.takes(of, &mut Bound::new())
}

fn arithmetic(function: &str, left: &Type, right: &Type) -> Option<Type> {
    use Type::{Bytes, Double, Duration, Int, List, Text, Timestamp, Uint};
    match (function, left, right) {
        (_, left, right) if left.is_dyn() || right.is_dyn() => dyn_result(function, left, right),
        (_, Int, Int) => Some(Int),
        (_, Uint, Uint) => Some(Uint),
        (ADD | SUBSTRACT | MULTIPLY | DIVIDE, Double, Double) => Some(Double),
        (ADD, Text, Text) => Some(Text),
        (ADD, Bytes, Bytes) => Some(Bytes),
        (ADD, List(_), List(_)) if left.takes(right, &mut Bound::new()) => left.joined(right),
        (ADD | SUBSTRACT, Duration, Duration) => Some(Duration),
        (ADD | SUBSTRACT, Timestamp, Duration) | (ADD, Duration, Timestamp) => Some(Timestamp),
        (SUBSTRACT, Timestamp, Timestamp) => Some(Duration),
        _ => None,
    }
}

/// A number with something unknown is that number, as the operator takes nothing else. None where it takes no such thing.
fn dyn_result(function: &str, left: &Type, right: &Type) -> Option<Type> {
    use Type::{Bytes, Double, Duration, Int, List, Text, Timestamp, Uint};
    let known = if left.is_dyn() { right } else { left };
    match (function, known) {
        (_, known) if known.is_dyn() => Some(Type::Dyn),
        (_, Int | Uint) => Some(known.clone()),
        (ADD | SUBSTRACT | MULTIPLY | DIVIDE, Double) | (ADD, Text | List(_) | Bytes) => Some(known.clone()),
        (ADD | SUBSTRACT, Duration | Timestamp) => Some(Type::Dyn),
        _ => None,
    }
}

fn is_ordered(left: &Type, right: &Type) -> bool {
    let is_ordered = |of: &Type| {
        of.is_dyn()
            || of.is_number()
            || matches!(of, Type::Text | Type::Bool | Type::Bytes | Type::Timestamp | Type::Duration)
    };
    let are_numbers = left.is_number() && right.is_number();
    is_ordered(left) && is_ordered(right) && (are_numbers || left.takes(right, &mut Bound::new()))
}

/// Whether the two can be equal. Only what may be null is compared with null.
fn are_comparable(left: &Type, right: &Type) -> bool {
    match (left, right) {
        (Type::Null, Type::Nullable(_) | Type::Null) | (Type::Nullable(_), Type::Null) => true,
        (Type::Null, other) | (other, Type::Null) => other.is_dyn(),
        (left, right) => {
            let (left, right) = (left.not_null(), right.not_null());
            left.takes(right, &mut Bound::new()) || right.takes(left, &mut Bound::new())
        }
    }
}

fn contains(container: &Type, element: &Type) -> bool {
    match container {
        Type::List(of) => are_comparable(of, element),
        Type::Map(key, _) => are_comparable(key, element),
        Type::Object(_) | Type::Fields(_) => Type::Text.takes(element, &mut Bound::new()),
        other => other.is_dyn(),
    }
}

/// What stands at `index`.
fn element(container: &Type, index: &Type) -> Option<Type> {
    let is_place = index.is_dyn() || matches!(index, Type::Int);
    match container {
        Type::List(of) => is_place.then(|| (**of).clone()),
        Type::Map(key, value) => key.takes(index, &mut Bound::new()).then(|| (**value).clone()),
        Type::Object(_) | Type::Fields(_) => Type::Text.takes(index, &mut Bound::new()).then_some(Type::Dyn),
        Type::Optional(of) => element(of, index).map(|of| Type::Optional(Box::new(of))),
        other => other.is_dyn().then_some(Type::Dyn),
    }
}
