//! Goes over an expression and gives each part its type, or says what is wrong with it.

mod written;

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr, operators};

use super::types::Type;
use super::{operators as rules, signatures};
use crate::library::budget;
use crate::library::table::NAMESPACES;
use crate::nearest::nearest;
use crate::parser::Parsed;
use crate::render;
use crate::source::Problem;
use written::takes_elements;

/// Names of types, which stand for themselves.
const META: [&str; 12] = [
    "bool",
    "bytes",
    "double",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "type",
    "uint",
    "google.protobuf.Timestamp",
    "google.protobuf.Duration",
];

/// Goes over one expression. Variables that comprehensions make come and go at the end of `known`.
pub(super) struct Walk<'a> {
    parsed: &'a Parsed,
    known: Vec<(String, Type)>,
    /// Variables that other stages have.
    elsewhere: &'a [(&'static str, &'static str)],
    problems: Vec<Problem>,
    /// Whether the arguments of `format` are looked at, which are of many types.
    formats: bool,
}

// === impl Walk ===

impl<'a> Walk<'a> {
    pub(super) fn new(
        parsed: &'a Parsed,
        known: Vec<(String, Type)>,
        elsewhere: &'a [(&'static str, &'static str)],
    ) -> Self {
        Self { parsed, known, elsewhere, problems: Vec::new(), formats: false }
    }

    /// The type of the whole, or what is wrong.
    pub(super) fn run(mut self) -> Result<Type, Vec<Problem>> {
        let found = self.expression(&self.parsed.expression);
        if self.problems.is_empty() { Ok(found) } else { Err(self.problems) }
    }

    fn problem(&mut self, byte: usize, message: String) -> Type {
        let problem = Problem::at(self.parsed.source.text(), byte, message);
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
        Type::Dyn
    }

    fn wrong(&mut self, id: u64, message: String) -> Type {
        self.problem(self.parsed.source.span(id).0, message)
    }

    fn expression(&mut self, expression: &'a IdedExpr) -> Type {
        match &expression.expr {
            Expr::Literal(literal) => literal_type(literal),
            Expr::Ident(name) => self.ident(expression.id, name),
            Expr::Select(select) => self.select(expression.id, select),
            Expr::Call(call) => self.call(expression.id, call),
            Expr::List(list) => {
                let optional = |at| list.optional_indices.contains(&at);
                let elements = list.elements.iter().enumerate();
                let types: Vec<Type> = elements.map(|(at, element)| self.entry(element, optional(at))).collect();
                Type::list(self.together(expression.id, "list", &types))
            }
            Expr::Map(map) => {
                let (mut keys, mut values) = (Vec::new(), Vec::new());
                for entry in &map.entries {
                    let EntryExpr::MapEntry(entry) = &entry.expr else { continue };
                    keys.push(self.key(&entry.key));
                    values.push(self.entry(&entry.value, entry.optional));
                }
                let keys = self.together(expression.id, "map", &keys);
                Type::map(keys, self.together(expression.id, "map", &values))
            }
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Struct(_) | Expr::Unspecified => Type::Dyn,
        }
    }

    /// What an entry of a list or map adds. An optional one has to be an optional.
    fn entry(&mut self, entry: &'a IdedExpr, is_optional: bool) -> Type {
        match self.expression(entry) {
            Type::Optional(of) if is_optional => *of,
            other if is_optional && !other.is_dyn() => {
                self.wrong(entry.id, format!("what stands behind ? is an optional; {other} is none"))
            }
            other => other,
        }
    }

    /// One type for all that is written as a list or a map; what macros make of these may be of many.
    fn together(&mut self, id: u64, what: &str, types: &[Type]) -> Type {
        let joined = types.iter().try_fold(Type::Empty, |all, one| {
            let is_null = |of: &Type| matches!(of, Type::Null);
            let is_mixed = !all.is_dyn() && !one.is_dyn() && is_null(&all) != is_null(one);
            if is_mixed { None } else { all.joined(one) }
        });
        let is_written = self.parsed.source.written(id).ends_with([']', '}']);
        if joined.is_none() && is_written && !self.formats {
            let other = types.iter().find(|one| types[0].joined(one).is_none()).unwrap_or(&Type::Null);
            let message =
                format!("a {what} is of one type, this one of {} and {other}; write dyn(…) around each", types[0]);
            return self.wrong(id, message);
        }
        joined.unwrap_or(Type::Dyn)
    }

    fn key(&mut self, key: &'a IdedExpr) -> Type {
        let found = self.expression(key);
        if found.is_dyn() || matches!(found, Type::Text | Type::Int | Type::Uint | Type::Bool) {
            return found;
        }
        self.wrong(key.id, format!("{found} cannot be the key of a map; string, int, uint and bool can"))
    }

    fn ident(&mut self, id: u64, name: &str) -> Type {
        let plain = name.trim_start_matches('.');
        if let Some((_, found)) = self.known.iter().rev().find(|(known, _)| known == plain) {
            return found.clone();
        }
        if META.contains(&plain) {
            return Type::Meta;
        }
        let message = match self.elsewhere.iter().find(|(known, _)| *known == plain) {
            Some((_, why)) => format!("{plain} is not known here: {why}"),
            None => {
                let names = self.known.iter().map(|(known, _)| known.as_str()).filter(|known| !known.contains('@'));
                let hint = nearest(plain, names.clone()).map_or_else(
                    || format!("there are {}", names.collect::<Vec<_>>().join(", ")),
                    |near| format!("did you mean {near}?"),
                );
                format!("there is no variable {plain}; {hint}")
            }
        };
        self.wrong(id, message)
    }

    fn select(&mut self, id: u64, select: &'a SelectExpr) -> Type {
        if let Some(name) = qualified(select)
            && META.contains(&name.as_str())
        {
            return Type::Meta;
        }
        let operand = self.expression(&select.operand);
        // The field is the last of what is written, but for a closing parenthesis of has().
        let end = self.parsed.source.span(id).1;
        let written = self.parsed.source.written(id);
        let at = written.rfind(select.field.as_str()).map_or(end, |at| self.parsed.source.span(id).0 + at);
        let found = self.field(at, &operand, &select.field);
        if select.test { Type::Bool } else { found }
    }

    /// The type of a field of `operand`; `at` is where it is written.
    fn field(&mut self, at: usize, operand: &Type, field: &str) -> Type {
        let unknown = |owner: &str, names: Vec<&str>| {
            let hint = nearest(field, names.iter().copied())
                .map_or_else(|| format!("there are {}", names.join(", ")), |near| format!("did you mean {near}?"));
            format!("{owner} has no field {field}; {hint}")
        };
        match operand.not_null() {
            Type::Object(object) => match object.fields.iter().find(|known| known.name == field) {
                Some(known) => Type::of(known.shape),
                None => {
                    let names = object.fields.iter().map(|known| known.name).collect();
                    self.problem(at, unknown(object.name, names))
                }
            },
            Type::Fields(fields) => match fields.iter().find(|(name, _)| name == field) {
                Some((_, found)) => found.clone(),
                None if fields.is_empty() => self.problem(
                    at,
                    format!("there is no variable {field} before this one; variables see those above them"),
                ),
                None => {
                    let message = unknown("variables", fields.iter().map(|(name, _)| name.as_str()).collect());
                    self.problem(at, message)
                }
            },
            Type::Map(key, value) if Type::Text.takes(key, &mut Default::default()) => (**value).clone(),
            Type::Optional(of) => Type::Optional(Box::new(self.field(at, of, field))),
            other if other.is_dyn() => Type::Dyn,
            other => self.problem(at, format!("{other} has no fields, so no {field}")),
        }
    }

    fn call(&mut self, id: u64, call: &'a CallExpr) -> Type {
        if let (operators::OPT_SELECT, [operand, name]) = (call.func_name.as_str(), call.args.as_slice()) {
            let operand = self.expression(operand);
            let operand = if let Type::Optional(of) = operand { *of } else { operand };
            let Expr::Literal(LiteralValue::String(field)) = &name.expr else { return Type::Dyn };
            let at = self.parsed.source.span(name.id).0;
            return Type::Optional(Box::new(self.field(at, &operand, field.inner())));
        }
        if let (operators::CONDITIONAL, [condition, then, otherwise]) = (call.func_name.as_str(), call.args.as_slice())
        {
            return self.conditional(condition, then, otherwise);
        }
        if let (operators::INDEX | operators::OPT_INDEX, [container, index]) =
            (call.func_name.as_str(), call.args.as_slice())
            && let Expr::Literal(LiteralValue::String(field)) = &index.expr
        {
            return self.named_element(id, call, container, index, field.inner());
        }
        if call.target.is_none()
            && let Some(result) = self.operator(id, call)
        {
            return result;
        }
        self.function(id, call)
    }

    /// `cluster["labels"]`: of an object the field is known, as behind a dot.
    fn named_element(
        &mut self,
        id: u64,
        call: &'a CallExpr,
        container: &'a IdedExpr,
        index: &'a IdedExpr,
        field: &str,
    ) -> Type {
        let is_optional = call.func_name == operators::OPT_INDEX;
        let of = self.expression(container);
        match of.not_null() {
            Type::Object(_) | Type::Fields(_) => {
                let found = self.field(self.parsed.source.span(index.id).0, &of, field);
                if is_optional { Type::Optional(Box::new(found)) } else { found }
            }
            _ => self.operands(id, &call.func_name, &[of, Type::Text]).unwrap_or(Type::Dyn),
        }
    }

    fn conditional(&mut self, condition: &'a IdedExpr, then: &'a IdedExpr, otherwise: &'a IdedExpr) -> Type {
        let tested = self.expression(condition);
        if !Type::Bool.takes(&tested, &mut Default::default()) {
            self.wrong(condition.id, format!("what stands before ? is {tested}, not bool"));
        }
        let (a, b) = (self.expression(then), self.expression(otherwise));
        match a.joined(&b) {
            Some(joined) => joined,
            None => self.wrong(then.id, format!("one branch of ?: is {a}, the other {b}; both have to be of one type")),
        }
    }

    fn operator(&mut self, id: u64, call: &'a CallExpr) -> Option<Type> {
        // Before the operands are looked at, as a function's are looked at elsewhere.
        let unknown: Vec<Type> = call.args.iter().map(|_| Type::Dyn).collect();
        rules::result(&call.func_name, &unknown)?;
        let operands: Vec<Type> = call.args.iter().map(|arg| self.expression(arg)).collect();
        self.operands(id, &call.func_name, &operands)
    }

    fn operands(&mut self, id: u64, function: &str, operands: &[Type]) -> Option<Type> {
        let result = rules::result(function, operands)?;
        Some(result.unwrap_or_else(|| {
            let written = match function {
                "@equals" => "==",
                "@differs" => "!=",
                other => render::operator(other),
            };
            let shown: Vec<String> = operands.iter().map(Type::to_string).collect();
            let message = match (shown.as_slice(), written) {
                ([container, index], "[]") => format!("{container} has no element at {index}"),
                ([left, right], _) => format!("{written} does not take {left} and {right}{}", hint(operands)),
                (shown, _) => format!("{written} does not take {}", shown.join(", ")),
            };
            self.wrong(id, message)
        }))
    }

    fn function(&mut self, id: u64, call: &'a CallExpr) -> Type {
        let (name, is_member, target) = self.called(call);
        let mut given = Vec::new();
        given.extend(target.map(|target| self.expression(target)));
        let formats = std::mem::replace(&mut self.formats, call.func_name == "@format");
        given.extend(call.args.iter().map(|arg| self.expression(arg)));
        self.formats = formats;
        let all = signatures::named(&name);
        let of_kind: Vec<_> = all.iter().filter(|signature| signature.is_member == is_member).collect();
        let results: Vec<Type> = of_kind.iter().filter_map(|signature| signature.result(&given)).collect();
        // Of something unknown more than one may be meant.
        if let Some((first, others)) = results.split_first() {
            self.literals(call);
            self.clauses(call);
            if let ([Type::List(of), ..], true) = (given.as_slice(), is_member)
                && !takes_elements(&name, if let Some(Type::List(keys)) = given.get(1) { keys } else { of })
            {
                let at = self.name_place(id, call);
                return self
                    .problem(at, format!("{} does not take elements of type {of}", name.trim_start_matches('@')));
            }
            return others.iter().try_fold(first.clone(), |all, one| all.joined(one)).unwrap_or(Type::Dyn);
        }
        let at = self.name_place(id, call);
        let name = name.trim_start_matches('@').to_owned();
        let message = if of_kind.is_empty() {
            unknown_function(&name, is_member, &all)
        } else {
            let shown: Vec<String> = given.iter().map(Type::to_string).collect();
            let called = match (is_member, shown.split_first()) {
                (true, Some((target, rest))) => format!("{target}.{name}({})", rest.join(", ")),
                _ => format!("{name}({})", shown.join(", ")),
            };
            let known: Vec<&str> =
                of_kind.iter().map(|signature| signature.written.trim_start_matches('@')).take(4).collect();
            format!("there is no {called}; there is {}", known.join(" and "))
        };
        self.problem(at, message)
    }

    /// The whole name of a called function, whether it is a member, and its target.
    fn called(&self, call: &'a CallExpr) -> (String, bool, Option<&'a IdedExpr>) {
        let Some(target) = call.target.as_deref() else { return (call.func_name.clone(), false, None) };
        if let Expr::Ident(namespace) = &target.expr
            && NAMESPACES.contains(&namespace.as_str())
            && !self.known.iter().any(|(known, _)| known == namespace)
        {
            return (format!("{namespace}.{}", call.func_name), false, None);
        }
        (call.func_name.clone(), true, Some(target))
    }

    fn name_place(&self, id: u64, call: &CallExpr) -> usize {
        let (start, _) = self.parsed.source.span(id);
        let after = call.target.as_ref().map_or(start, |target| self.parsed.source.span(target.id).1.max(start));
        let rest = self.parsed.source.text().get(after..).unwrap_or_default();
        rest.find(call.func_name.trim_start_matches('@')).map_or(start, |at| after + at)
    }

    fn comprehension(&mut self, of: &'a ComprehensionExpr) -> Type {
        let written = budget::range(of);
        let range = self.expression(written);
        let element = match range.not_null() {
            Type::List(element) => (**element).clone(),
            Type::Map(key, _) => (**key).clone(),
            Type::Object(_) | Type::Fields(_) => Type::Text,
            other if other.is_dyn() => Type::Dyn,
            other => {
                let message = format!("{other} has no elements to go over; a list or a map has");
                self.wrong(written.id, message)
            }
        };
        let gathered = self.expression(&of.accu_init);
        let depth = self.known.len();
        self.known.push((of.accu_var.clone(), gathered.clone()));
        self.known.push((of.iter_var.clone(), element));
        self.expression(&of.loop_cond);
        let stepped = self.expression(&of.loop_step);
        self.known.truncate(depth);
        let gathered = gathered.joined(&stepped).unwrap_or(Type::Dyn);
        self.known.push((of.accu_var.clone(), gathered));
        let result = self.expression(&of.result);
        self.known.truncate(depth);
        result
    }
}

/// Where two kinds of numbers meet, how to make them one.
fn hint(operands: &[Type]) -> String {
    match operands {
        [left, right] if left.not_null().is_number() && right.not_null().is_number() => {
            let wider = operands.iter().map(Type::not_null).find(|of| matches!(of, Type::Double)).unwrap_or(&Type::Int);
            format!("; write {wider}(…) around one")
        }
        [left, right] if matches!(left, Type::Null) || matches!(right, Type::Null) => {
            "; it is never null, test it with has()".to_owned()
        }
        _ => String::new(),
    }
}

fn unknown_function(name: &str, is_member: bool, others: &[signatures::Signature]) -> String {
    if let Some(other) = others.first() {
        let how = if is_member { "it is no member" } else { "it is called on a value" };
        return format!("there is no such {name}: {how}, but {}", other.written);
    }
    let hint =
        nearest(name, signatures::names(is_member)).map_or_else(String::new, |near| format!("; did you mean {near}?"));
    format!("there is no function {name}{hint}")
}

fn literal_type(literal: &LiteralValue) -> Type {
    match literal {
        LiteralValue::Boolean(_) => Type::Bool,
        LiteralValue::Bytes(_) => Type::Bytes,
        LiteralValue::Double(_) => Type::Double,
        LiteralValue::Int(_) => Type::Int,
        LiteralValue::Null => Type::Null,
        LiteralValue::String(_) => Type::Text,
        LiteralValue::UInt(_) => Type::Uint,
    }
}

/// `google.protobuf.Timestamp`: names with dots that stand for types.
fn qualified(select: &SelectExpr) -> Option<String> {
    match &select.operand.expr {
        Expr::Ident(name) => Some(format!("{name}.{}", select.field)),
        Expr::Select(inner) => Some(format!("{}.{}", qualified(inner)?, select.field)),
        _ => None,
    }
}
