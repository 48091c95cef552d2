//! What macros and the preparation of policies are made of. None of these names can be written in an expression.

use cel::ExecutionError;
use cel::common::types::{CelBool, CelInt, CelList, CelMapKey, DYN_TYPE, Kind, LIST_TYPE, MAP_TYPE};
use cel::common::value::{CowVal, Val};

use super::{Add, Args, Given};
use crate::data::{equal, map_of};
use crate::render;

pub(super) fn add(add: &mut Add) {
    add.function("@equals", vec![DYN_TYPE, DYN_TYPE], |args| {
        Ok(CowVal::owned(CelBool::from(equal(args[0].as_ref(), args[1].as_ref()))))
    });
    add.function("@differs", vec![DYN_TYPE, DYN_TYPE], |args| {
        Ok(CowVal::owned(CelBool::from(!equal(args[0].as_ref(), args[1].as_ref()))))
    });
    add.function("@keys", vec![LIST_TYPE], keys);
    add.function("@keys", vec![MAP_TYPE], keys);
    add.function("@mapOf", vec![LIST_TYPE], map_of_pairs);
    add.function("@merged", vec![LIST_TYPE], merged);
}

/// The places of a list or the keys of a map: what a comprehension with two variables goes over.
fn keys<'b, 'v>(args: Args<'b, 'v>) -> Given<'b, 'v> {
    let range = args[0].as_ref();
    if range.get_type().kind() == Kind::List {
        let size = range.as_sizer().map_or(0, |sizer| *sizer.size().inner());
        let places = (0..size).map(|at| Box::new(CelInt::from(at)) as Box<dyn Val + 'v>);
        return Ok(CowVal::owned(CelList::from(places.collect::<Vec<_>>())));
    }
    Ok(CowVal::owned(CelList::from(elements(range)?)))
}

/// The elements of a list or keys of a map, each owned. Keys are sorted, where they are texts.
pub(super) fn elements<'v>(range: &(dyn Val + 'v)) -> Result<Vec<Box<dyn Val + 'v>>, ExecutionError> {
    let Some(iterable) = range.as_iterable() else {
        return Err(ExecutionError::UnexpectedType {
            got: range.get_type().name().to_owned(),
            want: "list".to_owned(),
        });
    };
    let (mut visited, mut elements) = (iterable.iter(), Vec::new());
    while let Some(element) = visited.next() {
        elements.push(element.clone_as_boxed());
    }
    if range.get_type().kind() == Kind::Map {
        elements.sort_by_cached_key(|key| render::key(key.as_ref()));
    }
    Ok(elements)
}

/// A map of `[key, value]` pairs.
fn map_of_pairs<'b, 'v>(args: Args<'b, 'v>) -> Given<'b, 'v> {
    let mut fields = Vec::new();
    for pair in elements(args[0].as_ref())? {
        let mut pair = elements(pair.as_ref())?.into_iter();
        let (Some(key), Some(value)) = (pair.next(), pair.next()) else { continue };
        fields.push((CelMapKey::try_from(key)?, value));
    }
    Ok(CowVal::owned(map_of(fields)))
}

/// One map of many, which have no key in common.
fn merged<'b, 'v>(args: Args<'b, 'v>) -> Given<'b, 'v> {
    let mut fields: Vec<(CelMapKey<'v>, Box<dyn Val + 'v>)> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for map in elements(args[0].as_ref())? {
        for key in elements(map.as_ref())? {
            let Some(fields_of) = map.as_indexer() else { continue };
            let value = fields_of.get(key.as_ref())?.into_owned();
            let key = CelMapKey::try_from(key)?;
            if !seen.insert(key.clone()) {
                return Err(ExecutionError::DuplicateKey(render::key(key.inner()).into()));
            }
            fields.push((key, value));
        }
    }
    Ok(CowVal::owned(map_of(fields)))
}
