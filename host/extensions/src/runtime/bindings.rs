//! What `wit/plugin/0.1.0` says, as Rust. One world has all exports, so that each is looked up by itself: what a plugin does
//! not export is not asked.

#![allow(missing_docs, unreachable_pub, clippy::all, reason = "generated")]

wasmtime::component::bindgen!({
    path: "../../wit/plugin/0.1.0",
    inline: "
        package orrery:host;
        world all {
            import orrery:plugin/log@0.1.0;
            import orrery:plugin/metrics@0.1.0;
            import orrery:plugin/inventory@0.1.0;
            import orrery:plugin/kv@0.1.0;
            export orrery:plugin/lifecycle@0.1.0;
            export orrery:plugin/placement-filter@0.1.0;
            export orrery:plugin/placement-score@0.1.0;
            export orrery:plugin/placement-select@0.1.0;
            export orrery:plugin/placement-split@0.1.0;
            export orrery:plugin/virtual-labels@0.1.0;
            export orrery:plugin/named-selector@0.1.0;
        }
    ",
    imports: { default: trappable },
    exports: { default: async },
    with: { "orrery:plugin/inventory.snapshot": super::state::Snapshot },
});
