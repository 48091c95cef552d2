//! What is written out in an expression can be proved before anything is evaluated: literals that no function takes, and
//! formats. Kubernetes refuses these, too.

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue};

use super::Walk;
use crate::check::types::Type;
use crate::library::{conversions, format, regular};
use crate::render;

impl<'a> Walk<'a> {
    /// What is written out and no function takes need not wait until it is evaluated. Kubernetes refuses it, too.
    pub(super) fn literals(&mut self, call: &'a CallExpr) {
        let wrong = match (&call.target, call.args.as_slice(), call.func_name.as_str()) {
            (Some(_), [pattern, ..], "matches" | "find" | "findAll") | (None, [_, pattern], "matches") => {
                literal_text(pattern).and_then(|text| Some((pattern, regular::compiled(text).err()?)))
            }
            (None, [of], name) if is_conversion(name) && is_constant(of) => {
                conversions::convert(name, of).err().map(|error| (of, error))
            }
            _ => None,
        };
        if let Some((part, error)) = wrong {
            self.wrong(part.id, render::error(&error));
        }
    }

    /// A format that is written out has a clause for each argument that is, and each takes its argument's type.
    pub(super) fn clauses(&mut self, call: &'a CallExpr) {
        let (Some(format), [list]) = (call.target.as_deref().and_then(literal_text), call.args.as_slice()) else {
            return;
        };
        let Expr::List(list) = &list.expr else { return };
        if call.func_name != "@format" {
            return;
        }
        let clauses = match format::clauses(format) {
            Ok(clauses) => clauses,
            Err(message) => return drop(self.wrong(call.args[0].id, message)),
        };
        if clauses.len() != list.elements.len() {
            let message =
                format!("the format has {} clauses, and {} arguments are given", clauses.len(), list.elements.len());
            return drop(self.wrong(call.args[0].id, message));
        }
        for (clause, argument) in clauses.iter().zip(&list.elements) {
            let of = self.expression(argument);
            let takes = match (clause.verb, of.not_null()) {
                (_, of) if of.is_dyn() => true,
                ('s', of) => !matches!(of, Type::Opaque(_) | Type::Optional(_)),
                ('d' | 'o', of) => matches!(of, Type::Int | Type::Uint),
                ('b', of) => matches!(of, Type::Int | Type::Uint | Type::Bool),
                ('f' | 'e', of) => matches!(of, Type::Double),
                (_, of) => matches!(of, Type::Int | Type::Uint | Type::Text | Type::Bytes),
            };
            if !takes {
                self.wrong(argument.id, format!("%{} does not take {of}", clause.verb));
            }
        }
    }
}

/// Whether a member of lists takes elements of this type: what is summed is a number, what is compared has an order.
pub(super) fn takes_elements(member: &str, of: &Type) -> bool {
    let of = of.not_null();
    match member {
        _ if of.is_dyn() => true,
        "sum" => of.is_number() || matches!(of, Type::Duration),
        "min" | "max" | "isSorted" | "sort" | "@sortByAssociatedKeys" => {
            let has_order = matches!(of, Type::Bool | Type::Text | Type::Bytes | Type::Timestamp | Type::Duration);
            of.is_number() || has_order || (member == "sort" && matches!(of, Type::Opaque(_)))
        }
        _ => true,
    }
}

fn is_conversion(function: &str) -> bool {
    function.strip_prefix('@').is_some_and(|name| conversions::REPLACED.contains(&name))
}

/// Whether it is a literal, or a conversion of one.
fn is_constant(expression: &IdedExpr) -> bool {
    match &expression.expr {
        Expr::Literal(_) => true,
        Expr::Call(call) => is_conversion(&call.func_name) && matches!(call.args.as_slice(), [of] if is_constant(of)),
        _ => false,
    }
}

fn literal_text(expression: &IdedExpr) -> Option<&str> {
    match &expression.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
        _ => None,
    }
}
