//! What a call sees of the host.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use orrery_api::extension::{Capability, Limits};
use orrery_api::placement::PushedScore;
use serde_json::Value;
use wasmtime::component::{Resource, ResourceTable};

use super::bindings::orrery::plugin::types::Failure;
use super::bindings::orrery::plugin::{inventory, kv, log, metrics, placement_types, selector_types, types};
use super::call_log::{CallLog, LogLine, Measured, cut};
use super::limiter::Limiter;
use crate::inputs::Paths;

/// What one call may ask of the host.
pub(crate) struct CallState {
    pub(crate) limiter: Limiter,
    log: Arc<CallLog>,
    pinned: Arc<Pinned>,
    capabilities: BTreeSet<Capability>,
    table: ResourceTable,
}

/// The fleet as one decision sees it.
#[derive(Debug, Default)]
pub(crate) struct Pinned {
    pub(crate) revision: u64,
    /// In fleet order: each cluster's name, labels, what is known of it (schema `candidate`) and what was said of it.
    pub(crate) clusters: Vec<PinnedCluster>,
}

#[derive(Debug)]
pub(crate) struct PinnedCluster {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) doc: Value,
    pub(crate) scores: BTreeMap<String, PushedScore>,
}

/// The resource `snapshot`: all that it knows is in [`Pinned`].
#[expect(unreachable_pub, reason = "the bindings name it in what they make public")]
pub struct Snapshot;

/// Most resources that a call may hold.
const RESOURCES_MAX: usize = 1024;

// === impl CallState ===

impl CallState {
    pub(crate) fn new(
        limits: &Limits,
        log: Arc<CallLog>,
        pinned: Arc<Pinned>,
        capabilities: BTreeSet<Capability>,
    ) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(RESOURCES_MAX);
        Self { limiter: Limiter::new(limits.memory_bytes), log, pinned, capabilities, table }
    }

    fn may(&self, capability: Capability) -> Result<(), Failure> {
        if self.capabilities.contains(&capability) {
            return Ok(());
        }
        let capability = capability.as_str();
        Err(failure(
            "Forbidden",
            format!(
                "{capability} is not granted: ask for it in the manifest and grant it in the Plugin's `capabilities`"
            ),
        ))
    }
}

impl types::Host for CallState {}
impl placement_types::Host for CallState {}
impl selector_types::Host for CallState {}

impl log::Host for CallState {
    fn enabled(&mut self, level: log::Level) -> wasmtime::Result<bool> {
        Ok(!matches!(level, log::Level::Trace))
    }

    fn write(&mut self, level: log::Level, message: String, fields: String) -> wasmtime::Result<()> {
        let level = match level {
            log::Level::Trace => return Ok(()),
            log::Level::Debug => "debug",
            log::Level::Info => "info",
            log::Level::Warn => "warn",
            log::Level::Error => "error",
        };
        self.log.line(LogLine { level, message: cut(message), fields: cut(fields) })?;
        Ok(())
    }
}

impl metrics::Host for CallState {
    fn count(&mut self, name: String, by: u64, labels: Vec<(String, String)>) -> wasmtime::Result<()> {
        #[expect(clippy::cast_precision_loss, reason = "a count beyond 2^53 in one call is none")]
        self.log.value(name, labels, |value| Measured::Counted(value.map_or(0.0, Measured::number) + by as f64))?;
        Ok(())
    }

    fn observe(&mut self, name: String, value: f64, labels: Vec<(String, String)>) -> wasmtime::Result<()> {
        self.log.value(name, labels, |_| Measured::Observed(value))?;
        Ok(())
    }
}

impl inventory::Host for CallState {
    fn current(&mut self) -> wasmtime::Result<Resource<Snapshot>> {
        Ok(self.table.push(Snapshot)?)
    }
}

impl inventory::HostSnapshot for CallState {
    fn revision(&mut self, _: Resource<Snapshot>) -> wasmtime::Result<u64> {
        Ok(self.pinned.revision)
    }

    fn names(&mut self, _: Resource<Snapshot>, selector: String) -> wasmtime::Result<Result<Vec<String>, Failure>> {
        if let Err(failure) = self.may(Capability::Inventory) {
            return Ok(Err(failure));
        }
        let is_matched =
            |cluster: &&PinnedCluster| selector.split(',').map(str::trim).all(|requirement| cluster.meets(requirement));
        Ok(Ok(self.pinned.clusters.iter().filter(is_matched).map(|cluster| cluster.name.clone()).collect()))
    }

    fn get(
        &mut self,
        _: Resource<Snapshot>,
        clusters: Vec<String>,
        paths: Vec<String>,
    ) -> wasmtime::Result<Result<Vec<Option<String>>, Failure>> {
        if let Err(failure) = self.may(Capability::Inventory) {
            return Ok(Err(failure));
        }
        let paths = Paths::of(Some(&paths));
        let doc = |name: &String| {
            let cluster = self.pinned.clusters.iter().find(|cluster| cluster.name == *name)?;
            Some(paths.of_document(&cluster.doc).to_string())
        };
        Ok(Ok(clusters.iter().map(doc).collect()))
    }

    fn score(
        &mut self,
        _: Resource<Snapshot>,
        cluster: String,
        name: String,
    ) -> wasmtime::Result<Option<inventory::PushedScore>> {
        let known = self.pinned.clusters.iter().find(|known| known.name == cluster);
        let score = known.and_then(|known| known.scores.get(&name)).filter(|_| self.may(Capability::Inventory).is_ok());
        Ok(score.map(|score| inventory::PushedScore {
            value: score.value,
            age_ms: score.age_ms,
            expired: score.expired,
        }))
    }

    fn drop(&mut self, snapshot: Resource<Snapshot>) -> wasmtime::Result<()> {
        self.table.delete(snapshot)?;
        Ok(())
    }
}

/// What a call answers depends on its arguments alone, so none of those that there are remembers anything.
impl kv::Host for CallState {
    fn get(&mut self, _: String) -> wasmtime::Result<Result<Option<kv::Entry>, Failure>> {
        Ok(Err(self.forgets()))
    }

    fn put(&mut self, _: String, _: Vec<u8>, _: Option<u64>, _: Option<u64>) -> wasmtime::Result<Result<u64, Failure>> {
        Ok(Err(self.forgets()))
    }

    fn delete(&mut self, _: String, _: Option<u64>) -> wasmtime::Result<Result<(), Failure>> {
        Ok(Err(self.forgets()))
    }

    fn keys(&mut self, _: String, _: u32) -> wasmtime::Result<Result<Vec<String>, Failure>> {
        Ok(Err(self.forgets()))
    }
}

impl CallState {
    fn forgets(&self) -> Failure {
        let pure =
            || failure("Pure", "kv is not to be had here: what this call answers depends on its arguments alone");
        self.may(Capability::Kv).err().unwrap_or_else(pure)
    }
}

// === impl PinnedCluster ===

impl PinnedCluster {
    /// Whether it meets one of `KEY=VALUE`, `KEY!=VALUE`, `KEY`, `!KEY`; nothing is always met.
    fn meets(&self, requirement: &str) -> bool {
        let label = |key: &str| self.labels.get(key.trim()).map(String::as_str);
        if let Some((key, value)) = requirement.split_once("!=") {
            return label(key) != Some(value.trim());
        }
        match (requirement.split_once('='), requirement.strip_prefix('!')) {
            (Some((key, value)), _) => label(key) == Some(value.trim_start_matches('=').trim()),
            (None, Some(key)) => label(key).is_none(),
            (None, None) => requirement.is_empty() || label(requirement).is_some(),
        }
    }
}

fn failure(code: &str, message: impl Into<String>) -> Failure {
    Failure { code: code.to_owned(), message: message.into(), retry_after_ms: None }
}
