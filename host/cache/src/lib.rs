//! What a resource's objects are and were, by marker: snapshots for lists, a ring of events for watches, and selectors.
//!
//! One [`Writer`] applies the marker log's order; any number of [`Reader`]s list and watch. Nothing here does I/O or reads a
//! clock to decide anything: the writer is told what time it is, so that a history that is fed again gives the same cache.
//!
//! ```text
//!             apply                     latest, at ──► Snapshot ──► range ──► Object ──► body, list_item, partial
//!  sequencer ───────► Writer ══► Reader
//!                       (ring)          watch ──────► Watch ──► next ──► WatchEvent ──► Object
//! ```
//!
//! An [`Object`] is its member's JSON with marker, stamp and served name spliced in, written once when it is applied. The
//! live objects stand in a persistent map, so that a snapshot costs a pointer. The ring holds the events of the last five
//! minutes with the object before and after each; states that others have replaced are compressed once they have aged a few
//! seconds. A watch is a place in the ring and has no queue.

mod budget;
mod fields;
mod metrics;
mod object;
mod reader;
mod ring;
mod selection;
mod shape;
mod shared;
mod snapshot;
mod watch;
mod writer;

use std::sync::Arc;

pub use budget::Budget;
pub use fields::FieldTable;
pub use metrics::Metrics;
pub use object::{BodyError, Object, Parts};
pub use reader::{Expired, Reader, Stats, TooLarge};
pub use selection::{FieldSelector, LabelSelector, Selection, SelectorError};
pub use shape::Shape;
pub use snapshot::Snapshot;
pub use watch::{Step, Watch, WatchEvent};
pub use writer::{Apply, BaseObject, NotShown, Writer};

/// An empty cache of the resource `shape`, whose bytes count in `budget`.
pub fn resource(shape: Shape, budget: &Budget, metrics: &Metrics) -> (Writer, Reader) {
    let writer = Writer::new(Arc::new(shared::Shared::new(shape, budget, metrics)));
    let reader = writer.reader();
    (writer, reader)
}
