//! The whole crate on guests that are written as text.

pub(crate) mod guests;
mod hostile;
mod recorded;
mod released;
