use std::thread;
use std::time::Duration;

use tracing::warn;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, HasSelf, InstancePre, Linker};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use super::bindings::All;
use super::state::CallState;

/// The engine that all guests share, and what it offers them.
#[derive(Clone)]
pub(crate) struct Engines {
    engine: Engine,
    linker: Linker<CallState>,
}

/// Why a component cannot be used though it compiled.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum LoadError {
    /// It imports what nobody offers.
    #[error(
        "it imports {0}, which this host does not have; a host has log, metrics, inventory and kv of orrery:plugin@0.1, so \
         build it against the release of wit/ that the host is of"
    )]
    UnknownImport(String),
    /// It imports something of another shape.
    #[error("its imports do not fit those of orrery:plugin@0.1: {0}")]
    Shape(String),
}

/// How often a guest that computes gives way to others.
const TICK: Duration = Duration::from_millis(2);

/// Bytes of a guest's own stack, and of the host's that it runs on.
const STACK: usize = 1 << 20;

/// Instances at a time, over all plugins.
const INSTANCES: u32 = 128;

/// Core instances of one component: a Python guest has more than 25.
const CORE_INSTANCES_EACH: u32 = 200;

// === impl Engines ===

impl Engines {
    /// Starts the engine and the thread that counts its time.
    ///
    /// # Errors
    /// This machine cannot run it.
    pub(crate) fn start() -> wasmtime::Result<Self> {
        Self::with(true).or_else(|error| {
            // Pooling reserves terabytes of addresses, which a container may not have.
            warn!(
                error = format!("{error:#}"),
                "guests get their memory one by one: addresses do not suffice for a pool"
            );
            Self::with(false)
        })
    }

    /// The same, with memory for guests from a pool or not.
    pub(crate) fn with(is_pooling: bool) -> wasmtime::Result<Self> {
        let engine = Engine::new(&config(is_pooling))?;
        let mut linker = Linker::new(&engine);
        All::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| state)?;
        // A thread of its own, because a guest that does not give way would stop a timer of the runtime.
        let ticked = engine.weak();
        thread::Builder::new().name("wasm-epoch".to_owned()).spawn(move || {
            while let Some(engine) = ticked.upgrade() {
                engine.increment_epoch();
                drop(engine);
                thread::sleep(TICK);
            }
        })?;
        Ok(Self { engine, linker })
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Ties `component` to what the host offers. WASI is there by name only: a guest that calls it ends.
    pub(crate) fn link(&self, component: &Component) -> Result<InstancePre<CallState>, LoadError> {
        let mut linker = self.linker.clone();
        let shape = |error: wasmtime::Error| LoadError::Shape(format!("{error:#}"));
        let mut has_wasi = false;
        for (name, item) in component.component_type().imports(&self.engine) {
            match (is_known(name), name.starts_with("wasi:"), &item.ty) {
                (true, ..) => {}
                (_, true, ComponentItem::ComponentInstance(_)) => has_wasi = true,
                _ => return Err(LoadError::UnknownImport(name.to_owned())),
            }
        }
        if has_wasi {
            linker.define_unknown_imports_as_traps(component).map_err(shape)?;
        }
        linker.instantiate_pre(component).map_err(shape)
    }
}

fn is_known(import: &str) -> bool {
    let interfaces = ["types", "log", "metrics", "inventory", "kv", "placement-types", "selector-types"];
    import
        .strip_prefix("orrery:plugin/")
        .and_then(|rest| rest.split_once("@0.1."))
        .is_some_and(|(interface, _)| interfaces.contains(&interface))
}

fn config(is_pooling: bool) -> Config {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .epoch_interruption(true)
        .max_wasm_stack(STACK)
        .async_stack_size(2 * STACK)
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        .concurrency_support(false);
    if is_pooling {
        let mut pool = PoolingAllocationConfig::default();
        pool.total_component_instances(INSTANCES)
            .total_core_instances(4096)
            .total_memories(2 * INSTANCES)
            .total_tables(8 * INSTANCES)
            .total_stacks(INSTANCES)
            .max_core_instances_per_component(CORE_INSTANCES_EACH)
            .max_component_instance_size(8 << 20)
            .max_core_instance_size(8 << 20)
            .max_tables_per_component(50)
            .max_memories_per_component(10)
            .table_elements(40_000)
            .max_memory_size(256 << 20);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
    config
}
