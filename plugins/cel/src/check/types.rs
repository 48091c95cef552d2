//! Types of expressions, as far as they are known before anything is evaluated.

use std::collections::BTreeMap;
use std::fmt;

use crate::schema::{Object, Shape};

#[derive(Clone, Debug)]
pub(crate) enum Type {
    /// Not known: any use is right, and may fail when it is evaluated.
    Dyn,
    /// Of the elements of an empty list: it becomes what it is put together with.
    Empty,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Timestamp,
    Duration,
    /// The type of types.
    Meta,
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
    Optional(Box<Type>),
    Nullable(Box<Type>),
    Object(&'static Object),
    /// What `variables` is: the names so far.
    Fields(Vec<(String, Type)>),
    /// A type that only functions know, such as `quantity`.
    Opaque(&'static str),
    /// A type parameter of a signature.
    Parameter(char),
}

/// What type parameters stand for.
pub(super) type Bound = BTreeMap<char, Type>;

// === impl Type ===

impl Type {
    pub(crate) fn of(shape: Shape) -> Self {
        match shape {
            Shape::Bool => Self::Bool,
            Shape::Int => Self::Int,
            Shape::Text => Self::Text,
            Shape::Any => Self::Dyn,
            Shape::List(element) => Self::list(Self::of(*element)),
            Shape::Map(value) => Self::map(Self::Text, Self::of(*value)),
            Shape::Object(object) => Self::Object(object),
            Shape::Nullable(of) => Self::Nullable(Box::new(Self::of(*of))),
        }
    }

    pub(crate) fn list(element: Self) -> Self {
        Self::List(Box::new(element))
    }

    pub(crate) fn map(key: Self, value: Self) -> Self {
        Self::Map(Box::new(key), Box::new(value))
    }

    /// The type of the value, where it is not null.
    pub(super) fn not_null(&self) -> &Self {
        if let Self::Nullable(of) = self { of } else { self }
    }

    pub(super) fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn | Self::Empty)
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Uint | Self::Double)
    }

    /// Whether a value of type `given` can stand where this one is asked for.
    pub(super) fn takes(&self, given: &Self, bound: &mut Bound) -> bool {
        match (self, given.not_null()) {
            (Self::Parameter(name), given) => match bound.get(name).cloned() {
                Some(known) if known.is_dyn() => {
                    bound.insert(*name, given.clone());
                    true
                }
                Some(known) => known.takes(given, bound),
                None => {
                    bound.insert(*name, given.clone());
                    true
                }
            },
            (Self::Nullable(_), Self::Null) => true,
            (Self::Nullable(of), given) => of.takes(given, bound),
            (a, b) if a.is_dyn() || b.is_dyn() => true,
            (Self::List(a), Self::List(b)) | (Self::Optional(a), Self::Optional(b)) => a.takes(b, bound),
            (Self::Map(key, value), Self::Map(k, v)) => key.takes(k, bound) && value.takes(v, bound),
            // An object is a map whose values are of many types.
            (Self::Map(key, value), Self::Object(_) | Self::Fields(_)) => {
                key.takes(&Self::Text, bound) && value.takes(&Self::Dyn, bound)
            }
            (Self::Object(_), Self::Map(key, _)) => Self::Text.takes(key, bound),
            (Self::Object(a), Self::Object(b)) => std::ptr::eq(*a, *b),
            (Self::Opaque(a), Self::Opaque(b)) => a == b,
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        }
    }

    /// The type with its parameters filled in.
    pub(super) fn filled(&self, bound: &Bound) -> Self {
        match self {
            Self::Parameter(name) => bound.get(name).cloned().unwrap_or(Self::Dyn),
            Self::List(of) => Self::list(of.filled(bound)),
            Self::Optional(of) => Self::Optional(Box::new(of.filled(bound))),
            Self::Nullable(of) => Self::Nullable(Box::new(of.filled(bound))),
            Self::Map(key, value) => Self::map(key.filled(bound), value.filled(bound)),
            other => other.clone(),
        }
    }

    /// The type of a value that is one or the other; none where they have nothing in common.
    pub(super) fn joined(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Empty, other) => Some(other.clone()),
            (one, Self::Empty) => Some(one.clone()),
            (Self::Dyn, _) | (_, Self::Dyn) => Some(Self::Dyn),
            (Self::Null, Self::Null) => Some(Self::Null),
            (Self::Null, Self::Nullable(of)) | (Self::Nullable(of), Self::Null) => Some(Self::Nullable(of.clone())),
            (Self::Null, of) | (of, Self::Null) => Some(Self::Nullable(Box::new(of.clone()))),
            (Self::Nullable(a), b) | (b, Self::Nullable(a)) => Some(Self::Nullable(Box::new(a.joined(b.not_null())?))),
            (Self::List(a), Self::List(b)) => Some(Self::list(a.joined(b)?)),
            (Self::Optional(a), Self::Optional(b)) => Some(Self::Optional(Box::new(a.joined(b)?))),
            (Self::Map(k, v), Self::Map(l, w)) => Some(Self::map(k.joined(l)?, v.joined(w)?)),
            (a, b) => a.takes(b, &mut Bound::new()).then(|| a.clone()),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Dyn | Self::Empty => "dyn",
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::Text => "string",
            Self::Bytes => "bytes",
            Self::Timestamp => "timestamp",
            Self::Duration => "duration",
            Self::Meta => "type",
            Self::Object(object) => object.name,
            Self::Fields(_) => "variables",
            Self::Opaque(name) => name,
            Self::Parameter(name) => return write!(f, "{name}"),
            Self::List(of) => return write!(f, "list<{of}>"),
            Self::Optional(of) => return write!(f, "optional<{of}>"),
            Self::Map(key, value) => return write!(f, "map<{key}, {value}>"),
            // A person asks for the number, and is told elsewhere that it may be missing.
            Self::Nullable(of) => return write!(f, "{of}"),
        };
        f.write_str(name)
    }
}
