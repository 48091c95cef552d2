//! What members send, cut into objects: lists, watch frames, and the metadata that the host reads of an object.

mod frames;
mod list;
mod object;

pub(crate) use frames::{Event, Frames};
pub(crate) use list::{ListEnd, ListItems};
pub(crate) use object::{Scheme, WireError, read_object};
