//! All extensions of a host, by name.

mod last_good;
mod trial;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use orrery_api::extension::{ComponentSource, Document, ExtensionName, Plugin};
use orrery_api::status::{ExtensionLogs, ExtensionStatus};
use tokio::sync::watch;

use crate::Metrics;
use crate::file::Content;
use crate::load::{Refusal, Runtime, Step};
use crate::revision::Revision;
use crate::runtime::Code;
use crate::set::FileSet;
use crate::slot::Slot;
use last_good::LastGood;

/// The extensions of now and later. A cheap handle: clones are the same set.
#[derive(Clone)]
pub struct Registry(Arc<Shared>);

struct Shared {
    runtime: Arc<Runtime>,
    evaluator: Code,
    last_good: Option<Arc<LastGood>>,
    metrics: Metrics,
    slots: RwLock<BTreeMap<ExtensionName, Arc<Slot>>>,
    /// Says that there are other extensions than before.
    known: watch::Sender<()>,
}

/// What the files ask for, by name: a revision, or why there is none.
pub(crate) type Wanted = BTreeMap<ExtensionName, Result<Revision, Refusal>>;

/// The component that evaluates rules in CEL, built of `plugins/cel`.
static EVALUATOR: &[u8] = include_bytes!("../../../plugins/cel/cel.wasm");

// === impl Registry ===

impl Registry {
    /// No extensions yet. Compiled components, and what served last, are kept in `folder`.
    ///
    /// # Errors
    /// This machine cannot run WebAssembly.
    pub fn start(folder: Option<&Path>, metrics: Metrics) -> wasmtime::Result<Self> {
        let runtime = Arc::new(Runtime::start(folder.map(|folder| folder.join("compiled")).as_deref())?);
        let evaluator = Code::read(EVALUATOR)?;
        let last_good = folder.map(|folder| Arc::new(LastGood::in_folder(folder.join("last-good"))));
        Ok(Self(Arc::new(Shared {
            runtime,
            evaluator,
            last_good,
            metrics,
            slots: RwLock::default(),
            known: watch::Sender::new(()),
        })))
    }

    /// How all of them are, by kind and name.
    pub fn statuses(&self) -> Vec<ExtensionStatus> {
        self.slots().values().map(|slot| slot.status()).collect()
    }

    /// How one is; `None` where there is no such one.
    pub fn status(&self, name: &ExtensionName) -> Option<ExtensionStatus> {
        Some(self.slot(name)?.status())
    }

    /// What one wrote last.
    pub fn logs(&self, name: &ExtensionName) -> Option<ExtensionLogs> {
        Some(self.slot(name)?.logs())
    }

    /// Puts the generation before back; its number, or `Some(None)` where there is none, or `None` where there is no such
    /// extension.
    pub fn roll_back(&self, name: &ExtensionName) -> Option<Option<u64>> {
        Some(self.slot(name)?.roll_back("it was rolled back by hand"))
    }

    /// What `files` ask for.
    pub(crate) fn wanted(&self, files: &FileSet) -> Wanted {
        let components: BTreeMap<&str, &Code> = files.used().filter_map(component).collect();
        let mut wanted = Wanted::new();
        let mut named = BTreeSet::new();
        for document in files.documents() {
            match &**document {
                Document::Placement(_) => {}
                Document::Plugin(plugin) => {
                    let revision = plugin_revision(plugin, &components);
                    if let ComponentSource::File { path, .. } = &plugin.component {
                        named.insert(path.as_str());
                    }
                    wanted.insert(ExtensionName::plugin(&plugin.name), revision);
                }
                Document::Cel(policy) => {
                    let revision = Revision::of_cel(policy, self.0.evaluator.clone());
                    wanted.insert(revision.name.clone(), Ok(revision));
                }
            }
        }
        // A component that no document names is a plugin by the name of its file.
        for (path, code) in components.iter().filter(|(path, _)| !named.contains(*path)) {
            let Some(name) = path.strip_suffix(".wasm").and_then(ExtensionName::plugin_if_valid) else { continue };
            let revision = || Ok(Revision::of_plugin(&Plugin::of_file(&name.name, path), (*code).clone()));
            wanted.entry(name.clone()).or_insert_with(revision);
        }
        wanted
    }

    /// Knows all of `wanted` from now on, and nothing else; those that are new are on their way until [`Self::offer`].
    pub(crate) fn know(&self, wanted: &Wanted) {
        let mut slots = self.0.slots.write().unwrap_or_else(PoisonError::into_inner);
        let is_as_before = slots.keys().eq(wanted.keys());
        slots.retain(|name, _| wanted.contains_key(name));
        for name in wanted.keys() {
            slots.entry(name.clone()).or_insert_with(|| self.new_slot(name));
        }
        self.0.metrics.extensions(slots.keys());
        drop(slots);
        if !is_as_before {
            self.0.known.send_replace(());
        }
    }

    /// Loads what is new of `wanted`, each by itself.
    pub(crate) fn offer(&self, wanted: Wanted) {
        for (name, revision) in wanted {
            if let Some(slot) = self.slot(&name) {
                let registry = self.clone();
                tokio::spawn(async move { registry.offer_one(&slot, revision).await });
            }
        }
    }

    async fn offer_one(&self, slot: &Slot, revision: Result<Revision, Refusal>) {
        let refusal = match revision {
            Ok(revision) => match slot.offer(revision).await {
                Ok(_) => return,
                Err(refusal) => refusal,
            },
            Err(refusal) => slot.refuse(refusal),
        };
        if slot.is_serving() {
            return;
        }
        // As before the restart: what served last serves on.
        if let Some((revision, rejected)) = self.0.last_good.as_ref().and_then(|last_good| last_good.of(slot.name()))
            && slot.offer(revision).await.is_ok()
        {
            slot.reject(rejected);
            slot.refuse(refusal);
        }
    }

    /// A slot that keeps what serves, and what was rejected, for the next start of the host.
    fn new_slot(&self, name: &ExtensionName) -> Arc<Slot> {
        let slot = Slot::new(name.clone(), self.0.runtime.clone(), self.0.metrics.clone());
        if let Some(last_good) = self.0.last_good.clone() {
            slot.reject(last_good.rejected(name));
            let (of, mut changed) = (Arc::downgrade(&slot), slot.changed());
            tokio::spawn(async move {
                while changed.changed().await.is_ok() {
                    let Some((revision, rejected)) = of.upgrade().and_then(|slot| slot.kept()) else { continue };
                    let last_good = last_good.clone();
                    let kept = tokio::task::spawn_blocking(move || last_good.keep(&revision, rejected));
                    // It does not panic, and the next change keeps all there is again.
                    let _ = kept.await;
                }
            });
        }
        slot
    }

    pub(crate) fn known(&self) -> watch::Receiver<()> {
        self.0.known.subscribe()
    }

    /// Those that select objects, or may do so once they are loaded.
    pub(crate) fn slots_of_selectors(&self) -> Vec<Arc<Slot>> {
        self.slots().into_values().filter(|slot| slot.may_select()).collect()
    }

    pub(crate) fn slot(&self, name: &ExtensionName) -> Option<Arc<Slot>> {
        self.slots().get(name).cloned()
    }

    fn slots(&self) -> BTreeMap<ExtensionName, Arc<Slot>> {
        self.0.slots.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn component<'f>((path, content): (&'f Path, &'f Content)) -> Option<(&'f str, &'f Code)> {
    match content {
        Content::Component(code) => Some((path.file_name()?.to_str()?, code)),
        Content::Documents(_) => None,
    }
}

fn plugin_revision(plugin: &Plugin, components: &BTreeMap<&str, &Code>) -> Result<Revision, Refusal> {
    let refusal = |step, reason| Err(Refusal { step, reason });
    match &plugin.component {
        ComponentSource::File { path, digest } => {
            let Some(code) = components.get(path.as_str()) else {
                let reason = format!("no component {path} is in the directory of extensions; put it there");
                return refusal(Step::Fetch, reason);
            };
            match digest {
                Some(digest) if *digest != code.digest => {
                    let reason = format!("{path} has the digest {}, and the Plugin asks for {digest}", code.digest);
                    refusal(Step::Verify, reason)
                }
                _ => Ok(Revision::of_plugin(plugin, (*code).clone())),
            }
        }
        ComponentSource::Oci { reference, .. } => {
            let reason = format!("{reference} is not fetched: this host takes components from files only");
            refusal(Step::Fetch, reason)
        }
    }
}

#[cfg(test)]
mod tests;
