//! JSON as CEL values.
//!
//! A document is read once into a tree that is shared: a cluster's labels bound to a variable, or an element that a
//! comprehension visits, cost one more count. Maps are sorted, so that what visits them always does so in the same order;
//! the crate's own maps do not.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use cel::ExecutionError;
use cel::common::traits::{self, Adder, Container, Indexer, Iterable, Sizer, Zeroer};
use cel::common::types::{
    CelBool, CelDouble, CelInt, CelList, CelMap, CelNull, CelString, CelUInt, LIST_TYPE, MAP_TYPE, Type,
};
use cel::common::value::{CowVal, StaticVal, Val};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A JSON value. Whole numbers are ints where they fit, as in Kubernetes; others are doubles.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Null(CelNull),
    Bool(CelBool),
    Int(CelInt),
    Double(CelDouble),
    Text(CelString<'static>),
    List(List),
    Map(Map),
}

/// A JSON array.
#[derive(Clone, Debug, Default)]
pub(crate) struct List(Arc<[Node]>);

/// A JSON object, sorted by key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Map(Arc<[(CelString<'static>, Node)]>);

/// Reads a document; `what` names it in the error.
pub(crate) fn read(what: &str, text: &str) -> Result<Node, String> {
    serde_json::from_str(text).map_err(|error| format!("{what} is not JSON: {error}"))
}

/// Reads an object, of its fields only those in `wanted`: what nobody asks for need not be built, which is most of a cluster.
pub(crate) fn read_some(what: &str, text: &str, wanted: &BTreeSet<String>) -> Result<Node, String> {
    let mut json = serde_json::Deserializer::from_str(text);
    let read = Wanted(wanted).deserialize(&mut json).and_then(|node| json.end().map(|()| node));
    read.map_err(|error| format!("{what} is not JSON: {error}"))
}

/// Fields that are wanted.
struct Wanted<'a>(&'a BTreeSet<String>);

impl<'de> DeserializeSeed<'de> for Wanted<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Wanted<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Node, A::Error> {
        let mut map = Vec::new();
        while let Some(name) = fields.next_key::<std::borrow::Cow<'de, str>>()? {
            if self.0.contains(name.as_ref()) {
                map.push((name.into_owned(), fields.next_value()?));
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Node::map(map))
    }
}

// === impl Node ===

impl Node {
    pub(crate) fn val(&self) -> &(dyn Val + 'static) {
        match self {
            Self::Null(value) => value,
            Self::Bool(value) => value,
            Self::Int(value) => value,
            Self::Double(value) => value,
            Self::Text(value) => value,
            Self::List(value) => value,
            Self::Map(value) => value,
        }
    }

    pub(crate) fn boxed(&self) -> Box<dyn Val> {
        self.val().clone_as_boxed()
    }

    pub(crate) fn text(value: &str) -> Self {
        Self::Text(CelString::from(value.to_owned()))
    }

    pub(crate) fn int(value: i64) -> Self {
        Self::Int(CelInt::from(value))
    }

    pub(crate) fn list(values: Vec<Self>) -> Self {
        Self::List(List(values.into()))
    }

    /// An object of these fields. A name that comes twice has its last value.
    pub(crate) fn map(fields: impl IntoIterator<Item = (String, Self)>) -> Self {
        let mut fields: Vec<_> = fields.into_iter().map(|(name, value)| (CelString::from(name), value)).collect();
        fields.sort_by(|(a, _), (b, _)| a.inner().cmp(b.inner()));
        fields.reverse();
        // Of equal names, which a stable sort left in their order, the last one comes first now.
        fields.dedup_by(|(later, _), (kept, _)| later.inner() == kept.inner());
        fields.reverse();
        Self::Map(Map(fields.into()))
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text.inner()) } else { None }
    }

    pub(crate) fn as_int(&self) -> Option<i64> {
        if let Self::Int(value) = self { Some(*value.inner()) } else { None }
    }

    pub(crate) fn as_map(&self) -> Option<&Map> {
        if let Self::Map(map) = self { Some(map) } else { None }
    }

    pub(crate) fn as_list(&self) -> Option<&[Node]> {
        if let Self::List(list) = self { Some(&list.0) } else { None }
    }

    /// The field of an object.
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        self.as_map()?.field(name)
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(i64::try_from(value).map_or_else(|_| Node::Double((value as f64).into()), Node::int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Double(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::text(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Node, E> {
        Ok(Node::Text(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null(CelNull))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element()? {
            list.push(element);
        }
        Ok(Node::list(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Node, A::Error> {
        let mut map = Vec::new();
        while let Some(field) = fields.next_entry::<String, Node>()? {
            map.push(field);
        }
        Ok(Node::map(map))
    }
}

// === impl List ===

impl List {
    fn at(&self, index: &dyn Val) -> Option<&Node> {
        let index = match index.downcast_ref::<CelInt>() {
            Some(index) => usize::try_from(*index.inner()).ok()?,
            None => usize::try_from(*index.downcast_ref::<CelUInt>()?.inner()).ok()?,
        };
        self.0.get(index)
    }
}

impl Val for List {
    fn get_type(&self) -> &Type {
        &LIST_TYPE
    }

    fn cel_type() -> &'static Type {
        &LIST_TYPE
    }

    fn as_adder<'b, 'v>(&'b self) -> Option<&'b (dyn Adder + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn as_container(&self) -> Option<&dyn Container> {
        Some(self)
    }

    fn as_indexer<'b, 'v>(&'b self) -> Option<&'b (dyn Indexer + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn as_iterable<'b, 'v>(&'b self) -> Option<&'b (dyn Iterable + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn as_sizer(&self) -> Option<&dyn Sizer> {
        Some(self)
    }

    fn as_zeroer(&self) -> Option<&dyn Zeroer> {
        Some(self)
    }

    fn equals(&self, other: &dyn Val) -> bool {
        equal(self, other)
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

impl StaticVal for List {}

impl Adder for List {
    fn add<'b, 'v>(&'b self, other: &(dyn Val + 'v)) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        let mut other = other
            .as_iterable()
            .ok_or_else(|| {
                ExecutionError::no_such_overload("_+_", vec!["list".to_owned(), other.get_type().name().to_owned()])
            })?
            .iter();
        let mut sum: Vec<Box<dyn Val + 'v>> = self.0.iter().map(|node| node.val().clone_as_boxed()).collect();
        while let Some(element) = other.next() {
            sum.push(element.clone_as_boxed());
        }
        Ok(CowVal::owned(CelList::from(sum)))
    }
}

impl Container for List {
    fn contains(&self, value: &dyn Val) -> Result<bool, ExecutionError> {
        Ok(self.0.iter().any(|node| equal(node.val(), value)))
    }
}

impl Indexer for List {
    fn get<'b, 'v>(&'b self, index: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        match self.at(index) {
            Some(node) => Ok(CowVal::Borrowed(node.val())),
            None => Err(ExecutionError::IndexOutOfBounds(index.try_into()?)),
        }
    }

    fn steal<'v>(self: Box<Self>, index: &dyn Val) -> Result<Box<dyn Val + 'v>, ExecutionError>
    where
        Self: 'v,
    {
        self.get(index).map(CowVal::into_owned)
    }
}

impl Iterable for List {
    fn iter<'b, 'v>(&'b self) -> Box<dyn traits::Iterator<'b, 'v> + 'b>
    where
        Self: 'v,
    {
        Box::new(Visit(self.0.iter().map(Node::val)))
    }
}

impl Sizer for List {
    fn size(&self) -> CelInt {
        (self.0.len() as i64).into()
    }
}

impl Zeroer for List {
    fn is_zero_value(&self) -> bool {
        self.0.is_empty()
    }
}

/// Lends what another iterator has.
struct Visit<I>(I);

impl<'b, 'v, I: Iterator<Item = &'b (dyn Val + 'static)>> traits::Iterator<'b, 'v> for Visit<I> {
    fn next(&mut self) -> Option<&'b (dyn Val + 'v)> {
        self.0.next().map(|value| value as &'b (dyn Val + 'v))
    }
}

// === impl Map ===

impl Map {
    pub(crate) fn field(&self, name: &str) -> Option<&Node> {
        let at = self.0.binary_search_by(|(key, _)| key.inner().cmp(name)).ok()?;
        Some(&self.0[at].1)
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.0.iter().map(|(name, value)| (name.inner(), value))
    }
}

impl Val for Map {
    fn get_type(&self) -> &Type {
        &MAP_TYPE
    }

    fn cel_type() -> &'static Type {
        &MAP_TYPE
    }

    fn as_container(&self) -> Option<&dyn Container> {
        Some(self)
    }

    fn as_indexer<'b, 'v>(&'b self) -> Option<&'b (dyn Indexer + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn as_iterable<'b, 'v>(&'b self) -> Option<&'b (dyn Iterable + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn as_sizer(&self) -> Option<&dyn Sizer> {
        Some(self)
    }

    fn as_zeroer(&self) -> Option<&dyn Zeroer> {
        Some(self)
    }

    fn equals(&self, other: &dyn Val) -> bool {
        equal(self, other)
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

impl StaticVal for Map {}

impl Container for Map {
    fn contains(&self, key: &dyn Val) -> Result<bool, ExecutionError> {
        Ok(key.downcast_ref::<CelString<'_>>().is_some_and(|key| self.field(key.inner()).is_some()))
    }
}

impl Indexer for Map {
    fn get<'b, 'v>(&'b self, key: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        let Some(name) = key.downcast_ref::<CelString<'_>>() else {
            return Err(ExecutionError::no_such_key(&crate::render::short(key)));
        };
        let node = self.field(name.inner()).ok_or_else(|| ExecutionError::no_such_key(name.inner()))?;
        Ok(CowVal::Borrowed(node.val()))
    }

    fn steal<'v>(self: Box<Self>, key: &dyn Val) -> Result<Box<dyn Val + 'v>, ExecutionError>
    where
        Self: 'v,
    {
        self.get(key).map(CowVal::into_owned)
    }
}

impl Iterable for Map {
    fn iter<'b, 'v>(&'b self) -> Box<dyn traits::Iterator<'b, 'v> + 'b>
    where
        Self: 'v,
    {
        Box::new(Visit(self.0.iter().map(|(name, _)| name as &(dyn Val + 'static))))
    }
}

impl Sizer for Map {
    fn size(&self) -> CelInt {
        (self.0.len() as i64).into()
    }
}

impl Zeroer for Map {
    fn is_zero_value(&self) -> bool {
        self.0.is_empty()
    }
}

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
pub(crate) fn map_of<'v>(
    fields: impl IntoIterator<Item = (cel::common::types::CelMapKey<'v>, Box<dyn Val + 'v>)>,
) -> CelMap<'v> {
    fields.into_iter().collect::<std::collections::HashMap<_, _>>().into()
}
