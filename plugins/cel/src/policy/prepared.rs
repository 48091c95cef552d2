//! What is found in, and changed of, expressions that were read.

use std::collections::BTreeSet;

use cel::common::ast::{EntryExpr, Expr, IdedExpr, operators};

use crate::library::budget;
use crate::library::conversions::{REPLACED, REPLACED_MEMBERS};
use crate::parser::each_child;

/// All names that stand for themselves in an expression.
pub(super) fn names(expression: &IdedExpr, all: &mut BTreeSet<String>) {
    if let Expr::Ident(name) = &expression.expr {
        all.insert(name.trim_start_matches('.').to_owned());
    }
    each_child(&expression.expr, |child| names(child, all));
}

/// Adds the fields of `cluster` that an expression uses; whether these are all that it uses of it.
pub(super) fn cluster_fields(expression: &IdedExpr, fields: &mut BTreeSet<String>) -> bool {
    let is_cluster = |of: &IdedExpr| matches!(&of.expr, Expr::Ident(name) if name == "cluster");
    match &expression.expr {
        Expr::Select(select) if is_cluster(&select.operand) => {
            fields.insert(select.field.clone());
            return true;
        }
        Expr::Call(call) if call.target.as_deref().is_some_and(is_cluster) && call.func_name.starts_with("score") => {
            fields.insert("scores".to_owned());
            return call.args.iter().all(|arg| cluster_fields(arg, fields));
        }
        Expr::Call(call) if call.func_name == "@spread" => {
            fields.insert("labels".to_owned());
            return call.args.iter().skip(2).all(|arg| cluster_fields(arg, fields));
        }
        Expr::Ident(name) => return name.trim_start_matches('.') != "cluster",
        _ => {}
    }
    let mut all = true;
    each_child(&expression.expr, |child| all &= cluster_fields(child, fields));
    all
}

/// Has the elements of comprehensions counted, and makes `==` compare what documents hold with what expressions make (see [`crate::data::equal`]): the evaluator itself
/// asks the left value alone, which is right only beside a number, a text or the like.
pub(super) fn prepare(expression: &mut IdedExpr) {
    let is_scalar = |side: &IdedExpr| matches!(side.expr, Expr::Literal(_));
    if let Expr::Call(call) = &mut expression.expr
        && !call.args.iter().any(is_scalar)
    {
        match call.func_name.as_str() {
            operators::EQUALS => call.func_name = "@equals".to_owned(),
            operators::NOT_EQUALS => call.func_name = "@differs".to_owned(),
            _ => {}
        }
    }
    if let Expr::Call(call) = &mut expression.expr
        && match call.target {
            Some(_) => REPLACED_MEMBERS.contains(&(call.func_name.as_str(), call.args.len())),
            None => REPLACED.contains(&call.func_name.as_str()),
        }
    {
        call.func_name.insert(0, '@');
    }
    each_child_mut(&mut expression.expr, prepare);
    if let Expr::Comprehension(comprehension) = &mut expression.expr {
        budget::count(expression.id, comprehension);
    }
}

fn each_child_mut(expr: &mut Expr, mut visit: impl FnMut(&mut IdedExpr)) {
    match expr {
        Expr::Call(call) => {
            call.target.iter_mut().for_each(|target| visit(target));
            call.args.iter_mut().for_each(visit);
        }
        Expr::Comprehension(comprehension) => {
            visit(&mut comprehension.iter_range);
            visit(&mut comprehension.accu_init);
            visit(&mut comprehension.loop_cond);
            visit(&mut comprehension.loop_step);
            visit(&mut comprehension.result);
        }
        Expr::List(list) => list.elements.iter_mut().for_each(visit),
        Expr::Map(map) => map.entries.iter_mut().for_each(|entry| match &mut entry.expr {
            EntryExpr::MapEntry(entry) => {
                visit(&mut entry.key);
                visit(&mut entry.value);
            }
            EntryExpr::StructField(field) => visit(&mut field.value),
        }),
        Expr::Select(select) => visit(&mut select.operand),
        Expr::Struct(_) | Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
    }
}
