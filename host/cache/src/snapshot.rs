use std::borrow::Borrow;
use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use orrery_api::ObjectKey;
use orrery_markers::Marker;
use rpds::RedBlackTreeSetSync;

use crate::Object;

/// All objects of a resource at one marker, in the order of lists: by namespace, then served name, bytewise. Costs a
/// pointer: it shares all that later states have not changed.
#[derive(Clone)]
pub struct Snapshot {
    pub(crate) marker: Marker,
    pub(crate) objects: Objects,
}

/// The objects shown at some marker.
pub(crate) type Objects = RedBlackTreeSetSync<Shown>;

/// An object in its place in the order.
#[derive(Clone)]
pub(crate) struct Shown(pub(crate) Arc<Object>);

// === impl Snapshot ===

impl Snapshot {
    /// The marker.
    pub fn marker(&self) -> Marker {
        self.marker
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.objects.size()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The object served as `served`.
    pub fn get(&self, served: &ObjectKey) -> Option<&Arc<Object>> {
        self.objects.get(served).map(|shown| &shown.0)
    }

    /// The objects of `namespace` (of all where `None`) whose served key comes after `after`.
    pub fn range(&self, namespace: Option<&str>, after: Option<&ObjectKey>) -> impl Iterator<Item = &Arc<Object>> {
        let first = namespace.map(|namespace| ObjectKey::new(namespace, ""));
        let start = match (first, after) {
            (Some(first), Some(after)) if first > *after => Bound::Included(first),
            (_, Some(after)) => Bound::Excluded(after.clone()),
            (Some(first), None) => Bound::Included(first),
            (None, None) => Bound::Unbounded,
        };
        let namespace: Option<Arc<str>> = namespace.map(Into::into);
        let objects = self.objects.range::<ObjectKey, _>((start, Bound::Unbounded)).map(|shown| &shown.0);
        objects.take_while(move |object| {
            namespace.as_ref().is_none_or(|namespace| object.served().namespace == *namespace)
        })
    }

    /// How many objects `namespace` has (all where `None`).
    pub fn count(&self, namespace: Option<&str>) -> usize {
        if namespace.is_some() { self.range(namespace, None).count() } else { self.len() }
    }
}

// === impl Shown ===

impl Borrow<ObjectKey> for Shown {
    fn borrow(&self) -> &ObjectKey {
        self.0.served()
    }
}

impl PartialEq for Shown {
    fn eq(&self, other: &Self) -> bool {
        self.0.served() == other.0.served()
    }
}

impl Eq for Shown {}

impl PartialOrd for Shown {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Shown {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.served().cmp(other.0.served())
    }
}
