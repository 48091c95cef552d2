//! Fields of an object as the printers read them: only what is printed, borrowed from the body, and what is absent is the
//! field's zero value, as in Go.

mod value;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

pub(super) use value::{Entries, IntOrText, Text};

/// Declares the fields that a printer reads, under the API's names.
macro_rules! fields {
    ($($(#[$attribute:meta])* $visible:vis struct $name:ident<'a> { $($fields:tt)* })*) => { $(
        #[derive(Debug, Default, serde::Deserialize)]
        #[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
        $(#[$attribute])*
        $visible struct $name<'a> { $($fields)* }
    )* };
    ($($(#[$attribute:meta])* $visible:vis struct $name:ident { $($fields:tt)* })*) => { $(
        #[derive(Debug, Default, serde::Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        $(#[$attribute])*
        $visible struct $name { $($fields)* }
    )* };
}
pub(super) use fields;

/// Labels, annotations, and other maps of texts.
pub(super) type Map<'a> = BTreeMap<Text<'a>, Text<'a>>;

/// Something of which only the presence counts.
pub(super) type Present = Option<IgnoredAny>;

/// A list of which only the length counts.
pub(super) type Length = Vec<IgnoredAny>;

/// What most objects are made of. Left out is what a printer does not read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Object<Metadata, Spec = IgnoredAny, Status = IgnoredAny> {
    pub(super) metadata: Metadata,
    pub(super) spec: Spec,
    pub(super) status: Status,
}

fields! {
    /// What every printer needs of `metadata`.
    pub(super) struct Metadata<'a> {
        pub(super) name: Text<'a>,
        pub(super) creation_timestamp: Text<'a>,
        pub(super) deletion_timestamp: Option<Text<'a>>,
    }

    /// `metadata` with the maps that few printers need.
    pub(super) struct MappedMetadata<'a> {
        pub(super) name: Text<'a>,
        pub(super) creation_timestamp: Text<'a>,
        pub(super) deletion_timestamp: Option<Text<'a>>,
        pub(super) labels: Map<'a>,
        pub(super) annotations: Map<'a>,
    }

    /// A condition of any kind.
    pub(super) struct Condition<'a> {
        #[serde(rename = "type")]
        pub(super) kind: Text<'a>,
        pub(super) status: Text<'a>,
        pub(super) reason: Text<'a>,
        pub(super) last_transition_time: Text<'a>,
    }

    /// A `status` of which the conditions are read.
    pub(super) struct Conditions<'a> {
        pub(super) conditions: Vec<Condition<'a>>,
    }

    /// A reference to an object by kind and name.
    pub(super) struct Reference<'a> {
        pub(super) kind: Text<'a>,
        pub(super) namespace: Text<'a>,
        pub(super) name: Text<'a>,
        pub(super) field_path: Text<'a>,
    }
}

/// The status of the first condition of `kind`, as hasPodReadyCondition and its like read it.
pub(super) fn status_of<'c>(conditions: &'c [Condition<'_>], kind: &str) -> Option<&'c str> {
    conditions.iter().find(|condition| &*condition.kind == kind).map(|condition| &*condition.status)
}

/// The texts of `list`, with `between` between them.
pub(super) fn joined<'t>(list: impl IntoIterator<Item = &'t Text<'t>>, between: &str) -> String {
    list.into_iter().map(|text| &**text).collect::<Vec<_>>().join(between)
}
