//! CEL policies as a plugin of Orrery: the component that the host runs every CelPolicy in.
//!
//! A policy reads as data: `call.params` is `{"policy": <spec of the CelPolicy>, "params": <the user's>}`. An expression of
//! its own is read by [`parser`], its names and types are proved by the checker when a policy is loaded, and the `cel` crate
//! evaluates it. Nothing here bounds time or memory, as the host does that to every guest; only the depth of an
//! expression is bounded, so that a fair one never runs out of stack and a deep one gets a message.
//!
//! The crate builds natively too, where its tests run.

#[cfg(test)]
mod as_kubernetes;
pub mod bindings;
mod check;
mod data;
mod explain;
mod fields;
mod guest;
mod lexer;
mod library;
mod macros;
mod nearest;
mod parser;
mod policy;
#[cfg(not(target_arch = "wasm32"))]
pub mod reference;
mod render;
mod schema;
mod scope;
#[cfg(test)]
mod shipped;
mod source;
mod stages;
#[cfg(test)]
mod testing;

pub use guest::Cel;
