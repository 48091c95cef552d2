//! What documents and values of expressions are to each other: equal or not, and each as the other.

use cel::common::types::{
    CelBool, CelDouble, CelInt, CelMap, CelMapKey, CelNull, CelString, CelUInt, LIST_TYPE, MAP_TYPE,
};
use cel::common::value::Val;

use super::{List, Map};

/// Whether two values are equal, where either may be of a document and the other made by an expression.
///
/// The crate's lists and maps know only their like, so `[1] == unit.list` is asked here.
pub(crate) fn equal(left: &dyn Val, right: &dyn Val) -> bool {
    let is_document = |value: &dyn Val| value.downcast_ref::<List>().is_some() || value.downcast_ref::<Map>().is_some();
    let is_list = |value: &dyn Val| value.get_type() == &LIST_TYPE;
    let is_map = |value: &dyn Val| value.get_type() == &MAP_TYPE;
    if is_list(left) && is_list(right) {
        return equal_elements(left, right);
    }
    if is_map(left) && is_map(right) {
        return equal_fields(left, right);
    }
    !is_document(left) && !is_document(right) && left.equals(right)
}

fn equal_elements(left: &dyn Val, right: &dyn Val) -> bool {
    let (Some(left), Some(right)) = (left.as_iterable(), right.as_iterable()) else { return false };
    let (mut left, mut right) = (left.iter(), right.iter());
    loop {
        match (left.next(), right.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if equal(a, b) => {}
            _ => return false,
        }
    }
}

fn equal_fields(left: &dyn Val, right: &dyn Val) -> bool {
    let size = |map: &dyn Val| map.as_sizer().map(|sizer| *sizer.size().inner());
    let (Some(keys), Some(fields), Some(others)) = (left.as_iterable(), left.as_indexer(), right.as_indexer()) else {
        return false;
    };
    let mut keys = keys.iter();
    while let Some(key) = keys.next() {
        let (Ok(a), Ok(b)) = (fields.get(key), others.get(key)) else { return false };
        if !equal(a.as_ref(), b.as_ref()) {
            return false;
        }
    }
    size(left) == size(right)
}

/// The value as a document: what a result, or an explanation, shows. None of what JSON cannot have.
pub(crate) fn to_json(value: &dyn Val) -> Option<serde_json::Value> {
    use serde_json::Value;
    if let Some(list) = value.as_iterable().filter(|_| value.get_type() == &LIST_TYPE) {
        let (mut elements, mut array) = (list.iter(), Vec::new());
        while let Some(element) = elements.next() {
            array.push(to_json(element)?);
        }
        return Some(Value::Array(array));
    }
    if let (true, Some(keys), Some(fields)) = (value.get_type() == &MAP_TYPE, value.as_iterable(), value.as_indexer()) {
        let (mut keys, mut object) = (keys.iter(), serde_json::Map::new());
        while let Some(key) = keys.next() {
            object.insert(crate::render::key(key), to_json(fields.get(key).ok()?.as_ref())?);
        }
        return Some(Value::Object(object));
    }
    scalar_to_json(value)
}

fn scalar_to_json(value: &dyn Val) -> Option<serde_json::Value> {
    if value.downcast_ref::<CelNull>().is_some() {
        return Some(serde_json::Value::Null);
    }
    if let Some(value) = value.downcast_ref::<CelBool>() {
        return Some((*value.inner()).into());
    }
    if let Some(value) = value.downcast_ref::<CelInt>() {
        return Some((*value.inner()).into());
    }
    if let Some(value) = value.downcast_ref::<CelUInt>() {
        return Some((*value.inner()).into());
    }
    if let Some(value) = value.downcast_ref::<CelDouble>() {
        return serde_json::Number::from_f64(*value.inner()).map(Into::into);
    }
    value.downcast_ref::<CelString<'_>>().map(|text| text.inner().into())
}

/// The crate's own map of these fields, for results that are no documents.
pub(crate) fn map_of<'v>(fields: impl IntoIterator<Item = (CelMapKey<'v>, Box<dyn Val + 'v>)>) -> CelMap<'v> {
    fields.into_iter().collect::<std::collections::HashMap<_, _>>().into()
}
