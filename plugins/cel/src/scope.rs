//! What expressions see, and their evaluation.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use cel::common::ast::{Expr, IdedExpr};
use cel::common::traits::Indexer;
use cel::common::types::{CelBool, CelString, MAP_TYPE, Type};
use cel::common::value::{CowVal, StaticVal, Val};
use cel::{Context, ExecutionError, Value};

use crate::library;
use crate::library::budget::{self, Budget};
use crate::parser::each_child;
use crate::policy::{Named, Policy};
use crate::render;

/// Errors of one call whose part is looked for: that evaluates an expression again, part by part.
const LOCATED: usize = 16;

/// A variable and its value.
pub(crate) type Binding = (&'static str, Box<dyn Val>);

/// What all clusters or objects of one call share.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) policy: Arc<Policy>,
    shared: Vec<Binding>,
    located: Arc<AtomicUsize>,
}

/// What the expressions see for one cluster or object. Variables are evaluated when they are first used, once.
pub(crate) struct Scope {
    inner: Arc<Inner>,
    context: Context<'static, 'static>,
}

#[derive(Debug)]
struct Inner {
    policy: Arc<Policy>,
    bindings: Vec<Binding>,
    located: Arc<AtomicUsize>,
    values: Vec<OnceLock<Result<Box<dyn Val>, ExecutionError>>>,
}

/// The value of the name `variables`, as far as it can be seen from here: a variable sees those before it.
#[derive(Clone, Debug)]
struct Variables {
    inner: Arc<Inner>,
    visible: usize,
}

// === impl Batch ===

impl Batch {
    /// Of `shared` only what the policy uses is kept.
    pub(crate) fn new(policy: Arc<Policy>, shared: Vec<Binding>) -> Self {
        let shared = shared.into_iter().filter(|(name, _)| policy.uses.contains(*name)).collect();
        Self { policy, shared, located: Arc::default() }
    }

    /// The scope of a cluster or object: `own` are its variables.
    pub(crate) fn scope(&self, own: Vec<Binding>) -> Scope {
        let own = own.into_iter().filter(|(name, _)| self.policy.uses.contains(*name));
        let shared = self.shared.iter().map(|(name, value)| (*name, value.clone()));
        let budget: Binding = (budget::VARIABLE, Box::new(Budget::new(self.policy.elements)));
        let inner = Inner {
            policy: self.policy.clone(),
            bindings: shared.chain(own).chain([budget]).collect(),
            located: self.located.clone(),
            values: self.policy.variables.iter().map(|_| OnceLock::new()).collect(),
        };
        let inner = Arc::new(inner);
        let context = context(&inner, inner.values.len());
        Scope { inner, context }
    }
}

/// A context in which the first `visible` variables are seen.
fn context(inner: &Arc<Inner>, visible: usize) -> Context<'static, 'static> {
    let mut context = Context::with_env(library::environment());
    for (name, value) in &inner.bindings {
        context.add_variable_as_val(*name, value.clone());
    }
    if inner.policy.uses.contains("variables") {
        context.add_variable_as_val("variables", Box::new(Variables { inner: inner.clone(), visible }));
    }
    context
}

// === impl Scope ===

impl Scope {
    /// The value of an expression; an error that names the part which has none.
    pub(crate) fn evaluate(&self, named: &Named) -> Result<Box<dyn Val>, String> {
        self.value(&named.parsed.expression).map_err(|error| self.explain(named, &error))
    }

    pub(crate) fn value(&self, expression: &IdedExpr) -> Result<Box<dyn Val>, ExecutionError> {
        Value::resolve_val(expression, &self.context).map(CowVal::into_owned)
    }

    /// A boolean, or an error.
    pub(crate) fn test(&self, named: &Named) -> Result<bool, String> {
        let value = self.evaluate(named)?;
        match value.downcast_ref::<CelBool>() {
            Some(value) => Ok(*value.inner()),
            None => Err(format!("it gives {}, not true or false", render::short(value.as_ref()))),
        }
    }

    /// Whether all conditions of the policy hold; the error of the first that has one, where none is false.
    pub(crate) fn matches(&self) -> Result<bool, String> {
        let mut failed = None;
        for condition in &self.inner.policy.match_conditions {
            match self.test(condition) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(error) => {
                    failed.get_or_insert(format!("condition {}: {error}", condition.name));
                }
            }
        }
        failed.map_or(Ok(true), Err)
    }

    fn explain(&self, named: &Named, error: &ExecutionError) -> String {
        if let Some(spent) = budget::spent(error, &named.parsed.source) {
            return spent;
        }
        let text = render::error(error);
        if self.inner.located.fetch_add(1, Ordering::Relaxed) >= LOCATED {
            return text;
        }
        let part = self.blamed(&named.parsed.expression);
        let source = &named.parsed.source;
        let written = source.written(part.id);
        if written.is_empty() || part.id == named.parsed.expression.id {
            return text;
        }
        let place = source.problem(part.id, String::new());
        format!("{text}, in {} at line {}, column {}", cut(written), place.line, place.column)
    }

    /// The smallest part outside of comprehensions that has the error.
    fn blamed<'e>(&self, expression: &'e IdedExpr) -> &'e IdedExpr {
        let mut failed = None;
        let mut look = |child: &'e IdedExpr| {
            if failed.is_none() && self.value(child).is_err() {
                failed = Some(child);
            }
        };
        match &expression.expr {
            Expr::Comprehension(comprehension) => {
                look(&comprehension.iter_range);
                look(&comprehension.accu_init);
            }
            expr => each_child(expr, look),
        }
        failed.map_or(expression, |child| self.blamed(child))
    }
}

/// The first line, or what of it can be shown.
pub(crate) fn cut(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

// === impl Variables ===

impl Variables {
    fn value(&self, at: usize) -> Result<&(dyn Val + 'static), ExecutionError> {
        let variable = &self.inner.policy.variables[at];
        let evaluated = self.inner.values[at].get_or_init(|| {
            let context = context(&self.inner, at);
            let value = Value::resolve_val(&variable.parsed.expression, &context).map(CowVal::into_owned);
            // Not as it is: `has(variables.x)` would take a missing key within x for a missing x.
            value.map_err(|error| {
                let text = budget::spent(&error, &variable.parsed.source).unwrap_or_else(|| render::error(&error));
                ExecutionError::function_error(&format!("variables.{}", variable.name), text)
            })
        });
        evaluated.as_ref().map(AsRef::as_ref).map_err(Clone::clone)
    }
}

impl Val for Variables {
    fn get_type(&self) -> &Type {
        &MAP_TYPE
    }

    fn cel_type() -> &'static Type {
        &MAP_TYPE
    }

    fn as_indexer<'b, 'v>(&'b self) -> Option<&'b (dyn Indexer + 'v)>
    where
        Self: 'v,
    {
        Some(self)
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

impl StaticVal for Variables {}

impl Indexer for Variables {
    fn get<'b, 'v>(&'b self, name: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        let name = name.downcast_ref::<CelString<'_>>().map(CelString::inner).unwrap_or_default();
        let seen = &self.inner.policy.variables[..self.visible];
        let at = seen.iter().position(|variable| variable.name == name);
        let at = at.ok_or_else(|| ExecutionError::no_such_key(name))?;
        self.value(at).map(|value| CowVal::Borrowed(value as &(dyn Val + 'v)))
    }

    fn steal<'v>(self: Box<Self>, name: &dyn Val) -> Result<Box<dyn Val + 'v>, ExecutionError>
    where
        Self: 'v,
    {
        self.get(name).map(CowVal::into_owned)
    }
}
