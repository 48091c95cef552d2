//! The interfaces of `wit/`, as Rust.

#![allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]

wit_bindgen::generate!({
    path: ["../../wit/plugin/0.1.0", "wit"],
    world: "orrery:cel/cel",
    generate_all,
    pub_export_macro: true,
});
