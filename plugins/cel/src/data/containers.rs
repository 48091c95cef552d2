//! Lists and maps of documents as the evaluator wants its values.

use std::any::Any;

use cel::ExecutionError;
use cel::common::traits::{self, Adder, Container, Indexer, Iterable, Sizer, Zeroer};
use cel::common::types::{CelInt, CelList, CelString, CelUInt, LIST_TYPE, MAP_TYPE, Type};
use cel::common::value::{CowVal, StaticVal, Val};

use super::{List, Map, Node, equal};

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
