//! The functions that expressions can call: those of the `cel` crate, what Kubernetes has beyond them, and our own.

#![allow(clippy::needless_pass_by_value)] // the evaluator hands a function its arguments, as a pointer to it is what it takes

mod address;
pub(crate) mod budget;
pub(crate) mod conversions;
mod fleet;
pub(crate) mod format;
mod named;
mod network;
mod opaque;
mod places;
mod plain;
mod quantity;
pub(crate) mod regular;
mod semver;
mod sets;
pub(crate) mod table;
mod web;

use std::sync::{Arc, OnceLock};

use cel::common::functions::Function;
use cel::common::types::Type;
use cel::common::value::{CowVal, FromVal, Val};
use cel::{DeclarationError, Env, ExecutionError, extensions};

pub(crate) use fleet::Spread;

/// Arguments of a function, the target first.
type Args<'b, 'v> = Vec<CowVal<'b, 'v>>;
/// What a function gives.
type Given<'b, 'v> = Result<CowVal<'b, 'v>, ExecutionError>;

/// Everything that can be called. Made once in an instance.
pub(crate) fn environment() -> Arc<Env> {
    static ENVIRONMENT: OnceLock<Arc<Env>> = OnceLock::new();
    ENVIRONMENT.get_or_init(|| Arc::new(make().unwrap_or_else(|_| Env::stdlib()))).clone()
}

fn make() -> Result<Env, DeclarationError> {
    let mut env = Env::stdlib();
    env.add_extension(extensions::strings)?;
    env.add_extension(extensions::lists)?;
    env.add_extension(extensions::math)?;
    env.add_extension(extensions::encoders)?;
    let mut add = Add { env, failed: None };
    let parts = [
        address::add,
        budget::add,
        conversions::add,
        fleet::add,
        format::add,
        named::add,
        network::add,
        places::add,
        plain::add,
        quantity::add,
        regular::add,
        semver::add,
        sets::add,
        web::add,
    ];
    parts.into_iter().for_each(|part| part(&mut add));
    add.failed.map_or(Ok(add.env), Err)
}

/// How a value of a type of our own is shown, if it is one.
pub(crate) fn shown(value: &dyn Val) -> Option<String> {
    if let Some(quantity) = value.downcast_ref::<quantity::Quantity>() {
        return Some(quantity.shown());
    }
    if let Some(ip) = value.downcast_ref::<address::Ip>() {
        return Some(ip.0.to_string());
    }
    if let Some(cidr) = value.downcast_ref::<network::Cidr>() {
        return Some(cidr.shown());
    }
    if let Some(url) = value.downcast_ref::<web::Url>() {
        return Some(url.shown());
    }
    if let Some(semver) = value.downcast_ref::<semver::Semver>() {
        return Some(semver.shown());
    }
    value.downcast_ref::<named::Formatter>().map(named::Formatter::shown)
}

/// Adds functions, and keeps the first that could not be added.
struct Add {
    env: Env,
    failed: Option<DeclarationError>,
}

// === impl Add ===

impl Add {
    fn function(&mut self, name: &str, arguments: Vec<Type>, function: Function) {
        let id = format!("{name}({})", type_names(&arguments));
        let added = self.env.add_overload(name, &id, arguments, function);
        self.failed = self.failed.take().or(added.err());
    }

    fn member(&mut self, name: &str, target: Type, arguments: Vec<Type>, function: Function) {
        let id = format!("{}.{name}({})", target.name(), type_names(&arguments));
        let added = self.env.add_member_overload(name, &id, target, arguments, function);
        self.failed = self.failed.take().or(added.err());
    }
}

fn type_names(types: &[Type]) -> String {
    types.iter().map(Type::name).collect::<Vec<_>>().join(",")
}

/// The argument at `at`. Its type is the one that the function was added with.
fn arg<'a, 'b, 'v, T: FromVal<'a, 'v> + Val>(args: &'a [CowVal<'b, 'v>], at: usize) -> Result<&'a T, ExecutionError>
where
    'b: 'a,
{
    let value = args.get(at).ok_or_else(|| ExecutionError::invalid_argument_count(at + 1, args.len()))?;
    value.downcast_ref::<T>().ok_or_else(|| ExecutionError::UnexpectedType {
        got: value.get_type().name().to_owned(),
        want: T::cel_type().name().to_owned(),
    })
}

/// A text among the arguments.
fn text<'a>(args: &'a [CowVal<'_, '_>], at: usize) -> Result<&'a str, ExecutionError> {
    arg::<cel::common::types::CelString<'_>>(args, at).map(|text| text.inner())
}

#[cfg(test)]
mod tests;
