//! Calls that stand for other expressions: `has`, the comprehensions with one variable and with two, `cel.bind`, `sortBy`,
//! `math.greatest` and `least`, `optMap` and `optFlatMap`, and `spread`.
//!
//! What each becomes follows cel-go's `parser/macro.go` and `ext`, in the shapes that the evaluator of the `cel` crate
//! knows how to run without copying. Comprehensions with two variables, which that evaluator does not have, are written
//! with one: over the places or keys of the range, the second variable bound to what stands there.

use cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, ListExpr, LiteralValue, operators};

use crate::parser::Builder;
use crate::source::Problem;

/// What a comprehension gathers. No name in a text can be equal to it.
const RESULT: &str = "@result";
/// The range of a comprehension with two variables.
const RANGE: &str = "@range";
/// The list that is sorted, or the optional that is mapped.
const INPUT: &str = "@__sortBy_input__";

type Made = Result<IdedExpr, Problem>;

/// The call `name(args)` at the place of node `id`.
pub(crate) fn global(builder: &mut Builder, id: u64, name: &str, mut args: Vec<IdedExpr>) -> Made {
    let mut make = Make { builder, id };
    match (name, args.len()) {
        ("has", 1) => match args.remove(0) {
            IdedExpr { expr: Expr::Select(mut select), .. } => {
                select.test = true;
                make.node(Expr::Select(select))
            }
            other => Err(make.builder.problem(other.id, "has() needs a field, such as has(cluster.region)")),
        },
        ("spread", 1) => {
            let whole = make.ident("@spread")?;
            let cluster = make.ident("cluster")?;
            args.splice(0..0, [whole, cluster]);
            make.call("@spread", args)
        }
        _ => make.call(name, args),
    }
}

/// The call `target.name(args)` at the place of node `id`.
pub(crate) fn member(builder: &mut Builder, id: u64, name: String, target: IdedExpr, args: Vec<IdedExpr>) -> Made {
    let namespace = match &target.expr {
        Expr::Ident(namespace) => namespace.as_str(),
        _ => "",
    };
    let mut make = Make { builder, id };
    match (name.as_str(), args.len(), namespace) {
        ("all" | "exists" | "exists_one" | "existsOne" | "filter", 2, _) | ("map", 2 | 3, _) => {
            make.one_variable(&name, target, args)
        }
        ("all" | "exists" | "exists_one" | "existsOne", 3, _)
        | ("transformList" | "transformMap" | "transformMapEntry", 3 | 4, _) => make.two_variables(&name, target, args),
        ("bind", 3, "cel") => {
            let [variable, value, body] = exactly(args);
            let variable = make.name(variable)?;
            make.bind(&variable, value, body)
        }
        ("sortBy", 2, _) => make.sort_by(target, args),
        ("greatest", _, "math") => make.extreme("math.@max", args),
        ("least", _, "math") => make.extreme("math.@min", args),
        ("optMap", 2, _) => make.opt_map(target, args, true),
        ("optFlatMap", 2, _) => make.opt_map(target, args, false),
        _ => make.node(Expr::Call(CallExpr { func_name: name, target: Some(Box::new(target)), args })),
    }
}

/// As many arguments as a macro was chosen for.
fn exactly<const N: usize>(args: Vec<IdedExpr>) -> [IdedExpr; N] {
    let mut args = args.into_iter();
    std::array::from_fn(|_| args.next().unwrap_or_default())
}

/// Makes nodes at the place of the call that they stand for.
struct Make<'a> {
    builder: &'a mut Builder,
    id: u64,
}

/// How a comprehension begins, goes on and ends.
struct Fold {
    init: IdedExpr,
    condition: IdedExpr,
    step: IdedExpr,
    result: IdedExpr,
}

// === impl Make ===

impl Make<'_> {
    fn node(&mut self, expr: Expr) -> Made {
        self.builder.in_place_of(self.id, expr)
    }

    fn call(&mut self, function: &str, args: Vec<IdedExpr>) -> Made {
        self.node(Expr::Call(CallExpr { func_name: function.to_owned(), target: None, args }))
    }

    fn method(&mut self, target: IdedExpr, function: &str, args: Vec<IdedExpr>) -> Made {
        self.node(Expr::Call(CallExpr { func_name: function.to_owned(), target: Some(Box::new(target)), args }))
    }

    fn ident(&mut self, name: &str) -> Made {
        self.node(Expr::Ident(name.to_owned()))
    }

    fn literal(&mut self, value: LiteralValue) -> Made {
        self.node(Expr::Literal(value))
    }

    fn bool(&mut self, value: bool) -> Made {
        self.literal(LiteralValue::Boolean(value.into()))
    }

    fn list(&mut self, elements: Vec<IdedExpr>) -> Made {
        self.node(Expr::List(ListExpr::new(elements)))
    }

    /// The variable that an argument names.
    fn name(&self, argument: IdedExpr) -> Result<String, Problem> {
        match argument.expr {
            Expr::Ident(name) if !name.starts_with('.') => Ok(name),
            _ => Err(self.builder.problem(argument.id, "a variable is a simple name, such as x")),
        }
    }

    fn comprehension(&mut self, range: IdedExpr, variable: String, fold: Fold) -> Made {
        self.node(Expr::Comprehension(Box::new(ComprehensionExpr {
            iter_range: range,
            iter_var: variable,
            iter_var2: None,
            accu_var: RESULT.to_owned(),
            accu_init: fold.init,
            loop_cond: fold.condition,
            loop_step: fold.step,
            result: fold.result,
        })))
    }

    /// `body` with `variable` standing for `value`: a comprehension over nothing.
    fn bind(&mut self, variable: &str, value: IdedExpr, body: IdedExpr) -> Made {
        let comprehension = ComprehensionExpr {
            iter_range: self.list(Vec::new())?,
            iter_var: "#unused".to_owned(),
            iter_var2: None,
            accu_var: variable.to_owned(),
            accu_init: value,
            loop_cond: self.bool(false)?,
            loop_step: self.ident(variable)?,
            result: body,
        };
        self.node(Expr::Comprehension(Box::new(comprehension)))
    }

    fn one_variable(&mut self, name: &str, range: IdedExpr, args: Vec<IdedExpr>) -> Made {
        let mut args = args.into_iter();
        let declared = args.next().unwrap_or_default();
        let element = declared.clone();
        let variable = self.name(declared)?;
        let (first, second) = (args.next().unwrap_or_default(), args.next());
        let fold = match (name, second) {
            ("filter", _) => self.gather(element, Some(first))?,
            ("map", Some(mapped)) => self.gather(mapped, Some(first))?,
            ("map", None) => self.gather(first, None)?,
            _ => self.test(name, first)?,
        };
        self.comprehension(range, variable, fold)
    }

    /// A list of `element`, of those for which `condition` holds.
    fn gather(&mut self, element: IdedExpr, condition: Option<IdedExpr>) -> Result<Fold, Problem> {
        let init = self.list(Vec::new())?;
        let always = self.bool(true)?;
        let (result, element) = (self.ident(RESULT)?, self.list(vec![element])?);
        let mut step = self.call(operators::ADD, vec![result, element])?;
        if let Some(condition) = condition {
            let unchanged = self.ident(RESULT)?;
            step = self.call(operators::CONDITIONAL, vec![condition, step, unchanged])?;
        }
        Ok(Fold { init, condition: always, step, result: self.ident(RESULT)? })
    }

    /// `all`, `exists` or `exists_one` of a predicate.
    fn test(&mut self, name: &str, predicate: IdedExpr) -> Result<Fold, Problem> {
        let so_far = self.ident(RESULT)?;
        let result = self.ident(RESULT)?;
        match name {
            "all" | "exists" => {
                let is_all = name == "all";
                let goes_on = if is_all { so_far } else { self.call(operators::LOGICAL_NOT, vec![so_far])? };
                let condition = self.call(operators::NOT_STRICTLY_FALSE, vec![goes_on])?;
                let before = self.ident(RESULT)?;
                let function = if is_all { operators::LOGICAL_AND } else { operators::LOGICAL_OR };
                let step = self.call(function, vec![before, predicate])?;
                Ok(Fold { init: self.bool(is_all)?, condition, step, result })
            }
            _ => {
                let init = self.literal(LiteralValue::Int(0.into()))?;
                let (one, other_one) =
                    (self.literal(LiteralValue::Int(1.into()))?, self.literal(LiteralValue::Int(1.into()))?);
                let more = self.call(operators::ADD, vec![so_far, one])?;
                let unchanged = self.ident(RESULT)?;
                let step = self.call(operators::CONDITIONAL, vec![predicate, more, unchanged])?;
                let result = self.call(operators::EQUALS, vec![result, other_one])?;
                Ok(Fold { init, condition: self.bool(true)?, step, result })
            }
        }
    }

    fn two_variables(&mut self, name: &str, range: IdedExpr, args: Vec<IdedExpr>) -> Made {
        let mut args = args.into_iter();
        let key = args.next().unwrap_or_default();
        let key = self.name(key)?;
        let value = args.next().unwrap_or_default();
        let value = self.name(value)?;
        if key == value {
            return Err(self.builder.problem(self.id, format!("the two variables are both called {key}")));
        }
        let mut rest = args.map(|arg| self.with_value(&key, &value, arg)).collect::<Result<Vec<_>, _>>()?;
        let last = rest.pop().unwrap_or_default();
        let condition = rest.pop();
        let fold = match name {
            "transformList" | "transformMapEntry" => self.gather(last, condition)?,
            "transformMap" => {
                let key = self.ident(&key)?;
                let pair = self.list(vec![key, last])?;
                self.gather(pair, condition)?
            }
            _ => self.test(name, last)?,
        };
        let whole = self.ident(RANGE)?;
        let keys = self.call("@keys", vec![whole])?;
        let mut made = self.comprehension(keys, key, fold)?;
        if name.starts_with("transformMap") {
            made = self.call(if name == "transformMap" { "@mapOf" } else { "@merged" }, vec![made])?;
        }
        self.bind(RANGE, range, made)
    }

    /// `body` with `value` standing for what the range has at `key`.
    fn with_value(&mut self, key: &str, value: &str, body: IdedExpr) -> Made {
        let (range, key) = (self.ident(RANGE)?, self.ident(key)?);
        let element = self.call(operators::INDEX, vec![range, key])?;
        self.bind(value, element, body)
    }

    fn sort_by(&mut self, list: IdedExpr, args: Vec<IdedExpr>) -> Made {
        let input = self.ident(INPUT)?;
        let keys = self.one_variable("map", input, args)?;
        let input = self.ident(INPUT)?;
        let sorted = self.method(input, "@sortByAssociatedKeys", vec![keys])?;
        self.bind(INPUT, list, sorted)
    }

    fn extreme(&mut self, function: &str, args: Vec<IdedExpr>) -> Made {
        match args.len() {
            0 => Err(self.builder.problem(self.id, "it needs a number at least, such as math.greatest(1, x)")),
            1 | 2 => self.call(function, args),
            _ => {
                let list = self.list(args)?;
                self.call(function, vec![list])
            }
        }
    }

    fn opt_map(&mut self, optional: IdedExpr, args: Vec<IdedExpr>, wraps: bool) -> Made {
        let [variable, mapped] = exactly(args);
        let variable = self.name(variable)?;
        let (tested, taken) = (self.ident(INPUT)?, self.ident(INPUT)?);
        let has_value = self.method(tested, "hasValue", Vec::new())?;
        let value = self.method(taken, "value", Vec::new())?;
        let mapped = self.bind(&variable, value, mapped)?;
        let some = if wraps { self.call("optional.of", vec![mapped])? } else { mapped };
        let none = self.call("optional.none", Vec::new())?;
        let chosen = self.call(operators::CONDITIONAL, vec![has_value, some, none])?;
        self.bind(INPUT, optional, chosen)
    }
}
