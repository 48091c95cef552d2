//! The HTTP front: what clients of the Kubernetes API meet (the *serve* of observe → sequence → apply → serve).
//!
//! A request is taken apart once ([`request::RequestInfo`]), admitted, routed, and answered from the caches of the
//! resources, from the catalog of what the members serve, or by a member. What the wire looks like is upstream's word;
//! the files name where upstream says it (AS: kubernetes/apiserver, AM: kubernetes/apimachinery).

mod body;
mod discovery;
mod front;
mod health;
mod metrics;
mod negotiate;
mod openapi;
mod options;
mod pretty;
mod proxy;
mod query;
mod read;
mod request;
mod server;
mod settings;
mod status;
mod table;
#[cfg(feature = "testing")]
pub mod testing;
mod token;
mod translate;
mod websocket;
mod yaml;

pub use front::Front;
pub use health::Check;
pub use metrics::Metrics;
pub use server::{InProcess, serve};
pub use settings::Settings;
